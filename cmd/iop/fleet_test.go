package main

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"iop/edge"
	"iop/edge/manage"
	"iop/internal/testkit/testdaemon"
	"iop/load/daemon"
)

// testFleet is a real daemon and real Edges. They are operated as iop-edge is; their machines are made up.
type testFleet struct {
	daemon *daemon.Daemon
	edges  map[string]*testEdge
}

func (f *testFleet) start(args ...string) (err error) {
	f.edges = map[string]*testEdge{}
	f.daemon, err = testdaemon.Run(nil, append([]string{"--log-level", "error"}, args...)...)
	return err
}

// restart crashes the daemon and starts it again at the same addresses; the Edges come back by themselves.
func (f *testFleet) restart() error {
	f.daemon.Kill()
	return f.daemon.Again()
}

func (f *testFleet) setenv(set func(name, value string)) {
	set("IOP_ADDR", "http://"+f.daemon.Addresses().HTTP)
	set("WIRE", "ws://"+f.daemon.Addresses().Wire+"/client")
	set("HTTP_HOST", f.daemon.Addresses().HTTP)
	set("WIRE_HOST", f.daemon.Addresses().Wire)
	set("EDGE_WIRE", f.daemon.Addresses().EdgeWire)
}

func (f *testFleet) stop() {
	for id := range f.edges {
		f.leave(id)
	}
	if f.daemon != nil {
		f.daemon.Close()
	}
}

// testEdge is a running Edge.
type testEdge struct {
	site *testSite
	stop context.CancelFunc
	done sync.WaitGroup
}

func (f *testFleet) connect(id string, labels map[string]string) error {
	s := newTestSite()
	managed := manage.New(manage.Options{Site: s})
	s.drained = managed.Pool().Drained
	operations := managed.Operations()
	operations["model.load"], operations["fail"] = loadModel, fail
	e, err := edge.New(edge.Options{ID: id, Name: "Site " + id, Version: "1.2.3", Labels: labels, Address: f.daemon.Addresses().EdgeWire,
		Site: managed, Operations: operations,
		Logger: slog.New(slog.DiscardHandler), ReconnectInitial: 10 * time.Millisecond, ReconnectMax: 50 * time.Millisecond})
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(context.Background())
	running := &testEdge{site: s, stop: cancel}
	running.done.Go(func() { _ = e.Run(ctx) })
	f.edges[id] = running
	return nil
}

// leave has an Edge say goodbye.
func (f *testFleet) leave(id string) {
	e := f.edges[id]
	if e == nil {
		return
	}
	e.stop()
	e.done.Wait()
	delete(f.edges, id)
}
