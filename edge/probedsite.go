package edge

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"slices"
	"sync"
	"time"
)

// ProbedNode is a node that is declared with the addresses of its providers.
type ProbedNode struct {
	ID        string
	Name      string
	Labels    map[string]string
	Providers []ProbedProvider
}

// ProbedProvider is a serving backend that is asked over HTTP.
type ProbedProvider struct {
	ID string
	// Type is vllm, sglang, llamacpp, tgi, ollama or openai.
	Type string
	// BaseURL is http(s)://host:port, with a path before the backend's own where there is one. It never leaves the Edge.
	BaseURL string
	// Models are what it serves; empty: it is asked.
	Models []string
	// Capacity is how many requests it takes at once. 0: not known, unless it is a llamacpp, which is asked.
	Capacity            uint32
	LongContextCapacity uint32
}

// ProbeOptions make a ProbedSite.
type ProbeOptions struct {
	Nodes []ProbedNode
	// Interval is how often each provider is asked, and Timeout how long one probe may take; 0: 5 s and 2 s.
	Interval time.Duration
	Timeout  time.Duration
	// Logger; nil: slog's default.
	Logger *slog.Logger
}

// ProbedSite is a Site whose nodes are declared, and whose providers are asked over HTTP how they are.
//
// A node is connected while at least one of its providers answers. A node without declared providers is shown and never
// connected: nothing could answer for it.
type ProbedSite struct {
	opts   ProbeOptions
	client *http.Client
	log    *slog.Logger
	probes []*probe

	mu         sync.Mutex
	nodes      []Node    // replaced, never changed in place
	unasked    int       // providers that were never asked
	quietUntil time.Time // nothing is news before, while some were never asked
}

// probe is one provider under watch.
type probe struct {
	node, place int // in the site's nodes, in the node's providers
	spec        *ProbedProvider
	ask         func(context.Context) answer
	state       providerState
}

// NewProbedSite makes a ProbedSite that doesn't ask yet. An error names everything that is wrong at once.
func NewProbedSite(o ProbeOptions) (*ProbedSite, error) {
	if o.Interval <= 0 {
		o.Interval = 5 * time.Second
	}
	if o.Timeout <= 0 {
		o.Timeout = 2 * time.Second
	}
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	s := &ProbedSite{opts: o, client: newHTTPClient(), log: o.Logger}
	var wrong []error
	ids := map[string]bool{}
	for i := range o.Nodes {
		n := &o.Nodes[i]
		if n.ID == "" || ids[n.ID] {
			wrong = append(wrong, fmt.Errorf("edge: node %d: its id %q is empty or another's", i, n.ID))
		}
		ids[n.ID] = true
		wrong = append(wrong, s.declare(i, n)...)
	}
	if err := errors.Join(wrong...); err != nil {
		return nil, err
	}
	s.unasked = len(s.probes)
	return s, nil
}

// declare adds a node as it is before anything was asked.
func (s *ProbedSite) declare(i int, n *ProbedNode) (wrong []error) {
	view := Node{ID: n.ID, Name: n.Name, Labels: n.Labels}
	ids := map[string]bool{}
	for j := range n.Providers {
		spec := &n.Providers[j]
		if spec.ID == "" || ids[spec.ID] {
			wrong = append(wrong, fmt.Errorf("edge: node %q, provider %d: its id %q is empty or another's", n.ID, j, spec.ID))
		}
		ids[spec.ID] = true
		p, err := newProber(spec, s.opts.Timeout, s.client)
		if err != nil {
			wrong = append(wrong, fmt.Errorf("edge: node %q, provider %q: %w", n.ID, spec.ID, err))
			continue
		}
		watched := &probe{node: i, place: j, spec: spec, ask: p.probe}
		s.probes = append(s.probes, watched)
		view.Providers = append(view.Providers, watched.state.view(spec))
	}
	s.nodes = append(s.nodes, view)
	return wrong
}

// Nodes implements Site.
func (s *ProbedSite) Nodes() []Node {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.nodes
}

// Run implements Site: one goroutine a provider, whose number is what was declared.
func (s *ProbedSite) Run(ctx context.Context, changed func()) {
	defer s.client.CloseIdleConnections()
	s.mu.Lock()
	s.quietUntil = time.Now().Add(firstLook)
	s.mu.Unlock()
	if len(s.probes) == 0 {
		changed()
	}
	var all sync.WaitGroup
	for _, p := range s.probes {
		all.Go(func() { s.watch(ctx, p, changed) })
	}
	all.Wait()
}

func (s *ProbedSite) watch(ctx context.Context, p *probe, changed func()) {
	for {
		began := time.Now()
		a := p.ask(ctx)
		if ctx.Err() != nil {
			return
		}
		if s.take(p, a) {
			changed()
		}
		select {
		case <-time.After(p.state.nextProbe(s.opts.Interval, time.Since(began), rand.Float64())):
		case <-ctx.Done():
			return
		}
	}
}

// take puts an answer into the statement, and tells whether that is news. At the start nothing is until every provider
// was asked, or took too long: what isn't known yet must not look like what is gone.
func (s *ProbedSite) take(p *probe, a answer) (news bool) {
	first := !p.state.asked
	p.state.take(a)
	view := p.state.view(p.spec)

	s.mu.Lock()
	defer s.mu.Unlock()
	if first {
		s.unasked--
	}
	mayTell := s.unasked == 0 || time.Now().After(s.quietUntil)
	was := s.nodes[p.node]
	old := was.Providers[p.place]
	if first || old.Health != view.Health {
		s.logState(was.ID, view, a.err)
	}
	if equalProvider(old, view) {
		return first && mayTell
	}
	is := was
	is.Providers = slices.Clone(was.Providers)
	is.Providers[p.place] = view
	is.Connected = slices.ContainsFunc(is.Providers, func(p Provider) bool { return p.Health != Offline })
	s.nodes = slices.Clone(s.nodes)
	s.nodes[p.node] = is
	return mayTell
}

func (s *ProbedSite) logState(nodeID string, p Provider, why error) {
	if p.Health == Offline {
		s.log.Warn("A provider is offline.", "node_id", nodeID, "provider_id", p.ID, "why", why)
		return
	}
	s.log.Info("A provider is online.", "node_id", nodeID, "provider_id", p.ID, "models", p.Models)
}
