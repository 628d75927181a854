package passthrough

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log"
	"log/slog"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strings"
	"syscall"

	"iop/edge/lease"
)

// errRedirect is a provider that sends callers elsewhere: to an address that they must not learn, or to another machine
// of the Edge's network.
var errRedirect = errors.New("the provider answered with a redirect")

// revealing are the standard headers of an answer that name the provider's address, or are for the connection to it. What others
// say can't be known.
var revealing = []string{"Location", "Content-Location", "Refresh", "Link", "Alt-Svc", "Via", "Server", "Strict-Transport-Security"}

// way is where a request goes, in its context.
type way struct {
	lease  *lease.Lease
	target *url.URL
}

type wayKey struct{}

func wayOf(r *http.Request) way { return r.Context().Value(wayKey{}).(way) }

// forward proxies a request under its lease.
func (h *Handler) forward(w http.ResponseWriter, r *http.Request, l *lease.Lease, target *url.URL, body []byte) {
	out := r.WithContext(context.WithValue(l.Context(), wayKey{}, way{l, target}))
	out.Body, out.ContentLength, out.TransferEncoding = io.NopCloser(bytes.NewReader(body)), int64(len(body)), nil
	out.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body)), nil }
	h.proxy.ServeHTTP(finalOnly{w}, out)
}

// finalOnly leaves out the interim answers (1xx) of a provider, which passOn doesn't see: what they are for is in headers, such
// as links to the provider's address.
type finalOnly struct{ http.ResponseWriter }

func (w finalOnly) WriteHeader(status int) {
	if status >= 200 {
		w.ResponseWriter.WriteHeader(status)
	}
}

func (w finalOnly) Unwrap() http.ResponseWriter { return w.ResponseWriter }

func (h *Handler) newProxy() *httputil.ReverseProxy {
	return &httputil.ReverseProxy{
		Transport:      newTransport(),
		FlushInterval:  -1, // a token is sent when it comes
		Rewrite:        rewrite,
		ModifyResponse: h.passOn,
		ErrorHandler:   h.failed,
		ErrorLog:       log.New(io.Discard, "", 0), // of answers that were cut, with the addresses of both sides
	}
}

// rewrite sends a request to its provider. Nothing is added that tells of the caller, and no connection is upgraded to
// something that isn't a request and an answer.
func rewrite(r *httputil.ProxyRequest) {
	r.Out.URL = wayOf(r.In).target.JoinPath(r.In.URL.Path)
	if !strings.HasPrefix(r.Out.URL.Path, "/") { // of an address that has no path itself
		r.Out.URL.Path = "/" + r.Out.URL.Path
	}
	r.Out.Host = ""
	for _, name := range []string{"Upgrade", "Connection", "Cookie", "Origin", "Referer"} {
		r.Out.Header.Del(name)
	}
}

// passOn looks at an answer before its headers are sent.
func (h *Handler) passOn(resp *http.Response) error {
	if resp.StatusCode < 200 || resp.StatusCode >= 300 && resp.StatusCode < 400 {
		return errRedirect
	}
	hide(resp.Header)
	hide(resp.Trailer) // the names, as announced
	l := wayOf(resp.Request).lease
	resp.Header.Set("X-IOP-Lease", l.ID) // for run.cancel
	resp.Body = &watched{ReadCloser: resp.Body, ended: func() {
		hide(resp.Trailer)
		if resp.StatusCode < 300 { // what is wrong with a request is told without the engine behind
			h.opts.Worked(l.Key)
		}
	}}
	return nil
}

func hide(headers http.Header) {
	for _, name := range revealing {
		headers.Del(name)
	}
}

// watched tells when a body was read to its end.
type watched struct {
	io.ReadCloser
	ended func()
}

func (b *watched) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if errors.Is(err, io.EOF) && b.ended != nil {
		b.ended()
		b.ended = nil
	}
	return n, err
}

// failed answers for a provider that doesn't, as long as no answer has begun.
func (h *Handler) failed(w http.ResponseWriter, r *http.Request, err error) {
	to := wayOf(r).lease
	level := slog.LevelWarn
	if cause := context.Cause(r.Context()); cause != nil {
		err = cause // why it was given up says more than that it was
		if errors.Is(cause, context.Canceled) {
			level = slog.LevelDebug // the caller hung up
		}
	}
	h.log.Log(r.Context(), level, "A request had no answer.", "node_id", to.Node, "provider_id", to.Provider, "lease_id", to.ID, "why", reasonOf(err))
	fail(w, refusalOf(err))
}

// reasonOf keeps of an error what may be logged: net/http's own text holds the address.
func reasonOf(err error) string {
	var number syscall.Errno
	var timeout net.Error
	switch {
	case errors.As(err, &number):
		return number.Error()
	case errors.Is(err, errRedirect), refusalOf(err) != errFailed:
		return err.Error()
	case errors.As(err, &timeout) && timeout.Timeout():
		return "it did not answer in time"
	}
	return "its answer can't be read"
}
