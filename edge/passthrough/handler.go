package passthrough

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strings"
	"time"

	"golang.org/x/sync/semaphore"

	"iop/edge/lease"
	"iop/internal/crossorigin"
)

// Bounds of what requests may cost the Edge.
const (
	// maxBodyBytes bounds one request.
	maxBodyBytes = 16 << 20
	// heldBytes bounds the bodies that are held at once, those of waiting and of running requests. When it is reached, a
	// request is refused with 503.
	heldBytes = 256 << 20
	// leastHeld is the least that a request counts for, so that small ones are bounded in number too: 4096.
	leastHeld = 64 << 10
	// bodyTime is how long a caller may take to send its body.
	bodyTime = time.Minute
	// runTime bounds a request as a whole: a lease must not be held for ever by two sides that have forgotten each other.
	runTime = time.Hour
	// lastWrite is how long a caller may take for what is written to it when its lease has ended.
	lastWrite = 3 * time.Second
)

// Options make a Handler.
type Options struct {
	// Pool gives the leases.
	Pool *lease.Pool
	// Target returns the address of a provider; nil: it is gone.
	Target func(lease.Key) *url.URL
	// Worked is called after every request that was answered to its end, and not with a failure. It may be nil.
	Worked func(lease.Key)
	// LongContextTokens: a request with more tokens, as estimated, takes long-context capacity; 0: none does.
	LongContextTokens int
	// QueueTimeout is how long a request may wait for a lease; 0: 30 s.
	QueueTimeout time.Duration
	// Token is what callers must send. It isn't passed on to providers. Empty: none is needed, but the Host must name the
	// loopback, and the callers' Authorization header is passed on.
	Token string
	// Logger; nil: slog's default.
	Logger *slog.Logger
}

// Handler serves OpenAI's API with the providers of a pool.
type Handler struct {
	opts  Options
	log   *slog.Logger
	token [sha256.Size]byte
	held  *semaphore.Weighted
	proxy *httputil.ReverseProxy
}

// New makes a Handler.
func New(o Options) *Handler {
	if o.QueueTimeout <= 0 {
		o.QueueTimeout = 30 * time.Second
	}
	if o.Worked == nil {
		o.Worked = func(lease.Key) {}
	}
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	h := &Handler{opts: o, log: o.Logger, token: sha256.Sum256([]byte(o.Token)), held: semaphore.NewWeighted(heldBytes)}
	h.proxy = h.newProxy()
	return h
}

// ServeHTTP implements http.Handler. An http.ServeMux would redirect paths that aren't clean.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if wrong := h.admit(w, r); wrong != nil {
		fail(w, wrong)
		return
	}
	switch r.Method + " " + r.URL.EscapedPath() {
	case "POST /v1/chat/completions", "POST /v1/completions":
		h.complete(w, r)
	case "GET /v1/models", "HEAD /v1/models":
		h.models(w)
	default:
		fail(w, errPath)
	}
}

// Close closes idle connections to providers.
func (h *Handler) Close() { h.proxy.Transport.(*http.Transport).CloseIdleConnections() }

// admit makes the checks that go before any path is looked at. A page in somebody's browser is no caller.
func (h *Handler) admit(w http.ResponseWriter, r *http.Request) *refusal {
	if h.opts.Token == "" && !crossorigin.IsLoopbackName(r.Host) {
		return errHost
	}
	if crossorigin.IsForeign(r) {
		return errOrigin
	}
	if h.opts.Token == "" {
		return nil
	}
	scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	borne := sha256.Sum256([]byte(token)) // so that the comparison takes as long for every length
	if !strings.EqualFold(scheme, "Bearer") || subtle.ConstantTimeCompare(borne[:], h.token[:]) != 1 {
		w.Header().Set("WWW-Authenticate", "Bearer")
		return errKey
	}
	r.Header.Del("Authorization")
	return nil
}

