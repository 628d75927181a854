package configs

import (
	"bytes"
	"regexp"
	"strings"

	"gopkg.in/yaml.v3"
)

// YAMLOf writes a JSON document as YAML, members in its order. It is here because YAML is this package's alone.
func YAMLOf(document []byte) ([]byte, error) {
	var n yaml.Node
	if err := yaml.Unmarshal([]byte(breaks.Replace(string(document))), &n); err != nil { // JSON is YAML
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

// breaks writes what YAML would take for a break or a mark as JSON's escapes; it can only stand inside of texts.
var breaks = strings.NewReplacer("\u0085", `\u0085`, "\u2028", `\u2028`, "\u2029", `\u2029`, "\ufeff", `\ufeff`)

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
