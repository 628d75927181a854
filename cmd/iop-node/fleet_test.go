//go:build unix

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"iop/internal/testkit"
)

// TestKilledAndRestarted runs the Control Plane, an Edge and a Node agent as processes, with two backends that hold real
// requests, one behind the agent and one that the Edge asks itself. Each process in turn is killed without a word and started
// again, while the requests in flight change; each time the fleet must be right again, which means: connected are those
// that are, and the numbers add up to what the backends have.
//
// IOP_KILL_ROUNDS sets the rounds of three kills; `make kill` makes 20. Then a view has 3 s to be right, as promised. Else it
// has longer, because a test that runs beside all others says nothing about speed.
func TestKilledAndRestarted(t *testing.T) {
	rounds, within := 2, patience
	if n, err := strconv.Atoi(os.Getenv("IOP_KILL_ROUNDS")); err == nil {
		rounds, within = n, 3*time.Second
	}
	f := startFleet(t)
	took := f.right(t, patience, f.whole)
	t.Logf("the first view was right after %v", took)
	worst := map[string]time.Duration{}
	for round := range rounds {
		for _, p := range []*process{f.controlPlane, f.edge, f.node} {
			t.Run(fmt.Sprintf("round %d, %s", round+1, p.name), func(t *testing.T) {
				p.kill(t)
				f.load(t)
				switch p {
				case f.edge:
					f.right(t, within, f.withoutEdge)
				case f.node:
					f.right(t, within, f.withoutNode)
				}
				f.load(t)
				p.start(t)
				took := f.right(t, within, f.whole)
				worst[p.name] = max(worst[p.name], took)
				t.Logf("right after %v", took.Round(time.Millisecond))
			})
		}
	}
	t.Logf("%d rounds; the longest time from a restart to a right view: %v", rounds, worst)
	f.events(t, rounds)
	f.node.end(t)
	f.right(t, patience, f.withoutNode)
	f.edge.end(t)
	f.right(t, patience, f.withoutEdge)
}

// fleet is what runs.
type fleet struct {
	http                     string
	controlPlane, edge, node *process
	behind, asked            *testBackend // the agent, and by the Edge
	client                   http.Client
}

func startFleet(t *testing.T) *fleet {
	dir := t.TempDir()
	ports := testkit.FreeAddresses(t, 4)
	f := &fleet{http: ports[0], behind: startBackend(t, 8), asked: startBackend(t, 4), client: http.Client{Timeout: 2 * time.Second}}
	fill := strings.NewReplacer("HTTP", ports[0], "CLIENT", ports[1], "EDGE", ports[2], "NODE", ports[3],
		"BEHIND", f.behind.server.URL, "ASKED", f.asked.server.URL)
	program := func(name, config string) *process {
		bin, err := testkit.Program(name)
		if err != nil {
			t.Fatal(err)
		}
		file := filepath.Join(dir, name+".yaml")
		if err := os.WriteFile(file, []byte(fill.Replace(config)), 0o600); err != nil {
			t.Fatal(err)
		}
		p := &process{name: name, args: []string{bin, "--config", file}}
		t.Cleanup(func() {
			if p.cmd != nil {
				p.kill(t)
			}
			if t.Failed() {
				t.Logf("%s said:\n%s", p.name, p.log.String())
			}
		})
		p.start(t)
		return p
	}
	f.load(t)
	f.controlPlane = program("iop-control-plane", `
server: {http_listen: "HTTP", wire_listen: "CLIENT", edge_wire_listen: "EDGE"}
`)
	f.edge = program("iop-edge", `
edge: {id: seoul-1, node_listen: "NODE"}
control_plane: {address: "EDGE", reconnect: {initial: 50ms, max: 300ms}}
nodes:
  - {id: gpu-1, agent: true, providers: [{id: vllm-0, type: vllm, models: [m-large]}]}
  - {id: gpu-2, providers: [{id: vllm-0, type: vllm, base_url: "ASKED", capacity: 4}]}
probe: {interval: 100ms}
`)
	f.node = program("iop-node", `
node: {id: gpu-1}
edge: {address: "NODE", reconnect: {initial: 50ms, max: 300ms}}
providers: [{id: vllm-0, type: vllm, base_url: "BEHIND", capacity: 8, long_context_capacity: 2}]
probe: {interval: 100ms}
`)
	return f
}

// load changes how many requests are in flight.
func (f *fleet) load(t *testing.T) {
	t.Helper()
	f.behind.want(t, rand.IntN(14))
	f.asked.want(t, rand.IntN(8))
}

// view is what is looked at of /fleet/status.
type view struct {
	Edges struct{ Connected, Disconnected int }
	Fresh struct {
		Edges          int
		NodesConnected int `json:"nodes_connected"`
		General        counters
	}
	Statuses []struct {
		Nodes []nodeView
	}
}

type nodeView struct {
	NodeID    string `json:"node_id"`
	Connected bool
	Providers []providerView
}

type providerView struct {
	ProviderID     string `json:"provider_id"`
	Type           string
	Models         []string
	Status, Health string
	General        counters
	LongContext    counters `json:"long_context"`
}

type counters struct {
	Capacity int64
	InFlight int64 `json:"in_flight"`
	Queued   int64
}

