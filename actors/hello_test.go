package actors

import (
	"crypto/sha256"
	"fmt"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	iopv1 "iop/proto/iop/v1"
	"iop/wire"
)

// fullHello is at every limit.
func fullHello() *iopv1.EdgeHelloRequest {
	h := &iopv1.EdgeHelloRequest{EdgeId: "e" + strings.Repeat("-", 127), Name: strings.Repeat("n", 256), Version: strings.Repeat("v", 256),
		InstanceId: strings.Repeat("i", 256), ProtocolVersion: 1, Token: strings.Repeat("t", 64), Labels: map[string]string{}}
	for i := range 64 {
		h.Labels[fmt.Sprintf("%064d", i)+strings.Repeat("k", 192)] = strings.Repeat("v", 256)
	}
	for range 128 {
		h.Operations = append(h.Operations, strings.Repeat("o", 128))
	}
	return h
}

func TestHelloLimits(t *testing.T) {
	if f := checkHello(fullHello()); f != nil {
		t.Fatalf("at all its limits: %v", f)
	}
	if n := proto.Size(helloEnvelope(fullHello())); n > wire.MaxHelloBytes {
		t.Errorf("a hello at all its limits is %d bytes, and would not be read", n)
	}
	for name, c := range map[string]struct {
		change func(h *iopv1.EdgeHelloRequest)
		says   string
		code   wire.Code
	}{
		"no id":            {func(h *iopv1.EdgeHelloRequest) { h.EdgeId = "" }, "edge_id", wire.InvalidRequest},
		"id too long":      {func(h *iopv1.EdgeHelloRequest) { h.EdgeId += "x" }, "edge_id", wire.InvalidRequest},
		"id off the rule":  {func(h *iopv1.EdgeHelloRequest) { h.EdgeId = "-e" }, "edge_id", wire.InvalidRequest},
		"version":          {func(h *iopv1.EdgeHelloRequest) { h.ProtocolVersion = 7 }, "supported: 1", wire.FailedPrecondition},
		"name":             {func(h *iopv1.EdgeHelloRequest) { h.Name += "x" }, "name", wire.InvalidRequest},
		"version text":     {func(h *iopv1.EdgeHelloRequest) { h.Version += "x" }, "version", wire.InvalidRequest},
		"instance":         {func(h *iopv1.EdgeHelloRequest) { h.InstanceId += "x" }, "instance_id", wire.InvalidRequest},
		"labels":           {func(h *iopv1.EdgeHelloRequest) { h.Labels["one more"] = "" }, "65 labels are over 64", wire.InvalidRequest},
		"label key":        {func(h *iopv1.EdgeHelloRequest) { h.Labels = map[string]string{strings.Repeat("k", 257): ""} }, "label", wire.InvalidRequest},
		"label value":      {func(h *iopv1.EdgeHelloRequest) { h.Labels = map[string]string{"": strings.Repeat("v", 257)} }, "label", wire.InvalidRequest},
		"operations":       {func(h *iopv1.EdgeHelloRequest) { h.Operations = append(h.Operations, "") }, "128 operations", wire.InvalidRequest},
		"operation's name": {func(h *iopv1.EdgeHelloRequest) { h.Operations[0] += "x" }, "operation", wire.InvalidRequest},
	} {
		t.Run(name, func(t *testing.T) {
			h := fullHello()
			c.change(h)
			f := checkHello(h)
			wantFault(t, f, c.code)
			if !strings.Contains(f.Message, c.says) {
				t.Errorf("%q doesn't say %q", f.Message, c.says)
			}
		})
	}
	h := hello("e1")
	h.ProtocolVersion = 0
	if f := checkHello(h); f != nil {
		t.Errorf("version 0 counts as 1: %v", f)
	}
}

