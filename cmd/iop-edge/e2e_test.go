//go:build unix

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"iop/internal/testkit"
	"iop/internal/testkit/testdaemon"
)

// These tests run a real Control Plane and a real Edge as processes of their own, with a real HTTP backend behind and real
// requests through the Edge.

// engine is a backend that streams an answer for a while, and counts.
type engine struct {
	lasts                      time.Duration
	stuck                      chan struct{} // what is asked for "stuck" runs until it is closed, or cut
	begun, running, ended, cut atomic.Int32
}

func (e *engine) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch r.URL.Path {
	case "/v1/models":
		_, _ = io.WriteString(w, `{"data":[{"id":"m-small"},{"id":"stuck"}]}`)
	case "/v1/chat/completions":
		e.complete(w, r)
	case "/metrics":
		_, _ = fmt.Fprintf(w, "vllm:num_requests_running %d\n", e.running.Load())
	}
}

func (e *engine) complete(w http.ResponseWriter, r *http.Request) {
	e.begun.Add(1)
	e.running.Add(1)
	defer e.running.Add(-1)
	body, _ := io.ReadAll(r.Body)
	for range 10 {
		_, _ = io.WriteString(w, "data: x\n\n")
		_ = http.NewResponseController(w).Flush()
		time.Sleep(e.lasts / 10)
	}
	if strings.Contains(string(body), `"stuck"`) {
		select {
		case <-e.stuck:
		case <-r.Context().Done():
		}
	}
	if r.Context().Err() != nil {
		e.cut.Add(1)
		return
	}
	_, _ = io.WriteString(w, "data: [DONE]\n\n")
	e.ended.Add(1)
}

// fleet is a Control Plane, an Edge and its engine.
type fleet struct {
	t                 *testing.T
	dir               string
	controlPlane, api string // URLs
	edgeWire          string
	engine            *engine
	edge              *exec.Cmd
	log               bytes.Buffer // of the Edge, to be read after it has ended
}

// TestEndToEnd gives every test a Control Plane of its own.
func TestEndToEnd(t *testing.T) {
	for name, test := range map[string]func(*fleet){
		"a drain under load cuts nothing":                   drainUnderLoad,
		"a drain that outlives its deadline says what runs": drainTooLong,
		"settings change while it runs":                     changeSettings,
		"an Edge that was killed comes back":                killEdge,
		"a clone is seen":                                   runClone,
	} {
		t.Run(name, func(t *testing.T) { test(startFleet(t)) })
	}
}

func startFleet(t *testing.T) *fleet {
	t.Helper()
	f := &fleet{t: t, dir: t.TempDir(), engine: &engine{lasts: 200 * time.Millisecond, stuck: make(chan struct{})}}
	backend := httptest.NewServer(f.engine)
	t.Cleanup(backend.Close)
	at := testdaemon.Start(t, nil).Addresses()
	f.controlPlane, f.edgeWire, f.api = "http://"+at.HTTP, at.EdgeWire, "http://"+testkit.FreeAddress(t)
	f.write("edge.yaml", fmt.Sprintf(`
edge: {id: seoul-1}
control_plane: {address: "%s"}
nodes:
  - id: gpu-1
    providers:
      - {id: vllm-0, type: vllm, base_url: "%s", capacity: 4}
probe: {interval: 200ms}
pass_through: {listen: "%s", queue: 2}
state_file: state
status_socket: status
`, at.EdgeWire, backend.URL, strings.TrimPrefix(f.api, "http://")))
	f.startEdge()
	return f
}

func (f *fleet) startEdge() {
	f.t.Helper()
	f.edge = exec.Command("iop-edge", "--config", "edge.yaml")
	f.edge.Dir, f.edge.Stderr = f.dir, &f.log
	f.run(f.edge)
	testkit.Eventually(f.t, "the Control Plane sees the provider", func() bool { return f.provider()["status"] == "available" })
}

