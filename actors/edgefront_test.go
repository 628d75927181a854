package actors

import (
	"context"
	"errors"
	"net"
	"testing"
	"testing/synctest"
	"time"
)

// pipes is a listener whose connections are the test's.
type pipes struct {
	conns chan net.Conn
	errs  chan error
	done  chan struct{}
}

func newPipes() *pipes {
	return &pipes{conns: make(chan net.Conn), errs: make(chan error), done: make(chan struct{})}
}

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case err := <-p.errs:
		return nil, err
	case <-p.done:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error   { close(p.done); return nil }
func (p *pipes) Addr() net.Addr { return &net.TCPAddr{} }

func TestEdgeFront(t *testing.T) {
	bubble(t, testOptions(), func(t *testing.T, s *System) {
		l := newPipes()
		front := s.StartFront(NewEdgeFront(s), l, func(err error) { t.Errorf("front failed: %v", err) })
		ours, theirs := net.Pipe()
		l.conns <- theirs
		f := newFakeEdge(t, ours)
		go f.pump()
		f.send(helloEnvelope(hello("e1")))
		if m := f.next(); m.GetEdgeHelloResponse() == nil {
			t.Fatalf("got %v", m)
		}
		l.errs <- errors.New("no descriptors left")
		time.Sleep(time.Second)
		wantEqual(t, "hello places: the next connection's", len(s.hellos), 1)
		front.Stop(context.Background())
		synctest.Wait()
		wantEqual(t, "hello places", len(s.hellos), 0)
		_, v := view(t, s, "e1")
		wantEqual(t, "connected after the front has closed", v.Connected, true)
	})
}

// A front that is closed before it serves closes its listener all the same.
func TestEdgeFrontClosedBeforeItServes(t *testing.T) {
	bubble(t, testOptions(), func(t *testing.T, s *System) {
		l, front := newPipes(), NewEdgeFront(s)
		if err := front.Close(context.Background()); err != nil {
			t.Fatal(err)
		}
		served := make(chan error, 1)
		go func() { served <- front.Serve(l) }()
		select {
		case err := <-served:
			wantEqual(t, "Serve", err, nil)
			<-l.done
		case <-time.After(time.Minute):
			l.Close()
			t.Error("it serves")
		}
	})
}

// When everybody who may say hello is connected and silent, the next ones wait in the kernel until one has spoken.
func TestHelloPlaces(t *testing.T) {
	bubble(t, testOptions(), func(t *testing.T, s *System) {
		for range maxHellos - 1 {
			s.hellos <- struct{}{}
		}
		l := newPipes()
		front := s.StartFront(NewEdgeFront(s), l, func(error) {})
		ours, theirs := net.Pipe()
		l.conns <- theirs
		synctest.Wait()
		_, next := net.Pipe()
		select {
		case l.conns <- next:
			t.Error("one more was accepted")
		case <-time.After(time.Second):
		}
		f := newFakeEdge(t, ours)
		go f.pump()
		f.send(helloEnvelope(hello("e1")))
		select {
		case l.conns <- next:
		case <-time.After(time.Second):
			t.Error("a place that was given back wasn't given")
		}
		synctest.Wait() // the registry has it, and ends it when it stops
		front.Stop(context.Background())
	})
}
