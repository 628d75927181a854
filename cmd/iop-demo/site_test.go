package main

import (
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"net"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"iop/edge"
	"iop/wire"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func siteOf(seed uint64) *site { return newSite(rand.New(rand.NewPCG(seed, 0)), time.Second) }

func TestASiteLives(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := siteOf(defaultSeed)
		before := s.Nodes()
		ctx, cancel := context.WithTimeout(t.Context(), 10500*time.Millisecond)
		defer cancel()
		var changes atomic.Int32
		s.Run(ctx, func() { changes.Add(1) })
		if changes.Load() != 11 {
			t.Errorf("%d changes in ten ticks, want one at the start and one each", changes.Load())
		}
		if &before[0] == &s.Nodes()[0] {
			t.Error("what was told is changed in place")
		}
	})
}

func TestModelLoad(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := siteOf(defaultSeed)
		load := func(ctx context.Context, node string, parameters map[string]any) (map[string]any, error) {
			return s.loadModel(ctx, &edge.Command{NodeID: node, Parameters: parameters})
		}
		begin := time.Now()
		result, err := load(t.Context(), "gpu-1", map[string]any{"model": "new"})
		if err != nil || result["model"] != "new" || result["provider_id"] == "" || time.Since(begin) != 5*time.Second {
			t.Errorf("loaded %v, %v in %v", result, err, time.Since(begin))
		}
		for name, c := range map[string]struct {
			node       string
			parameters map[string]any
			why        string
		}{
			"no model":       {"gpu-1", nil, "model"},
			"no text":        {"gpu-1", map[string]any{"model": 7.0}, "model"},
			"an endless one": {"gpu-1", map[string]any{"model": strings.Repeat("x", 101)}, "model"},
			"no node":        {"", map[string]any{"model": "m"}, "no node"},
			"unknown node":   {"gpu-9", map[string]any{"model": "m"}, "no node"},
		} {
			if _, err := load(t.Context(), c.node, c.parameters); err == nil || !strings.Contains(err.Error(), c.why) {
				t.Errorf("%s: %v", name, err)
			}
		}
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		defer cancel()
		if _, err := load(ctx, "gpu-1", map[string]any{"model": "m"}); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("stopped: %v", err)
		}
		time.AfterFunc(time.Second, func() {
			if _, err := s.restartNode(t.Context(), &edge.Command{NodeID: "gpu-1"}); err != nil {
				t.Error(err)
			}
		})
		if _, err := load(t.Context(), "gpu-1", map[string]any{"model": "m"}); err == nil || !strings.Contains(err.Error(), "went away") {
			t.Errorf("restarted meanwhile: %v", err)
		}
		if _, err := s.restartNode(t.Context(), &edge.Command{NodeID: "gpu-1"}); err == nil {
			t.Error("a node that is gone is restarted")
		}
	})
}

func TestNodeDrain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := siteOf(defaultSeed)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		go s.Run(ctx, func() {})
		gpu1 := &edge.Command{NodeID: "gpu-1"}
		if _, err := s.drainNode(ctx, gpu1); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		for _, p := range s.Nodes()[0].Providers {
			if p.General.InFlight+p.General.Queued+p.LongContext.InFlight != 0 || p.Status != edge.Unavailable {
				t.Errorf("drained it is %+v", p)
			}
		}
		if _, err := s.resumeNode(ctx, gpu1); err != nil {
			t.Error(err)
		}
		time.Sleep(time.Minute)
		if !slices.ContainsFunc(s.Nodes()[0].Providers, func(p edge.Provider) bool { return p.General.InFlight > 0 }) {
			t.Error("nothing runs a minute after it was resumed")
		}
		for name, c := range map[string]struct {
			operation  edge.Operation
			parameters map[string]any
			why        string
		}{
			"a mistyped parameter": {s.drainNode, map[string]any{"deadline_second": 60.0}, "takes deadline_seconds"},
			"no number":            {s.drainNode, map[string]any{"deadline_seconds": "60"}, "isn't a number"},
			"no time":              {s.drainNode, map[string]any{"deadline_seconds": 0.0}, "still run after 0s"},
			"one for a resume":     {s.resumeNode, map[string]any{"x": 1.0}, "takes none"},
			"one for a restart":    {s.restartNode, map[string]any{"x": 1.0}, "takes none"},
			"one for a load":       {s.loadModel, map[string]any{"model": "m", "x": 1.0}, "takes model"},
		} {
			_, err := c.operation(ctx, &edge.Command{NodeID: "gpu-1", Operation: "x", Parameters: c.parameters})
			if err == nil || !strings.Contains(err.Error(), c.why) {
				t.Errorf("%s: %v", name, err)
			}
		}
		if _, err := s.resumeNode(ctx, gpu1); err != nil {
			t.Error(err)
		}
		time.AfterFunc(time.Millisecond, func() { _, _ = s.resumeNode(ctx, gpu1) })
		if _, err := s.drainNode(ctx, gpu1); err == nil || !strings.Contains(err.Error(), "resumed") {
			t.Errorf("resumed meanwhile: %v", err)
		}
		for _, operation := range []edge.Operation{s.drainNode, s.resumeNode} {
			if _, err := operation(ctx, &edge.Command{NodeID: "gpu-9"}); err == nil || !strings.Contains(err.Error(), "no node") {
				t.Errorf("of no node: %v", err)
			}
		}
	})
}

func TestTheFleetSaysHello(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	f := fleet{edgeWire: l.Addr().String(), edges: 12, seed: 1, tick: time.Hour}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- f.run(ctx, slog.New(slog.DiscardHandler)) }()
	ids := map[string]bool{}
	for range f.edges {
		conn, err := l.Accept()
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		payload, err := wire.NewFrameReader(conn, wire.MaxHelloBytes).Next()
		if err != nil {
			t.Fatal(err)
		}
		e, err := wire.Decode(payload)
		if err != nil {
			t.Fatal(err)
		}
		h := e.GetEdgeHelloRequest()
		ids[h.GetEdgeId()] = true
		if h.GetLabels()["city"] == "" || len(h.GetOperations()) != 5 {
			t.Errorf("hello is %v", h)
		}
	}
	for _, id := range []string{"seoul-1", "busan-1", "jeju-1", "seoul-2", "busan-2"} {
		if !ids[id] {
			t.Errorf("no %s among %v", id, ids)
		}
	}
	_ = l.Close()
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
}
