package edge

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"net/url"
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
	// Models are what it serves; empty: it is asked for them.
	Models []string
	// Capacity is how many requests it takes at once. 0: not known, except for a llamacpp, which is asked for it.
	Capacity            uint32
	LongContextCapacity uint32
}

// ProbeOptions make a ProbedSite.
type ProbeOptions struct {
	Nodes []ProbedNode
	// Interval is how often each provider is asked, and Timeout how long one answer may take; 0: 5 s and 2 s.
	Interval time.Duration
	Timeout  time.Duration
	// Logger; nil: slog's default.
	Logger *slog.Logger
}

// ProbedSite is a Site whose nodes are declared, and whose providers are asked for their state over HTTP.
//
// A node is connected while at least one of its providers answers. A node without declared providers is shown and never
// connected: nothing could answer for it.
type ProbedSite struct {
	client *http.Client
	log    *slog.Logger

	mu       sync.Mutex
	interval time.Duration
	probes   []*probe // in the order declared
	nodes    []Node   // replaced, never changed in place
	unasked  int      // providers that were never asked
	quiet    bool     // nothing is news while some were never asked
	untold   bool     // there was news meanwhile
	running  *probing // nil: Run wasn't called yet, or has ended
}

// probing is what Run lends to the probes.
type probing struct {
	ctx     context.Context
	changed func()
	all     sync.WaitGroup
	cancel  context.CancelFunc // of the probes that run now
}

// probe is one provider under watch.
type probe struct {
	node, place int // in the site's nodes, in the node's providers
	nodeID      string
	spec        *ProbedProvider
	base        *url.URL
	ask         func(context.Context) answer

	// The site's mutex guards these.
	state   providerState
	retired bool // another declaration has taken its place
}

// NewProbedSite makes a ProbedSite that doesn't ask yet. Its error names everything that is wrong.
func NewProbedSite(o ProbeOptions) (*ProbedSite, error) {
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	s := &ProbedSite{client: newHTTPClient(), log: o.Logger}
	if err := s.Declare(o.Nodes, o.Interval, o.Timeout); err != nil {
		return nil, err
	}
	s.unasked = len(s.probes)
	return s, nil
}

// Declare replaces the nodes, and how often and how long they are asked, all at once; when anything of it is wrong,
// nothing changes. What is known of a provider of the same ids, type and address stays known, so that a change of its
// capacity is no interruption. Requests at what isn't declared any more are its owner's to end.
func (s *ProbedSite) Declare(nodes []ProbedNode, interval, timeout time.Duration) error {
	if interval <= 0 {
		interval = 5 * time.Second
	}
	if timeout <= 0 {
		timeout = 2 * time.Second
	}
	probes, err := s.declared(nodes, timeout)
	if err != nil {
		return err
	}
	s.mu.Lock()
	s.inherit(probes)
	s.probes, s.interval, s.unasked = probes, interval, 0
	s.nodes = viewOf(nodes, probes)
	r := s.running
	if r != nil {
		r.cancel()
		s.start(r)
	}
	s.mu.Unlock()
	if r != nil {
		r.changed()
	}
	return nil
}

// declared makes a probe of each provider.
func (s *ProbedSite) declared(nodes []ProbedNode, timeout time.Duration) (probes []*probe, err error) {
	var wrong []error
	ids := map[string]bool{}
	for i := range nodes {
		n := &nodes[i]
		if n.ID == "" || ids[n.ID] {
			wrong = append(wrong, fmt.Errorf("edge: node %d: its id %q is empty or another's", i, n.ID))
		}
		ids[n.ID] = true
		of, bad := s.declaredOf(i, n, timeout)
		probes, wrong = append(probes, of...), append(wrong, bad...)
	}
	return probes, errors.Join(wrong...)
}

