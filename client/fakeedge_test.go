package client

import (
	"net"
	"sync"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	iopv1 "iop/proto/iop/v1"
	"iop/wire"
)

// fakeEdge is an Edge over the real wire. It has one node with one provider, and runs: ok, slow (until finish), fail, error,
// silent.
type fakeEdge struct {
	t      testing.TB
	id     string
	conn   net.Conn
	served sync.WaitGroup
	finish chan struct{}

	mu   sync.Mutex // of writes
	runs map[string]int
}

func connectEdge(t testing.TB, address, id string) *fakeEdge {
	t.Helper()
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	e := &fakeEdge{t: t, id: id, conn: conn, finish: make(chan struct{}), runs: map[string]int{}}
	e.send(&iopv1.Envelope{Id: 1, Body: &iopv1.Envelope_EdgeHelloRequest{EdgeHelloRequest: &iopv1.EdgeHelloRequest{
		EdgeId: id, ProtocolVersion: 1, InstanceId: t.Name(), Labels: map[string]string{"site": id},
		Operations: []string{"ok", "slow", "fail", "error", "silent"}}}})
	frames := wire.NewFrameReader(conn, wire.DefaultMaxFrameBytes)
	if hello := e.next(frames); hello.GetEdgeHelloResponse() == nil {
		t.Fatalf("the hello is answered %v", hello)
	}
	e.send(e.status(0))
	e.served.Go(func() {
		for {
			m := e.next(frames)
			if m == nil {
				return
			}
			e.take(m)
		}
	})
	t.Cleanup(e.close)
	return e
}

func (e *fakeEdge) close() {
	_ = e.conn.Close()
	e.served.Wait()
}

func (e *fakeEdge) send(m *iopv1.Envelope) {
	e.mu.Lock()
	defer e.mu.Unlock()
	frame, err := wire.AppendFrame(nil, m)
	if err == nil {
		_, err = e.conn.Write(frame)
	}
	if err != nil {
		e.t.Logf("the Edge can't send: %v", err)
	}
}

func (e *fakeEdge) next(frames *wire.FrameReader) *iopv1.Envelope {
	payload, err := frames.Next()
	if err != nil {
		return nil
	}
	m, err := wire.Decode(payload)
	if err != nil {
		e.t.Errorf("undecodable: %v", err)
	}
	return m
}

func (e *fakeEdge) status(replyTo uint64) *iopv1.Envelope {
	return &iopv1.Envelope{ReplyTo: replyTo, Body: &iopv1.Envelope_EdgeStatusResponse{EdgeStatusResponse: &iopv1.EdgeStatusResponse{
		EdgeId: e.id, ObservedAt: timestamppb.Now(), Nodes: []*iopv1.EdgeNodeSnapshot{{NodeId: "gpu-1", Connected: true, Providers: []*iopv1.EdgeProviderSnapshot{{
			ProviderId: "vllm-0", Type: "vllm", Models: []string{"m"}, Status: iopv1.ProviderStatus_PROVIDER_STATUS_AVAILABLE,
			Health: iopv1.ProviderHealth_PROVIDER_HEALTH_ONLINE, General: &iopv1.ProviderCounters{Capacity: 8, InFlight: 3, Queued: 1}}}}}}}}
}

func (e *fakeEdge) take(m *iopv1.Envelope) {
	switch {
	case m.GetEdgeStatusRequest() != nil:
		e.send(e.status(m.Id))
	case m.GetEdgeCommandRequest() != nil:
		e.run(m.Id, m.GetEdgeCommandRequest())
	}
}

func (e *fakeEdge) run(id uint64, c *iopv1.EdgeCommandRequest) {
	e.mu.Lock()
	e.runs[c.Operation]++
	e.mu.Unlock()
	answer := func(outcome iopv1.CommandOutcome, message string) {
		result, _ := structpb.NewStruct(map[string]any{"parameters": c.Parameters.AsMap()})
		e.send(&iopv1.Envelope{ReplyTo: id, Body: &iopv1.Envelope_EdgeCommandResponse{EdgeCommandResponse: &iopv1.EdgeCommandResponse{
			CommandId: c.CommandId, Outcome: outcome, Message: message, Result: result}}})
	}
	switch c.Operation {
	case "ok":
		answer(iopv1.CommandOutcome_COMMAND_OUTCOME_SUCCEEDED, "")
	case "fail":
		answer(iopv1.CommandOutcome_COMMAND_OUTCOME_FAILED, "no luck")
	case "error":
		fault := &wire.Fault{Code: wire.Internal, Message: "not for people"}
		e.send(fault.Envelope(id))
	case "slow":
		answer(iopv1.CommandOutcome_COMMAND_OUTCOME_ACCEPTED, "")
		e.served.Go(func() {
			e.phase(c.CommandId, iopv1.CommandPhase_COMMAND_PHASE_PROGRESS, 50)
			select {
			case <-e.finish:
				e.phase(c.CommandId, iopv1.CommandPhase_COMMAND_PHASE_SUCCEEDED, 100)
			case <-time.After(soon):
				e.t.Error("the test forgot to finish")
			}
		})
	}
}

func (e *fakeEdge) phase(command string, phase iopv1.CommandPhase, percent uint32) {
	e.send(&iopv1.Envelope{Body: &iopv1.Envelope_EdgeCommandEvent{EdgeCommandEvent: &iopv1.EdgeCommandEvent{
		CommandId: command, Phase: phase, ProgressPercent: percent, OccurredAt: timestamppb.Now()}}})
}

// ran is how often an operation was run.
func (e *fakeEdge) ran(operation string) int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.runs[operation]
}
