package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"iop/load/measure"
)

// server is one of the two, running.
type server struct {
	cmd      *exec.Cmd
	dir      string
	http     string // http://host:port
	edgeWire string // host:port
	debug    string // http://host:port
}

func controlPlane(bin string) func(dir string) (*exec.Cmd, error) {
	return func(dir string) (*exec.Cmd, error) {
		config := filepath.Join(dir, "control-plane.yaml")
		err := os.WriteFile(config, []byte(`server:
  id: bench
  http_listen: 127.0.0.1:0
  wire_listen: 127.0.0.1:0
  edge_wire_listen: 127.0.0.1:0
  debug_listen: 127.0.0.1:0
`), 0o600)
		return exec.Command(bin, "--config", config, "--addresses-file", filepath.Join(dir, "addresses")), err
	}
}

func baseline(bin string) func(dir string) (*exec.Cmd, error) {
	return func(dir string) (*exec.Cmd, error) {
		return exec.Command(bin, "--addresses-file", filepath.Join(dir, "addresses")), nil
	}
}

const startTime = 15 * time.Second

func start(command func(dir string) (*exec.Cmd, error)) (*server, error) {
	dir, err := os.MkdirTemp("", "iop-bench")
	if err != nil {
		return nil, err
	}
	cmd, err := command(dir)
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		os.RemoveAll(dir)
		return nil, err
	}
	s := &server{cmd: cmd, dir: dir}
	for by := time.Now().Add(startTime); time.Now().Before(by); time.Sleep(20 * time.Millisecond) {
		var a struct {
			HTTP     string `json:"http"`
			EdgeWire string `json:"edge_wire"`
			Debug    string `json:"debug"`
		}
		b, err := os.ReadFile(filepath.Join(dir, "addresses"))
		if err != nil || json.Unmarshal(b, &a) != nil {
			continue
		}
		s.http, s.edgeWire, s.debug = "http://"+a.HTTP, a.EdgeWire, "http://"+a.Debug
		if _, err := fetch(http.MethodGet, s.http+"/readyz"); err == nil {
			return s, nil
		}
	}
	s.stop()
	return nil, errors.New("the server isn't ready")
}

func (s *server) process() measure.Process { return measure.Process{Pid: s.cmd.Process.Pid} }

func (s *server) stop() {
	_ = s.cmd.Process.Kill()
	_ = s.cmd.Wait()
	os.RemoveAll(s.dir)
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
	u, err := s.process().Usage()
	return u.Resident, goroutines, err
}
