package httpapi

import (
	"net/http"
	"time"

	"iop/actors"
)

const (
	// keepAlive is how often a comment line tells a quiet stream's reader, and whatever proxy is on the way, that it
	// lives; 15 s are promised.
	keepAlive = 10 * time.Second
	// batchBytes is about how much is written between two flushes.
	batchBytes = 32 << 10
	// gatherTime is how long a stream that has sent everything lets further events gather: an event after a quiet time goes
	// out at once, and a thousand a second cost 50 writes a reader instead of a thousand. actors.SubscriberBuffer
	// has room for two hundred thousand events a second meanwhile.
	gatherTime = 20 * time.Millisecond
)

var comment = []byte(": still here\n\n")

// streamEvents sends events as they happen, until the caller goes, can't keep up, or the Control Plane stops. A
// Last-Event-ID goes before after=: a browser that comes back sends both, the URL's from its first time.
func (s *Server) streamEvents(c *call, after string) *problem {
	if last := c.r.Header.Get("Last-Event-ID"); last != "" {
		after = last
	}
	c.streamed = true
	h := c.Header()
	if c.r.Method == http.MethodHead {
		h.Set("Content-Type", streamType)
		c.WriteHeader(http.StatusOK)
		return nil
	}
	sub, fault := s.opts.Plane.Subscribe(c.r.Context(), after)
	if fault != nil {
		return asProblem(fault)
	}
	defer sub.Cancel()
	s.metrics.streams.Inc()
	defer s.metrics.streams.Dec()
	h.Set("Content-Type", streamType)
	h.Set("X-Accel-Buffering", "no") // nginx would hold events back
	c.WriteHeader(http.StatusOK)
	st := &stream{w: c, flush: http.NewResponseController(c.ResponseWriter).Flush, gone: c.r.Context().Done(), stopping: s.draining}
	st.run(sub)
	return nil
}

// stream writes events to one reader. Once a write fails the rest do nothing.
type stream struct {
	w              http.ResponseWriter
	flush          func() error
	gone, stopping <-chan struct{}
	unflushed      int
	failed         bool
}

func (st *stream) run(sub *actors.Subscription) {
	if !st.begin(sub) {
		st.end(sub)
		return
	}
	ticks := time.NewTicker(keepAlive)
	defer ticks.Stop()
	for !st.over() {
		select {
		case <-st.gone:
		case <-st.stopping:
		case <-ticks.C:
			st.write(comment)
			st.send()
		case e, ok := <-sub.Events:
			if !ok || !st.batch(e, sub.Events) {
				st.end(sub)
				return
			}
		}
	}
}

// rest waits gatherTime, unless the stream is over before.
func (st *stream) rest() {
	t := time.NewTimer(gatherTime)
	defer t.Stop()
	select {
	case <-st.gone:
	case <-st.stopping:
	case <-t.C:
	}
}

func (st *stream) over() bool {
	select {
	case <-st.gone:
		return true
	case <-st.stopping:
		return true
	default:
		return st.failed
	}
}

// begin sends the headers and what came before; false when the reader took so long for it that it has missed what came since. What
// was sent is let go, for it may be large, and the stream long.
func (st *stream) begin(sub *actors.Subscription) bool {
	if sub.Gap != nil {
		st.write(renderGap(sub.Gap))
	}
	for i, e := range sub.Backlog {
		st.write(renderEvent(e))
		sub.Backlog[i] = nil
		if st.unflushed < batchBytes {
			continue
		}
		st.send()
		switch {
		case st.over():
			return true
		case sub.Missed():
			return false
		}
	}
	sub.Backlog = nil
	st.send()
	return true
}

// batch writes an event and those that wait behind it, and sends them together; false when the subscription has ended.
func (st *stream) batch(e *actors.LiveEvent, more <-chan *actors.LiveEvent) bool {
	for st.write(e.Render(renderEvent)); st.unflushed < batchBytes; st.write(e.Render(renderEvent)) {
		var ok bool
		select {
		case e, ok = <-more:
			if !ok {
				return false
			}
		default:
			st.send()
			st.rest()
			return true
		}
	}
	st.send()
	return true
}

// end tells a reader that couldn't keep up that it missed something, so that it resumes by its last id.
func (st *stream) end(sub *actors.Subscription) {
	if sub.Missed() {
		st.write(renderGap(&actors.Gap{Reason: actors.Overwritten}))
	}
	st.send()
}

func (st *stream) write(p []byte) {
	if st.failed {
		return
	}
	if _, err := st.w.Write(p); err != nil {
		st.failed = true
	}
	st.unflushed += len(p)
}

func (st *stream) send() {
	st.unflushed = 0
	if !st.failed && st.flush() != nil {
		st.failed = true
	}
}

// renderEvent makes the one rendering that all readers of an event share.
func renderEvent(e *actors.Event) []byte {
	b := make([]byte, 0, 320+len(e.Message))
	b = append(b, "id: "...)
	b = e.AppendID(b)
	b = append(b, "\nevent: "...)
	b = append(b, e.Kind...)
	b = append(b, "\ndata: "...)
	b = appendEvent(b, e)
	return append(b, "\n\n"...)
}

// renderGap has no id: it is nothing to resume from.
func renderGap(g *actors.Gap) []byte {
	b := appendGap([]byte("event: gap\ndata: "), g)
	return append(b, "\n\n"...)
}
