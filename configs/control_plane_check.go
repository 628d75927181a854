package configs

import (
	"fmt"
	"net"
	"strings"
)

// check makes the checks that span several keys or look at other files.
func (c *ControlPlane) check(r *report) {
	c.checkTokens(r)
	checkKeyPair(r, "tls.cert_file", c.TLS.CertFile, "tls.key_file", c.TLS.KeyFile)
	checkCertificates(r, "tls.edge_client_ca_file", c.TLS.EdgeClientCAFile)
	if c.TLS.EdgeClientCAFile != "" && !c.TLS.Enabled() {
		r.on("tls.edge_client_ca_file", "needs TLS; expected tls.cert_file and tls.key_file as well")
	}
	c.checkListeners(r)
}

// checkListeners refuses what is open and wasn't asked to be.
func (c *ControlPlane) checkListeners(r *report) {
	if c.Insecure {
		return
	}
	for _, l := range c.listeners() {
		// A mistake in one of these would make this one a guess.
		if l.open() && !r.problems.touch(l.key, "auth", "tls", "insecure") {
			r.on(l.key, "%s", l.refusal())
		}
	}
}

func (c *ControlPlane) checkTokens(r *report) {
	entries, names, tokens := map[string]string{}, map[string]string{}, map[string]string{}
	for i, e := range c.Auth.Edges {
		if e.EdgeID != "" && e.TokenSHA256 != "" {
			r.once(entries, e.EdgeID+" "+e.TokenSHA256, fmt.Sprintf("auth.edges[%d]", i))
		}
	}
	for i, o := range c.Auth.Operators {
		r.once(names, o.Name, fmt.Sprintf("auth.operators[%d].name", i))
		r.once(tokens, o.TokenSHA256, fmt.Sprintf("auth.operators[%d].token_sha256", i))
	}
}

// A listener is one of the three that the network may reach.
type listener struct {
	key, address string
	asks         bool   // for a token or a certificate
	ways         string // the keys that would make it ask
}

func (c *ControlPlane) listeners() []listener {
	operators := len(c.Auth.Operators) > 0
	edges := len(c.Auth.Edges) > 0 || c.TLS.EdgeClientCAFile != ""
	return []listener{
		{"server.http_listen", c.Server.HTTPListen, operators, "auth.operators"},
		{"server.wire_listen", c.Server.WireListen, operators, "auth.operators"},
		{"server.edge_wire_listen", c.Server.EdgeWireListen, edges, "auth.edges or tls.edge_client_ca_file"},
	}
}

// open tells whether other machines can reach the listener without being asked who they are.
func (l listener) open() bool { return !l.asks && !onLoopback(l.address) }

func (l listener) refusal() string {
	_, port, _ := net.SplitHostPort(l.address)
	return fmt.Sprintf("%s is open to other machines and asks for no token\n"+
		"    to ask for one: set %s (\"iop-control-plane token\" prints a token and its hash)\n"+
		"    or listen on loopback: %s: 127.0.0.1:%s; or leave it open on purpose: insecure: true",
		l.address, l.ways, l.key, port)
}

// Warnings are the facts about a configuration that somebody should know of, a sentence each. They
// hold no address and no secret, so that /readyz can show them to anybody.
func (c *ControlPlane) Warnings() []string {
	var warnings []string
	warn := func(format string, args ...any) { warnings = append(warnings, fmt.Sprintf(format, args...)) }
	var open []string
	for _, l := range c.listeners() {
		if l.open() {
			open = append(open, l.key)
		}
	}
	switch {
	case len(open) > 0:
		warn("insecure is true, and open to other machines without asking for a token: %s", strings.Join(open, ", "))
	case c.Insecure:
		warn("insecure is true: a listener would be open to other machines without asking for a token")
	}
	if !c.TLS.Enabled() {
		if len(c.Auth.Operators) > 0 {
			warn("tokens without TLS: those of auth.operators cross HTTP and the Client wire in the clear")
		}
		if len(c.Auth.Edges) > 0 {
			warn("tokens without TLS: those of auth.edges cross the Edge wire in the clear")
		}
	}
	for _, reserved := range []struct{ key, value string }{
		{"database.url", c.Database.URL},
		{"redis.url", c.Redis.URL},
		{"redis.key_prefix", c.Redis.KeyPrefix},
	} {
		if reserved.value != "" {
			warn("%s is set, but reserved: nothing uses it yet", reserved.key)
		}
	}
	return warnings
}

// NoLongerAsks names the keys for tokens and certificates that are empty here and weren't before: whoever reaches that side needs none
// any more. Beyond loopback a side that asks for nothing at all is refused; on loopback, as behind a proxy, it may be meant.
func (c *ControlPlane) NoLongerAsks(before *ControlPlane) (keys []string) {
	if len(c.Auth.Operators) == 0 && len(before.Auth.Operators) > 0 {
		keys = append(keys, "auth.operators")
	}
	if len(c.Auth.Edges) == 0 && len(before.Auth.Edges) > 0 {
		keys = append(keys, "auth.edges")
	}
	if c.TLS.EdgeClientCAFile == "" && before.TLS.EdgeClientCAFile != "" {
		keys = append(keys, "tls.edge_client_ca_file")
	}
	return keys
}
