package httpapi

import (
	"context"
	"net/http"
	"runtime/debug"
	"strconv"
	"time"

	"github.com/rs/zerolog"
	"go.opentelemetry.io/otel/trace"

	"iop/actors"
	"iop/wire"
)

// ownTime is how long the Control Plane's own actors may take beyond what an Edge is given. A Plane bounds its answers
// itself and more tightly; this only keeps a request from waiting for ever.
const ownTime = 30 * time.Second

// call is one request on its way through the checks to its answer. It is the ResponseWriter too, so that the mux hands
// it on, and remembers what was answered.
type call struct {
	http.ResponseWriter
	s        *Server
	r        *http.Request
	id       string
	span     trace.Span          // nil where nothing is traced
	operator *actors.OperatorKey // nil without auth
	edgeID   string              // of the path, where it has one
	status   int                 // 0 until the answer has begun
	bytes    int64
	streamed bool // the answer was a live stream: its duration says nothing
}

// ServeHTTP answers one request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	beginAnswer(r)
	c := &call{ResponseWriter: w, s: s, r: r, id: requestID(r.Header)}
	h := w.Header()
	h.Set(requestIDHeader, c.id)
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	began := time.Now()
	c.beginSpan()
	defer func() { c.finish(time.Since(began), recover()) }()
	c.boundBody()
	if isOpen(c.r) {
		s.route(c)
		return
	}
	s.inFlight.Add(1) // before draining is looked at: who sees 0 after Drain may rely on it
	defer s.ended()
	if p := s.admit(c); p != nil {
		c.fail(p)
		return
	}
	s.route(c)
}

// boundBody gives a body its time to arrive, also one that no handler reads: net/http would wait for it before it answers.
func (c *call) boundBody() {
	if c.r.ContentLength != 0 {
		_ = http.NewResponseController(c.ResponseWriter).SetReadDeadline(time.Now().Add(arrivalTime))
	}
}

// within bounds a wait for Edges; the caller's hanging up ends it, too.
func (c *call) within(d time.Duration) (context.Context, context.CancelFunc) {
	return context.WithTimeout(c.r.Context(), d+ownTime)
}

// soon bounds a wait for what the Control Plane has in memory. The caller doesn't end it: one that has said all and closed
// its half of the connection looks to net/http like one that has gone, and an answer is as quick as finding out.
func (c *call) soon() (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(c.r.Context()), ownTime)
}

// answer writes a whole answer.
func (c *call) answer(status int, contentType string, body []byte) {
	h := c.Header()
	h.Set("Content-Type", contentType)
	h.Set("Content-Length", strconv.Itoa(len(body)))
	c.WriteHeader(status)
	_, _ = c.Write(body) // a caller that has gone is nobody to tell
}

const jsonType = "application/json"

// render answers 200 with what view appends.
func (c *call) render(view func(b []byte) []byte) { c.renderAs(http.StatusOK, jsonType, view) }

func (c *call) renderAs(status int, contentType string, view func(b []byte) []byte) {
	b := borrow()
	*b = view(*b)
	c.answer(status, contentType, *b)
	giveBack(b)
}

func (c *call) WriteHeader(status int) {
	if c.status == 0 {
		c.status = status
	}
	c.ResponseWriter.WriteHeader(status)
}

func (c *call) Write(p []byte) (int, error) {
	if c.status == 0 {
		c.status = http.StatusOK
	}
	n, err := c.ResponseWriter.Write(p)
	c.bytes += int64(n)
	return n, err
}

// Unwrap is for http.ResponseController.
func (c *call) Unwrap() http.ResponseWriter { return c.ResponseWriter }

// finish answers for a handler that panicked, and leaves a trace of the request in metrics and log.
func (c *call) finish(took time.Duration, panicked any) {
	if panicked != nil && panicked != http.ErrAbortHandler { //nolint:errorlint // it is a panic value
		c.s.opts.Log.Error().Str("request_id", c.id).Str("route", c.routeName()).Interface("panic", panicked).
			Bytes("stack", debug.Stack()).Msg("a handler panicked")
		if c.status == 0 {
			c.fail(refuse(wire.Internal, "something went wrong inside; the log has it under this request_id"))
		} else {
			panicked = http.ErrAbortHandler // half an answer is out: only cutting it tells the caller
		}
	}
	c.endSpan()
	c.s.metrics.observe(c, took)
	c.log(took)
	if panicked == http.ErrAbortHandler { //nolint:errorlint // it is a panic value
		panic(http.ErrAbortHandler)
	}
}

// deserted tells whether a failure reached nobody: a caller who hung up ended the wait, and nothing went wrong.
func (c *call) deserted() bool {
	return c.status >= http.StatusInternalServerError && c.r.Context().Err() != nil
}

// log leaves a line: commands and what went wrong here at info, the rest at debug. Queries and headers stay out of it.
func (c *call) log(took time.Duration) {
	level := zerolog.DebugLevel
	if c.r.Method == http.MethodPost || c.status >= http.StatusInternalServerError && !c.deserted() {
		level = zerolog.InfoLevel
	}
	e := c.s.opts.Log.WithLevel(level)
	if !e.Enabled() {
		return
	}
	if c.operator != nil {
		e = e.Str("operator", c.operator.Name)
	}
	if c.deserted() {
		e = e.Bool("deserted", true)
	}
	if c.span != nil {
		e = e.Stringer("trace_id", c.span.SpanContext().TraceID())
	}
	e.Str("request_id", c.id).Str("method", c.r.Method).Str("path", c.r.URL.Path).Int("status", c.status).
		Int64("bytes", c.bytes).Dur("took_ms", took).Msg("request")
}

// routeName is the pattern that the path matched. Metrics name nothing else: a path holds ids.
func (c *call) routeName() string {
	if c.r.Pattern == "" || c.r.Pattern == elsewhere {
		return "other"
	}
	return c.r.Pattern
}
