package load

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	iopv1 "iop/proto/iop/v1"
	"iop/wire"
)

// liar is a small Control Plane that can do one thing wrong on purpose, so that a run can be seen to find it.
type liar struct {
	lie   lie
	t     *testing.T
	edges net.Listener
	web   *httptest.Server

	running  sync.WaitGroup
	mu       sync.Mutex
	links    map[string]*liarLink
	kept     map[string]*iopv1.EdgeStatusResponse
	awaiting map[string]*swap
	asked    int
	events   chan *iopv1.EdgeNodeEvent
}

// swap is a caller that waits for another one of the same Edge, to change answers with it.
type swap struct {
	mine  *iopv1.EdgeStatusResponse
	other chan *iopv1.EdgeStatusResponse
}

type lie int

const (
	none       lie = iota
	misroutes      // asks another Edge than it was told to
	repeats        // gives every other caller what the one before was given
	swallows       // drops the Edge's answer now and then
	sendsTwice     // writes commands twice
	mixesUp        // gives commands' results to the wrong caller
	swaps          // gives two who ask one Edge at once each other's answer
	skips          // leaves every second event out
)

type liarLink struct {
	conn    net.Conn
	mu      sync.Mutex
	next    uint64
	pending map[uint64]chan *iopv1.Envelope
}

func startLiar(t *testing.T, l lie) *liar {
	edges, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &liar{lie: l, t: t, edges: edges, links: map[string]*liarLink{}, kept: map[string]*iopv1.EdgeStatusResponse{},
		awaiting: map[string]*swap{}, events: make(chan *iopv1.EdgeNodeEvent, 10_000)}
	s.running.Go(func() {
		for {
			c, err := edges.Accept()
			if err != nil {
				return
			}
			s.running.Go(func() { s.serve(c) })
		}
	})
	mux := http.NewServeMux()
	mux.HandleFunc("GET /edges/{id}/status", s.status)
	mux.HandleFunc("POST /edges/{id}/commands", s.command)
	mux.HandleFunc("GET /fleet/events", s.stream)
	s.web = httptest.NewServer(mux)
	t.Cleanup(func() { s.web.Close(); edges.Close(); s.running.Wait() })
	return s
}

func (s *liar) serve(c net.Conn) {
	defer c.Close()
	frames := wire.NewFrameReader(c, wire.DefaultMaxFrameBytes)
	link := &liarLink{conn: c, pending: map[uint64]chan *iopv1.Envelope{}}
	id := ""
	defer link.end()
	for {
		frame, err := frames.Next()
		if err != nil {
			return
		}
		m, err := wire.Decode(frame)
		if err != nil {
			s.t.Error(err)
			return
		}
		if e := m.GetEdgeNodeEvent(); e != nil {
			e.NodeId = id // the stream's reader looks at no node
			s.events <- e
		}
		if hello := m.GetEdgeHelloRequest(); hello != nil {
			id = hello.EdgeId
			s.mu.Lock()
			s.links[hello.EdgeId] = link
			s.mu.Unlock()
			link.send(&iopv1.Envelope{ReplyTo: m.Id, Body: &iopv1.Envelope_EdgeHelloResponse{EdgeHelloResponse: &iopv1.EdgeHelloResponse{
				HeartbeatInterval: durationpb.New(time.Minute), ServerTime: timestamppb.Now()}}})
		}
		link.mu.Lock()
		if reply := link.pending[m.ReplyTo]; reply != nil && m.ReplyTo != 0 {
			delete(link.pending, m.ReplyTo)
			reply <- m
		}
		link.mu.Unlock()
	}
}

func (k *liarLink) send(m *iopv1.Envelope) {
	if frame, err := wire.AppendFrame(nil, m); err == nil {
		_, _ = k.conn.Write(frame)
	}
}

// end fails what waits on a link that has ended.
func (k *liarLink) end() {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, reply := range k.pending {
		close(reply)
	}
	k.pending = nil
}

// ask makes a round trip; nil when the link ends, or after a while.
func (k *liarLink) ask(m *iopv1.Envelope, times int) *iopv1.Envelope {
	reply := make(chan *iopv1.Envelope, 1)
	k.mu.Lock()
	if k.pending == nil {
		k.mu.Unlock()
		return nil
	}
	k.next++
	m.Id = k.next
	k.pending[m.Id] = reply
	for range times {
		k.send(m)
	}
	k.mu.Unlock()
	select {
	case m := <-reply:
		return m
	case <-time.After(20 * time.Second):
		return nil
	}
}

