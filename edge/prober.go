package edge

import (
	"context"
	"net"
	"net/http"
	"time"

	"iop/edge/backend"
)

// askAgainAfter is how long what rarely changes (models, slots) is believed while the provider answers.
const askAgainAfter = time.Minute

// prober asks one provider. It belongs to one goroutine.
type prober struct {
	backend    *backend.Backend
	wantModels bool // not configured, so asked
	wantSlots  bool

	told   time.Time // when models and slots were told last; zero: ask
	models []string  // nil: never told
	slots  uint32
}

// newHTTPClient is the client for all providers of a site. Providers are the site's own machines: a proxy meant for
// the world outside is no way to them.
func newHTTPClient() *http.Client {
	return &http.Client{Transport: &http.Transport{
		Proxy:                  nil,
		DialContext:            (&net.Dialer{Timeout: 5 * time.Second}).DialContext,
		MaxIdleConnsPerHost:    4,
		IdleConnTimeout:        90 * time.Second,
		MaxResponseHeaderBytes: 64 << 10,
	}}
}

func newProber(p *ProbedProvider, timeout time.Duration, client *http.Client) (*prober, error) {
	own := *client
	own.Timeout = timeout // of each question: a server that is slow to answer one is slow to answer the others
	b, err := backend.New(p.Type, p.BaseURL, &own)
	if err != nil {
		return nil, err
	}
	return &prober{
		backend: b, wantModels: len(p.Models) == 0, wantSlots: p.Capacity == 0 && b.TellsSlots(),
	}, nil
}

// probe asks whether the provider is alive, and what else it can tell. Only the first is a matter of life: a provider that
// answers but doesn't tell its numbers this time is online.
func (p *prober) probe(ctx context.Context) answer {
	began := time.Now()
	if err := p.backend.Alive(ctx); err != nil {
		p.told = time.Time{} // it may come back as another
		return answer{err: err, at: began}
	}
	modelsErr, slotsErr := p.askRarely(ctx)
	a := answer{models: p.models, modelsErr: modelsErr, slots: p.slots, slotsErr: slotsErr, at: time.Now()}
	if load, err := p.backend.Load(ctx); err == nil {
		a.load = &load
	} else {
		a.loadErr = err
	}
	return a
}

func (p *prober) askRarely(ctx context.Context) (modelsErr, slotsErr error) {
	now := time.Now()
	if !p.told.IsZero() && now.Sub(p.told) < askAgainAfter {
		return nil, nil
	}
	if p.wantModels {
		var models []string
		if models, modelsErr = p.backend.Models(ctx); modelsErr == nil {
			p.models = models
		}
	}
	if p.wantSlots {
		var slots uint32
		if slots, slotsErr = p.backend.Slots(ctx); slotsErr == nil {
			p.slots = slots
		}
	}
	p.told = now
	if modelsErr != nil || slotsErr != nil {
		p.told = time.Time{}
	}
	return modelsErr, slotsErr
}
