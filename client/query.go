package client

import (
	"maps"
	"net/url"
	"slices"
	"strconv"
	"time"
)

// values builds a query; what isn't set is left out.
type values url.Values

func (v values) text(name, value string) {
	if value != "" {
		v[name] = []string{value}
	}
}

func (v values) number(name string, value int) {
	if value != 0 {
		v[name] = []string{strconv.Itoa(value)}
	}
}

func (v values) duration(name string, value time.Duration) {
	if value != 0 {
		v[name] = []string{value.String()}
	}
}

// age is a max_age, of which 0 means something.
func (v values) age(name string, value *time.Duration) {
	if value != nil {
		v[name] = []string{value.String()}
	}
}

func (v values) labels(labels map[string]string) {
	for _, key := range slices.Sorted(maps.Keys(labels)) {
		v["label"] = append(v["label"], key+"="+labels[key])
	}
}