// link finds an Edge's, or another's.
func (s *liar) link(id string, other bool) (count int, k *liarLink) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked++
	for name, link := range s.links {
		if (name != id) == other {
			return s.asked, link
		}
	}
	return s.asked, nil
}

func problem(w http.ResponseWriter, status int, code string) {
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(map[string]string{"code": code})
}

func (s *liar) status(w http.ResponseWriter, r *http.Request) {
	id := r.PathValue("id")
	n, link := s.link(id, s.lie == misroutes)
	timeout, err := time.ParseDuration(r.URL.Query().Get("timeout"))
	if err != nil {
		problem(w, http.StatusBadRequest, "invalid_request")
		return
	}
	m := link.ask(&iopv1.Envelope{Body: &iopv1.Envelope_EdgeStatusRequest{
		EdgeStatusRequest: &iopv1.EdgeStatusRequest{Timeout: durationpb.New(timeout)}}}, 1)
	answer := m.GetEdgeStatusResponse()
	if s.lie == swaps {
		answer = s.swap(id, answer)
	}
	if s.lie == repeats {
		s.mu.Lock()
		if kept := s.kept[id]; kept != nil {
			answer = kept
		}
		s.kept[id] = answer
		s.mu.Unlock()
	}
	if answer == nil || s.lie == swallows && n%10 == 0 {
		problem(w, http.StatusGatewayTimeout, "edge_timeout")
		return
	}
	nodes := []map[string]any{}
	for _, node := range answer.Nodes {
		nodes = append(nodes, map[string]any{"labels": node.Labels})
	}
	_ = json.NewEncoder(w).Encode(map[string]any{"edge_id": id, "source": "live", "nodes": nodes})
}

// swap waits a moment for another caller of this Edge.
func (s *liar) swap(id string, answer *iopv1.EdgeStatusResponse) *iopv1.EdgeStatusResponse {
	s.mu.Lock()
	if first := s.awaiting[id]; first != nil {
		delete(s.awaiting, id)
		s.mu.Unlock()
		first.other <- answer
		return first.mine
	}
	me := &swap{answer, make(chan *iopv1.EdgeStatusResponse, 1)}
	s.awaiting[id] = me
	s.mu.Unlock()
	select {
	case answer = <-me.other:
	case <-time.After(100 * time.Millisecond):
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.awaiting[id] == me {
			delete(s.awaiting, id)
		} else {
			answer = <-me.other
		}
	}
	return answer
}

// stream gives what the Edges say to its only reader.
func (s *liar) stream(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/event-stream")
	_ = http.NewResponseController(w).Flush()
	said := map[string]int{}
	for {
		select {
		case <-r.Context().Done():
			return
		case e := <-s.events:
			if said[e.NodeId]++; s.lie == skips && said[e.NodeId]%2 == 0 {
				continue
			}
			data, _ := json.Marshal(map[string]any{"edge_id": e.NodeId, "message": e.Message, "at": time.Now()})
			fmt.Fprintf(w, "id: 1\ndata: %s\n\n", data)
			_ = http.NewResponseController(w).Flush()
		}
	}
}

func (s *liar) command(w http.ResponseWriter, r *http.Request) {
	id := r.PathValue("id")
	var body struct {
		Operation  string         `json:"operation"`
		Parameters map[string]any `json:"parameters"`
	}
	if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
		problem(w, http.StatusBadRequest, "invalid_request")
		return
	}
	parameters, err := structpb.NewStruct(body.Parameters)
	if err != nil {
		problem(w, http.StatusBadRequest, "invalid_request")
		return
	}
	_, link := s.link(id, false)
	times := 1
	if s.lie == sendsTwice {
		times = 2
	}
	m := link.ask(&iopv1.Envelope{Body: &iopv1.Envelope_EdgeCommandRequest{EdgeCommandRequest: &iopv1.EdgeCommandRequest{
		CommandId: body.Parameters["nonce"].(string), Operation: body.Operation, Parameters: parameters}}}, times)
	if m == nil {
		problem(w, http.StatusGatewayTimeout, "edge_timeout")
		return
	}
	result := m.GetEdgeCommandResponse().GetResult().AsMap()
	if s.lie == mixesUp {
		result["nonce"] = strings.Replace(result["nonce"].(string), "/", "/9", 1)
	}
	_ = json.NewEncoder(w).Encode(map[string]any{"operation_id": "op", "edge_id": id, "state": "succeeded", "result": result})
}
