package edge

import (
	"context"
	"crypto/rand"
	"log/slog"
	"net"
	"sync"
	"time"

	"iop/edge/internal/dial"
	iopv1 "iop/proto/iop/v1"
	"iop/wire/backoff"
)

// firstLook is how long the first connection waits for the site to have something worth telling, so that an Edge that
// starts doesn't call everything gone that it hasn't asked yet.
const firstLook = 3 * time.Second

// Edge is one site, seen by one Control Plane.
type Edge struct {
	opts      Options
	log       *slog.Logger
	startedAt time.Time
	clock     serverClock
	connector *connector
	retry     *backoff.Backoff
	up        uplink
	commands  *commands

	dirty chan struct{} // the site changed; one note is enough
	news  chan struct{} // the same, for the owner of the connection
}

// New makes an Edge that does nothing yet, but for taking its StateFile, for itself until Run has ended, and writing it. Its error
// names everything in the options that is wrong, or tells what is wrong with the StateFile.
func New(o Options) (*Edge, error) {
	o.setDefaults()
	if err := o.check(); err != nil {
		return nil, err
	}
	e := &Edge{
		opts: o, log: o.Logger, startedAt: time.Now(), retry: backoff.New(o.ReconnectInitial, o.ReconnectMax),
		dirty: make(chan struct{}, 1), news: make(chan struct{}, 1),
	}
	operations := e.allOperations(o.Operations)
	var err error
	if e.commands, err = newCommands(operations, &e.clock, func(c *iopv1.EdgeCommandEvent) { e.up.event(commandEvent(c)) }, o.StateFile, e.log); err != nil {
		return nil, err
	}
	e.connector = &connector{
		opts: &e.opts, instanceID: rand.Text(), startedAt: e.startedAt, operations: operationNames(operations), clock: &e.clock,
		dial: (&net.Dialer{}).DialContext,
	}
	return e, nil
}

// Run runs the Edge until ctx ends, then says goodbye and returns nil. It must be called only once.
func (e *Edge) Run(ctx context.Context) error {
	e.listen()
	var site sync.WaitGroup
	site.Go(func() { e.opts.Site.Run(ctx, func() { dial.Note(e.dirty) }) })
	looked := make(chan struct{})
	site.Go(func() { e.watch(ctx, looked) })
	select {
	case <-looked:
	case <-time.After(firstLook):
	case <-ctx.Done():
	}
	for ctx.Err() == nil {
		end := e.connectOnce(ctx)
		if ctx.Err() == nil {
			end.Pause(ctx, e.retry, e.log)
		}
	}
	select {
	case <-e.commands.stop():
		defer e.commands.file.close()
	case <-time.After(stopTime):
		e.log.Warn("Commands go on after the Edge has stopped.") // and write the StateFile, so it stays locked
	}
	_ = e.commands.logSave() // what was refused since the last command
	site.Wait()
	return nil
}

// connectOnce handles one connection, or the try to get one.
func (e *Edge) connectOnce(ctx context.Context) dial.Ending {
	c, end := e.connector.connect(ctx)
	if end != nil {
		return *end
	}
	e.log.Info("Connected to the Control Plane.", "heartbeat_interval", c.heartbeat.String(), "max_frame_bytes", c.maxFrame,
		"instance_id", e.connector.instanceID)
	return e.serve(ctx, c)
}

// watch follows the site: what happened to its nodes becomes events, whether or not there is a connection. looked is
// closed at the first note from the site.
func (e *Edge) watch(ctx context.Context, looked chan<- struct{}) {
	var before []Node
	for first := true; ; first = false {
		select {
		case <-e.dirty:
		case <-ctx.Done():
			return
		}
		nodes := e.opts.Site.Nodes()
		for _, change := range changesBetween(before, nodes, time.Now()) {
			e.up.event(nodeEvent(change))
		}
		before = nodes
		dial.Note(e.news)
		if first {
			close(looked)
		}
	}
}
