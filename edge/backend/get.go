package backend

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"syscall"
)

// Bounds of one answer. A vLLM with many models exports some 200 KiB of metrics, which are read as a stream; JSON
// grows when it is decoded.
const (
	maxMetricsBytes = 8 << 20
	maxJSONBytes    = 1 << 20
)

// What can be wrong with a backend. These are sentences for people, made to be shown anywhere.
var (
	ErrTimeout    = errors.New("did not answer in time")
	ErrRefused    = errors.New("refuses connections")
	ErrUnreached  = errors.New("could not be reached")
	ErrUntrusted  = errors.New("has a certificate that isn't trusted")
	ErrUnreadable = errors.New("gave an answer that can't be read")
	ErrTooLong    = errors.New("gave an answer that is too long")
)

// StatusError is an answer with another status than 200.
type StatusError int

func (s StatusError) Error() string { return fmt.Sprintf("answered with status %d", int(s)) }

// switchedOff tells whether an answer means that the backend was started without what was asked for:
// llama.cpp says 501, the others 404.
func switchedOff(err error) bool {
	var s StatusError
	return errors.As(err, &s) && (s == http.StatusNotFound || s == http.StatusNotImplemented)
}

func (b *Backend) get(ctx context.Context, path string, maxBytes int64, read func(io.Reader) error) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, b.base.JoinPath(path).String(), nil)
	if err != nil {
		return ErrUnreached
	}
	// Without it a backend may choose a format that the parser doesn't read.
	req.Header.Set("Accept", "application/json, text/plain;version=0.0.4;q=0.9, */*;q=0.1")
	resp, err := b.client.Do(req)
	if err != nil {
		return reasonOf(err, ErrUnreached)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		_, _ = io.CopyN(io.Discard, resp.Body, 4<<10) // so that the connection is kept
		return StatusError(resp.StatusCode)
	}
	if err := read(http.MaxBytesReader(nil, resp.Body, maxBytes)); err != nil {
		return reasonOf(err, ErrUnreadable)
	}
	return nil
}

// reasonOf keeps of an error what may be told: net/http's own text holds the address.
func reasonOf(err, otherwise error) error {
	var timeout net.Error
	var certificate *tls.CertificateVerificationError
	var tooLong *http.MaxBytesError // half an answer must not pass for a whole one
	switch {
	case errors.Is(err, ErrTooLong), errors.As(err, &tooLong):
		return ErrTooLong
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		return ErrTimeout
	case errors.As(err, &timeout) && timeout.Timeout():
		return ErrTimeout
	case errors.Is(err, syscall.ECONNREFUSED):
		return ErrRefused
	case errors.As(err, &certificate):
		return ErrUntrusted
	}
	return otherwise
}

// sameHost follows a few redirects on the host that was asked, and none to elsewhere: a backend must not be able to
// point the Edge at another machine of its network. The redirect itself is then the answer, and not a 200.
func sameHost(req *http.Request, via []*http.Request) error {
	const most = 3
	if len(via) > most || req.URL.Host != via[0].URL.Host || req.URL.Scheme != via[0].URL.Scheme {
		return http.ErrUseLastResponse
	}
	return nil
}