func (f *fleet) run(c *exec.Cmd) {
	f.t.Helper()
	if err := c.Start(); err != nil {
		f.t.Fatal(err)
	}
	f.t.Cleanup(func() {
		_ = c.Process.Kill()
		_ = c.Wait()
	})
}

func (f *fleet) write(name, text string) {
	f.t.Helper()
	if err := os.WriteFile(filepath.Join(f.dir, name), []byte(text), 0o600); err != nil {
		f.t.Fatal(err)
	}
}

// runClone: two processes with one id replace each other, soon enough for the Control Plane to call it a conflict.
func runClone(f *fleet) {
	f.write("clone.yaml", fmt.Sprintf(`
edge: {id: seoul-1}
control_plane: {address: "%s", reconnect: {initial: 100ms, max: 2s}}
nodes: [{id: gpu-1, providers: [{id: vllm-0, type: vllm, base_url: "http://127.0.0.1:1", capacity: 4}]}]
`, f.edgeWire))
	clone := exec.Command("iop-edge", "--config", "clone.yaml")
	clone.Dir = f.dir
	f.run(clone)
	testkit.Eventually(f.t, "they are in conflict", func() bool { return f.ask(http.MethodGet, "/edges/seoul-1", "")["conflict"] == true })
}

type object = map[string]any

// ask gives the answer of the Control Plane as what JSON knows; nil when there is none.
func (f *fleet) ask(method, path, body string) (answer object) {
	req, err := http.NewRequest(method, f.controlPlane+path, strings.NewReader(body))
	if err != nil {
		f.t.Fatal(err)
	}
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil
	}
	defer resp.Body.Close()
	_ = json.NewDecoder(resp.Body).Decode(&answer)
	return answer
}

// provider is the one there is, as the Control Plane shows it.
func (f *fleet) provider() object {
	answer := f.ask(http.MethodGet, "/edges/seoul-1/status", "")
	nodes, _ := answer["nodes"].([]any)
	if len(nodes) == 0 {
		return nil
	}
	providers, _ := nodes[0].(object)["providers"].([]any)
	return providers[0].(object)
}

func (f *fleet) inFlight() int {
	general, _ := f.provider()["general"].(object)
	n, _ := general["in_flight"].(float64)
	return int(n)
}

// command asks for one, and gives its operation once it has ended.
func (f *fleet) command(operation, parameters string) object {
	f.t.Helper()
	op := f.ask(http.MethodPost, "/edges/seoul-1/commands", fmt.Sprintf(`{"operation":%q,"node_id":"gpu-1","parameters":%s}`, operation, parameters))
	id, _ := op["operation_id"].(string)
	if id == "" {
		f.t.Fatalf("%s is answered %v", operation, op)
	}
	testkit.Eventually(f.t, operation+" ends", func() bool {
		op = f.ask(http.MethodGet, "/edges/seoul-1/operations/"+id, "")
		return op["state"] != "accepted" && op["state"] != "running" && op["state"] != "sent"
	})
	return op
}

