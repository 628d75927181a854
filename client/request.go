package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"
	"net/url"
	"time"

	"iop/wire"
)

// request is one call of the HTTP interface.
type request struct {
	method   string // empty: GET
	path     string // escaped
	query    url.Values
	header   map[string]string
	body     []byte
	patience time.Duration // what Edges are given to answer
}

type requestIDKey struct{}

// WithRequestID makes calls with this context send the id, 1 to 128 of A-Z a-z 0-9 . _ -, which the Control Plane's log then
// has for them. Without it each call gets its own id.
func WithRequestID(ctx context.Context, id string) context.Context {
	return context.WithValue(ctx, requestIDKey{}, id)
}

func requestID(ctx context.Context) string {
	if id, ok := ctx.Value(requestIDKey{}).(string); ok {
		return id
	}
	return NewKey()
}

// call asks and decodes a successful answer into a view.
func (r *Repository) call(ctx context.Context, q request, into any) error {
	bounded, cancel := context.WithTimeout(ctx, r.opts.Timeout+q.patience)
	defer cancel()
	response, err := r.send(bounded, q)
	if err != nil {
		return noAnswer(ctx, err)
	}
	defer response.Body.Close()
	body, err := r.readBody(response)
	if err != nil {
		return noAnswer(ctx, err)
	}
	if response.StatusCode >= http.StatusMultipleChoices {
		return refusal(response, body)
	}
	if err := json.Unmarshal(body, into); err != nil {
		return unexpected(response, "its JSON can't be read")
	}
	return nil
}

func (r *Repository) send(ctx context.Context, q request) (*http.Response, error) {
	target := r.base + q.path
	if len(q.query) > 0 {
		target += "?" + q.query.Encode()
	}
	var body io.Reader
	if q.body != nil {
		body = bytes.NewReader(q.body)
	}
	request, err := http.NewRequestWithContext(ctx, q.method, target, body)
	if err != nil {
		return nil, err
	}
	request.GetBody = nil // a command is sent again by Command alone, which looks first whether that is safe
	request.Header.Set("User-Agent", r.opts.UserAgent)
	request.Header.Set("X-Request-Id", requestID(ctx))
	request.Header.Set("Accept", "application/json")
	if r.opts.Token != "" {
		request.Header.Set("Authorization", "Bearer "+r.opts.Token)
	}
	for name, value := range q.header {
		request.Header.Set(name, value)
	}
	response, err := r.http.Do(request)
	if err == nil {
		r.clock.read(response.Header.Get("Date"), time.Now())
	}
	return response, err
}

// readBody reads an answer of bounded size.
func (r *Repository) readBody(response *http.Response) ([]byte, error) {
	b := bytes.NewBuffer(make([]byte, 0, max(min(response.ContentLength+bytes.MinRead, r.maxAnswer), bytes.MinRead)))
	if _, err := b.ReadFrom(io.LimitReader(response.Body, r.maxAnswer+1)); err != nil {
		return nil, err
	}
	if int64(b.Len()) > r.maxAnswer {
		return nil, &TooLarge{Bound: r.maxAnswer}
	}
	return b.Bytes(), nil
}

// refusal makes an error of an answer that isn't a success.
func refusal(response *http.Response, body []byte) error {
	kind, _, _ := mime.ParseMediaType(response.Header.Get("Content-Type"))
	p := &Problem{}
	if kind != "application/problem+json" || json.Unmarshal(body, p) != nil || p.Code == "" {
		return unexpected(response, "it is no problem document")
	}
	p.Status = response.StatusCode
	p.RetryAfter = retryAfter(response.Header)
	return p
}

// noAnswer tells a caller that ended the call itself from a network that failed.
func noAnswer(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if errors.As(err, new(*TooLarge)) {
		return err
	}
	if wrapped := (*url.Error)(nil); errors.As(err, &wrapped) {
		err = wrapped.Err // without the URL, which the caller knows
	}
	return &Unreachable{Err: err}
}

// edgePath is a path below an Edge. What is no edge_id is refused here: it could make another path of it.
func edgePath(edgeID string, below ...string) (string, error) {
	if !wire.ValidEdgeID(edgeID) {
		return "", invalid("edge_id: " + wire.EdgeIDRule)
	}
	path := "/edges/" + edgeID
	for _, part := range below {
		if part == "" || part == "." || part == ".." {
			return "", invalid("operation_id: it is empty or no id")
		}
		path += "/" + url.PathEscape(part)
	}
	return path, nil
}

func invalid(detail string) error {
	return &Problem{Code: InvalidRequest, Status: http.StatusBadRequest, Title: http.StatusText(http.StatusBadRequest), Detail: detail}
}
