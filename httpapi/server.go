// Package httpapi is the HTTP front of the Control Plane: routes, checks, views, problems and the live
// stream of events. It turns requests into calls of a Plane and never touches an Edge's socket.
// openapi.yaml is its contract, and a test holds the handlers to it.
//
// Checks go in one order: stopping; Host and Origin; token; role; path; method; media type; size; body and
// query; and then what only the Plane knows. Every failure is an RFC 9457 problem.
package httpapi

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"log"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"
	"go.opentelemetry.io/otel/trace"

	"iop/actors"
	"iop/wire"
)

// Plane is what this package needs of the Control Plane; actors.System is one.
type Plane interface {
	Fleet(ctx context.Context) (*actors.Fleet, *wire.Fault)
	Status(ctx context.Context, edgeID string, timeout time.Duration) actors.StatusReply
	Gather(ctx context.Context, match func(*actors.View) bool, maxAge, timeout time.Duration) (actors.FleetReply, *wire.Fault)
	Command(ctx context.Context, ask *actors.CommandAsk) actors.CommandReply
	Operation(ctx context.Context, edgeID, operationID string) (*actors.Operation, *wire.Fault)
	Operations(ctx context.Context, q actors.OperationQuery) (actors.OperationPage, *wire.Fault)
	Events(ctx context.Context, q actors.EventQuery) (actors.EventPage, *wire.Fault)
	Subscribe(ctx context.Context, after string) (*actors.Subscription, *wire.Fault)
}

var _ Plane = (*actors.System)(nil)

// Options are what a Server needs; all but Loopback and Tracer are required.
type Options struct {
	Plane Plane
	// Keys gives the tokens in force at the moment of a request; a ring without operators asks for no token.
	Keys func() *actors.Keyring
	// Loopback: the listener is on a loopback address, so without tokens a request must name one as its Host, lest a web
	// page reaches the Control Plane under a name of its own.
	Loopback bool
	// Ready gives what /readyz says. While the Server drains it says unready whatever this gives.
	Ready           func() (ready bool, checks map[string]bool, warnings []string)
	Version, Commit string
	MaxFrameBytes   int
	Registry        *prometheus.Registry // served at /metrics; this package adds its own metrics to it
	Log             zerolog.Logger
	Tracer          trace.Tracer // nil: nothing is traced
}

const (
	// arrivalTime is how long a request's head, and then its body, may take to arrive.
	arrivalTime = 10 * time.Second
	idleTime    = 2 * time.Minute
	// maxHeadBytes bounds a request's head. The longest honest one is a list with many labels.
	maxHeadBytes = 64 << 10
	// closeTime is how long a connection has at the end that waits for nothing of ours: to take the rest of its answer, or to
	// send what it has begun and will be refused.
	closeTime = time.Second
)

// Server is the HTTP front. It is an http.Handler, so that it can be served without a listener too.
type Server struct {
	opts       Options
	mux        *http.ServeMux
	http       *http.Server
	metrics    *metrics
	exposition http.Handler // of the metrics
	gathers    gathers
	base       time.Time // what the times in cursors count from, by the monotonic clock
	run        uint32    // tells the cursors of this run of the process

	inFlight  atomic.Int64
	drainOnce sync.Once
	draining  chan struct{} // closed by Drain
	idle      chan struct{} // closed when, after Drain, no request is under way
	setIdle   func()
}

// New makes a Server and registers its metrics.
func New(opts Options) *Server {
	if opts.Tracer != nil {
		opts.Plane = tracedPlane{Plane: opts.Plane, tracer: opts.Tracer}
	}
	s := &Server{
		opts:       opts,
		exposition: newMetricsHandler(opts.Registry, opts.Log),
		base:       time.Now(),
		run:        randomRun(),
		draining:   make(chan struct{}),
		idle:       make(chan struct{}),
	}
	s.setIdle = sync.OnceFunc(func() { close(s.idle) })
	s.metrics = newMetrics(opts.Registry, s.InFlight)
	s.mux = s.newMux()
	s.http = &http.Server{
		Handler:                      s,
		ReadHeaderTimeout:            arrivalTime,
		IdleTimeout:                  idleTime,
		MaxHeaderBytes:               maxHeadBytes,
		ConnContext:                  rememberConn,
		ConnState:                    endAnswer,
		DisableGeneralOptionsHandler: true, // OPTIONS * gets a problem like the rest
		ErrorLog:                     log.New(debugWriter{opts.Log}, "", 0),
	}
	return s
}

// Serve answers on l until Close, and then returns nil. For TLS, l comes from tls.NewListener with only http/1.1.
func (s *Server) Serve(l net.Listener) error {
	if err := s.http.Serve(boundedListener{l}); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// Drain makes everything but /healthz and /readyz answer shutting_down from now on and ends the live streams.
// Requests under way go on. It may be called more than once.
func (s *Server) Drain() {
	s.drainOnce.Do(func() {
		close(s.draining)
		s.lookIfIdle(s.inFlight.Load())
	})
}

// ended: a request is no longer under way.
func (s *Server) ended() { s.lookIfIdle(s.inFlight.Add(-1)) }

// lookIfIdle is for every request's end: those that are refused come and go, and a look now and then might never meet 0.
func (s *Server) lookIfIdle(inFlight int64) {
	if inFlight == 0 && s.isDraining() {
		s.setIdle()
	}
}

// InFlight is how many requests are under way, those of /healthz and /readyz not counted.
func (s *Server) InFlight() int { return int(s.inFlight.Load()) }

// Close drains and waits for the requests under way until ctx ends, and only then stops listening: until the end those who
// ask are told so, and health checks answered. Connections that are still busy closeTime later, or when ctx ends, are cut.
func (s *Server) Close(ctx context.Context) error {
	s.Drain()
	select {
	case <-s.idle:
	case <-ctx.Done():
	}
	ctx, cancel := context.WithTimeout(ctx, closeTime)
	defer cancel()
	if err := s.http.Shutdown(ctx); err != nil {
		return s.http.Close()
	}
	return nil
}

func (s *Server) isDraining() bool {
	select {
	case <-s.draining:
		return true
	default:
		return false
	}
}

// debugWriter takes what net/http says of single connections: their errors are the peers', so they are debug.
type debugWriter struct{ log zerolog.Logger }

func (d debugWriter) Write(p []byte) (int, error) {
	d.log.Debug().Str("said", string(p)).Msg("http connection")
	return len(p), nil
}

func randomRun() uint32 {
	var b [4]byte
	_, _ = rand.Read(b[:]) // never fails
	return binary.BigEndian.Uint32(b[:])
}