// complete sends a request through the Edge and gives its status, and whether the answer is whole.
func (f *fleet) complete(model string) (status int, whole bool) {
	resp, err := http.Post(f.api+"/v1/chat/completions", "application/json", strings.NewReader(fmt.Sprintf(`{"model":%q}`, model)))
	if err != nil {
		return 0, false
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	return resp.StatusCode, err == nil && strings.HasSuffix(string(text), "data: [DONE]\n\n")
}

func drainUnderLoad(f *fleet) {
	t := f.t
	var served, refused, broken atomic.Int32
	stop := make(chan struct{})
	var callers sync.WaitGroup
	const asking = 6 // more than the capacity: some wait
	for range asking {
		callers.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				switch status, whole := f.complete("m-small"); {
				case status == http.StatusOK && whole:
					served.Add(1)
				case status == http.StatusServiceUnavailable || status == http.StatusTooManyRequests:
					refused.Add(1)
					time.Sleep(5 * time.Millisecond)
				default:
					broken.Add(1)
				}
			}
		})
	}
	testkit.Eventually(f.t, "the Control Plane sees the load", func() bool { return served.Load() > 10 && f.inFlight() > 0 })

	op := f.command("node.drain", `{"deadline_seconds":60}`)
	begun, whenDrained, refusedBefore := f.engine.begun.Load(), served.Load(), refused.Load()
	if op["state"] != "succeeded" || !strings.Contains(fmt.Sprint(op["events"]), "still run") {
		t.Errorf("the drain is %v", op)
	}
	if running := f.engine.running.Load(); running != 0 {
		t.Errorf("drained, and %d requests run", running)
	}
	if p := f.provider(); p["status"] != "unavailable" || p["health"] != "online" || f.inFlight() != 0 {
		t.Errorf("drained it is %v", p)
	}
	testkit.Eventually(f.t, "the callers are refused again and again", func() bool { return refused.Load() >= refusedBefore+10*asking })
	if now := f.engine.begun.Load(); now != begun {
		t.Errorf("%d requests began after the drain", now-begun)
	}
	if op := f.command("node.resume", `{}`); op["state"] != "succeeded" {
		t.Errorf("the resume is %v", op)
	}
	testkit.Eventually(f.t, "requests are served again", func() bool { return served.Load() > whenDrained+5 })
	close(stop)
	callers.Wait()
	if f.engine.cut.Load() != 0 || broken.Load() != 0 || served.Load() != f.engine.ended.Load() {
		t.Errorf("%d were cut, %d broken, %d served of %d", f.engine.cut.Load(), broken.Load(), served.Load(), f.engine.ended.Load())
	}
	testkit.Eventually(f.t, "nothing runs", func() bool { return f.inFlight() == 0 })
	t.Logf("served %d, refused %d, cut %d", served.Load(), refused.Load(), f.engine.cut.Load())
}

func drainTooLong(f *fleet) {
	t := f.t
	ended := make(chan bool, 1)
	go func() {
		_, whole := f.complete("stuck")
		ended <- whole
	}()
	testkit.Eventually(f.t, "it runs", func() bool { return f.engine.running.Load() == 1 && f.inFlight() == 1 })

	op := f.command("node.drain", `{"deadline_seconds":0.5}`)
	text, err := json.Marshal(op)
	if err != nil {
		t.Fatal(err)
	}
	if op["state"] != "failed" || !strings.Contains(string(text), "1 request still runs after 500ms: lease-") {
		t.Errorf("the drain is %s", text)
	}
	f.statusSays("drained", "unavailable", "online", "1/4")

	result, _ := op["result"].(object)
	running, _ := result["running"].([]any)
	if len(running) != 1 {
		t.Fatalf("running are %v, in %s", running, text)
	}
	lease, _ := running[0].(object)["lease_id"].(string)
	if op := f.command("run.cancel", fmt.Sprintf(`{"lease_id":%q}`, lease)); op["state"] != "succeeded" {
		t.Errorf("the cancel is %v", op)
	}
	if <-ended {
		t.Error("a cancelled run was served")
	}
	testkit.Eventually(f.t, "the engine is told", func() bool { return f.engine.running.Load() == 0 && f.engine.cut.Load() == 1 })
	testkit.Eventually(f.t, "nothing runs", func() bool { return f.inFlight() == 0 })
}

// statusSays runs "iop-edge status" in the folder of the Edge.
func (f *fleet) statusSays(words ...string) {
	f.t.Helper()
	c := exec.Command("iop-edge", "status", "--config", "edge.yaml")
	c.Dir = f.dir
	out, err := c.CombinedOutput()
	if err != nil {
		f.t.Fatalf("%v\n%s", err, out)
	}
	f.t.Logf("iop-edge status:\n%s", out)
	for _, word := range append(words, "gpu-1", "vllm-0") {
		if !strings.Contains(string(out), word) {
			f.t.Errorf("the status says nothing of %s", word)
		}
	}
}

