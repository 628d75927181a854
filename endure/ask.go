//go:build linux

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"time"

	"iop/load/measure"
)

// asker asks the Control Plane as somebody who has just come: each time on a new connection.
type asker struct {
	base   string
	client *http.Client
}

const maxAnswer = 16 << 20

func newAsker(base string) *asker {
	return &asker{base: base, client: &http.Client{Timeout: requestTime, Transport: &http.Transport{DisableKeepAlives: true}}}
}

// do gives the status and the body of one answer.
func (a *asker) do(ctx context.Context, method, path string, body []byte) (int, []byte, error) {
	request, err := http.NewRequestWithContext(ctx, method, a.base+path, bytes.NewReader(body))
	if err != nil {
		return 0, nil, err
	}
	if body != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	response, err := a.client.Do(request)
	if err != nil {
		return 0, nil, err
	}
	defer response.Body.Close()
	content, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer))
	return response.StatusCode, content, err
}

// ok tells whether it is answered with 200 within a time.
func (a *asker) ok(path string, within time.Duration) bool {
	ctx, cancel := context.WithTimeout(context.Background(), within)
	defer cancel()
	status, _, err := a.do(ctx, http.MethodGet, path, nil)
	return err == nil && status == http.StatusOK
}

// get reads a JSON answer.
func (a *asker) get(path string, into any) error {
	status, body, err := a.do(context.Background(), http.MethodGet, path, nil)
	if err == nil && status != http.StatusOK {
		err = fmt.Errorf("GET %s: status %d", path, status)
	}
	if err == nil {
		err = json.Unmarshal(body, into)
	}
	return err
}

// metrics reads some gauges and counters.
func (a *asker) metrics(names ...string) ([]float64, error) {
	status, body, err := a.do(context.Background(), http.MethodGet, "/metrics", nil)
	if err == nil && status != http.StatusOK {
		err = fmt.Errorf("status %d", status)
	}
	if err != nil {
		return nil, fmt.Errorf("GET /metrics: %w", err)
	}
	return measure.Metrics(body, names...)
}
