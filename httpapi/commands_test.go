package httpapi

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"iop/actors"
	"iop/wire"
)

// commandServer has one Edge, x, that lists operations, and one, any, that doesn't; the ask that came through is kept.
func commandServer(reply func(ask *actors.CommandAsk) actors.CommandReply, change ...func(*Options)) (*Server, *[]*actors.CommandAsk) {
	x := connectedEdge("x", nil)
	x.Operations = actors.NewOperationNames([]string{"node.drain", "node.resume"})
	var asks []*actors.CommandAsk
	plane := &fakePlane{views: []*actors.View{x, connectedEdge("any", nil), goneEdge("gone", nil)}}
	plane.command = func(_ context.Context, ask *actors.CommandAsk) actors.CommandReply {
		asks = append(asks, ask)
		return reply(ask)
	}
	return newServer(plane, change...), &asks
}

func settled(ask *actors.CommandAsk) actors.CommandReply {
	return actors.CommandReply{Operation: &actors.Operation{ID: "op-1", EdgeID: ask.EdgeID, Operation: ask.Operation, NodeID: ask.NodeID,
		Parameters: ask.Shown, Reason: ask.Reason, RequestedBy: ask.RequestedBy, RequestID: ask.RequestID, State: actors.Succeeded, CreatedAt: time.Now()}}
}

func TestCommandIsPassedOn(t *testing.T) {
	s, asks := commandServer(settled, withOperators)
	e := do(s, http.MethodPost, "/edges/any/commands", `{"operation":"node.drain","node_id":"n1","parameters":{"n":2.0,"grace":"<30s>"},"timeout":"5s","reason":"rack move"}`,
		"Authorization", "Bearer op-token", "Idempotency-Key", "k 1é", "X-Request-Id", "asked-1")
	wantAt(t, e.want(t), "operation_id", "op-1", "edge_id", "any", "operation", "node.drain", "node_id", "n1", "parameters", `{"grace":"\u003c30s\u003e","n":2}`,
		"reason", "rack move", "requested_by", "otto", "request_id", "asked-1", "state", "succeeded", "sent_at", "null", "message", "null", "result", "null", "events", "[]")
	if strings.Contains(e.Body.String(), `\u003c`) {
		t.Error("parameters are escaped as for a page")
	}
	a := (*asks)[0]
	if a.EdgeID != "any" || a.Operation != "node.drain" || a.NodeID != "n1" || string(a.Shown) != `{"grace":"<30s>","n":2}` || a.Parameters.Fields["n"].GetNumberValue() != 2 || a.Timeout != 5*time.Second ||
		a.Reason != "rack move" || a.RequestedBy != "otto" || a.Key != "k 1é" || !a.Wait {
		t.Errorf("asked %+v", a)
	}
	do(s, http.MethodPost, "/edges/any/commands?wait=false", `{"operation":"x"}`, "Authorization", "Bearer op-token").want(t)
	if a = (*asks)[1]; a.Timeout != 30*time.Second || a.Key != "" || a.Wait || a.Parameters != nil || a.Shown != nil || a.Fingerprint != [32]byte{} {
		t.Errorf("asked %+v", a)
	}
}

// One body is one fingerprint however it is written; any difference in what it says is another.
func TestFingerprint(t *testing.T) {
	s, asks := commandServer(settled)
	send := func(body string) [32]byte {
		do(s, http.MethodPost, "/edges/any/commands", body, "Idempotency-Key", "k").want(t)
		return (*asks)[len(*asks)-1].Fingerprint
	}
	first := send(`{"operation":"x","parameters":{"a":1,"b":[0,{"c":null}]}}`)
	for _, same := range []string{
		` { "parameters" : {"b":[0.0,{"c":null}],"a":1e0}, "operation" : "\u0078" } `,
		`{"operation":"x","parameters":{"a":1.0,"b":[-0,{"c":null}]}}`,
	} {
		if send(same) != first {
			t.Errorf("%s is another body", same)
		}
	}
	for _, other := range []string{
		`{"operation":"x","parameters":{"a":2,"b":[0,{"c":null}]}}`,
		`{"operation":"x","parameters":{"a":"1","b":[0,{"c":null}]}}`,
		`{"operation":"x","parameters":{"a":1,"b":[{"c":null},0]}}`,
		`{"operation":"x","parameters":{"a":1,"b":[0,{"c":null}]},"timeout":"30s"}`,
	} {
		if send(other) == first {
			t.Errorf("%s is the same body", other)
		}
	}
}

