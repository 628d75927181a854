package configs

import (
	"fmt"
	"time"
)

// NodeFile is read when no file is named, if it exists.
const NodeFile = "configs/node.yaml"

// Node is the configuration of a Node agent. Whatever LoadNode gives is whole and keeps to the check tags.
type Node struct {
	File string `yaml:"-"` // the file that was read; empty: none

	Node      NodeIdentity   `yaml:"node"`
	Edge      NodeEdge       `yaml:"edge"`
	Providers []EdgeProvider `yaml:"providers"` // all with a BaseURL
	Probe     EdgeProbe      `yaml:"probe"`
	Log       Log            `yaml:"log"`
}

// NodeIdentity is what the agent says of its node in its hello.
type NodeIdentity struct {
	ID     string            `yaml:"id" check:"optional,id"` // never empty after the load
	Name   string            `yaml:"name" check:"optional,text"`
	Labels map[string]string `yaml:"labels" check:"labels"`
}

// NodeEdge is where the agent dials and how.
type NodeEdge struct {
	Address   string        `yaml:"address" check:"dial"` // host:port
	Token     string        `yaml:"token" secret:"true"`  // at most one of Token and TokenFile is set
	TokenFile string        `yaml:"token_file"`
	Reconnect EdgeReconnect `yaml:"reconnect"`
}

// NodeOverrides are the keys that variables can give.
var NodeOverrides = []Override{
	{Key: "node.id", Env: "IOP_NODE_ID"},
	{Key: "edge.address", Env: "IOP_EDGE_ADDRESS"},
	{Key: "edge.token", Env: "IOP_NODE_TOKEN"},
}

func nodeDefaults() *Node {
	return &Node{
		Edge: NodeEdge{
			Address:   "127.0.0.1:19082",
			Reconnect: EdgeReconnect{Initial: time.Second, Max: 30 * time.Second},
		},
		Probe: EdgeProbe{Interval: 5 * time.Second, Timeout: 2 * time.Second},
		Log:   Log{Level: "info", Format: "auto"},
	}
}

// LoadNode merges and checks the layers of a source. Its error is Problems.
func LoadNode(src Source) (*Node, error) {
	n := nodeDefaults()
	file, r := load(src, NodeFile, NodeOverrides, n)
	n.File = file
	n.check(r)
	if err := r.err(); err != nil {
		return nil, err
	}
	return n, nil
}

func (n *Node) check(r *report) {
	if n.Node.ID == "" && !r.problems.touch("node.id") {
		r.on("node.id", "is empty; expected the node's id as the Edge knows it, from here or from IOP_NODE_ID")
	}
	checkTokenFile(r, "edge", "IOP_NODE_TOKEN", n.Edge.Token, &n.Edge.TokenFile)
	if c := n.Edge.Reconnect; c.Initial > c.Max {
		r.on("edge.reconnect.initial", "%s is more than edge.reconnect.max; expected at most %s", formatDuration(c.Initial), formatDuration(c.Max))
	}
	ids := map[string]string{}
	for i, p := range n.Providers {
		key := fmt.Sprintf("providers[%d]", i)
		r.once(ids, p.ID, key+".id")
		checkBaseURL(r, key, p)
	}
	if len(n.Providers) > maxNodeProviders {
		r.on("providers", "has %d providers; expected at most %d", len(n.Providers), maxNodeProviders)
	}
}

// maxNodeProviders is the Node wire's limit.
const maxNodeProviders = 64

// ReadToken gives the token for the hello, "" for none. A token_file is read at each call, so that its token can be
// changed while the agent runs. The error is a half sentence about the file.
func (n *Node) ReadToken() (string, error) { return readToken(n.Edge.Token, n.Edge.TokenFile) }

// Warnings are the facts about a configuration that somebody should know of, a sentence each.
func (n *Node) Warnings() []string {
	if (n.Edge.Token != "" || n.Edge.TokenFile != "") && !onLoopback(n.Edge.Address) {
		return []string{"tokens without TLS: the agent's token crosses the network in the clear"}
	}
	return nil
}
