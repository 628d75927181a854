package configs

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestLaterLayersWin(t *testing.T) {
	file := write(t, "c.yaml", "server: {wire_listen: 127.0.0.1:1, edge_wire_listen: 127.0.0.1:1}\nlog: {level: warn, format: json}\ninsecure: true\n")
	tests := map[string]struct {
		src           Source
		wire          string
		level, format string
		insecure      bool
	}{
		"built in":    {Source{Flags: map[string]string{"insecure": "true"}}, "0.0.0.0:19080", "info", "auto", true},
		"dev":         {Source{Dev: true}, "127.0.0.1:19080", "info", "console", false},
		"file":        {Source{File: file, Dev: true}, "127.0.0.1:1", "warn", "json", true},
		"environment": {Source{File: file, Env: env("IOP_WIRE_LISTEN", "127.0.0.1:2", "IOP_LOG_LEVEL", "error", "IOP_INSECURE", "false")}, "127.0.0.1:2", "error", "json", false},
		"flags": {Source{File: file, Env: env("IOP_WIRE_LISTEN", "127.0.0.1:2", "IOP_INSECURE", "0"),
			Flags: map[string]string{"wire-listen": "127.0.0.1:3", "log-format": "auto", "insecure": "true"}}, "127.0.0.1:3", "warn", "auto", true},
		"an empty variable is unset": {Source{File: file, Env: env("IOP_WIRE_LISTEN", "")}, "127.0.0.1:1", "warn", "json", true},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			c, err := LoadControlPlane(tt.src)
			if err != nil {
				t.Fatal(err)
			}
			if c.Server.WireListen != tt.wire || c.Log.Level != tt.level || c.Log.Format != tt.format || c.Insecure != tt.insecure {
				t.Errorf("got %s, %+v, insecure %v", c.Server.WireListen, c.Log, c.Insecure)
			}
		})
	}
}

// env is an environment of name, value, name, value...
func env(pairs ...string) func(string) string {
	return func(name string) string {
		for i := 0; i < len(pairs); i += 2 {
			if pairs[i] == name {
				return pairs[i+1]
			}
		}
		return ""
	}
}

func TestOverridesReachTheirKeys(t *testing.T) {
	for _, o := range ControlPlaneOverrides {
		value := map[string]string{
			"insecure": "true", "log.level": "debug", "log.format": "json", "redis.key_prefix": "x",
			"database.url": "postgres://h", "redis.url": "redis://h",
		}[o.Key]
		if value == "" {
			value = "127.0.0.1:7"
		}
		for _, src := range []Source{
			{Dev: true, Env: env(o.Env, value)},
			{Dev: true, Flags: map[string]string{o.Flag: value}},
		} {
			if src.Env == nil && o.Flag == "" || src.Env != nil && o.Env == "" {
				continue
			}
			c, err := LoadControlPlane(src)
			if err != nil {
				t.Fatalf("%s: %v", o.Key, err)
			}
			other, err := LoadControlPlane(Source{Dev: true})
			if err != nil {
				t.Fatal(err)
			}
			if cmp.Equal(c, other) {
				t.Errorf("%s: %+v changes nothing", o.Key, src)
			}
		}
	}
}

func TestWhichFile(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	load := func(file string) (string, error) {
		c, err := LoadControlPlane(Source{File: file, Dev: true})
		if err != nil {
			return "", err
		}
		return c.File + " " + c.Log.Level, nil
	}
	check := func(file, want string) {
		t.Helper()
		got, err := load(file)
		if err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	check("", " info")
	check("absent.yaml", "absent.yaml: can't be read: no such file or directory; expected a YAML file")
	if err := os.Mkdir("configs", 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(ControlPlaneFile, []byte("log: {level: debug}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	check("", "configs/control-plane.yaml debug")
	check("configs", "configs: can't be read: is a directory; expected a YAML file")
	other := filepath.Join(dir, "other.yaml")
	if err := os.WriteFile(other, []byte("log: {level: warn}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	check(other, other+" warn")
}
