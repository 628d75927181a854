package client

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"sync/atomic"
	"time"

	"iop/wire/backoff"
)

// Command is what an Edge is to run.
type Command struct {
	EdgeID     string
	Operation  string
	NodeID     string         // empty: none
	Parameters map[string]any // of JSON; numbers are doubles
	// Timeout bounds the wait for the Edge's first answer, at most 10 m; 0: 30 s. Once accepted, only the Edge ends a command.
	Timeout time.Duration
	Reason  string // for the audit
	// Key is the idempotency key: the Control Plane sends the command once, however often it gets the key; empty: a new one.
	Key string
	// NoWait: don't wait for the Edge's first answer.
	NoWait bool
	// Changed, if set, is called with the cause and the time until the next attempt when the Control Plane gives no answer, and with
	// nil when it does again.
	Changed func(err error, retryIn time.Duration)
}

// NewKey makes a unique idempotency key, for a caller who wants to know it beforehand.
func NewKey() string { return rand.Text() }

const (
	defaultCommandTimeout = 30 * time.Second
	commandTries          = 5
	commandRetryInitial   = 100 * time.Millisecond
	commandRetryMax       = 2 * time.Second
)

// Command has an Edge run a command, and returns its record: terminal, or accepted and still running. A *Problem with an
// Operation means that the command was sent. When the network fails, the command is sent again under its key; if that doesn't
// help, the error is an *Uncertain, or an *Unreachable if the command was never sent.
func (r *Repository) Command(ctx context.Context, c Command) (*Operation, error) {
	q, err := c.request()
	if err != nil {
		return nil, err
	}
	if c.Timeout == 0 {
		c.Timeout = defaultCommandTimeout
	}
	q.patience = c.Timeout
	bounded, cancel := context.WithTimeoutCause(ctx, c.Timeout+2*r.opts.Timeout, errTime)
	defer cancel()
	d := dispatch{repo: r, request: q, key: q.header[keyHeader], wait: r.commandBackoff(), changed: orIgnore(c.Changed)}
	if d.mark, err = r.newestEvent(bounded); err != nil {
		return nil, d.finally(bounded, err)
	}
	return d.run(bounded)
}

const keyHeader = "Idempotency-Key"

// errTime ends a command's tries when their time is up.
var errTime = errors.New("the time for it is up")

func (c *Command) request() (request, error) {
	path, err := edgePath(c.EdgeID, "commands")
	if err != nil {
		return request{}, err
	}
	body := struct {
		Operation  string         `json:"operation"`
		NodeID     string         `json:"node_id,omitempty"`
		Parameters map[string]any `json:"parameters,omitempty"`
		Timeout    string         `json:"timeout,omitempty"`
		Reason     string         `json:"reason,omitempty"`
	}{Operation: c.Operation, NodeID: c.NodeID, Parameters: c.Parameters, Reason: c.Reason}
	if c.Timeout != 0 {
		body.Timeout = c.Timeout.String()
	}
	encoded, err := json.Marshal(body)
	if err != nil {
		return request{}, fmt.Errorf("the parameters are no JSON: %w", err)
	}
	key := c.Key
	if key == "" {
		key = NewKey()
	}
	q := request{method: http.MethodPost, path: path, body: encoded,
		header: map[string]string{keyHeader: key, "Content-Type": "application/json"}}
	if c.NoWait {
		q.query = url.Values{"wait": {"false"}}
	}
	return q, nil
}

// newestEvent is the id of the newest event, by which the Control Plane tells later whether it was restarted; empty where
// there never was an event, and so no Edge that could run a command.
func (r *Repository) newestEvent(ctx context.Context) (string, error) {
	page, err := r.Events(ctx, EventQuery{Limit: 1})
	if err != nil || page.Next == nil {
		return "", err
	}
	return *page.Next, nil
}

// dispatch is one command on its way: its tries share a key.
type dispatch struct {
	repo    *Repository
	request request
	key     string
	mark    string // an event from before the first try
	wait    *backoff.Backoff
	changed func(err error, retryIn time.Duration)
	lost    error       // why the last call had no answer; nil where it had one
	sent    atomic.Bool // a try had a connection, so the Control Plane may have the command
}

func (d *dispatch) run(ctx context.Context) (*Operation, error) {
	for try := 1; ; try++ {
		o, err := d.try(ctx)
		if err == nil {
			d.answered()
			return o, nil
		}
		if !mayRetry(err) || try == commandTries || d.pause(ctx, err) != nil {
			return nil, d.finally(ctx, err)
		}
		if restarted, cause := d.restarted(ctx); restarted || cause != nil {
			return nil, &Uncertain{Key: d.key, Restarted: restarted, Err: d.ended(ctx, cmp.Or(cause, err))}
		}
	}
}

// pause waits for the next call after one without an answer.
func (d *dispatch) pause(ctx context.Context, err error) error {
	pause := d.wait.Next()
	d.lost = err
	d.changed(err, pause)
	return sleep(ctx, pause)
}

func (d *dispatch) answered() {
	if d.lost != nil {
		d.lost = nil
		d.changed(nil, 0)
	}
}

func (d *dispatch) try(ctx context.Context) (*Operation, error) {
	traced := httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GotConn: func(httptrace.GotConnInfo) { d.sent.Store(true) },
	})
	return answer[Operation](traced, d.repo, d.request)
}

// mayRetry tells a network that failed from an answer, and from a server that isn't the one that was meant.
func mayRetry(err error) bool {
	var odd *Unexpected
	var lost *Unreachable
	var stranger *tls.CertificateVerificationError
	switch {
	case errors.As(err, &odd):
		return odd.Gateway()
	case errors.As(err, &stranger):
		return false
	}
	return errors.As(err, &lost)
}

// restarted tells whether the Control Plane has been restarted since the first try, and with it forgotten the key. A start
// between this answer and the next try can't be seen; there are milliseconds for it.
func (d *dispatch) restarted(ctx context.Context) (bool, error) {
	if !d.sent.Load() {
		return false, nil
	}
	if d.mark == "" {
		return true, nil // it can't be told
	}
	for {
		page, err := d.repo.Events(ctx, EventQuery{After: d.mark, Limit: 1})
		switch {
		case err == nil:
			d.answered()
			return page.Gap != nil && page.Gap.Reason == Restarted, nil
		case !mayRetry(err) && !errors.Is(err, ShuttingDown):
			return false, err
		}
		if err := d.pause(ctx, err); err != nil {
			return false, err
		}
	}
}

// finally says of a failure what it means for the command.
func (d *dispatch) finally(ctx context.Context, err error) error {
	if errors.As(err, new(*Problem)) {
		return err
	}
	err = d.ended(ctx, err)
	if d.sent.Load() {
		return &Uncertain{Key: d.key, Err: err}
	}
	return err
}

// ended says why the tries ended: by this failure, by the caller, or because their time is up. In the last case the reason why there was no
// answer until then says more.
func (d *dispatch) ended(ctx context.Context, err error) error {
	switch {
	case ctx.Err() == nil:
		return err
	case !errors.Is(context.Cause(ctx), errTime):
		return ctx.Err()
	}
	return cmp.Or(d.lost, error(&Unreachable{Err: context.DeadlineExceeded}))
}
