package client

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"sync"
	"time"

	"iop/wire"
	"iop/wire/backoff"
)

// WireOptions say who the Client is. The zero value is one without a name and token.
type WireOptions struct {
	ClientID, Name, Version string // at most 256 bytes each
	Token                   string // an operator's
	// TLS is for wss URLs; nil trusts the system's authorities.
	TLS *tls.Config
	// Header goes with the upgrade request.
	Header http.Header
	// Changed, if it isn't nil, is called after each connection and each loss, one call at a time. It must not call Close.
	Changed func(WireState)
}

// ServerInfo is what a Control Plane says about itself in its answer to the hello.
type ServerInfo struct {
	ServerID          string
	Version           string
	ProtocolVersion   uint32
	HeartbeatInterval time.Duration
	MaxFrameBytes     uint32
	Time              time.Time // of the server; zero where it didn't say
}

// WireState is the state of a Wire.
type WireState struct {
	Server  *ServerInfo   // nil while there is no connection
	Err     error         // why there is none
	RetryIn time.Duration // until the next attempt
}

const (
	reconnectInitial = time.Second
	reconnectMax     = 30 * time.Second
)

// Wire is a connection of the Client wire that reconnects by itself. It may be used from several goroutines.
type Wire struct {
	url  string
	opts WireOptions
	stop context.CancelFunc
	done chan struct{}

	mu      sync.Mutex
	link    *wireLink     // nil while there is none
	lost    error         // why there is none
	changed chan struct{} // closed at the next change of link
}

// DialWire connects to a URL such as ws://127.0.0.1:19080/client, says hello and waits for the answer; /client may be left out.
// From then on the Wire stays connected: a lost connection is dialled again, after a wait that grows with each
// failure, and not before a GoAway's reconnect_after. The context counts until DialWire returns; Close ends the Wire.
//
// Errors: *Problem if the hello was refused, *GoAway if there is no room, *UpgradeRefused, *Unreachable.
func DialWire(ctx context.Context, wireURL string, o WireOptions) (*Wire, error) {
	return dialWire(ctx, wireURL, o, backoff.New(reconnectInitial, reconnectMax))
}

func dialWire(ctx context.Context, wireURL string, o WireOptions, wait *backoff.Backoff) (*Wire, error) {
	target, err := clientURL(wireURL)
	if err != nil {
		return nil, err
	}
	if len(o.ClientID) > wire.MaxTextBytes || len(o.Name) > wire.MaxTextBytes || len(o.Version) > wire.MaxTextBytes {
		return nil, fmt.Errorf("ClientID, Name and Version are at most %d bytes each", wire.MaxTextBytes)
	}
	w := &Wire{url: target, opts: o, done: make(chan struct{}), changed: make(chan struct{})}
	link, err := w.connect(ctx)
	if err != nil {
		return nil, err
	}
	life, stop := context.WithCancel(context.Background())
	w.stop = stop
	w.set(link, nil)
	go w.run(life, link, wait)
	return w, nil
}

func clientURL(s string) (string, error) {
	u, err := url.Parse(s)
	if err != nil || u.Scheme != "ws" && u.Scheme != "wss" || u.Hostname() == "" || u.User != nil || u.Fragment != "" {
		return "", fmt.Errorf("the URL %q is not ws://host:port or wss://host:port", s)
	}
	if u.Path == "" || u.Path == "/" {
		u.Path = wire.ClientPath
	}
	return u.String(), nil
}

// Server is what the Control Plane said in the newest hello's answer; nil while there is no connection.
func (w *Wire) Server() *ServerInfo {
	link, _, _ := w.current()
	if link == nil {
		return nil
	}
	return link.server
}

// RoundTrip is what a Ping measured.
type RoundTrip struct {
	Took   time.Duration
	Server *ServerInfo // that answered
	// ServerTime is the Control Plane's clock when it answered; zero if it didn't say.
	ServerTime time.Time
}

// Ping measures a round trip. If there is no connection, it waits for one, for 10 s. It fails with the context's error, with why there is
// no connection (the errors of DialWire), with *Unreachable if there was no answer in 10 s, and with net.ErrClosed after Close.
func (w *Wire) Ping(ctx context.Context) (RoundTrip, error) {
	late := time.NewTimer(pingTimeout)
	defer late.Stop()
	for {
		link, changed, lost := w.current()
		if link != nil {
			return link.ping(ctx)
		}
		select {
		case <-changed:
		case <-w.done:
			return RoundTrip{}, net.ErrClosed
		case <-late.C:
			return RoundTrip{}, lost
		case <-ctx.Done():
			return RoundTrip{}, ctx.Err()
		}
	}
}

// Close says goodbye and waits until the connection is closed.
func (w *Wire) Close() {
	w.stop()
	<-w.done
}

// run keeps the Wire connected until its context ends.
func (w *Wire) run(ctx context.Context, link *wireLink, wait *backoff.Backoff) {
	defer close(w.done)
	for {
		began := time.Now()
		w.tell(WireState{Server: link.server})
		err := link.serve(ctx)
		w.set(nil, err)
		wait.Held(time.Since(began))
		if link = w.redial(ctx, wait, err); link == nil {
			return
		}
		w.set(link, nil)
	}
}

// redial tries until there is a connection; nil when the context has ended.
func (w *Wire) redial(ctx context.Context, wait *backoff.Backoff, err error) *wireLink {
	for ctx.Err() == nil {
		pause := pauseAfter(err, wait)
		w.tell(WireState{Err: err, RetryIn: pause})
		if sleep(ctx, pause) != nil {
			break
		}
		var link *wireLink
		if link, err = w.connect(ctx); err == nil {
			return link
		}
		w.set(nil, err)
	}
	return nil
}

// pauseAfter is how long to wait before the next try: after a refusal, which soon would be the same, as long as it may be.
func pauseAfter(err error, wait *backoff.Backoff) time.Duration {
	var away *GoAway
	var refused *Problem
	switch {
	case errors.As(err, &away):
		return max(wait.Next(), away.ReconnectAfter)
	case errors.As(err, &refused):
		return max(wait.Next(), wait.Max())
	}
	return wait.Next()
}

func (w *Wire) tell(s WireState) {
	if w.opts.Changed != nil {
		w.opts.Changed(s)
	}
}

func (w *Wire) current() (link *wireLink, changed <-chan struct{}, lost error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.link, w.changed, w.lost
}

func (w *Wire) set(link *wireLink, lost error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.link, w.lost = link, lost
	close(w.changed)
	w.changed = make(chan struct{})
}
