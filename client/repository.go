package client

import (
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"iop/wire/backoff"
)

// Options say how to talk to a Control Plane. The zero value has no token, and trusts the system's authorities for https.
type Options struct {
	// Token is an operator's; empty: none is sent.
	Token string
	// TLS is for https addresses; nil trusts the system's authorities.
	TLS *tls.Config
	// UserAgent is sent as User-Agent, for proxies and their logs; empty: iop-client.
	UserAgent string
	// Timeout is how long an answer may take beyond the time that Edges have to answer; 0: 10 s.
	Timeout time.Duration
}

const (
	defaultTimeout   = 10 * time.Second
	defaultUserAgent = "iop-client"
	// maxAnswerBytes bounds an answer. A page of 1000 Edges with a dozen nodes each is a tenth of it.
	maxAnswerBytes = 64 << 20
	// maxIdle is how many connections are kept for the next calls.
	maxIdle = 8
)

// Repository talks to a Control Plane over HTTP. It may be used from several goroutines.
type Repository struct {
	base      string // without a slash at its end
	opts      Options
	http      *http.Client
	transport *http.Transport
	clock     serverClock

	maxAnswer                     int64
	streamBackoff, commandBackoff func() *backoff.Backoff // of lost streams and of commands
}

// New makes a Repository for an address such as http://127.0.0.1:18080 or https://control.example/iop. It doesn't connect
// yet. Its error is for people.
func New(address string, o Options) (*Repository, error) {
	base, err := baseURL(address)
	if err != nil {
		return nil, err
	}
	if o.Timeout <= 0 {
		o.Timeout = defaultTimeout
	}
	if o.UserAgent == "" {
		o.UserAgent = defaultUserAgent
	}
	transport := &http.Transport{
		Proxy:               http.ProxyFromEnvironment,
		DialContext:         (&net.Dialer{Timeout: defaultTimeout}).DialContext,
		TLSClientConfig:     o.TLS,
		TLSHandshakeTimeout: defaultTimeout,
		MaxIdleConnsPerHost: maxIdle,
		IdleConnTimeout:     time.Minute,
		DisableCompression:  true, // a stream's events would wait for a packer's buffer
	}
	return &Repository{
		base: base, opts: o, transport: transport,
		maxAnswer:      maxAnswerBytes,
		streamBackoff:  func() *backoff.Backoff { return backoff.New(streamRetryInitial, streamRetryMax) },
		commandBackoff: func() *backoff.Backoff { return backoff.New(commandRetryInitial, commandRetryMax) },
		http: &http.Client{
			Transport:     transport,
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
	}, nil
}

// Address is the address that the Repository was made for.
func (r *Repository) Address() string { return r.base }

// Now estimates the Control Plane's clock from the Date of its last answer, so that ages come out right even if this machine's clock
// is wrong. It is accurate to a second. Before the first answer, and while both clocks agree within two seconds, it is this machine's
// clock.
func (r *Repository) Now() time.Time { return r.clock.now(time.Now()) }

// Close drops the idle connections. The Repository can still be used.
func (r *Repository) Close() { r.transport.CloseIdleConnections() }

func baseURL(address string) (string, error) {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" ||
		u.User != nil || u.RawQuery != "" || u.ForceQuery || u.Fragment != "" {
		return "", fmt.Errorf("the address %q is not http://host:port or https://host:port", address)
	}
	return strings.TrimRight(u.String(), "/"), nil
}
