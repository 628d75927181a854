package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"iop/configs"
)

// format is how data is written to stdout.
type format string

const (
	plainTable format = "table"
	wide       format = "wide" // a table with all columns, and times as they are
	jsonDoc    format = "json"
	jsonLines  format = "jsonl"
	yamlDoc    format = "yaml"
)

var formats = []string{string(plainTable), string(wide), string(jsonDoc), string(jsonLines), string(yamlDoc)}

func (f *format) set(s string) error {
	for _, known := range formats {
		if s == known {
			*f = format(s)
			return nil
		}
	}
	return fmt.Errorf("-o %q is not one of %s", s, strings.Join(formats, ", "))
}

// isTable tells whether a person reads it.
func (f format) isTable() bool { return f == plainTable || f == wide }

// view is one answer in all formats.
type view struct {
	doc   any             // of json and yaml, as the HTTP interface has it
	lines []any           // of jsonl; nil: doc is the one line
	table func(out *page) // of table and wide
}

// show writes an answer.
func (a *app) show(v view) error {
	switch a.format {
	case jsonDoc:
		return a.writeJSON(v.doc, "  ")
	case yamlDoc:
		return a.writeYAML(v.doc)
	case jsonLines:
		if v.lines == nil {
			v.lines = []any{v.doc}
		}
		for _, line := range v.lines {
			if err := a.writeJSON(line, ""); err != nil {
				return err
			}
		}
		return nil
	}
	p := &page{wide: a.format == wide, looks: a.looks}
	v.table(p)
	if _, err := io.WriteString(a.stdout, p.text.String()); err != nil {
		return err
	}
	_, _ = io.WriteString(a.stderr, p.talk.String())
	return nil
}

// showNext writes one of the answers of a command that goes on: a line of JSON, or a document of YAML.
func (a *app) showNext(doc any) error {
	if a.format == yamlDoc {
		if _, err := io.WriteString(a.stdout, "---\n"); err != nil {
			return err
		}
		return a.writeYAML(doc)
	}
	return a.writeJSON(doc, "")
}

func encodeJSON(doc any, indent string) ([]byte, error) {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false) // it is no page
	encoder.SetIndent("", indent)
	err := encoder.Encode(doc)
	return b.Bytes(), err
}

func (a *app) writeJSON(doc any, indent string) error {
	text, err := encodeJSON(doc, indent)
	if err == nil {
		_, err = a.stdout.Write(text)
	}
	return err
}

func (a *app) writeYAML(doc any) error {
	text, err := encodeJSON(doc, "")
	if err != nil {
		return err
	}
	if text, err = configs.YAMLOf(text); err != nil {
		return fmt.Errorf("this can't be written as YAML: %w", err)
	}
	_, err = a.stdout.Write(text)
	return err
}

// anys is a list for view.lines, never nil.
func anys[T any](items []T) []any {
	all := make([]any, len(items))
	for i, item := range items {
		all[i] = item
	}
	return all
}
