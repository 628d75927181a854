package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"iop/load/daemon"
	"iop/load/measure"
)

// kind is one of the servers that are compared.
type kind struct {
	name    string
	options daemon.Options
}

// The servers' names in what is printed.
const (
	plane    = "control-plane"
	baseline = "baseline"
)

func controlPlane(bin string) kind {
	return kind{plane, daemon.Options{Bin: bin, Config: `server:
  id: bench
  http_listen: 127.0.0.1:0
  wire_listen: 127.0.0.1:0
  edge_wire_listen: 127.0.0.1:0
  debug_listen: 127.0.0.1:0
`}}
}

// server is one of them, running.
type server struct {
	*daemon.Daemon
	http     string // http://host:port
	edgeWire string // host:port
	debug    string // http://host:port
}

func start(o daemon.Options) (*server, error) {
	d, err := daemon.Start(o)
	if err != nil {
		return nil, err
	}
	a := d.Addresses()
	return &server{Daemon: d, http: "http://" + a.HTTP, edgeWire: a.EdgeWire, debug: "http://" + a.Debug}, nil
}

// callTime is the longest that a call may take. A server that hangs must not hang the bench.
const callTime = time.Minute

var beside = &http.Client{Timeout: callTime}

// call gives the body of an answer, which must be a good one.
func call(ctx context.Context, client *http.Client, method, url, body string) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, method, url, strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	if body != "" {
		request.Header.Set("Content-Type", "application/json")
	}
	response, err := client.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode/100 != 2 {
		err = fmt.Errorf("%s %s: %s", method, url, response.Status)
	}
	return answer, err
}

// warmEdges are connected before anything is measured.
const warmEdges = 50

// warmUp connects a few Edges, asks them and lets them go.
func (s *server) warmUp(ctx context.Context, n int, shape shape) error {
	f, err := startFleet(ctx, FleetOrder{s.edgeWire, n, shape})
	if err != nil {
		return err
	}
	defer f.close()
	if err := f.connect(ctx); err != nil {
		return err
	}
	if err := f.push(ctx, 1); err != nil {
		return err
	}
	for i := range n {
		if _, err := call(ctx, beside, http.MethodGet, s.http+"/edges/"+edgeID(i)+"/status", ""); err != nil {
			return err
		}
	}
	_, err = call(ctx, beside, http.MethodGet, s.http+"/metrics", "")
	return err
}

// usage is what a server holds at one moment.
type usage struct{ resident, goroutines float64 }

// settled waits until what is garbage has gone.
func (s *server) settled(ctx context.Context, pause time.Duration) (usage, error) {
	if err := wait(ctx, pause); err != nil {
		return usage{}, err
	}
	if err := s.free(ctx); err != nil {
		return usage{}, err
	}
	if err := wait(ctx, 2*pause); err != nil {
		return usage{}, err
	}
	metrics, err := call(ctx, beside, http.MethodGet, s.http+"/metrics", "")
	if err != nil {
		return usage{}, err
	}
	goroutines, err := measure.Metrics(metrics, "go_goroutines")
	if err != nil {
		return usage{}, err
	}
	u, err := s.Process().Usage()
	return usage{float64(u.Resident), goroutines[0]}, err
}

// free has the server collect its garbage and give unused memory back.
func (s *server) free(ctx context.Context) error {
	for range 2 { // the second one frees what finalizers and pools let go at the first
		if _, err := call(ctx, beside, http.MethodPost, s.debug+"/debug/freeosmemory", ""); err != nil {
			return err
		}
	}
	return nil
}

func wait(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}
