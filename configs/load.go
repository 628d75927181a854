package configs

import (
	"errors"
	"io/fs"
	"os"
	"reflect"
	"strings"
)

// A Source says where a configuration is read from.
type Source struct {
	File  string                   // --config; empty: the document's default file, if there is one
	Dev   bool                     // --dev: other built-in defaults (of the control plane alone)
	Env   func(name string) string // os.Getenv; nil: no environment. Empty counts as unset.
	Flags map[string]string        // the flags of the document's Overrides that were given, by name without dashes
}

// An Override is a key that the environment, and with a Flag the command line, can give.
type Override struct {
	Key   string // server.http_listen
	Env   string // IOP_HTTP_LISTEN
	Flag  string // http-listen; empty: no flag
	Usage string // of the flag
	Bool  bool   // the flag alone means true
}

// load merges the layers of a source into the struct at into, which has the built-in defaults, and
// gives the file that was read ("" for none) and the report for the checks of the whole.
func load(src Source, defaultFile string, overrides []Override, into any) (file string, r *report) {
	r = newReport()
	v := reflect.ValueOf(into).Elem()
	file, data := r.readSource(src.File, defaultFile)
	if file != "" {
		r.decodeFile(file, data, v)
	}
	r.overrideAll(v, overrides, src)
	return file, r
}

// overrideAll goes over the file with the environment, and over that with the flags.
func (r *report) overrideAll(v reflect.Value, overrides []Override, src Source) {
	for _, o := range overrides {
		if text := getenv(src.Env, o.Env); text != "" {
			r.override(v, o, o.Env, text)
		}
		if text, ok := src.Flags[o.Flag]; ok && o.Flag != "" {
			r.override(v, o, "--"+o.Flag, text)
		}
	}
}

// readSource reads the file asked for, else the default one if it is there.
func (r *report) readSource(asked, defaultFile string) (file string, data []byte) {
	file = asked
	if asked == "" {
		if _, err := os.Stat(defaultFile); errors.Is(err, fs.ErrNotExist) {
			return "", nil
		}
		file = defaultFile
	}
	data, err := readFile(file)
	if err != nil {
		r.at(place{source: file}, "", "%v; expected a YAML file", err)
		return "", nil
	}
	return file, data
}

func getenv(env func(string) string, name string) string {
	if env == nil {
		return ""
	}
	return env(name)
}

// override sets one key from the text of a variable or flag. A bad value leaves the earlier one, and
// so does no harm to the checks that come after.
func (r *report) override(v reflect.Value, o Override, source, text string) {
	target, f := lookup(v, o.Key)
	if wrong := setText(target, text, f); wrong != "" {
		r.at(place{source: source}, o.Key, "%s", wrong)
		return
	}
	r.places[o.Key] = place{source: source}
}

// lookup finds the field of a key such as server.http_listen. An unknown one is a programmer's mistake.
func lookup(v reflect.Value, key string) (reflect.Value, field) {
	name, rest, deeper := strings.Cut(key, ".")
	for _, f := range fieldsOf(v.Type()) {
		if f.name == name && deeper {
			return lookup(v.Field(f.index), rest)
		}
		if f.name == name {
			return v.Field(f.index), f
		}
	}
	panic("configs: no key " + key + " in " + v.Type().String())
}
