package load

import (
	"context"
	"sync"
	"time"

	"iop/load/measure"
	"iop/load/report"
)

// server watches the Control Plane's process, where it is on this machine.
type server struct {
	mu      sync.Mutex
	process measure.Process // Pid 0: none
	why     string          // there is none
	changed bool            // it isn't the process that the run began with
}

// find looks for it, first at the beginning and again after a restart.
func (s *server) find(t *Target) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.changed = s.process.Pid != 0
	s.process = measure.Process{Pid: t.Pid}
	if t.Pid != 0 && !s.changed {
		return
	}
	address, err := httpAddress(t.HTTP)
	if err == nil {
		s.process, err = measure.Listener(address)
	}
	if err != nil {
		s.process, s.why = measure.Process{}, err.Error()
	}
}

// usage is nil when it can't be told.
func (s *server) usage() *measure.Usage {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.process.Pid == 0 {
		return nil
	}
	u, err := s.process.Usage()
	if err != nil {
		s.why = "the process has gone"
		return nil
	}
	return &u
}

// settle tells what the Edges that have connected cost in memory.
func (s *server) settle(ctx context.Context, before *measure.Usage, edges int, into *report.Server) {
	if before == nil || edges == 0 || !sleepUntil(ctx, time.Now().Add(settleTime)) {
		return
	}
	if now := s.usage(); now != nil {
		into.BytesPerEdge = number(float64(now.Resident-before.Resident) / float64(edges))
	}
}

// spent tells what it used since then.
func (s *server) spent(then *measure.Usage, since time.Duration, statuses uint64, into *report.Server) {
	now := s.usage()
	s.mu.Lock()
	defer s.mu.Unlock()
	into.Pid, into.Why = s.process.Pid, s.why
	if now == nil {
		return
	}
	into.ResidentBytes = &now.Resident
	if then == nil || s.changed {
		return
	}
	cpu := now.CPU - then.CPU
	into.CPUPercent = number(100 * cpu.Seconds() / since.Seconds())
	if statuses > 0 {
		into.CPUPerStatus = number(float64(cpu.Microseconds()) / float64(statuses))
	}
}
