package configs

import (
	"bytes"

	"gopkg.in/yaml.v3"
)

// YAMLOf writes a JSON document as YAML, members in its order. It is here because YAML is this package's alone.
func YAMLOf(document []byte) ([]byte, error) {
	var n yaml.Node
	if err := yaml.Unmarshal(document, &n); err != nil { // JSON is YAML
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

// plain takes braces and quotes away where YAML needs none; the tags that the quotes gave stay.
func plain(n *yaml.Node) {
	if n.Kind == yaml.ScalarNode && n.Style == yaml.DoubleQuotedStyle {
		n.Tag = "!!str"
	}
	n.Style = 0
	for _, child := range n.Content {
		plain(child)
	}
}
