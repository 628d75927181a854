package main

import (
	"bytes"
	"crypto/rand"
	"encoding/binary"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"iop/internal/testkit"
	iopv1 "iop/proto/iop/v1"
)

func TestHelloChecksInOrder(t *testing.T) {
	t.Parallel()
	d := startDaemon(t, fmt.Sprintf("auth:\n  edges:\n    - {edge_id: \"seoul-*\", token_sha256: %s}\n    - {edge_id: busan, token_sha256: %s}\n",
		hashOf("seoul-token"), hashOf("busan-token")))
	for name, c := range map[string]struct {
		h    *iopv1.EdgeHelloRequest
		code iopv1.ErrorCode
	}{
		"id before version":    {&iopv1.EdgeHelloRequest{EdgeId: "-x", ProtocolVersion: 9}, badArgument},
		"version before token": {&iopv1.EdgeHelloRequest{EdgeId: "seoul-1", ProtocolVersion: 2, Token: "wrong"}, badPrecondition},
		"no token":             {&iopv1.EdgeHelloRequest{EdgeId: "seoul-1"}, iopv1.ErrorCode_ERROR_CODE_UNAUTHENTICATED},
		"wrong token":          {&iopv1.EdgeHelloRequest{EdgeId: "seoul-1", Token: "nobody's"}, iopv1.ErrorCode_ERROR_CODE_UNAUTHENTICATED},
		"another's token":      {&iopv1.EdgeHelloRequest{EdgeId: "seoul-1", Token: "busan-token"}, noPermission},
		"off the prefix":       {&iopv1.EdgeHelloRequest{EdgeId: "Seoul-1", Token: "seoul-token"}, noPermission},
		"another's id":         {&iopv1.EdgeHelloRequest{EdgeId: "busan", Token: "seoul-token"}, noPermission},
		"65 labels":            {&iopv1.EdgeHelloRequest{EdgeId: "seoul-1", Token: "seoul-token", Labels: manyLabels(65)}, badArgument},
	} {
		conn := d.dialEdge()
		_, _ = conn.Write(frameOf(helloEnvelope(c.h)))
		m := lastError(t, conn, c.code)
		if m.ReplyTo != 7 {
			t.Errorf("%s: reply_to %d", name, m.ReplyTo)
		}
		if c.code == badPrecondition && !strings.Contains(m.GetError().Message, "1") {
			t.Errorf("the versions that are spoken are not named: %q", m.GetError().Message)
		}
	}
	d.connect(&iopv1.EdgeHelloRequest{EdgeId: "seoul-1", Token: "seoul-token", Labels: manyLabels(64)})
	d.get("/edges").is(200, "total", 1)
	if log := d.said(); strings.Contains(log, "seoul-token") || strings.Contains(log, "nobody's") {
		t.Error("the log holds a token")
	}
}

func manyLabels(n int) map[string]string {
	m := map[string]string{}
	for i := range n {
		m[fmt.Sprintf("%0256d", i)] = strings.Repeat("v", 256)
	}
	return m
}

func TestHelloIsTheFirstFrame(t *testing.T) {
	t.Parallel()
	d := startDaemon(t, "edges: {hello_timeout: 1s}\n")
	late := d.dialEdge() // says nothing
	drip := d.dialEdge() // says it too slowly
	whole := frameOf(helloEnvelope(helloOf("drip")))
	go func() {
		for i := range whole {
			if _, err := drip.Write(whole[i : i+1]); err != nil {
				return
			}
			time.Sleep(100 * time.Millisecond)
		}
	}()
	for name, first := range map[string][]byte{
		"ping":           frameOf(ping()),
		"nothing":        frameOf(&iopv1.Envelope{Id: 3}),
		"a Client's":     frameOf(&iopv1.Envelope{Id: 3, Body: &iopv1.Envelope_ClientHelloRequest{ClientHelloRequest: &iopv1.ClientHelloRequest{}}}),
		"hello as reply": frameOf(&iopv1.Envelope{ReplyTo: 3, Body: helloEnvelope(helloOf("e")).Body}),
	} {
		t.Log(name)
		c := d.dialEdge()
		_, _ = c.Write(append(first, frameOf(helloEnvelope(helloOf("behind")))...))
		lastError(t, c, badPrecondition)
	}
	for name, length := range map[string]uint32{"0": 0, "over 64 KiB": 64<<10 + 1, "4 GiB": 1<<32 - 1} {
		t.Log(name)
		c := d.dialEdge()
		_, _ = c.Write(binary.BigEndian.AppendUint32(nil, length))
		lastError(t, c, badArgument)
	}
	for _, c := range []net.Conn{late, drip} {
		if words := lastWords(t, c); len(words) > 0 && words[0].GetEdgeHelloResponse() != nil {
			t.Error("a hello that came too late was accepted")
		}
	}
	// One with id 0 is answered with reply_to 0, and what follows at once is not lost.
	c := d.dialEdge()
	hello := &iopv1.Envelope{Body: helloEnvelope(helloOf("zero")).Body}
	_, _ = c.Write(append(frameOf(hello), frameOf(&iopv1.Envelope{Id: 9, Body: ping().Body})...))
	if m, err := readFrame(c); err != nil || m.ReplyTo != 0 || m.GetEdgeHelloResponse() == nil {
		t.Fatal(m, err)
	}
	if m, err := readFrame(c); err != nil || m.ReplyTo != 9 || m.GetPong() == nil {
		t.Fatal(m, err)
	}
	d.get("/edges").is(200, "total", 1)
}

