//go:build linux

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"syscall"
	"time"

	"github.com/prometheus/procfs"

	"iop/load/fleet"
)

// do does a fault and returns at its end. The error says what didn't hold while it lasted.
func (c *chaos) do(ctx context.Context, f *fault) error {
	switch f.Kind {
	case daemonStopped:
		return c.stopDaemon(ctx, f)
	case daemonKilled:
		return c.killDaemon()
	case tableFull:
		return c.fillTable(ctx, f)
	case logBlocked:
		c.log.block(true)
		defer c.log.block(false)
		return c.askLogging(ctx, f)
	case logSlow:
		c.log.slow(time.Duration(f.Size) * time.Millisecond)
		defer c.log.slow(0)
		return c.askLogging(ctx, f)
	case edgeStopped:
		return c.stopEdge(ctx, f)
	case edgeKilled:
		return c.killEdge(ctx, f)
	case linksReset:
		c.direct.fleet.ResetLinks(f.Edges)
	case linksSilent:
		c.direct.fleet.Behave(f.Edges, fleet.Mute, 0, f.For)
		sleep(ctx, f.For)
	case linksLongSilent:
		return c.silenceLinks(ctx, f)
	case halfFrames, halfFramesLong:
		return c.halfFrames(ctx, f)
	case deafClient:
		return c.deafClient(ctx, f)
	case deafEdge:
		return c.deafEdge(ctx, f)
	case proxySlow, proxySliced:
		return c.spoilProxy(ctx, f)
	case proxyReorders:
		return c.reorder(ctx, f)
	case proxyCut:
		var err error
		c.proxied.fleet.Unsettle(func() { err = c.proxy.cut() })
		sleep(ctx, f.For)
		return errors.Join(err, c.proxy.Start())
	}
	return nil
}

func (c *chaos) stopDaemon(ctx context.Context, f *fault) error {
	if err := c.daemon.Signal(syscall.SIGSTOP); err != nil {
		return err
	}
	sleep(ctx, f.For)
	return c.daemon.Signal(syscall.SIGCONT)
}

func (c *chaos) killDaemon() error {
	for _, bed := range c.testbeds() {
		bed.fleet.Disturb()
	}
	c.daemon.Kill()
	return c.daemon.Again()
}

func (c *chaos) stopEdge(ctx context.Context, f *fault) error {
	e := c.real[f.Edges[0]]
	if err := e.stop(); err != nil {
		return err
	}
	sleep(ctx, f.For)
	return e.signal(syscall.SIGCONT)
}

// killEdge kills an Edge that has a command and hasn't answered it. What is started afterwards has never heard of that.
func (c *chaos) killEdge(ctx context.Context, f *fault) error {
	e := c.real[f.Edges[0]]
	if err := e.stop(); err != nil {
		return err
	}
	err := c.sendPing(ctx, e.id)
	e.kill()
	sleep(ctx, f.For)
	return errors.Join(unlessInterrupted(ctx, err), e.start())
}

// sendPing returns when the daemon has sent a command.
func (c *chaos) sendPing(ctx context.Context, id string) error {
	status, body, err := c.ask.do(ctx, http.MethodPost, pingPath(id), []byte(ping))
	if err != nil {
		return err
	}
	var asked record
	if status != http.StatusAccepted || json.Unmarshal(body, &asked) != nil {
		return fmt.Errorf("a command to %s was answered with status %d: %s", id, status, body)
	}
	sent := func() bool {
		return c.ask.get("/edges/"+id+"/operations/"+asked.ID, &asked) == nil && asked.State == "sent"
	}
	if !c.await(ctx, stopTime, sent) {
		return fmt.Errorf("a command to %s, which is stopped, is %s and not sent after %v", id, asked.State, stopTime)
	}
	return nil
}

// silenceLinks has links be silent for longer than the daemon bears: it has to end them before their Edges come back, and say why.
func (c *chaos) silenceLinks(ctx context.Context, f *fault) error {
	back := time.Now().Add(f.For)
	c.direct.fleet.Behave(f.Edges, fleet.Mute, 0, f.For)
	defer func() { sleep(ctx, time.Until(back)) }()
	sleep(ctx, c.opts.silence())
	wrong := ""
	ended := c.await(ctx, endTime, func() bool {
		wrong = ""
		for _, n := range f.Edges {
			if wrong = c.notTimedOut(c.direct.id(n)); wrong != "" {
				return false
			}
		}
		return true
	})
	if !ended {
		return unlessInterrupted(ctx, errors.New(wrong))
	}
	return nil
}

// edgeView is what is looked at in an Edge's view.
type edgeView struct {
	Connected bool   `json:"connected"`
	Reason    string `json:"disconnect_reason"`
}

// notTimedOut tells how an Edge is shown if not as one whose connection the daemon ended for its silence; else "".
func (c *chaos) notTimedOut(id string) string {
	var view edgeView
	if err := c.ask.get("/edges/"+id, &view); err != nil {
		return err.Error()
	}
	if view.Connected || view.Reason != "heartbeat_timeout" {
		return fmt.Sprintf("%s was silent: connected %v, disconnect_reason %q", id, view.Connected, view.Reason)
	}
	return ""
}