func (s *ProbedSite) declaredOf(i int, n *ProbedNode, timeout time.Duration) (probes []*probe, wrong []error) {
	ids := map[string]bool{}
	for j := range n.Providers {
		spec := &n.Providers[j]
		if spec.ID == "" || ids[spec.ID] {
			wrong = append(wrong, fmt.Errorf("edge: node %q, provider %d: its id %q is empty or another's", n.ID, j, spec.ID))
		}
		ids[spec.ID] = true
		p, err := newProber(spec, timeout, s.client)
		if err != nil {
			wrong = append(wrong, fmt.Errorf("edge: node %q, provider %q: %w", n.ID, spec.ID, err))
			continue
		}
		base, _ := url.Parse(spec.BaseURL) // the prober has seen that it is one
		probes = append(probes, &probe{node: i, place: j, nodeID: n.ID, spec: spec, base: base, ask: p.probe})
	}
	return probes, wrong
}

// inherit retires the probes there are, and gives what they know to those that ask the same provider.
func (s *ProbedSite) inherit(probes []*probe) {
	type identity struct{ node, provider, kind, url string }
	of := func(p *probe) identity { return identity{p.nodeID, p.spec.ID, p.spec.Type, p.spec.BaseURL} }
	known := map[identity]*probe{}
	for _, p := range s.probes {
		p.retired = true
		known[of(p)] = p
	}
	for _, p := range probes {
		if was := known[of(p)]; was != nil {
			p.state = was.state
		}
	}
}

// viewOf is the statement about nodes as their probes know them.
func viewOf(nodes []ProbedNode, probes []*probe) []Node {
	views := make([]Node, len(nodes))
	for i, n := range nodes {
		views[i] = Node{ID: n.ID, Name: n.Name, Labels: n.Labels}
	}
	for _, p := range probes {
		n := &views[p.node]
		n.Providers = append(n.Providers, p.state.view(p.spec))
		n.Connected = isConnected(n.Providers)
	}
	return views
}

func isConnected(providers []Provider) bool {
	return slices.ContainsFunc(providers, func(p Provider) bool { return p.Health != Offline })
}

// Nodes implements Site.
func (s *ProbedSite) Nodes() []Node {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.nodes
}

// Target is the address of a provider, for whoever sends requests to it; it is not to be changed. Nil: there is no such
// provider. It never leaves the Edge.
func (s *ProbedSite) Target(nodeID, providerID string) *url.URL {
	s.mu.Lock()
	defer s.mu.Unlock()
	if p := s.find(nodeID, providerID); p != nil {
		return p.base
	}
	return nil
}

// Worked tells the site that a provider has served a request to its end: it isn't suspected any more.
func (s *ProbedSite) Worked(nodeID, providerID string) {
	s.mu.Lock()
	r, news := s.running, false
	if p := s.find(nodeID, providerID); p != nil {
		p.state.suspicion.worked()
		news = s.show(p)
	}
	s.mu.Unlock()
	if news && r != nil {
		r.changed()
	}
}

func (s *ProbedSite) find(nodeID, providerID string) *probe {
	for _, p := range s.probes {
		if p.nodeID == nodeID && p.spec.ID == providerID {
			return p
		}
	}
	return nil
}

// Run implements Site: one goroutine a provider, whose number is what was declared.
func (s *ProbedSite) Run(ctx context.Context, changed func()) {
	defer s.client.CloseIdleConnections()
	r := &probing{ctx: ctx, changed: changed}
	s.mu.Lock()
	s.quiet = true
	s.running = r
	s.start(r)
	nothingToAsk := len(s.probes) == 0
	s.mu.Unlock()
	if nothingToAsk {
		changed()
	}
	select {
	case <-time.After(firstLook):
		if s.endQuiet() {
			changed()
		}
		<-ctx.Done()
	case <-ctx.Done():
	}
	s.mu.Lock()
	s.running = nil
	s.mu.Unlock()
	r.all.Wait()
}

// endQuiet ends the quiet of the start, and tells whether that is news: whoever waits for the first is told what is known
// although some were never asked.
func (s *ProbedSite) endQuiet() (news bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.quiet = false
	if s.unasked == 0 {
		return false
	}
	s.untold = false
	return true
}

