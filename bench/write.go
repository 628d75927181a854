package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// The part of a page that this command writes is between these.
const (
	beginMark = "<!-- bench:begin -->"
	endMark   = "<!-- bench:end -->"
)

// pictureName is the picture's file, beside the page.
const pictureName = "performance-growth.svg"

// between puts a text in the place of what is between the marks.
func between(page, text string) (string, error) {
	before, rest, ok := strings.Cut(page, beginMark)
	_, after, closed := strings.Cut(rest, endMark)
	if !ok || !closed {
		return "", fmt.Errorf("it has no %s with an %s after it", beginMark, endMark)
	}
	return before + beginMark + "\n" + strings.TrimSpace(text) + "\n" + endMark + after, nil
}

// write puts a text into a page, and the picture of what was measured beside it.
func (r *results) write(path, text string) error {
	page, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	whole, err := between(string(page), text)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	if picture := r.picture(); picture != "" {
		if err := os.WriteFile(filepath.Join(filepath.Dir(path), pictureName), []byte(picture), 0o644); err != nil {
			return err
		}
	}
	return os.WriteFile(path, []byte(whole), 0o644)
}

// page is what is written.
func (r *results) page(set *settings, figures []figure, v verdicts, machine string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s; snapshots of %d nodes with %d providers each. Medians of %d rounds.\n\n", machine, set.shape.Nodes, set.shape.Providers, set.count)
	b.WriteString(v.markdown() + "\n" + r.growth(figures))
	if r.picture() != "" {
		fmt.Fprintf(&b, "\n![What grows with the number of Edges](%s)\n", pictureName)
	}
	if outlook := r.outlook(); outlook != "" {
		b.WriteString("\nWhat one instance would need, worked out from straight lines through these sizes. On top come the daemon's own memory\n(resident without Edges) and the kernel's for the sockets, which no process is charged for.\n\n" + outlook)
	}
	return b.String()
}
