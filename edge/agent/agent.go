// Package agent turns a program into a Node agent: it reports one node to its Edge, over the Node wire.
//
//	site, err := edge.NewProbedSite(edge.ProbeOptions{Nodes: []edge.ProbedNode{node}})
//	...
//	a, err := agent.New(agent.Options{NodeID: "gpu-1", Address: "127.0.0.1:19082", Site: site})
//	...
//	err = a.Run(ctx) // until ctx ends
//
// The agent says that its node is ready once it has probed its providers, whether or not they answer: the node is
// there, and the state of each provider is reported with it. Addresses of providers never leave the agent.
package agent

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"sync"
	"time"

	"iop/edge"
	"iop/edge/internal/dial"
	"iop/edge/internal/text"
	"iop/wire"
	"iop/wire/backoff"
)

// firstLook is how long the first connection waits for the site to have looked at its providers.
const firstLook = 3 * time.Second

// Options make an Agent. NodeID, Address and Site are required.
type Options struct {
	// NodeID is the node's name in the Edge's configuration.
	NodeID string
	// Name, Version and Labels are for people; at most 256 bytes each, and 64 labels.
	Name    string
	Version string
	Labels  map[string]string

	// Address is the Node wire of the Edge, host:port.
	Address string
	// Token returns the hello's token, "" for none; a nil Token means none. It is called before each hello, so that a token
	// can be changed while the agent runs.
	Token func() (string, error)
	// ReconnectInitial and ReconnectMax bound the wait between two attempts; 0: 1 s and 30 s.
	ReconnectInitial time.Duration
	ReconnectMax     time.Duration

	// Site is what the agent reports: the providers of all its nodes together, each with its own id.
	Site edge.Site

	// Logger; nil: slog's default.
	Logger *slog.Logger
}

// Agent reports one node.
type Agent struct {
	opts       Options
	log        *slog.Logger
	instanceID string
	retry      *backoff.Backoff
	dial       func(ctx context.Context, network, address string) (net.Conn, error)
	news       chan struct{} // the site changed; one note is enough
}

// New makes an Agent that does nothing yet. An error names everything in the options that is wrong.
func New(o Options) (*Agent, error) {
	if o.ReconnectInitial == 0 {
		o.ReconnectInitial = time.Second
	}
	if o.ReconnectMax == 0 {
		o.ReconnectMax = max(30*time.Second, o.ReconnectInitial)
	}
	if o.Token == nil {
		o.Token = func() (string, error) { return "", nil }
	}
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	if err := o.check(); err != nil {
		return nil, err
	}
	return &Agent{
		opts: o, log: o.Logger, instanceID: rand.Text(), retry: backoff.New(o.ReconnectInitial, o.ReconnectMax),
		dial: (&net.Dialer{Timeout: dialTimeout}).DialContext, news: make(chan struct{}, 1),
	}, nil
}

func (o *Options) check() error {
	var wrong []error
	bad := func(format string, args ...any) { wrong = append(wrong, fmt.Errorf("agent: "+format, args...)) }
	if !wire.ValidEdgeID(o.NodeID) {
		bad("NodeID %q is off the rule: %s", o.NodeID, wire.EdgeIDRule)
	}
	if _, _, err := net.SplitHostPort(o.Address); err != nil {
		bad("Address %q is not host:port", o.Address)
	}
	if o.ReconnectInitial < 0 || o.ReconnectMax < o.ReconnectInitial {
		bad("ReconnectInitial %v and ReconnectMax %v are no bounds", o.ReconnectInitial, o.ReconnectMax)
	}
	for _, over := range wire.HelloOver(map[string]string{"Name": text.Valid(o.Name), "Version": text.Valid(o.Version)}, text.ValidMap(o.Labels)) {
		bad("%s", over)
	}
	if o.Site == nil {
		bad("Site is missing")
	}
	return errors.Join(wrong...)
}

// Run runs the agent until ctx ends, whether or not its Edge can be reached; then it says goodbye and returns nil. It must be
// called only once.
func (a *Agent) Run(ctx context.Context) error {
	var site sync.WaitGroup
	site.Go(func() { a.opts.Site.Run(ctx, func() { dial.Note(a.news) }) })
	select {
	case <-a.news:
	case <-time.After(firstLook):
	case <-ctx.Done():
	}
	for ctx.Err() == nil {
		end := a.connectOnce(ctx)
		if ctx.Err() == nil {
			end.Pause(ctx, a.retry, a.log)
		}
	}
	site.Wait()
	return nil
}

// connectOnce handles one connection, or the try to get one.
func (a *Agent) connectOnce(ctx context.Context) dial.Ending {
	c, failed := a.connect(ctx)
	if failed != nil {
		return *failed
	}
	a.log.Info("Connected to the Edge.", "edge_id", text.Clip(c.edgeID, wire.MaxTextBytes), "heartbeat_interval", c.heartbeat.String())
	began := time.Now()
	end := a.serve(ctx, c)
	end.Held = time.Since(began)
	return end
}
