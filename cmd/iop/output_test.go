package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"iop/internal/testkit"
)

// What docs/cli.md promises of output, of every command that answers once: in a fleet without anybody, and in one with Edges.
func TestOutput(t *testing.T) {
	f := &testFleet{}
	if err := f.start("--wire-listen", "127.0.0.1:0"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(f.stop)
	o := &output{t: t, dir: t.TempDir(), fleet: f}
	lists := []string{"edges ls", "fleet status", "fleet status --trouble", "fleet summary", "fleet models", "events", "ops ls"}
	for _, command := range append(lists, "context ls") {
		o.list(command, true)
	}
	for _, id := range []string{"seoul-1", "busan-1"} {
		if err := f.connect(id, nil); err != nil {
			t.Fatal(err)
		}
	}
	testkit.Eventually(t, "the Edges have said what they have", func() bool {
		out, _ := o.iop("fleet summary -o jsonl")
		return strings.Contains(out, `"answered":2,`)
	})
	if !f.edges["busan-1"].site.down("gpu-2") {
		t.Fatal("busan-1 has no gpu-2")
	}
	testkit.Eventually(t, "one is in trouble", func() bool {
		out, _ := o.iop("fleet status --trouble")
		return strings.Contains(out, "gpu-2 is down")
	})
	o.iop("context set lab --addr http://127.0.0.1:1")
	ran, _ := o.iop("run seoul-1 edge.ping -o jsonl")
	var operation struct {
		ID string `json:"operation_id"`
	}
	if err := json.Unmarshal([]byte(ran), &operation); err != nil {
		t.Fatal(err)
	}
	for _, command := range append(lists, "context ls", "status seoul-1", "events seoul-1 --after nothing") {
		o.list(command, false)
	}
	for _, command := range []string{"edges get seoul-1", "ops get seoul-1 " + operation.ID, "run seoul-1 edge.ping", "version", "version --server",
		"hello --wire ws://" + f.daemon.Addresses().Wire + "/client"} {
		o.thing(command)
	}
}

// output looks at what a command writes.
type output struct {
	t     *testing.T
	dir   string
	fleet *testFleet
}

func (o *output) iop(line string) (stdout, stderr string) {
	o.t.Helper()
	var out, talk bytes.Buffer
	env := func(name string) string {
		return map[string]string{"IOP_ADDR": "http://" + o.fleet.daemon.Addresses().HTTP}[name]
	}
	code := run(strings.Fields(line), surroundings{stdin: strings.NewReader(""), stdout: &out, stderr: &talk, env: env,
		configDir: func() (string, error) { return o.dir, nil }})
	if code != exitOK {
		o.t.Errorf("iop %s: exit code %d: %s", line, code, talk.String())
	}
	return out.String(), talk.String()
}

var (
	headings = regexp.MustCompile(`^[A-Z ]+$`)
	named    = regexp.MustCompile(`^[a-z][a-z ]*  +\S`) // a name and its value
)

// list wants headings first and no other line than rows; without anything to list: no line, and a word to whoever sits there.
func (o *output) list(command string, empty bool) {
	o.t.Helper()
	o.documents(command)
	for _, format := range []string{"table", "wide"} {
		out, talk := o.iop(command + " -o " + format)
		if empty && command != "fleet summary" { // whose totals are 0 then
			if out != "" || talk == "" {
				o.t.Errorf("iop %s -o %s of nobody: %q, and on stderr %q", command, format, out, talk)
			}
			continue
		}
		lines := strings.Split(strings.TrimSuffix(out, "\n"), "\n")
		if len(lines) < 2 || !headings.MatchString(lines[0]) {
			o.t.Errorf("iop %s -o %s:\n%s", command, format, out)
		}
		for _, line := range lines[1:] {
			if len(strings.Fields(line)) < 3 || strings.HasSuffix(line, ".") && !strings.Contains(line, "  ") {
				o.t.Errorf("iop %s -o %s has a line that is no row: %s", command, format, line)
			}
		}
	}
}

// thing wants a name and a value in each line, up to a list of what belongs to it.
func (o *output) thing(command string) {
	o.t.Helper()
	o.documents(command)
	for _, format := range []string{"table", "wide"} {
		out, _ := o.iop(command + " -o " + format)
		values, rows, more := strings.Cut(out, "\n\n")
		for line := range strings.Lines(values) {
			if !named.MatchString(line) {
				o.t.Errorf("iop %s -o %s has a line without a name: %s", command, format, line)
			}
		}
		if first, _, _ := strings.Cut(rows, "\n"); more && !headings.MatchString(first) {
			o.t.Errorf("iop %s -o %s has rows without headings: %s", command, format, rows)
		}
	}
}

// documents wants what programs read to be whole, and nothing beside it.
func (o *output) documents(command string) {
	o.t.Helper()
	for format, read := range map[string]func([]byte) error{
		"json":  func(b []byte) error { return json.Unmarshal(b, new(map[string]any)) },
		"yaml":  oneYAML,
		"jsonl": eachLine,
	} {
		out, talk := o.iop(command + " -o " + format)
		if err := read([]byte(out)); err != nil {
			o.t.Errorf("iop %s -o %s: %v in\n%s", command, format, err, out)
		}
		if talk != "" {
			o.t.Errorf("iop %s -o %s says %q", command, format, talk)
		}
	}
}

// oneYAML wants members of one document at the left, and no sentence.
func oneYAML(b []byte) error {
	for line := range bytes.Lines(b) {
		if !yamlLine.Match(line) {
			return fmt.Errorf("%q is no part of one document", line)
		}
	}
	return nil
}

var yamlLine = regexp.MustCompile(`^([a-z_]+:( .*)?| .*|- .*)\n$`)

func eachLine(b []byte) error {
	for line := range bytes.Lines(b) {
		if err := json.Unmarshal(line, new(map[string]any)); err != nil {
			return err
		}
	}
	return nil
}
