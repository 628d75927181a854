package lease

import (
	"cmp"
	"maps"
	"slices"
)

// provider is one that the pool knows. Its counters are of live leases.
type provider struct {
	Provider
	general     uint32
	longContext uint32
}

func (o *provider) count(long bool) *uint32 {
	if long {
		return &o.longContext
	}
	return &o.general
}

// fits tells whether it takes requests of a class when it takes any.
func (o *provider) fits(long bool) bool { return !long || o.LongContext > 0 }

// before tells which of two with free capacity is taken first: one that isn't suspect, then the one with the smaller part of its
// capacity in use. Of equals the first by key stays.
func (o *provider) before(other *provider, long bool) bool {
	if o.Suspect != other.Suspect {
		return other.Suspect
	}
	return o.used(long) < other.used(long)
}

func (o *provider) used(long bool) float64 {
	capacity := o.General
	if long {
		capacity = o.LongContext
	}
	if capacity == 0 { // not known: counted as if it were eight, what engines are mostly set up for at the least
		capacity = 8
	}
	return float64(*o.count(long)) / float64(capacity)
}

// open tells whether a provider takes requests, if it has free capacity.
func (p *Pool) open(o *provider) bool {
	return !o.Offline && p.drained[o.Node] == 0 && !p.disabled[o.Key]
}

func (p *Pool) hasCapacity(o *provider, long bool) bool {
	switch {
	case !p.open(o) || !o.fits(long):
		return false
	case o.Suspect && o.general+o.longContext > 0:
		return false
	case long:
		return o.longContext < o.LongContext
	}
	return o.General == 0 || o.general < o.General
}

// Set replaces all nodes and providers. nodes are the ids of all of them, those without providers too; each provider may be there only
// once. Leases on providers that are no longer there, or are offline, end with ErrGone.
func (p *Pool) Set(nodes []string, providers []Provider) {
	p.mu.Lock()
	known := make(map[Key]*provider, len(providers))
	byModel, untold := map[string][]*provider{}, false
	for _, is := range providers {
		on := p.providers[is.Key]
		if on == nil {
			on = &provider{}
		}
		if is.Offline && is.Models == nil {
			is.Models = on.Models
		}
		on.Provider = is
		on.Models = slices.Clone(is.Models)
		slices.Sort(on.Models)
		on.Models = slices.Compact(on.Models) // counted once each
		untold = untold || !is.OrdersOnly && is.Models == nil
		known[is.Key] = on
		for _, model := range on.Models {
			byModel[model] = append(byModel[model], on)
		}
	}
	for _, of := range byModel {
		slices.SortFunc(of, func(a, b *provider) int { return compareKeys(a.Key, b.Key) })
	}
	p.nodes, p.providers, p.byModel, p.untold = slices.Clone(nodes), known, byModel, untold
	p.forgetOrders()
	var ended []*Lease
	for _, l := range p.live {
		if on := known[l.Key]; on != l.on || on.Offline {
			p.end(l)
			ended = append(ended, l)
		}
	}
	p.serveQueue()
	p.mu.Unlock()
	for _, l := range ended {
		l.cancel(ErrGone)
	}
	p.changed()
}

// forgetOrders drops what was ordered about nodes and providers that aren't known any more, so that the orders stay
// bounded by what is.
func (p *Pool) forgetOrders() {
	maps.DeleteFunc(p.disabled, func(key Key, _ bool) bool { return p.providers[key] == nil })
	maps.DeleteFunc(p.drained, func(node string, _ uint64) bool { return !slices.Contains(p.nodes, node) })
}

// Models returns the models that are served, sorted.
func (p *Pool) Models() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	models := make([]string, 0, len(p.byModel))
	for model, of := range p.byModel {
		if slices.ContainsFunc(of, p.open) {
			models = append(models, model)
		}
	}
	slices.Sort(models)
	return models
}

// Drain stops giving leases on a node's providers, also on those that come later, until Resume. Live leases go on. It returns the
// number of the drain, as DrainOf does; 0 when the node isn't known.
func (p *Pool) Drain(node string) (drain uint64) {
	p.order(func() (known bool) {
		if known = slices.Contains(p.nodes, node); known && p.drained[node] == 0 {
			p.drains++
			p.drained[node] = p.drains
		}
		drain = p.drained[node]
		return known
	})
	return drain
}

// Resume undoes Drain. It returns false when the node isn't known.
func (p *Pool) Resume(node string) bool {
	return p.order(func() (known bool) {
		delete(p.drained, node)
		return slices.Contains(p.nodes, node)
	})
}

// Disable stops giving leases on a provider, until Enable. Live leases go on. It returns false when the provider isn't known.
func (p *Pool) Disable(key Key) bool { return p.order(func() bool { return p.setDisabled(key, true) }) }

// Enable undoes Disable.
func (p *Pool) Enable(key Key) bool { return p.order(func() bool { return p.setDisabled(key, false) }) }

func (p *Pool) order(change func() bool) bool {
	p.mu.Lock()
	known := change()
	p.serveQueue()
	p.mu.Unlock()
	p.changed()
	return known
}

func (p *Pool) setDisabled(key Key, disabled bool) (known bool) {
	if p.providers[key] == nil {
		return false
	}
	if disabled {
		p.disabled[key] = true
	} else {
		delete(p.disabled, key)
	}
	return true
}

func compareKeys(a, b Key) int {
	return cmp.Or(cmp.Compare(a.Node, b.Node), cmp.Compare(a.Provider, b.Provider))
}

// Drained tells whether a node was drained and not resumed.
func (p *Pool) Drained(node string) bool { return p.DrainOf(node) != 0 }

// DrainOf returns the number of a node's drain, 0 when it isn't drained. Each drain after a resume has a new number.
func (p *Pool) DrainOf(node string) uint64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.drained[node]
}

// Closed tells whether a provider gets no leases because its node is drained or it is disabled.
func (p *Pool) Closed(key Key) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.drained[key.Node] != 0 || p.disabled[key]
}
