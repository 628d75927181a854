package configs

import (
	"bytes"
	"fmt"
	"regexp"
	"unicode/utf8"

	"gopkg.in/yaml.v3"
)

// YAMLOf writes a JSON document as YAML, members in its order. It is here because YAML is this package's alone.
func YAMLOf(document []byte) ([]byte, error) {
	var n yaml.Node
	if err := yaml.Unmarshal(escaped(document), &n); err != nil { // JSON is YAML
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

// escaped is a document with what JSON takes as it is, and YAML refuses or takes for a break or a mark, as JSON's escapes; such
// can only stand inside of texts.
func escaped(document []byte) []byte {
	text := make([]byte, 0, len(document))
	for _, r := range string(document) {
		switch {
		case r >= 0x7F && r <= 0x9F, r == '\u2028', r == '\u2029', r == '\uFEFF', r == '\uFFFE', r == '\uFFFF':
			text = fmt.Appendf(text, `\u%04x`, r)
		default:
			text = utf8.AppendRune(text, r)
		}
	}
	return text
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