func TestCorrelation(t *testing.T) {
	t.Parallel()
	d := startDaemon(t, "")
	e := d.connect(helloOf("e"))
	sent := timestamppb.New(time.Unix(1_700_000_000, 5))
	e.send(&iopv1.Envelope{Body: &iopv1.Envelope_Ping{Ping: &iopv1.Ping{SentAt: sent}}})
	if m := e.next(); m.ReplyTo != 0 || !proto.Equal(m.GetPong().GetSentAt(), sent) || m.GetPong().ServerTime == nil || m.GetPong().HeartbeatInterval != nil {
		t.Errorf("the answer to a Ping with id 0: %v", m)
	}
	for name, m := range map[string]*iopv1.Envelope{
		"no body":           {},
		"a newer body":      {},
		"not served":        {Body: &iopv1.Envelope_EdgeStatusRequest{EdgeStatusRequest: &iopv1.EdgeStatusRequest{}}},
		"the other wire's":  {Body: &iopv1.Envelope_ClientHelloRequest{ClientHelloRequest: &iopv1.ClientHelloRequest{}}},
		"a stray error":     failure(unimplemented, ""),
		"a stray pong":      {Body: &iopv1.Envelope_Pong{Pong: &iopv1.Pong{}}},
		"a server's answer": {Body: &iopv1.Envelope_EdgeHelloResponse{EdgeHelloResponse: &iopv1.EdgeHelloResponse{}}},
	} {
		if name == "a newer body" {
			m.ProtoReflect().SetUnknown(protowire.AppendBytes(protowire.AppendTag(nil, 64, protowire.BytesType), []byte("x")))
		}
		if proto.Size(m) > 0 { // an empty frame is another matter
			e.send(m) // wants no answer
		}
		m.Id = 5
		e.send(m)
		if got := e.next(); got.ReplyTo != 5 || got.GetError().GetCode() != unimplemented {
			t.Errorf("%s: %v", name, got)
		}
	}
	before := d.metric("iop_wire_unmatched_answers_total")
	e.send(&iopv1.Envelope{ReplyTo: 99, Body: ping().Body}) // an answer, whatever its body
	e.send(&iopv1.Envelope{Id: 6, ReplyTo: 99, Body: failure(unimplemented, "").Body})
	e.send(&iopv1.Envelope{ReplyTo: 99, Body: helloEnvelope(helloOf("other")).Body})
	e.send(&iopv1.Envelope{ReplyTo: 99})
	e.send(response("made-up", succeeded))
	e.settle()
	testkit.Eventually(t, "5 answers to nothing are counted", func() bool { return d.metric("iop_wire_unmatched_answers_total") == before+5 })
	if e.settle(); d.get("/edges/e").is(200).text("state") != "connected" {
		t.Error("they ended the connection")
	}
}