func (c *chaos) spoilProxy(ctx context.Context, f *fault) error {
	err := c.proxy.spoil(f.toxic())
	sleep(ctx, f.For)
	return errors.Join(err, c.proxy.heal())
}

// reorder has half of what goes through the proxy, by connection and direction, be late, while its Edges give up their links and open new
// ones: hellos of links that were given up come behind those of newer ones, and take their place.
func (c *chaos) reorder(ctx context.Context, f *fault) error {
	before, err := c.takeovers(c.proxied)
	if err != nil {
		return err
	}
	c.proxied.fleet.Unsettle(func() {
		err = c.proxy.spoil(f.toxic())
		for range reorderRounds {
			c.proxied.fleet.ResetAllLinks()
			sleep(ctx, f.For/reorderRounds)
		}
		sleep(ctx, f.letGo()) // until what was held has come through in both directions
		err = errors.Join(err, c.proxy.anew())
	})
	if err != nil {
		return err
	}
	after, err := c.takeovers(c.proxied)
	if err == nil && after <= before {
		err = errors.New("no hello of an earlier link took the place of a later one")
	}
	return err
}

// takeovers adds up how often Edges of a testbed were taken over, up to a page of them.
func (c *chaos) takeovers(bed *testbed) (sum int, err error) {
	var list struct {
		Edges []struct {
			Takeovers int `json:"takeovers"`
		} `json:"edges"`
	}
	err = c.ask.get("/edges?limit=1000&prefix="+bed.name+"-", &list)
	for _, e := range list.Edges {
		sum += e.Takeovers
	}
	return sum, err
}

// reorderRounds is how often all Edges behind the proxy give up their links while it reorders.
const reorderRounds = 3

// late is what the proxy adds, one way, while it reorders: more than a round and the time in which an Edge dials anew, so that a hello
// that is late comes behind the next one that isn't.
func (f *fault) late() time.Duration {
	return f.For/reorderRounds + firstRetry + time.Duration(f.Size)*time.Millisecond
}

// letGo is how long it surely holds nothing any more after the last links were given up: a late hello's answer is late, too.
func (f *fault) letGo() time.Duration { return 2*f.late() + 500*time.Millisecond }

// fillTime is how long the daemon may take to accept as many connections as it has descriptors.
const fillTime = 10 * time.Second

// fillTable takes all descriptors that the daemon has, at one of its ports, holds them, and lets go.
func (c *chaos) fillTable(ctx context.Context, f *fault) error {
	a := c.daemon.Addresses()
	address := []string{a.EdgeWire, a.Wire, a.HTTP}[f.Size%3]
	var held []net.Conn
	defer func() {
		for _, conn := range held {
			_ = conn.Close()
		}
	}()
	for by := time.Now().Add(fillTime); ; {
		open, err := c.openFiles()
		if err != nil {
			return err
		}
		if uint64(open) >= c.limit {
			sleep(ctx, f.For)
			return nil
		}
		if time.Now().After(by) {
			return fmt.Errorf("%d connections to %s, and the daemon has %d descriptors of %d open", len(held), address, open, c.limit)
		}
		// Those that wait in the listener's queue hold none yet, so more are opened than are missing.
		for range max(1, min(100, int(c.limit)-open)) {
			conn, err := net.DialTimeout("tcp", address, time.Second)
			if err != nil {
				break
			}
			held = append(held, conn)
		}
		if !sleep(ctx, lookEvery) {
			return nil
		}
	}
}

// openFiles counts the daemon's descriptors.
func (c *chaos) openFiles() (int, error) {
	p, err := procfs.NewProc(c.daemon.Process().Pid)
	if err != nil {
		return 0, err
	}
	return p.FileDescriptorsLen()
}

// logAsks are sent at a time while something is wrong with the log, and logTime is what each may take.
const (
	logAsks = 4
	logTime = 3 * time.Second
)

// askLogging asks for what leaves a line in the log. Each must be answered: a log that isn't taken, or slowly, is no reason for a Control
// Plane to stop answering.
func (c *chaos) askLogging(ctx context.Context, f *fault) error {
	until := time.Now().Add(f.For)
	var asking sync.WaitGroup
	failed := make(chan error, logAsks)
	for range logAsks {
		asking.Go(func() {
			for n := 0; time.Now().Before(until) && ctx.Err() == nil; n++ {
				asked, cancel := context.WithTimeout(ctx, logTime)
				status, _, err := c.ask.do(asked, http.MethodPost, "/edges/nobody/commands", []byte(`{"operation":"none"}`))
				cancel()
				if err == nil && status != http.StatusNotFound {
					err = fmt.Errorf("status %d", status)
				}
				if err != nil {
					failed <- fmt.Errorf("while there was %q, request %d was not answered: %w", f.Kind, n+1, err)
					return
				}
			}
		})
	}
	asking.Wait()
	close(failed)
	var all error
	for err := range failed {
		all = errors.Join(all, err)
	}
	return all
}
