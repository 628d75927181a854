package configs

import "reflect"

// Reload is c with what a running daemon can change taken from next: auth, the log level, and the
// tls files as long as TLS stays on or off. ignored has the other keys that differ: they need a restart.
//
// The error is Problems. The listeners are still those of c, so next being safe in itself is not
// enough: one that moves to loopback and drops auth would leave the old address open.
func (c *ControlPlane) Reload(next *ControlPlane) (reloaded *ControlPlane, ignored []string, err error) {
	merged := *c
	merged.Auth = next.Auth
	merged.Log.Level = next.Log.Level
	if c.TLS.Enabled() == next.TLS.Enabled() {
		merged.TLS = next.TLS
	}
	r := newReport()
	for _, l := range merged.listeners() {
		r.places[l.key] = place{source: "listening since the start"}
	}
	merged.checkListeners(r)
	if err := r.err(); err != nil {
		return nil, nil, err
	}
	return &merged, differences("", reflect.ValueOf(&merged).Elem(), reflect.ValueOf(next).Elem()), nil
}

// differences has the keys whose values differ, in the order of the struct.
func differences(key string, a, b reflect.Value) []string {
	if a.Kind() != reflect.Struct {
		if reflect.DeepEqual(a.Interface(), b.Interface()) {
			return nil
		}
		return []string{key}
	}
	var keys []string
	for _, f := range fieldsOf(a.Type()) {
		keys = append(keys, differences(join(key, f.name), a.Field(f.index), b.Field(f.index))...)
	}
	return keys
}
