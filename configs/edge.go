package configs

import (
	"fmt"
	"time"
)

// EdgeFile is read when no file is named, if it exists.
const EdgeFile = "configs/edge.yaml"

// Edge is the configuration of an Edge. Whatever LoadEdge gives is whole and keeps to the check tags.
type Edge struct {
	File string `yaml:"-"` // the file that was read; empty: none

	Edge         EdgeIdentity     `yaml:"edge"`
	ControlPlane EdgeControlPlane `yaml:"control_plane"`
	Nodes        []EdgeNode       `yaml:"nodes"`
	Probe        EdgeProbe        `yaml:"probe"`
	PassThrough  EdgePassThrough  `yaml:"pass_through"`
	StateFile    string           `yaml:"state_file"`    // empty: outcomes of commands are kept in memory alone
	StatusSocket string           `yaml:"status_socket"` // empty: iop-edge status can't ask
	Log          Log              `yaml:"log"`
}

// EdgeIdentity is what the Edge says of itself in its hello.
type EdgeIdentity struct {
	ID     string            `yaml:"id" check:"optional,id"` // never empty after the load
	Name   string            `yaml:"name" check:"optional,text"`
	Labels map[string]string `yaml:"labels" check:"labels"`
	// NodeListen is the Node wire, host:port; empty: no Node agents.
	NodeListen string `yaml:"node_listen" check:"optional,listen"`
}

// EdgeControlPlane is where the Edge dials and how.
type EdgeControlPlane struct {
	Address   string        `yaml:"address" check:"dial"` // host:port
	Token     string        `yaml:"token" secret:"true"`  // at most one of Token and TokenFile is set
	TokenFile string        `yaml:"token_file"`
	TLS       EdgeTLS       `yaml:"tls"`
	Reconnect EdgeReconnect `yaml:"reconnect"`
}

// EdgeTLS names PEM files. Those that are named were there and could be parsed at the load.
type EdgeTLS struct {
	Enabled    bool   `yaml:"enabled"`
	CAFile     string `yaml:"ca_file"`   // empty: the system's
	CertFile   string `yaml:"cert_file"` // empty: no client certificate
	KeyFile    string `yaml:"key_file"`
	ServerName string `yaml:"server_name" check:"optional,host"` // empty: the address's host
}

// EdgeReconnect bounds the wait between two tries.
type EdgeReconnect struct {
	Initial time.Duration `yaml:"initial" check:"range=10ms..1h"`
	Max     time.Duration `yaml:"max" check:"range=10ms..1h"`
}

// EdgeNode is a machine of the Edge. No two have one id. Its providers are asked by the Edge itself, or an agent on the machine
// speaks for it.
type EdgeNode struct {
	ID          string            `yaml:"id" check:"required,id"`
	Name        string            `yaml:"name" check:"optional,text"`
	Labels      map[string]string `yaml:"labels" check:"labels"`
	Agent       bool              `yaml:"agent"`
	TokenSHA256 string            `yaml:"token_sha256" check:"optional,sha256" secret:"true"` // of the agent's token; empty: none is asked for
	Providers   []EdgeProvider    `yaml:"providers"`
}

// EdgeProvider is a serving backend of a node. No two of a node have one id. One of a node with an agent has no BaseURL and
// no capacities: the agent has them.
type EdgeProvider struct {
	ID                  string   `yaml:"id" check:"required,id"`
	Type                string   `yaml:"type" check:"required,oneof=vllm|sglang|llamacpp|tgi|ollama|openai"`
	BaseURL             string   `yaml:"base_url" check:"optional,http-url" secret:"true"` // it never leaves the Edge
	Models              []string `yaml:"models" check:"text"`                              // empty: the provider is asked
	Capacity            int      `yaml:"capacity" check:"range=0..1000000"`
	LongContextCapacity int      `yaml:"long_context_capacity" check:"range=0..1000000"`
}

// EdgeProbe says how often providers are asked, and how long an answer may take.
type EdgeProbe struct {
	Interval time.Duration `yaml:"interval" check:"range=10ms..1h"`
	Timeout  time.Duration `yaml:"timeout" check:"range=10ms..1h"`
}

// EdgePassThrough is OpenAI's API on the Edge.
type EdgePassThrough struct {
	Listen            string        `yaml:"listen" check:"optional,listen"` // empty: off; on loopback, unless there is a Token
	Token             string        `yaml:"token" secret:"true"`            // that callers must bear; empty: none
	LongContextTokens int           `yaml:"long_context_tokens" check:"range=0..1000000000"`
	Queue             int           `yaml:"queue" check:"range=0..100000"`
	QueueTimeout      time.Duration `yaml:"queue_timeout" check:"range=10ms..1h"`
}