func changeSettings(f *fleet) {
	t := f.t
	shown := f.command("config.show", `{}`)
	text, err := json.Marshal(shown["result"])
	if err != nil || strings.Contains(string(text), "http://") || !strings.Contains(string(text), `"base_url":"***"`) {
		t.Errorf("shown is %s, %v", text, err)
	}
	const settings = `{"settings":"nodes: [{id: gpu-1, providers: [{id: vllm-0, type: vllm, base_url: '***', capacity: %s}]}]"}`
	// Failed, where it took so long that it had been accepted already.
	bad := f.command("config.apply", fmt.Sprintf(settings, "-1"))
	if state := bad["state"]; state != "rejected" && state != "failed" || !strings.Contains(fmt.Sprint(bad), "capacity") {
		t.Errorf("bad settings are %v", bad)
	}
	if op := f.command("config.apply", fmt.Sprintf(settings, "16")); op["state"] != "succeeded" || !strings.Contains(fmt.Sprint(op["result"]), "gpu-1, provider vllm-0: capacity changed") {
		t.Errorf("good settings are %v", op)
	}
	testkit.Eventually(f.t, "the Control Plane sees the capacity", func() bool {
		general, _ := f.provider()["general"].(object)
		return general["capacity"] == 16.0 && f.provider()["status"] == "available"
	})
	if op := f.command("provider.disable", `{"provider_id":"vllm-0"}`); op["state"] != "succeeded" {
		t.Errorf("disabling is %v", op)
	}
	if status, _ := f.complete("m-small"); status != http.StatusServiceUnavailable {
		t.Errorf("with its provider disabled a request is answered %d", status)
	}
	if op := f.command("provider.enable", `{"provider_id":"vllm-0"}`); op["state"] != "succeeded" {
		t.Errorf("enabling is %v", op)
	}
	if status, whole := f.complete("m-small"); status != http.StatusOK || !whole {
		t.Errorf("with its provider enabled a request is answered %d", status)
	}
}

func killEdge(f *fleet) {
	t := f.t
	op := f.command("edge.ping", `{}`)
	_ = f.edge.Process.Signal(syscall.SIGKILL)
	_ = f.edge.Wait()
	f.startEdge() // over the old socket
	f.statusSays("connected", "available")
	again := f.ask(http.MethodGet, fmt.Sprintf("/edges/seoul-1/operations/%v", op["operation_id"]), "")
	if again["state"] != "succeeded" {
		t.Errorf("the operation is %v", again)
	}
	f.startsNoSecond("edge.yaml", "pass_through.listen", "served by another process")
	f.write("second.yaml", "edge: {id: seoul-1}\nnodes: []\nstate_file: state\n")
	f.startsNoSecond("second.yaml", "the state file state is used by another Edge")
	f.write("third.yaml", "edge: {id: seoul-1}\nnodes: []\nstate_file: new\nstatus_socket: status\n")
	f.startsNoSecond("third.yaml", "served by another process")
	if _, err := os.Lstat(filepath.Join(f.dir, "new")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("one that didn't start has written its state file: %v", err)
	}
}

// startsNoSecond starts an Edge beside the one that runs, and wants it to end with certain words.
func (f *fleet) startsNoSecond(config string, words ...string) {
	f.t.Helper()
	ctx, cancel := context.WithTimeout(f.t.Context(), 20*time.Second)
	defer cancel()
	c := exec.CommandContext(ctx, "iop-edge", "--config", config)
	c.Dir = f.dir
	out, err := c.CombinedOutput()
	for _, word := range words {
		if err == nil || !strings.Contains(string(out), word) {
			f.t.Errorf("a second Edge doesn't say %q but %s, %v", word, out, err)
		}
	}
}
