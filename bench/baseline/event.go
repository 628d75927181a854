package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	iopv1 "iop/proto/iop/v1"
)

// hub hands events to live readers. Each has a bounded queue; one that is full loses the reader, which is ended.
type hub struct {
	mu      sync.Mutex
	last    uint64
	readers map[chan []byte]struct{}
}

const queuedEvents = 4096 // as many as the Control Plane lets a reader be behind

type eventView struct {
	ID         string    `json:"id"`
	EdgeID     string    `json:"edge_id"`
	NodeID     string    `json:"node_id"`
	Kind       string    `json:"kind"`
	Message    string    `json:"message"`
	At         time.Time `json:"at"`
	OccurredAt time.Time `json:"occurred_at"`
}

// publish renders an event once for all.
func (h *hub) publish(edgeID string, m *iopv1.EdgeNodeEvent) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.last++
	v := eventView{ID: fmt.Sprint(h.last), EdgeID: edgeID, NodeID: m.NodeId, Message: m.Message, At: time.Now(), OccurredAt: m.OccurredAt.AsTime(),
		Kind: strings.ToLower(strings.TrimPrefix(m.Kind.String(), "NODE_EVENT_KIND_"))}
	data, err := json.Marshal(v)
	if err != nil {
		return
	}
	text := fmt.Appendf(nil, "id: %s\nevent: node_%s\ndata: %s\n\n", v.ID, v.Kind, data)
	for reader := range h.readers {
		select {
		case reader <- text:
		default:
			delete(h.readers, reader)
			close(reader)
		}
	}
}

func (h *hub) subscribe() chan []byte {
	reader := make(chan []byte, queuedEvents)
	h.mu.Lock()
	defer h.mu.Unlock()
	h.readers[reader] = struct{}{}
	return reader
}

func (h *hub) unsubscribe(reader chan []byte) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.readers, reader)
}

// live streams until the reader goes, or can't keep up. It flushes when there is nothing more to write.
func (s *server) live(w http.ResponseWriter, r *http.Request) {
	reader := s.events.subscribe()
	defer s.events.unsubscribe(reader)
	w.Header().Set("Content-Type", "text/event-stream")
	flush := http.NewResponseController(w).Flush
	if flush() != nil {
		return
	}
	for {
		select {
		case <-r.Context().Done():
			return
		case text, ok := <-reader:
			if !ok {
				return
			}
			if _, err := w.Write(text); err != nil {
				return
			}
			if len(reader) == 0 && flush() != nil {
				return
			}
		}
	}
}