// start has the present probes ask.
func (s *ProbedSite) start(r *probing) {
	ctx, cancel := context.WithCancel(r.ctx)
	r.cancel = cancel
	for _, p := range s.probes {
		r.all.Go(func() { s.watch(ctx, p, s.interval, r.changed) })
	}
}

func (s *ProbedSite) watch(ctx context.Context, p *probe, interval time.Duration, changed func()) {
	for {
		began := time.Now()
		a := p.ask(ctx)
		if ctx.Err() != nil {
			return
		}
		if s.take(p, a) {
			changed()
		}
		s.mu.Lock()
		next := p.state.nextProbe(interval, time.Since(began), rand.Float64())
		s.mu.Unlock()
		select {
		case <-time.After(onSharedTick(next, interval, time.Now())):
		case <-ctx.Done():
			return
		}
	}
}

// take puts an answer into the statement, and tells whether that is news. At the start nothing is until every provider
// was asked, or took too long: what isn't known yet must not look like what is gone.
func (s *ProbedSite) take(p *probe, a answer) (news bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if p.retired {
		return false
	}
	first, before := !p.state.asked, p.state
	p.state.take(a, time.Now())
	if first {
		s.unasked--
	}
	was, is := s.nodes[p.node].Providers[p.place], p.state.view(p.spec)
	if first || was.Health != is.Health || (was.Status == "") != (is.Status == "") {
		s.logState(p.nodeID, is, a)
	}
	s.logUntold(p, &before)
	s.untold = s.show(p) || first || s.untold
	if !s.untold || s.unasked > 0 && s.quiet {
		return false
	}
	s.untold = false
	return true
}

// show puts what is known of a provider into the statement, and tells whether that changes it: it does not where only the
// same load was told again.
func (s *ProbedSite) show(p *probe) (changed bool) {
	was := s.nodes[p.node]
	view := p.state.view(p.spec)
	told := (view.Models != nil) != (was.Providers[p.place].Models != nil) // that there are none is news, too
	changed = told || !equalProvider(was.Providers[p.place], view)
	if !changed && view.LoadAt.Equal(was.Providers[p.place].LoadAt) {
		return false
	}
	is := was
	is.Providers = slices.Clone(was.Providers)
	is.Providers[p.place] = view
	is.Connected = isConnected(is.Providers)
	s.nodes = slices.Clone(s.nodes)
	s.nodes[p.node] = is
	return changed
}

// errNoGauges is why nothing is known of a load that was exported before.
var errNoGauges = errors.New("its metrics have no gauges any more")

func (s *ProbedSite) logState(nodeID string, p Provider, a answer) {
	switch {
	case p.Health == Offline:
		s.log.Warn("A provider is offline.", "node_id", nodeID, "provider_id", p.ID, "why", a.err)
	case p.Health == Degraded:
		s.log.Warn("A provider is degraded: requests wait there, and none runs or ends.", "node_id", nodeID, "provider_id", p.ID)
	case p.Status == "":
		s.log.Warn("A provider is online, and what runs there can't be read.", "node_id", nodeID, "provider_id", p.ID, "why", cmp.Or(a.loadErr, errNoGauges))
	default:
		s.log.Info("A provider is online.", "node_id", nodeID, "provider_id", p.ID, "models", p.Models)
	}
}

// logUntold logs what an answer didn't tell, if the one before it wasn't silent about the same.
func (s *ProbedSite) logUntold(p *probe, before *providerState) {
	if p.state.modelsErr != nil && before.modelsErr == nil {
		s.log.Warn("A provider answers, and doesn't tell which models it serves.",
			"node_id", p.nodeID, "provider_id", p.spec.ID, "known", p.state.models, "why", p.state.modelsErr)
	}
	if p.state.slotsErr != nil && before.slotsErr == nil {
		s.log.Warn("A provider answers, and doesn't tell how many requests it takes at once.",
			"node_id", p.nodeID, "provider_id", p.spec.ID, "known", p.state.slots, "why", p.state.slotsErr)
	}
}