func TestAdmitEdge(t *testing.T) {
	key := func(pattern, token string) EdgeKey { return EdgeKey{pattern, sha256.Sum256([]byte(token))} }
	keys := []EdgeKey{key("seoul-*", "s"), key("busan-1", "b"), key("busan-2", "b"), key("*", "all")}
	for name, c := range map[string]struct {
		keyring   Keyring
		id, token string
		certs     []string
		code      wire.Code
	}{
		"nothing asked for":           {Keyring{}, "e1", "", nil, ""},
		"a token that isn't needed":   {Keyring{}, "e1", "x", nil, ""},
		"a prefix":                    {Keyring{Edges: keys}, "seoul-17", "s", nil, ""},
		"the prefix itself":           {Keyring{Edges: keys}, "seoul-", "s", nil, ""},
		"an id":                       {Keyring{Edges: keys}, "busan-1", "b", nil, ""},
		"one token, two ids":          {Keyring{Edges: keys}, "busan-2", "b", nil, ""},
		"any id":                      {Keyring{Edges: keys}, "x", "all", nil, ""},
		"not its id":                  {Keyring{Edges: keys}, "busan-1", "s", nil, wire.PermissionDenied},
		"an id is no prefix":          {Keyring{Edges: keys}, "busan-11", "b", nil, wire.PermissionDenied},
		"case counts":                 {Keyring{Edges: keys}, "Seoul-1", "s", nil, wire.PermissionDenied},
		"no token":                    {Keyring{Edges: keys}, "seoul-1", "", nil, wire.Unauthenticated},
		"a wrong token":               {Keyring{Edges: keys}, "seoul-1", "S", nil, wire.Unauthenticated},
		"a certificate":               {Keyring{EdgeCertificates: true}, "e1", "", []string{"e0", "e1"}, ""},
		"no certificate":              {Keyring{EdgeCertificates: true}, "e1", "", nil, wire.PermissionDenied},
		"another's certificate":       {Keyring{EdgeCertificates: true}, "e1", "", []string{"e2"}, wire.PermissionDenied},
		"a certificate and no token":  {Keyring{EdgeCertificates: true, Edges: keys}, "busan-1", "", []string{"busan-1"}, wire.Unauthenticated},
		"a token and no certificate":  {Keyring{EdgeCertificates: true, Edges: keys}, "busan-1", "b", nil, wire.PermissionDenied},
		"both":                        {Keyring{EdgeCertificates: true, Edges: keys}, "busan-1", "b", []string{"busan-1"}, ""},
		"a wildcard isn't every name": {Keyring{EdgeCertificates: true}, "e1", "", []string{"*"}, wire.PermissionDenied},
	} {
		t.Run(name, func(t *testing.T) {
			f := c.keyring.admitEdge(c.id, c.token, c.certs)
			if (f == nil) != (c.code == "") || f != nil && f.Code != c.code {
				t.Errorf("got %v, want %q", f, c.code)
			}
		})
	}
}

func TestOperators(t *testing.T) {
	k := Keyring{Operators: []OperatorKey{{"alice", Operator, sha256.Sum256([]byte("a"))}, {"bob", Viewer, sha256.Sum256([]byte("b"))}}}
	for token, want := range map[string]string{"a": "alice", "b": "bob", "": "", "ab": ""} {
		o, ok := k.Operator(token)
		wantEqual(t, "operator "+token, []any{o.Name, ok}, []any{want, want != ""})
	}
}

// A reload is for those who come; connections that were admitted stay.
func TestKeysAreReloaded(t *testing.T) {
	bubble(t, testOptions(), func(t *testing.T, s *System) {
		connect(t, s, "e1")
		s.SetKeys(&Keyring{Edges: []EdgeKey{{"*", sha256.Sum256([]byte("new"))}}})
		f := dial(t, s)
		f.send(helloEnvelope(hello("e2")))
		f.refusedWith(iopv1.ErrorCode_ERROR_CODE_UNAUTHENTICATED)
		_, v := view(t, s, "e1")
		wantEqual(t, "connected", v.Connected, true)
	})
}
