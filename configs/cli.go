package configs

import (
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"reflect"
	"slices"

	"iop/internal/wholefile"
)

// CLI is what the operator's command line keeps: servers under names.
type CLI struct {
	File string `yaml:"-"` // where it is kept, whether or not it is there

	Current  string       `yaml:"current" check:"optional,id"` // the context in use; empty: none
	Contexts []CLIContext `yaml:"contexts"`
}

// CLIContext is one server. No two have one name.
type CLIContext struct {
	Name      string `yaml:"name" check:"required,id"`
	Address   string `yaml:"address" check:"required,http-url"` // of HTTP
	Wire      string `yaml:"wire"`                              // of the Client wire, ws or wss; empty: its default port on the address's host
	Token     string `yaml:"token" secret:"true"`               // at most one of Token and TokenFile is set
	TokenFile string `yaml:"token_file"`
	CAFile    string `yaml:"ca_file"` // empty: the system's authorities
}

// LoadCLI reads and checks the file; one that isn't there is an empty one. Its error is Problems.
func LoadCLI(file string) (*CLI, error) {
	r := newReport()
	var data []byte
	if _, err := os.Stat(file); err == nil || !errors.Is(err, fs.ErrNotExist) {
		_, data = r.readSource(file, "")
	}
	return decodeCLI(r, file, data)
}

func decodeCLI(r *report, file string, data []byte) (*CLI, error) {
	c := &CLI{}
	if data != nil {
		r.decodeFile(file, data, reflect.ValueOf(c).Elem())
	}
	c.check(r)
	if err := r.err(); err != nil {
		return nil, err
	}
	c.File = file
	return c, nil
}

func (c *CLI) check(r *report) {
	names := map[string]string{}
	for i := range c.Contexts {
		key := fmt.Sprintf("contexts[%d]", i)
		x := &c.Contexts[i]
		r.once(names, x.Name, key+".name")
		if wrong := clientWireURL(x.Wire); x.Wire != "" && wrong != "" {
			r.on(key+".wire", "%s %s", quote(x.Wire), wrong)
		}
		if x.Token != "" && x.TokenFile != "" {
			r.on(key+".token_file", "is set beside token; expected one of them")
		}
	}
	if c.Current != "" && c.Context(c.Current) == nil {
		r.on("current", "%s is no context of this file; expected a name of one", quote(c.Current))
	}
}

// Context is the one with this name; nil: there is none.
func (c *CLI) Context(name string) *CLIContext {
	i := slices.IndexFunc(c.Contexts, func(x CLIContext) bool { return x.Name == name })
	if i < 0 {
		return nil
	}
	return &c.Contexts[i]
}

// ReadToken gives the token, from its file where it is in one; empty: none.
func (x *CLIContext) ReadToken() (string, error) {
	token, err := readToken(x.Token, x.TokenFile)
	if err != nil {
		return "", fmt.Errorf("token_file %s %w; expected a file with one line, the token", x.TokenFile, err)
	}
	return token, nil
}

// Save checks the whole and writes it to its File, for its owner alone: it may hold tokens. Nobody sees half a file.
func (c *CLI) Save() error {
	text, err := encode(c, func(secret string) string { return secret })
	if err != nil {
		return err
	}
	if _, err := decodeCLI(newReport(), c.File, text); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(c.File), 0o700); err != nil {
		return err
	}
	return wholefile.Write(c.File, text, 0o600)
}

func clientWireURL(s string) string {
	u, err := url.Parse(s)
	if err != nil || u.Scheme != "ws" && u.Scheme != "wss" || hostName(u.Hostname()) != "" || u.User != nil || u.Fragment != "" {
		return "is not a URL of a Client wire; expected ws://host:port/client or wss://host:port/client"
	}
	return ""
}