func TestCommandAnswers(t *testing.T) {
	var next actors.CommandReply
	s, _ := commandServer(func(*actors.CommandAsk) actors.CommandReply { return next })
	post := func() exchange { return do(s, http.MethodPost, "/edges/gone/commands", `{"operation":"x"}`) }
	op := &actors.Operation{ID: "op-1", EdgeID: "gone", Operation: "x"}
	for state, status := range map[actors.OperationState]int{
		actors.Succeeded: 200, actors.Failed: 200, actors.Rejected: 200, actors.Cancelled: 200, actors.Expired: 200,
		actors.Accepted: 202, actors.Running: 202, actors.Pending: 202, actors.Sent: 202, actors.Unknown: 202,
	} {
		settledOp := *op
		settledOp.State = state
		next = actors.CommandReply{Operation: &settledOp}
		e := post()
		location := ""
		if status == 202 {
			location = "/edges/gone/operations/op-1"
		}
		if e.Code != status || e.Header().Get("Location") != location {
			t.Errorf("%s: %d, Location %q", state, e.Code, e.Header().Get("Location"))
		}
	}
	for _, code := range []wire.Code{wire.EdgeTimeout, wire.EdgeError, wire.EdgeDisconnected, wire.EdgeBusy, wire.IdempotencyConflict} {
		unknown := *op
		unknown.State = actors.Unknown
		next = actors.CommandReply{Fault: &wire.Fault{Code: code, Message: "no"}, Operation: &unknown, EdgeError: "UNIMPLEMENTED"}
		wantAt(t, post().wantProblem(t, code), "operation.operation_id", "op-1", "operation.state", "unknown")
		next.Operation = nil
		o := post().wantProblem(t, code)
		wantAt(t, o, "operation", "null")
		switch code {
		case wire.EdgeError:
			wantAt(t, o, "edge_error", "UNIMPLEMENTED")
		case wire.EdgeDisconnected:
			wantAt(t, o, "disconnect_reason", "heartbeat_timeout")
		}
	}
}

func TestCommandRefusals(t *testing.T) {
	s, asks := commandServer(settled)
	for body, want := range map[string]struct {
		code  wire.Code
		names string
	}{
		`{"operation":"node.reboot"}`: {wire.OperationUnsupported, ""},
		`{}`:                          {wire.InvalidRequest, "operation:"},
		`{"operation":""}`:            {wire.InvalidRequest, "operation:"},
		`{"operation":5}`:             {wire.InvalidRequest, "operation:"},
		`{"operation":null}`:          {wire.InvalidRequest, "operation:"},
		`{"operation":"` + strings.Repeat("x", 129) + `"}`:                        {wire.InvalidRequest, "operation:"},
		`{"operation":"node.drain","timeout":"11m"}`:                              {wire.InvalidRequest, "timeout:"},
		`{"operation":"node.drain","timeout":"0s"}`:                               {wire.InvalidRequest, "timeout:"},
		`{"operation":"node.drain","timeout":"-1s"}`:                              {wire.InvalidRequest, "timeout:"},
		`{"operation":"node.drain","timeout":""}`:                                 {wire.InvalidRequest, "timeout:"},
		`{"operation":"node.drain","timeout":5}`:                                  {wire.InvalidRequest, "timeout:"},
		`{"operation":"node.drain","parameters":[1]}`:                             {wire.InvalidRequest, "parameters:"},
		`{"operation":"node.drain","parameters":null}`:                            {wire.InvalidRequest, "parameters:"},
		`{"operation":"node.drain","nodeid":"n1"}`:                                {wire.InvalidRequest, "nodeid:"},
		`{"operation":"node.drain","Operation":"x"}`:                              {wire.InvalidRequest, "Operation:"},
		`{"Operation":"node.drain"}`:                                              {wire.InvalidRequest, "Operation:"},
		`{"operation":"node.drain","operation":"node.drain"}`:                     {wire.InvalidRequest, "operation:"},
		`{"operation":"node.drain","node_id":["n"]}`:                              {wire.InvalidRequest, "node_id:"},
		`{"operation":"node.drain","node_id":"` + strings.Repeat("n", 257) + `"}`: {wire.InvalidRequest, "node_id:"},
		`{"operation":"node.drain","reason":"` + strings.Repeat("r", 1025) + `"}`: {wire.InvalidRequest, "reason:"},
		`{"operation":"node.drain"} {}`:                                           {wire.InvalidRequest, "body:"},
		`[]`:                                                                      {wire.InvalidRequest, "body:"},
		`null`:                                                                    {wire.InvalidRequest, "body:"},
		`{"operation":"node.drain"`:                                               {wire.InvalidRequest, "body:"},
		`{"operation":"node.drain","parameters":` + nested(64) + `}`:              {wire.InvalidRequest, "parameters.a[0]"},
		`{"operation":"` + strings.Repeat("x", 2<<20) + `"}`:                      {wire.PayloadTooLarge, ""},
	} {
		o := do(s, http.MethodPost, "/edges/x/commands", body).wantProblem(t, want.code)
		if !strings.HasPrefix(at(o, "detail"), want.names) {
			t.Errorf("%.80s: detail %v", body, o["detail"])
		}
	}
	good := `{"operation":"node.drain"}`
	for _, c := range []struct {
		target, body string
		headers      []string
		code         wire.Code
	}{
		{"/edges/x/commands", good, []string{"Content-Type", "text/plain"}, wire.UnsupportedMediaType},
		{"/edges/x/commands", good, []string{"Content-Type", "application/json; charset=latin1"}, wire.UnsupportedMediaType},
		{"/edges/x/commands", good, []string{"Content-Type", "application/jsonx"}, wire.UnsupportedMediaType},
		{"/edges/x/commands", good, []string{"Content-Encoding", "gzip"}, wire.UnsupportedMediaType},
		{"/edges/x/commands", "", nil, wire.UnsupportedMediaType},
		{"/edges/x/commands", "", []string{"Content-Type", "application/json"}, wire.InvalidRequest},
		{"/edges/nobody/commands", good, []string{"Content-Type", "application/json", "Idempotency-Key", strings.Repeat("k", 129)}, wire.EdgeNotFound},
		{"/edges/x/commands", `{"operation":"node.reboot"}`, []string{"Content-Type", "application/json", "Idempotency-Key", ""}, wire.OperationUnsupported},
		{"/edges/x/commands?wait=maybe", good, nil, wire.InvalidRequest},
		{"/edges/x/commands?wait=true&wait=true", good, nil, wire.InvalidRequest},
		{"/edges/x/commands", good, []string{"Idempotency-Key", ""}, wire.InvalidRequest},
		{"/edges/x/commands", good, []string{"Idempotency-Key", strings.Repeat("k", 129)}, wire.InvalidRequest},
		// the media type goes before the size, the size before the body, the body before the Edge
		{"/edges/nobody/commands", strings.Repeat("x", 2<<20), []string{"Content-Type", "text/plain"}, wire.UnsupportedMediaType},
		{"/edges/nobody/commands", strings.Repeat("x", 2<<20), nil, wire.PayloadTooLarge},
		{"/edges/nobody/commands", "{}", nil, wire.InvalidRequest},
		{"/edges/nobody/commands?wait=maybe", good, nil, wire.InvalidRequest},
		{"/edges/nobody/commands", good, nil, wire.EdgeNotFound},
	} {
		do(s, http.MethodPost, c.target, c.body, c.headers...).wantProblem(t, c.code)
	}
	if len(*asks) != 0 {
		t.Errorf("%d refused commands were asked", len(*asks))
	}
	do(s, http.MethodPost, "/edges/x/commands", good, "Content-Type", `Application/JSON; charset="UTF-8"`, "Content-Encoding", "identity").want(t)
	do(s, http.MethodPost, "/edges/x/commands", `{"operation":"node.drain","timeout":"10m","reason":"`+strings.Repeat("r", 1024)+`"}`,
		"Idempotency-Key", strings.Repeat("k", 128)).want(t)
}

