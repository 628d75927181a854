package configs

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// loopback ends a file so that no test of something else meets the refusal of open listeners.
const loopback = "server: {wire_listen: '127.0.0.1:0', edge_wire_listen: '127.0.0.1:0'}\n"

const hashA = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
const hashB = "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"

func write(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// problemsOf has the lines of an error, with the file as its base name.
func problemsOf(err error, file string) []string {
	if err == nil {
		return nil
	}
	return strings.Split(strings.ReplaceAll(err.Error(), file, filepath.Base(file)), "\n")
}

const topKeys = "server, tls, auth, insecure, client, edges, events, audit, database, redis, log"

func TestControlPlaneProblems(t *testing.T) {
	tests := map[string]struct {
		yaml string
		want []string
	}{
		"unknown key": {"server:\n  wire_listn: 127.0.0.1:0\n  edge_wire_listen: 127.0.0.1:0\n", []string{
			"c.yaml:2: server.wire_listn: is an unknown key; expected one of id, http_listen, wire_listen, edge_wire_listen, debug_listen, shutdown_timeout",
			"built-in default: server.wire_listen: 0.0.0.0:19080 is open to other machines and asks for no token",
			`    to ask for one: set auth.operators ("iop-control-plane token" prints a token and its hash)`,
			"    or listen on loopback: server.wire_listen: 127.0.0.1:19080; or leave it open on purpose: insecure: true",
		}},
		"keys differ in case": {"Log: {}\n" + loopback, []string{
			"c.yaml:1: Log: is an unknown key; expected one of " + topKeys}},
		"repeated section": {"edges:\n  max_in_flight: 5\nedges:\n  max_in_flight: 2\n" + loopback, []string{
			"c.yaml:3: edges: is a repeated key, first given on line 1; expected once"}},
		"every repeated key, and what is below": {"edges:\n  max_in_flight: 5\n  max_in_flight: 5\n  max_in_flight: 0\n" + loopback, []string{
			"c.yaml:3: edges.max_in_flight: is a repeated key, first given on line 2; expected once",
			"c.yaml:4: edges.max_in_flight: is a repeated key, first given on line 2; expected once",
			`c.yaml:4: edges.max_in_flight: "0" is out of range; expected 1 to 65536`}},
		"a list for a section": {"tls: [1]\n" + loopback, []string{
			"c.yaml:1: tls: is a list; expected keys below it (key: value)"}},
		"text for a section is not shown": {"tls: hunter2\n" + loopback, []string{
			"c.yaml:1: tls: is text; expected keys below it (key: value)"}},
		"a mapping for a list": {"client:\n  allowed_origins: {a: b}\n" + loopback, []string{
			"c.yaml:2: client.allowed_origins: is a mapping; expected a list, [] for none"}},
		"a number for text": {"server:\n  id: 5\n  wire_listen: 127.0.0.1:0\n  edge_wire_listen: 127.0.0.1:0\n", []string{
			`c.yaml:2: server.id: is a number ("5"); expected text, in quotes if need be`}},
		"an empty value": {"log:\n  level:\n" + loopback, []string{
			"c.yaml:2: log.level: is empty; expected text, in quotes if need be"}},
		"an empty item": {"client:\n  allowed_origins:\n  -\n" + loopback, []string{
			"c.yaml:3: client.allowed_origins[0]: is empty; expected a value, or no item"}},
		"text for a number": {"edges:\n  max_in_flight: '5'\n" + loopback, []string{
			`c.yaml:2: edges.max_in_flight: is text ("5"); expected a whole number`}},
		"a fraction": {"edges:\n  max_in_flight: 1.0\n" + loopback, []string{
			`c.yaml:2: edges.max_in_flight: is a number ("1.0"); expected a whole number`}},
		"octal": {"edges:\n  max_in_flight: 010\n" + loopback, []string{
			`c.yaml:2: edges.max_in_flight: "010" is not a whole number in decimal digits; expected 1 to 65536`}},
		"a negative number": {"audit:\n  edge_buffer: -4\n" + loopback, []string{
			`c.yaml:2: audit.edge_buffer: "-4" is negative; expected 1 to 1048576`}},
		"a number over the range": {"edges:\n  max_connections: 99999999999\n" + loopback, []string{
			`c.yaml:2: edges.max_connections: "99999999999" is out of range; expected 1 to 10000000`}},
		"yes for true": {"insecure: yes\n" + loopback, []string{
			`c.yaml:1: insecure: is text ("yes"); expected true or false`}},
		"a negative duration": {"edges:\n  hello_timeout: -1s\n" + loopback, []string{
			`c.yaml:2: edges.hello_timeout: "-1s" is negative; expected 10ms to 10m`}},
		"no duration": {"edges:\n  hello_timeout: soon\n" + loopback, []string{
			`c.yaml:2: edges.hello_timeout: "soon" is not a duration; expected one such as 15s or 24h`}},
		"a duration without unit": {"edges:\n  hello_timeout: 10\n" + loopback, []string{
			`c.yaml:2: edges.hello_timeout: is a number ("10"); expected a duration such as 15s or 24h`}},
		"a duration out of range": {"edges:\n  heartbeat_interval: 6m\n" + loopback, []string{
			`c.yaml:2: edges.heartbeat_interval: "6m" is out of range; expected 10ms to 5m`}},
		"a bad address": {"server:\n  http_listen: nonsense\n  wire_listen: 127.0.0.1:0\n  edge_wire_listen: 127.0.0.1:0\n", []string{
			`c.yaml:2: server.http_listen: "nonsense" is not a listen address; expected host:port such as 127.0.0.1:18080, with a port from 0 to 65535`}},
		"debug beyond loopback": {"server:\n  debug_listen: ':6060'\n  wire_listen: 127.0.0.1:0\n  edge_wire_listen: 127.0.0.1:0\ninsecure: true\n", []string{
			`c.yaml:2: server.debug_listen: ":6060" is not on loopback; expected an address such as 127.0.0.1:6060`}},
		"a bad choice": {"edges:\n  duplicate_policy: maybe\n" + loopback, []string{
			`c.yaml:2: edges.duplicate_policy: "maybe" is unknown; expected one of replace, reject`}},
		"any web page": {"client:\n  allowed_origins: ['*', 'https://ok.example']\n" + loopback, []string{
			`c.yaml:2: client.allowed_origins[0]: "*" is not an origin; expected scheme://host or scheme://host:port as browsers send it: lower case, no path, no default port, no *`}},
		"missing keys of an item": {"auth:\n  operators:\n  - name: alice\n" + loopback, []string{
			"c.yaml:3: auth.operators[0].role: is missing; it must be given",
			"c.yaml:3: auth.operators[0].token_sha256: is missing; it must be given"}},
		"a token in the place of its hash is not shown": {"auth:\n  edges:\n  - {edge_id: 'seoul-*', token_sha256: iop_hunter2}\n" + loopback, []string{
			`c.yaml:3: auth.edges[0].token_sha256: the value is not a SHA-256 (it has 11 characters); expected the 64 hex digits of a token's SHA-256, as "iop-control-plane token" prints them`}},
		"a hash of the wrong type is not shown": {"auth:\n  edges:\n  - {edge_id: 'seoul-*', token_sha256: 12345}\n" + loopback, []string{
			"c.yaml:3: auth.edges[0].token_sha256: is a number; expected text, in quotes if need be"}},
		"the hash of no token": {"auth:\n  edges:\n  - {edge_id: 'seoul-*', token_sha256: " + strings.ToUpper(emptyHash) + "}\n" + loopback, []string{
			`c.yaml:3: auth.edges[0].token_sha256: the value is the SHA-256 of the empty token, which anybody has; expected the 64 hex digits of a token's SHA-256, as "iop-control-plane token" prints them`}},
		"a star in the middle": {"auth:\n  edges:\n  - {edge_id: 's*-1', token_sha256: " + hashA + "}\n" + loopback, []string{
			`c.yaml:3: auth.edges[0].edge_id: "s*-1" is neither an id nor a prefix and one * at its end; expected 1 to 128 letters, digits and . _ - : with a letter or digit first`}},
		"a bad role": {"auth:\n  operators:\n  - {name: a, role: root, token_sha256: " + hashA + "}\n" + loopback, []string{
			`c.yaml:3: auth.operators[0].role: "root" is unknown; expected one of viewer, operator`}},
		"two operators of one name and token": {"auth:\n  operators:\n  - {name: a, role: viewer, token_sha256: " + hashA + "}\n  - {name: a, role: viewer, token_sha256: " + strings.ToUpper(hashA) + "}\n" + loopback, []string{
			"c.yaml:4: auth.operators[1].name: is the same as auth.operators[0].name; expected another",
			"c.yaml:4: auth.operators[1].token_sha256: is the same as auth.operators[0].token_sha256; expected another"}},
		"an edge entry twice": {"auth:\n  edges:\n  - {edge_id: a, token_sha256: " + hashA + "}\n  - {edge_id: a, token_sha256: " + hashA + "}\n" + loopback, []string{
			"c.yaml:4: auth.edges[1]: is the same as auth.edges[0]; expected another"}},
		"a URL that isn't one is not shown": {"database:\n  url: hunter2\n" + loopback, []string{
			"c.yaml:2: database.url: the value is not a URL; expected scheme://host and so on"}},
		"an alias": {"log: &l {level: info}\nevents: *l\n" + loopback, []string{
			"c.yaml:2: events: is an alias (*l), which is not supported; write the value out"}},
		"a merge key": {"log: &l {level: info}\nevents:\n  <<: *l\n" + loopback, []string{
			"c.yaml:3: events: has a merge key (<<), which is not supported; write the keys out"}},
		"a key that isn't text": {"events:\n  5: 1\n  [a]: 2\n" + loopback, []string{
			`c.yaml:2: events: has a key that is a number ("5"); expected text, in quotes if need be`,
			"c.yaml:3: events: has a key that is a list; expected text, in quotes if need be"}},
		"a tag of its own": {"log:\n  level: !loud info\n" + loopback, []string{
			`c.yaml:2: log.level: is of the YAML type "!loud"; expected text, in quotes if need be`}},
		"text of several lines": {"log:\n  level: |\n    info\n" + loopback, []string{
			`c.yaml:2: log.level: "info\n" has characters that can't be printed; expected one line of text`}},
		"a second document": {loopback + "---\nlog: {level: loud}\n", []string{
			"c.yaml:2: begins a second document; expected one document in the file"}},
		"not YAML": {"log:\n\tlevel: info\n", []string{
			"c.yaml:2: is not YAML near this line: found character that cannot start any token"}},
		"not YAML from the first line on": {"[log\n", []string{
			"c.yaml:1: is not YAML near this line: did not find expected ',' or ']'"}},
		"an unknown anchor": {"log: {}\nevents: *l\n", []string{
			"c.yaml: is not YAML: unknown anchor 'l' referenced"}},
		"not UTF-8": {"log:\n  level: \xff\n", []string{
			"c.yaml:2: has a byte that is not UTF-8; expected text in UTF-8"}},
		"a control character": {"log:\n  level: \x00\n", []string{
			`c.yaml:2: has the control character '\x00'; expected text`}},
		"too long": {"# " + strings.Repeat("x", maxFile) + "\n", []string{
			"c.yaml: is over 1048576 bytes long; expected less"}},
		"text at the top": {"hello\n", []string{
			"c.yaml:1: is text; expected keys below it (key: value)"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			file := write(t, "c.yaml", tt.yaml)
			_, err := LoadControlPlane(Source{File: file})
			if diff := cmp.Diff(tt.want, problemsOf(err, file)); diff != "" {
				t.Errorf("problems (-want +got):\n%s", diff)
			}
		})
	}
}

func TestProblemsComeTogetherByLine(t *testing.T) {
	file := write(t, "c.yaml", loopback+"audit: {edge_buffer: -1}\nclient: {origins: []}\ntls: {cert_file: absent.pem}\nlog: {level: loud}\n")
	env := map[string]string{"IOP_INSECURE": "maybe", "IOP_DATABASE_URL": "hunter2"}
	_, err := LoadControlPlane(Source{
		File:  file,
		Env:   func(name string) string { return env[name] },
		Flags: map[string]string{"log-format": "xml", "http-listen": ""},
	})
	want := []string{
		`c.yaml:2: audit.edge_buffer: "-1" is negative; expected 1 to 1048576`,
		"c.yaml:3: client.origins: is an unknown key; expected one of allowed_origins",
		"c.yaml:4: tls.cert_file: is set without tls.key_file; expected both or neither",
		`c.yaml:5: log.level: "loud" is unknown; expected one of trace, debug, info, warn, error`,
		`--http-listen: server.http_listen: "" is not a listen address; expected host:port such as 127.0.0.1:18080, with a port from 0 to 65535`,
		`IOP_INSECURE: insecure: "maybe" is neither true nor false; expected one of them`,
		`--log-format: log.format: "xml" is unknown; expected one of auto, console, json`,
		"IOP_DATABASE_URL: database.url: the value is not a URL; expected scheme://host and so on",
	}
	if diff := cmp.Diff(want, problemsOf(err, file)); diff != "" {
		t.Errorf("problems (-want +got):\n%s", diff)
	}
}

// A value that a later layer replaces is checked all the same.
func TestReplacedValueIsChecked(t *testing.T) {
	file := write(t, "c.yaml", loopback+"log: {level: loud}\n")
	_, err := LoadControlPlane(Source{File: file, Flags: map[string]string{"log-level": "debug"}})
	want := []string{`c.yaml:2: log.level: "loud" is unknown; expected one of trace, debug, info, warn, error`}
	if diff := cmp.Diff(want, problemsOf(err, file)); diff != "" {
		t.Errorf("problems (-want +got):\n%s", diff)
	}
}

func TestFilesThatSetNothing(t *testing.T) {
	for _, text := range []string{"", "\n", "# nothing\n", "---\n", "{}\n", "server:\nauth:\n  edges:\nclient:\n  allowed_origins: []\n", "\ufeff{}\n"} {
		t.Run(fmt.Sprintf("%q", text), func(t *testing.T) {
			got, err := LoadControlPlane(Source{File: write(t, "c.yaml", text), Dev: true})
			if err != nil {
				t.Fatal(err)
			}
			want, err := LoadControlPlane(Source{Dev: true})
			if err != nil {
				t.Fatal(err)
			}
			got.File = ""
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("configuration (-defaults +got):\n%s", diff)
			}
		})
	}
}