// TestAskedForStatus: what an Edge may answer to a status request, and what becomes of the caller.
func TestAskedForStatus(t *testing.T) {
	t.Parallel()
	d := startDaemon(t, "")
	e := d.connect(helloOf("e"))
	ask := func(answer *iopv1.Envelope) (got answer) {
		waiting := d.later("GET", "/edges/e/status?timeout=20s", "")
		e.answer(e.next(), answer)
		return <-waiting
	}
	ask(status(snapshotOf("e"))).is(200, "source", "live", "connected", true, "stale", false, "nodes.0.providers.0.general.capacity", 8)
	ask(status(snapshotOf("other"))).isProblem(502, "edge_error", "edge_error", nil)
	ask(response("c", succeeded)).isProblem(502, "edge_error", "edge_error", nil)
	ask(ping()).isProblem(502, "edge_error", "edge_error", nil)
	ask(&iopv1.Envelope{}).isProblem(502, "edge_error", "edge_error", nil)
	secret := ask(failure(iopv1.ErrorCode_ERROR_CODE_INTERNAL, "dial tcp 10.0.0.7:8000: refused")).isProblem(502, "edge_error", "edge_error", "INTERNAL")
	if bytes.Contains(secret.body, []byte("10.0.0.7")) {
		t.Error("the Edge's own words belong into the log, and there alone")
	}
	testkit.Eventually(t, "the Edge's own words in the log", func() bool { return strings.Contains(d.said(), "10.0.0.7") })
	ask(failure(77, "")).isProblem(502, "edge_error", "edge_error", "UNSPECIFIED")

	// A late answer reaches nobody else.
	first := d.later("GET", "/edges/e/status?timeout=200ms", "")
	asked := e.next()
	(<-first).isProblem(504, "edge_timeout")
	second := d.later("GET", "/edges/e/status?timeout=20s", "")
	again := e.next()
	late := snapshotOf("e")
	late.Nodes[0].NodeId = "late"
	e.answer(asked, status(late))
	e.answer(again, status(snapshotOf("e")))
	(<-second).is(200, "nodes.0.node_id", "n1")
}

func TestSecondHello(t *testing.T) {
	t.Parallel()
	d := startDaemon(t, "")
	e, other := d.connect(helloOf("e")), d.connect(helloOf("other"))
	e.send(helloEnvelope(helloOf("other")))
	if m := e.next(); m.GetError().GetCode() != badPrecondition || m.ReplyTo != 7 {
		t.Fatal(m)
	}
	testkit.Eventually(t, "the connection ends", func() bool { return d.get("/edges/e").text("disconnect_reason") == "protocol_error" })
	other.settle()
	d.get("/edges/other").is(200, "state", "connected", "connections", 1, "takeovers", 0)
}

func TestFramesThatDoNotDecode(t *testing.T) {
	t.Parallel()
	d := startDaemon(t, "edges: {max_frame_bytes: 200000}\n")
	noise := make([]byte, 1000)
	_, _ = rand.Read(noise)
	deep := []byte{}
	for range 2000 { // a list in a list in a list
		deep = protowire.AppendBytes(protowire.AppendTag(nil, 6, protowire.BytesType), protowire.AppendBytes(protowire.AppendTag(nil, 1, protowire.BytesType), deep))
	}
	deep = protowire.AppendBytes(protowire.AppendTag(nil, 2, protowire.BytesType), deep)
	inResult := protowire.AppendBytes(protowire.AppendTag(nil, 15, protowire.BytesType),
		protowire.AppendBytes(protowire.AppendTag(nil, 4, protowire.BytesType),
			protowire.AppendBytes(protowire.AppendTag(nil, 1, protowire.BytesType), deep)))
	for name, frame := range map[string][]byte{
		"noise":        framed(append([]byte{0xff}, noise...)),
		"cut short":    framed(frameOf(status(snapshotOf("e")))[4:20]),
		"not UTF-8":    framed([]byte{13<<3 | 2, 4, 1<<3 | 2, 2, 0xff, 0xfe}),
		"deep nesting": framed(inResult),
		"too long":     binary.BigEndian.AppendUint32(nil, 200_001),
		"length 0":     {0, 0, 0, 0},
	} {
		t.Log(name)
		e := d.connect(helloOf("e"))
		e.sendRaw(frame)
		if m := e.next(); m.GetError().GetCode() != badArgument {
			t.Errorf("%s: %v", name, m)
		}
		testkit.Eventually(t, "the connection ends", func() bool { return d.get("/edges/e").text("disconnect_reason") == "protocol_error" })
	}
	// Twice the same field is a merge, and the last of several bodies counts: honest encodings of one envelope.
	e := d.connect(helloOf("e"))
	half := frameOf(status(&iopv1.EdgeStatusResponse{EdgeId: "e"}))[4:]
	rest := frameOf(status(&iopv1.EdgeStatusResponse{Nodes: snapshotOf("e").Nodes}))[4:]
	e.sendRaw(framed(append(append(append([]byte{}, frameOf(ping())[4:]...), half...), rest...)))
	e.settle()
	d.get("/edges/e/status?max_age=1m").is(200, "source", "cached", "nodes.0.node_id", "n1")
}