// EdgeOverrides are the keys that variables can give.
var EdgeOverrides = []Override{
	{Key: "edge.id", Env: "IOP_EDGE_ID"},
	{Key: "control_plane.address", Env: "IOP_CONTROL_PLANE_ADDRESS"},
	{Key: "control_plane.token", Env: "IOP_EDGE_TOKEN"},
}

func edgeDefaults() *Edge {
	return &Edge{
		ControlPlane: EdgeControlPlane{
			Address:   "127.0.0.1:19081",
			Reconnect: EdgeReconnect{Initial: time.Second, Max: 30 * time.Second},
		},
		Probe:       EdgeProbe{Interval: 5 * time.Second, Timeout: 2 * time.Second},
		PassThrough: EdgePassThrough{Queue: 64, QueueTimeout: 30 * time.Second},
		Log:         Log{Level: "info", Format: "auto"},
	}
}

// LoadEdge merges and checks the layers of a source. Its error is Problems.
func LoadEdge(src Source) (*Edge, error) {
	e := edgeDefaults()
	file, r := load(src, EdgeFile, EdgeOverrides, e)
	e.File = file
	e.check(r)
	if err := r.err(); err != nil {
		return nil, err
	}
	return e, nil
}

func (e *Edge) check(r *report) {
	if e.Edge.ID == "" && !r.problems.touch("edge.id") {
		r.on("edge.id", "is empty; expected the Edge's id, from here or from IOP_EDGE_ID")
	}
	e.checkToken(r)
	e.checkTLS(r)
	if c := e.ControlPlane.Reconnect; c.Initial > c.Max {
		r.on("control_plane.reconnect.initial", "%s is more than control_plane.reconnect.max; expected at most %s",
			formatDuration(c.Initial), formatDuration(c.Max))
	}
	if p := e.PassThrough; p.Listen != "" && p.Token == "" && !onLoopback(p.Listen) {
		r.on("pass_through.listen", "%s is not on loopback, and pass_through.token is empty; expected a token, or an address such as 127.0.0.1:8080", quote(p.Listen))
	}
	if len(e.StatusSocket) > maxSocketPath {
		r.on("status_socket", "is %d bytes long; expected at most %d", len(e.StatusSocket), maxSocketPath)
	}
	checkIDs(r, e.Nodes)
	checkAgents(r, e.Nodes, e.Edge.NodeListen)
}

// maxSocketPath is what every Unix takes.
const maxSocketPath = 100

func (e *Edge) checkToken(r *report) {
	c := &e.ControlPlane
	checkTokenFile(r, "control_plane", "IOP_EDGE_TOKEN", c.Token, &c.TokenFile)
}

// ReadToken gives the token for the hello, "" for none. A token_file is read at each call, so that
// its token can be changed while the Edge runs. The error is a half sentence about the file.
func (e *Edge) ReadToken() (string, error) {
	return readToken(e.ControlPlane.Token, e.ControlPlane.TokenFile)
}

// checkTLS refuses files beside enabled: false, which would be plain text in disguise.
func (e *Edge) checkTLS(r *report) {
	t := e.ControlPlane.TLS
	for _, set := range []struct{ name, value string }{
		{"ca_file", t.CAFile}, {"cert_file", t.CertFile}, {"key_file", t.KeyFile}, {"server_name", t.ServerName},
	} {
		if set.value != "" && !t.Enabled && !r.problems.touch("control_plane.tls.enabled") {
			r.on("control_plane.tls."+set.name, "is set, but control_plane.tls.enabled is false; expected enabled: true, or nothing here")
		}
	}
	checkCertificates(r, "control_plane.tls.ca_file", t.CAFile)
	checkKeyPair(r, "control_plane.tls.cert_file", t.CertFile, "control_plane.tls.key_file", t.KeyFile)
}

func checkIDs(r *report, all []EdgeNode) {
	nodes := map[string]string{}
	for i, n := range all {
		node := fmt.Sprintf("nodes[%d]", i)
		r.once(nodes, n.ID, node+".id")
		providers := map[string]string{}
		for j, p := range n.Providers {
			r.once(providers, p.ID, fmt.Sprintf("%s.providers[%d].id", node, j))
		}
	}
}

// Warnings are the facts about a configuration that somebody should know of, a sentence each.
func (e *Edge) Warnings() []string {
	var warnings []string
	c := e.ControlPlane
	if (c.Token != "" || c.TokenFile != "") && !c.TLS.Enabled && !onLoopback(c.Address) {
		warnings = append(warnings, "tokens without TLS: the Edge's token crosses the network in the clear")
	}
	if e.Edge.NodeListen != "" && !onLoopback(e.Edge.NodeListen) {
		warnings = append(warnings, "tokens without TLS: those of Node agents cross the network in the clear")
	}
	if p := e.PassThrough; p.Listen != "" && !onLoopback(p.Listen) {
		warnings = append(warnings, "pass_through without TLS: requests and their token cross the network in the clear, unless there is a proxy before it")
	}
	return warnings
}
