package configs

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"unicode/utf8"

	"gopkg.in/yaml.v3"
)

// YAMLOf writes a JSON document as YAML, members in its order. It is here because YAML is this package's alone.
func YAMLOf(document []byte) ([]byte, error) {
	var n yaml.Node
	if err := yaml.Unmarshal(forYAML(document), &n); err != nil { // JSON is YAML
		return nil, err
	}
	plain(&n)
	var out bytes.Buffer
	encoder := yaml.NewEncoder(&out)
	encoder.SetIndent(2)
	if err := encoder.Encode(&n); err != nil {
		return nil, err
	}
	return out.Bytes(), encoder.Close()
}

// forYAML is a JSON document as YAML takes it: what JSON takes as it is, and YAML refuses or takes for a break or a mark, as
// escapes, and what only JSON has escapes for as it is. Both can only stand inside of texts. Nothing is decoded, so that what is
// given twice stays.
func forYAML(document []byte) []byte {
	text := make([]byte, 0, len(document))
	for _, r := range string(unescaped(document)) {
		switch {
		case r >= 0x7F && r <= 0x9F, r == '\u2028', r == '\u2029', r == '\uFEFF', r == '\uFFFE', r == '\uFFFF':
			text = fmt.Appendf(text, `\u%04x`, r)
		default:
			text = utf8.AppendRune(text, r)
		}
	}
	return text
}

// escapes finds a surrogate pair, and else any one escape, so that what follows a backslash that is escaped itself is none.
var escapes = regexp.MustCompile(`\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|.)`)

// unescaped has the characters whose escapes YAML doesn't know, slashes and surrogate pairs, as themselves.
func unescaped(document []byte) []byte {
	return escapes.ReplaceAllFunc(document, func(escape []byte) []byte {
		if string(escape) == `\/` {
			return escape[1:]
		}
		var text string
		if len(escape) < len(`\ud800\udc00`) || json.Unmarshal(fmt.Appendf(nil, `"%s"`, escape), &text) != nil {
			return escape
		}
		return []byte(text)
	})
}

// plain takes braces and quotes away where no reader of any version of YAML could take the text for something else.
func plain(n *yaml.Node) {
	n.Style = 0
	if n.Kind == yaml.ScalarNode && n.Tag == "!!str" && (!unquoted.MatchString(n.Value) || reserved.MatchString(n.Value)) {
		n.Style = yaml.DoubleQuotedStyle
	}
	for _, child := range n.Content {
		plain(child)
	}
}

var (
	unquoted = regexp.MustCompile(`^[A-Za-z_/]([A-Za-z0-9_./@+,-]| [A-Za-z0-9_./(])*$`)
	reserved = regexp.MustCompile(`(?i)^(y|n|yes|no|on|off|true|false|null)$`)
)