// complete is one request from its body to the end of its answer.
func (h *Handler) complete(w http.ResponseWriter, r *http.Request) {
	weight := max(r.ContentLength, leastHeld)
	if r.ContentLength < 0 || weight > maxBodyBytes {
		weight = maxBodyBytes // not told, or more than is read
	}
	if !h.held.TryAcquire(weight) {
		fail(w, errOverloaded)
		return
	}
	defer func() { h.held.Release(weight) }()
	body, model, wrong := readRequest(w, r)
	if read := max(int64(len(body)), leastHeld); read < weight {
		h.held.Release(weight - read)
		weight = read
	}
	if wrong != nil {
		fail(w, wrong)
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), runTime)
	defer cancel()
	l, err := h.acquire(ctx, model, h.isLong(len(body)))
	if err != nil {
		fail(w, refusalOf(err))
		return
	}
	defer l.Release()
	defer endWritesWith(l.Context(), w)()
	target := h.opts.Target(l.Key)
	if target == nil {
		fail(w, errGone)
		return
	}
	h.forward(w, r, l, target, body)
}

// endWritesWith sees to it that nobody writes for long to a caller that doesn't read, once ctx has ended: a write knows no
// context. done is called when nothing is written any more.
func endWritesWith(ctx context.Context, w http.ResponseWriter) (done func()) {
	set := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(set)
		_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(lastWrite)) // not every writer has deadlines; a test's hasn't
	})
	return func() {
		if !stop() {
			<-set // else the next request on the connection might have the deadline
		}
	}
}

func (h *Handler) isLong(bytes int) bool {
	return h.opts.LongContextTokens > 0 && estimatedTokens(bytes) > h.opts.LongContextTokens
}

// estimatedTokens is what the package's comment says of long context.
func estimatedTokens(bytes int) int { return bytes / 4 }

var errWaited = errors.New("waited too long")

func (h *Handler) acquire(ctx context.Context, model string, long bool) (*lease.Lease, error) {
	// The lease's context is a child of the one given, and must outlive the wait.
	leaseCtx, end := context.WithCancelCause(ctx)
	over := time.AfterFunc(h.opts.QueueTimeout, func() { end(errWaited) })
	l, err := h.opts.Pool.Acquire(leaseCtx, model, long)
	if err != nil {
		over.Stop()
		end(nil)
		return nil, err
	}
	if !over.Stop() { // it came in the same moment
		l.Release()
		return nil, errWaited
	}
	return l, nil // end isn't needed any more: ctx ends with the request
}

func (h *Handler) models(w http.ResponseWriter) {
	type model struct {
		ID      string `json:"id"`
		Object  string `json:"object"`
		Created int    `json:"created"`
		OwnedBy string `json:"owned_by"`
	}
	list := struct {
		Object string  `json:"object"`
		Data   []model `json:"data"`
	}{Object: "list", Data: []model{}}
	for _, id := range h.opts.Pool.Models() {
		list.Data = append(list.Data, model{ID: id, Object: "model", OwnedBy: "iop"})
	}
	writeJSON(w, http.StatusOK, list)
}

// NewServer makes a server of the Handler, with its time limits. Shutdown lets running requests finish; Close cuts them.
func (h *Handler) NewServer() *http.Server {
	return &http.Server{
		Handler: h, ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 64 << 10,
		ErrorLog: slog.NewLogLogger(h.log.Handler(), slog.LevelDebug), // of callers that hang up and the like
	}
}

// newTransport is for the site's own machines: a proxy meant for the world outside is no way to them.
func newTransport() *http.Transport {
	return &http.Transport{
		DialContext:            (&net.Dialer{Timeout: 5 * time.Second}).DialContext,
		MaxIdleConnsPerHost:    64, // as many as run at one provider
		IdleConnTimeout:        90 * time.Second,
		MaxResponseHeaderBytes: 64 << 10,
		DisableCompression:     true, // the caller's Accept-Encoding is the provider's to answer
	}
}
