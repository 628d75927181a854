package main

import (
	"context"
	"fmt"
	"io"
	"net/rpc"
	"os"
	"os/exec"
	"slices"
	"time"
)

// fleetProcess is a fleet in a process of its own: 20,000 descriptors, which is what a process often may have, are enough for one
// server's Edges, and both servers have theirs at once.
type fleetProcess struct {
	cmd   *exec.Cmd
	calls *rpc.Client
	edges int
}

// fleetWord makes this program a fleet's process, when it is its only argument.
const fleetWord = "fleet"

// beFleet returns when this process is no fleet's.
func beFleet() {
	if slices.Equal(os.Args[1:], []string{fleetWord}) {
		os.Exit(exitCode(runFleet(os.Stdin, os.Stdout), os.Stderr))
	}
}

// FleetOrder says what fleet there is to be.
type FleetOrder struct {
	Address string
	Edges   int
	Shape   shape
}

// startFleet starts a process with Edges that aren't connected yet. It ends with the context at the latest.
func startFleet(ctx context.Context, o FleetOrder) (*fleetProcess, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, program, fleetWord)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("starting the Edges: %w", err)
	}
	f := &fleetProcess{cmd: cmd, calls: rpc.NewClient(pipes{out, in}), edges: o.Edges}
	if err := f.call(ctx, "Make", o); err != nil {
		f.close()
		return nil, err
	}
	return f, nil
}

// pipes are both ways to another process. That one's end closes the one to read from.
type pipes struct {
	io.Reader
	io.WriteCloser
}

// call returns when the other process has done what it is told, or the context has ended.
func (f *fleetProcess) call(ctx context.Context, method string, argument any) error {
	made := f.calls.Go("Fleet."+method, argument, &struct{}{}, make(chan *rpc.Call, 1))
	select {
	case <-made.Done:
		return made.Error
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (f *fleetProcess) connect(ctx context.Context) error { return f.call(ctx, "Connect", struct{}{}) }
func (f *fleetProcess) beat(ctx context.Context) error    { return f.call(ctx, "Beat", struct{}{}) }
func (f *fleetProcess) cut(ctx context.Context) error     { return f.call(ctx, "Cut", struct{}{}) }

func (f *fleetProcess) push(ctx context.Context, times int) error { return f.call(ctx, "Push", times) }
func (f *fleetProcess) ping(ctx context.Context, pings int) error { return f.call(ctx, "Ping", pings) }
func (f *fleetProcess) tell(ctx context.Context, events int) error {
	return f.call(ctx, "Tell", events)
}

// close returns when the process has ended, with all connections cut.
func (f *fleetProcess) close() {
	const patience = 10 * time.Second
	late := time.AfterFunc(patience, func() { _ = f.cmd.Process.Kill() }) // it may wait for a server that hangs
	defer late.Stop()
	_ = f.calls.Close() // which ends it
	_ = f.cmd.Wait()
}

// fleetCalls are what a fleet's process can be told.
type fleetCalls struct{ f *fleet }

// runFleet does what it is told, until there is nobody any more to tell it.
func runFleet(in io.Reader, out io.WriteCloser) error {
	told := rpc.NewServer()
	calls := &fleetCalls{}
	if err := told.RegisterName("Fleet", calls); err != nil {
		return err
	}
	told.ServeConn(pipes{in, out})
	if calls.f != nil {
		calls.f.close()
	}
	return nil
}

// Make makes the fleet, which all others take for granted.
func (c *fleetCalls) Make(o FleetOrder, _ *struct{}) (err error) {
	c.f, err = newFleet(o.Address, o.Edges, o.Shape)
	return err
}

func (c *fleetCalls) Connect(struct{}, *struct{}) error { return c.f.connect() }

func (c *fleetCalls) Beat(struct{}, *struct{}) error {
	c.f.beating.Go(c.f.beat)
	return nil
}

func (c *fleetCalls) Cut(struct{}, *struct{}) error {
	c.f.cut()
	return nil
}

func (c *fleetCalls) Push(times int, _ *struct{}) error  { return c.f.push(times) }
func (c *fleetCalls) Ping(pings int, _ *struct{}) error  { return c.f.ping(pings) }
func (c *fleetCalls) Tell(events int, _ *struct{}) error { return c.f.tell(events) }
