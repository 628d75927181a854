//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/prometheus/procfs"
)

// edgeProcess is an iop-edge of its own.
type edgeProcess struct {
	id, bin, config string
	log             *os.File
	cmd             *exec.Cmd
	ended           chan struct{}
}

func startEdge(bin, dir string, number int, edgeWire string) (*edgeProcess, error) {
	e := &edgeProcess{id: fmt.Sprintf("real-%d", number), bin: bin}
	e.config = filepath.Join(dir, e.id+".yaml")
	err := os.WriteFile(e.config, []byte(fmt.Sprintf(`edge: {id: %s}
control_plane:
  address: %s
  reconnect: {initial: %s, max: %s}
nodes: []
log: {format: json}
`, e.id, edgeWire, firstRetry, lastRetry)), 0o600)
	if err != nil {
		return nil, err
	}
	if e.log, err = os.Create(filepath.Join(dir, e.id+".log")); err != nil {
		return nil, err
	}
	return e, e.start()
}

func (e *edgeProcess) start() error {
	cmd := exec.Command(e.bin, "--config", e.config)
	cmd.Dir = filepath.Dir(e.config)
	cmd.Stdout, cmd.Stderr = e.log, e.log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // a terminal's Ctrl-C isn't for it
	if err := cmd.Start(); err != nil {
		return err
	}
	ended := make(chan struct{})
	go func() { _ = cmd.Wait(); close(ended) }()
	e.cmd, e.ended = cmd, ended
	return nil
}

func (e *edgeProcess) signal(s syscall.Signal) error { return e.cmd.Process.Signal(s) }

// stopTime is for a machine on which not every thread is run at once.
const stopTime = 5 * time.Second

// stop stops it and waits until each of its threads stands: a signal is taken by one of them, and until that is run the others go on.
func (e *edgeProcess) stop() error {
	if err := e.signal(syscall.SIGSTOP); err != nil {
		return err
	}
	for by := time.Now().Add(stopTime); ; time.Sleep(time.Millisecond) {
		if stopped(e.cmd.Process.Pid) {
			return nil
		}
		if time.Now().After(by) {
			return errors.Join(fmt.Errorf("%s isn't stopped after %v", e.id, stopTime), e.signal(syscall.SIGCONT))
		}
	}
}

// stopped tells whether all threads of a process are.
func stopped(pid int) bool {
	threads, err := procfs.AllThreads(pid)
	return err == nil && !slices.ContainsFunc(threads, func(thread procfs.Proc) bool {
		stat, err := thread.Stat()
		return err != nil || stat.State != "T"
	})
}

func (e *edgeProcess) kill() {
	_ = e.signal(syscall.SIGKILL)
	<-e.ended
}

// broken gives what it printed that no Edge may print.
func (e *edgeProcess) broken() string {
	said, _ := os.ReadFile(e.log.Name())
	return string(forbidden.Find(said))
}

// pingPath is where a harmless command for an Edge is asked, for a record and not for an answer.
func pingPath(id string) string { return "/edges/" + id + "/commands?wait=false" }

const ping = `{"operation":"edge.ping","timeout":"5s"}`

// pings are harmless commands to some Edges, one after the other.
type pings struct {
	enough context.CancelFunc
	sender sync.WaitGroup
}

const pingEvery = 300 * time.Millisecond

// startPings sends them until ctx ends, or they are ended. Whether one is taken is not looked at, for the Edge or the daemon may be away:
// what is judged are the records of those that were.
func startPings(ctx context.Context, ask *asker, edges []*edgeProcess) *pings {
	ctx, enough := context.WithCancel(ctx)
	p := &pings{enough: enough}
	p.sender.Go(func() {
		for n := 0; sleep(ctx, pingEvery); n++ {
			_, _, _ = ask.do(ctx, http.MethodPost, pingPath(edges[n%len(edges)].id), []byte(ping))
		}
	})
	return p
}

func (p *pings) end() {
	p.enough()
	p.sender.Wait()
}
