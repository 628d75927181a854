package main

import (
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"iop/load/daemon"
)

// server is one of the two, running.
type server struct {
	*daemon.Daemon
	http     string // http://host:port
	edgeWire string // host:port
	debug    string // http://host:port
}

func controlPlane(bin string) daemon.Options {
	return daemon.Options{Bin: bin, Config: `server:
  id: bench
  http_listen: 127.0.0.1:0
  wire_listen: 127.0.0.1:0
  edge_wire_listen: 127.0.0.1:0
  debug_listen: 127.0.0.1:0
`}
}

func start(o daemon.Options) (*server, error) {
	d, err := daemon.Start(o)
	if err != nil {
		return nil, err
	}
	a := d.Addresses()
	return &server{Daemon: d, http: "http://" + a.HTTP, edgeWire: a.EdgeWire, debug: "http://" + a.Debug}, nil
}

// own is for what is asked beside the load. A server that hangs must not hang the bench.
var own = &http.Client{Timeout: 10 * time.Second}

func fetch(method, url string) (string, error) {
	request, err := http.NewRequest(method, url, nil)
	if err != nil {
		return "", err
	}
	response, err := own.Do(request)
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode/100 != 2 {
		err = fmt.Errorf("%s %s: %s", method, url, response.Status)
	}
	return string(body), err
}

// warmUp connects a few Edges, asks them and lets them go.
func (s *server) warmUp(shape shape) error {
	edges, _, err := connect(s.edgeWire, 50, shape, true)
	if err != nil {
		return err
	}
	defer edges.close()
	for i := range 50 {
		if _, err := fetch(http.MethodGet, s.http+"/edges/"+edgeID(i)+"/status"); err != nil {
			return err
		}
	}
	_, err = fetch(http.MethodGet, s.http+"/metrics")
	return err
}

// settled gives resident bytes and goroutines once what is garbage has gone.
func (s *server) settled() (rss, goroutines int64, err error) {
	time.Sleep(time.Second)
	for range 2 { // the second one frees what finalizers and pools let go at the first
		if _, err := fetch(http.MethodPost, s.debug+"/debug/freeosmemory"); err != nil {
			return 0, 0, err
		}
	}
	time.Sleep(2 * time.Second)
	metrics, err := fetch(http.MethodGet, s.http+"/metrics")
	if err != nil {
		return 0, 0, err
	}
	for line := range strings.Lines(metrics) {
		if n, ok := strings.CutPrefix(line, "go_goroutines "); ok {
			f, err := strconv.ParseFloat(strings.TrimSpace(n), 64)
			if err != nil {
				return 0, 0, err
			}
			goroutines = int64(f)
		}
	}
	u, err := s.Process().Usage()
	return u.Resident, goroutines, err
}
