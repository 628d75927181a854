package load

import (
	"net/url"
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
	u, err := url.Parse(t.HTTP)
	if err == nil {
		s.process, err = measure.Listener(u.Host)
	}
	if err != nil {
		s.process, s.why = measure.Process{}, err.Error()
	}
}

func (s *server) usage() *measure.Usage {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.process.Pid == 0 {
		return nil
	}
	u := usage(s.process)
	if u == nil {
		s.why = "the process has gone"
	}
	return u
}

// growth is how much more memory a process has by Edge; nil when it can't be told.
func growth(before, after *measure.Usage, edges int) *float64 {
	if before == nil || after == nil || edges == 0 {
		return nil
	}
	return new(float64(after.Resident-before.Resident) / float64(edges))
}

// usage is nil when it can't be told.
func usage(p measure.Process) *measure.Usage {
	u, err := p.Usage()
	if err != nil {
		return nil
	}
	return &u
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
	into.CPUPercent = new(100 * cpu.Seconds() / since.Seconds())
	if statuses > 0 {
		into.CPUPerStatus = new(float64(cpu.Microseconds()) / float64(statuses))
	}
}
