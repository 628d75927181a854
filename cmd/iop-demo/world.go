package main

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"iop/edge"
)

// How often things happen, as chances a step; and for how many steps.
const (
	providerFails = 1.0 / 90
	nodeFails     = 1.0 / 300
	shortest      = 5
	longest       = 20
)

// world is the made-up nodes of one site. Everything that happens in it comes from its random numbers.
type world struct {
	chance   *rand.Rand
	machines []*machine
}

type machine struct {
	id, gpu  string
	downFor  int // steps
	drained  bool
	services []*service
}

// service is a made-up serving backend.
type service struct {
	id, kind string
	models   []string
	capacity uint32
	long     uint32 // capacity for long contexts
	demand   float64
	downFor  int
	general  edge.Counters
	longNow  edge.Counters
}

var (
	kinds  = []string{"vllm", "vllm", "sglang", "llamacpp", "tgi", "ollama"}
	models = []string{"llama-3.3-70b-instruct", "qwen3-32b", "gemma-3-27b-it", "gpt-oss-120b", "mistral-small-3.2-24b", "exaone-4.0-32b"}
	gpus   = []string{"h200", "h100", "l40s", "mi300x"}
)

func newWorld(chance *rand.Rand) *world {
	w := &world{chance: chance}
	for i := range 1 + chance.IntN(3) {
		m := &machine{id: fmt.Sprintf("gpu-%d", i+1), gpu: pick(chance, gpus)}
		for j := range 1 + chance.IntN(2) {
			kind := pick(chance, kinds)
			s := &service{
				id: fmt.Sprintf("%s-%d", kind, j), kind: kind, models: []string{pick(chance, models)},
				capacity: uint32(4 << chance.IntN(3)), demand: 0.3 + 0.6*chance.Float64(),
			}
			if kind == "vllm" || kind == "sglang" {
				s.long = 2
			}
			m.services = append(m.services, s)
		}
		w.machines = append(w.machines, m)
	}
	for range 10 { // so that the first look isn't at an idle world
		w.step()
	}
	return w
}

func pick[T any](chance *rand.Rand, from []T) T { return from[chance.IntN(len(from))] }

// step lets a moment pass.
func (w *world) step() {
	for _, m := range w.machines {
		m.downFor = w.passOutage(m.downFor, nodeFails)
		for _, s := range m.services {
			s.downFor = w.passOutage(s.downFor, providerFails)
			if m.downFor > 0 || s.downFor > 0 {
				s.general, s.longNow = edge.Counters{}, edge.Counters{}
				continue
			}
			w.serve(s, m.drained)
		}
	}
}

// passOutage counts an outage down, or by a small chance begins one.
func (w *world) passOutage(left int, fails float64) int {
	switch {
	case left > 0:
		return left - 1
	case w.chance.Float64() < fails:
		return shortest + w.chance.IntN(longest-shortest)
	}
	return 0
}

// serve moves a service's numbers towards what is asked of it, which itself drifts; a drained one's towards nothing.
func (w *world) serve(s *service, drained bool) {
	s.demand = min(max(s.demand+0.2*(w.chance.Float64()-0.5), 0), 1.3)
	wanted := uint32(s.demand * float64(s.capacity))
	if drained {
		wanted = 0
	}
	running := towards(s.general.InFlight, min(wanted, s.capacity), 2)
	s.general = edge.Counters{Capacity: s.capacity, InFlight: running, Queued: wanted - min(wanted, s.capacity)}
	s.longNow = edge.Counters{Capacity: s.long}
	if s.long > 0 && !drained {
		s.longNow.InFlight = uint32(w.chance.IntN(int(s.long) + 1))
	}
}

func towards(from, to, by uint32) uint32 {
	if from < to {
		return min(from+by, to)
	}
	return max(to, from-min(from, by))
}

// load has the first service of a node serve one more model and gives its id; "" when it can't now.
func (w *world) load(nodeID, model string) (serviceID string) {
	m := w.machine(nodeID)
	if m == nil || m.downFor > 0 {
		return ""
	}
	s := m.services[0]
	if !slices.Contains(s.models, model) {
		s.models = append(slices.Clone(s.models), model)
	}
	return s.id
}

// restart takes a node away for a few steps.
func (w *world) restart(nodeID string) {
	if m := w.machine(nodeID); m != nil {
		m.downFor = shortest
		for _, s := range m.services {
			s.general, s.longNow = edge.Counters{}, edge.Counters{}
		}
	}
}

// drain closes a node to what is new, or opens it again; false when there is none.
func (w *world) drain(nodeID string, drained bool) bool {
	m := w.machine(nodeID)
	if m != nil {
		m.drained = drained
	}
	return m != nil
}

// running is what runs at a node, and whether it is drained still.
func (w *world) running(nodeID string) (requests uint32, drained bool) {
	m := w.machine(nodeID)
	for _, s := range m.services {
		requests += s.general.InFlight + s.longNow.InFlight
	}
	return requests, m.drained
}

func (w *world) machine(id string) *machine {
	i := slices.IndexFunc(w.machines, func(m *machine) bool { return m.id == id })
	if i < 0 {
		return nil
	}
	return w.machines[i]
}

// view is the world as an Edge tells of it.
func (w *world) view() []edge.Node {
	nodes := make([]edge.Node, 0, len(w.machines))
	for _, m := range w.machines {
		n := edge.Node{ID: m.id, Name: m.gpu + " machine", Labels: map[string]string{"gpu": m.gpu}}
		for _, s := range m.services {
			p := edge.Provider{ID: s.id, Type: s.kind, Models: s.models, Status: edge.Unavailable, Health: edge.Offline}
			if m.downFor == 0 && s.downFor == 0 {
				n.Connected = true
				p.Health, p.Status, p.General, p.LongContext = edge.Online, edge.Available, s.general, s.longNow
				switch {
				case m.drained:
					p.Status = edge.Unavailable
				case s.general.InFlight >= s.capacity:
					p.Status = edge.Busy
				}
			}
			n.Providers = append(n.Providers, p)
		}
		nodes = append(nodes, n)
	}
	return nodes
}