// A body that is small enough as JSON may not be as a frame, or unfold to more than an Edge takes.
func TestCommandFrames(t *testing.T) {
	body := func(element string, n int) string {
		return `{"operation":"x","parameters":{"a":[` + strings.TrimSuffix(strings.Repeat(element+",", n), ",") + `]}}`
	}
	for _, c := range []struct {
		name, body string
		max        int
		code       wire.Code
	}{
		{"numbers that grow over the limit", body("0", 13_000), 128 << 10, wire.PayloadTooLarge},
		{"numbers that grow within it", body("0", 11_000), 128 << 10, ""},
		{"a long string", body(fmt.Sprintf("%q", strings.Repeat("s", 900<<10)), 1), 1 << 20, ""},
		{"empty lists that unfold too far", body("[]", 120_000), 1 << 20, wire.PayloadTooLarge},
		{"small frames", body("0", 1000), 4096, wire.PayloadTooLarge},
		{"small enough for small frames", body("0", 200), 4096, ""},
	} {
		s, _ := commandServer(settled, func(o *Options) { o.MaxFrameBytes = c.max })
		e := do(s, http.MethodPost, "/edges/any/commands", c.body)
		if c.code == "" && e.Code != http.StatusOK {
			t.Errorf("%s: %d %.200s", c.name, e.Code, e.Body)
		} else if c.code != "" {
			e.wantProblem(t, c.code)
		}
	}
}

// JSON must not grow more on the wire than the shortcut of frameFits believes.
func TestWireGrowth(t *testing.T) {
	for _, parameters := range []string{`[]`, `0`, `""`, `null`, `{}`, `{"":0}`, `[[[[]]]]`, `{"a":{"":[]}}`} {
		body := `{"operation":"x","parameters":{"a":[` + strings.TrimSuffix(strings.Repeat(parameters+",", 500), ",") + `]}}`
		s, _ := commandServer(settled, func(o *Options) { o.MaxFrameBytes = wireGrowth*len(body) + envelopeBytes })
		object, p := parseObject([]byte(body))
		if p != nil {
			t.Fatal(p.Message)
		}
		if size := proto.Size(commandEnvelope(&actors.CommandAsk{Operation: "x", Parameters: structOf(object["parameters"].(map[string]any))})); size > s.opts.MaxFrameBytes {
			t.Errorf("%s grows to %d of %d bytes", parameters, size, s.opts.MaxFrameBytes)
		}
	}
}