// right waits for a view that is, and gives how long that took.
func (f *fleet) right(t *testing.T, within time.Duration, wrong func(*view) string) time.Duration {
	t.Helper()
	began := time.Now()
	for {
		why := f.look(wrong)
		took := time.Since(began)
		if why == "" {
			return took
		}
		if took > within {
			t.Fatalf("not within %v: %s", within, why)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

func (f *fleet) look(wrong func(*view) string) string {
	res, err := f.client.Get("http://" + f.http + "/fleet/status")
	if err != nil {
		return err.Error()
	}
	defer res.Body.Close()
	body, _ := io.ReadAll(res.Body)
	v := &view{}
	if err := json.Unmarshal(body, v); err != nil {
		return err.Error()
	}
	if why := wrong(v); why != "" {
		return why + "\n" + string(body)
	}
	return ""
}

// whole tells what is wrong with a view while everything runs.
func (f *fleet) whole(v *view) string {
	behind, asked := f.behind.provider(8, 2), f.asked.provider(4, 0)
	return v.differs(1, 2, node("gpu-2", true, asked), node("gpu-1", true, behind))
}

// withoutNode: the node stays in the statement, without a number.
func (f *fleet) withoutNode(v *view) string {
	gone := providerView{ProviderID: "vllm-0", Type: "vllm", Models: []string{"m-large"}, Status: "unavailable", Health: "offline"}
	return v.differs(1, 1, node("gpu-2", true, f.asked.provider(4, 0)), node("gpu-1", false, gone))
}

// withoutEdge: nothing is fresh.
func (f *fleet) withoutEdge(v *view) string {
	if v.Edges.Connected != 0 || v.Edges.Disconnected > 1 || v.Fresh.Edges != 0 || v.Fresh.General != (counters{}) {
		return "the Edge is gone, and it doesn't look so"
	}
	return ""
}

func node(id string, connected bool, p providerView) nodeView {
	return nodeView{NodeID: id, Connected: connected, Providers: []providerView{p}}
}

// provider is what must be told of a backend, from what it really has in flight.
func (b *testBackend) provider(capacity, long int64) providerView {
	running, waiting := b.running.Load(), b.waiting.Load()
	p := providerView{
		ProviderID: "vllm-0", Type: "vllm", Models: []string{"m-large"}, Status: "available", Health: "online",
		General: counters{capacity, running, waiting}, LongContext: counters{Capacity: long},
	}
	if running >= capacity {
		p.Status = "busy"
	}
	return p
}

// differs compares a view with one Edge's nodes, and the totals with their sums.
func (v *view) differs(edges, connected int, nodes ...nodeView) string {
	var sum counters
	for _, n := range nodes {
		p := n.Providers[0].General
		sum = counters{sum.Capacity + p.Capacity, sum.InFlight + p.InFlight, sum.Queued + p.Queued}
	}
	switch {
	case v.Edges.Connected != edges || v.Fresh.Edges != edges || len(v.Statuses) != edges:
		return fmt.Sprintf("%d Edges are wanted", edges)
	case v.Fresh.NodesConnected != connected:
		return fmt.Sprintf("%d connected nodes are wanted", connected)
	case v.Fresh.General != sum:
		return fmt.Sprintf("the totals %+v are wanted", sum)
	}
	if got, want := fmt.Sprintf("%+v", v.Statuses[0].Nodes), fmt.Sprintf("%+v", nodes); got != want {
		return "the nodes are\n" + got + ", wanted\n" + want
	}
	return ""
}

// events looks at what the Control Plane, which ran since its last kill, was told of the nodes: of the agent's last kill
// a loss and a return.
func (f *fleet) events(t *testing.T, rounds int) {
	if rounds == 0 {
		return
	}
	res, err := f.client.Get("http://" + f.http + "/edges/seoul-1/events?limit=100")
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	var list struct {
		Events []struct {
			NodeID string `json:"node_id"`
			Kind   string
		}
	}
	if err := json.NewDecoder(res.Body).Decode(&list); err != nil {
		t.Fatal(err)
	}
	var kinds []string
	for _, e := range list.Events {
		if e.NodeID == "gpu-1" && e.Kind != "provider_changed" {
			kinds = append(kinds, e.Kind)
		}
	}
	// The Edge was restarted after the Control Plane, and the node after both.
	told := strings.Join(kinds, " ")
	if !strings.HasSuffix(told, "node_ready node_disconnected node_ready") {
		t.Errorf("events of gpu-1 are %s", told)
	}
}

// process is one program that is killed and started again.
type process struct {
	name string
	args []string
	cmd  *exec.Cmd
	log  logBuffer
}

func (p *process) start(t *testing.T) {
	t.Helper()
	p.cmd = exec.Command(p.args[0], p.args[1:]...)
	p.cmd.Stdout, p.cmd.Stderr = &p.log, &p.log
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
}

// kill is kill -9.
func (p *process) kill(t *testing.T) {
	t.Helper()
	if err := p.cmd.Process.Kill(); err != nil {
		t.Errorf("%s had ended by itself: %v", p.name, err)
	}
	_ = p.cmd.Wait()
}

// end is SIGTERM, which wants an orderly end.
func (p *process) end(t *testing.T) {
	t.Helper()
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := p.cmd.Wait(); err != nil {
		t.Errorf("%s ended with %v", p.name, err)
	}
	p.cmd = nil
}

type logBuffer struct {
	mu sync.Mutex
	bytes.Buffer
}

func (b *logBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.Buffer.Write(p)
}

func (b *logBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.Buffer.String()
}
