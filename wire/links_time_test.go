package wire

import (
	"crypto/tls"
	"errors"
	"io"
	"net"
	"testing"
	"testing/synctest"
	"time"
)

// How long links wait, on a fake clock: over pipes, and over TLS over pipes.

var timed = LinkOptions{MaxQueueFrames: 100, MaxQueueBytes: 8 << 20, WriteTimeout: 10 * time.Second}

func tlsPipeRig(t *testing.T, o *LinkOptions) *rig {
	near, far := net.Pipe()
	t.Cleanup(func() { near.Close(); far.Close() })
	server, client := tls.Server(near, testTLS()[0]), tls.Client(far, testTLS()[1])
	shaken := make(chan error, 1)
	go func() { shaken <- server.Handshake() }()
	if err := errors.Join(client.Handshake(), <-shaken); err != nil {
		t.Fatal(err)
	}
	return connRig(server, client, o)
}

func eachPipe(t *testing.T, test func(*testing.T, *rig)) {
	testTLS() // its clock is the real one
	t.Run("pipe", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) { test(t, pipeRig(t, &timed)) })
	})
	t.Run("tls", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) { test(t, tlsPipeRig(t, &timed)) })
	})
}

func TestStandingPeerIsCutAfterWriteTimeout(t *testing.T) {
	eachPipe(t, func(t *testing.T, r *rig) {
		ended := r.serveReader()
		began := time.Now()
		r.link.Send(numbered(1, 100_000), "")
		r.link.Send(numbered(2, 100), tagOf(2))
		<-r.log.told
		if took := time.Since(began); took != timed.WriteTimeout {
			t.Errorf("told after %v", took)
		}
		<-ended
		if _, stalls := r.log.counts(); stalls != 1 {
			t.Errorf("told %d times", stalls)
		}
		if !r.link.Withdraw(tagOf(2)) {
			t.Error("a frame that never began can't be told from one that did")
		}
	})
}

// TestMovingPeerIsNotCut reads so little that the whole takes many times WriteTimeout.
func TestMovingPeerIsNotCut(t *testing.T) {
	eachPipe(t, func(t *testing.T, r *rig) {
		ended := r.serveReader()
		r.link.Send(numbered(1, 100_000), "")
		piece := make([]byte, 2*partBytes)
		began := time.Now()
		for time.Since(began) < time.Minute {
			time.Sleep(9 * time.Second)
			if _, err := io.ReadFull(r.peer, piece); err != nil {
				t.Fatalf("cut after %v: %v", time.Since(began), err)
			}
		}
		last := time.Now()
		<-r.log.told
		if took := time.Since(last); took < timed.WriteTimeout || took > 2*timed.WriteTimeout {
			t.Errorf("it stands for %v before it is cut", took)
		}
		<-ended
	})
}

// TestFinishIsBounded: by WriteTimeout for all that waits, however little the peer moves.
func TestFinishIsBounded(t *testing.T) {
	eachPipe(t, func(t *testing.T, r *rig) {
		ended := r.serveReader()
		r.link.Send(numbered(1, 1_000_000), "")
		time.Sleep(5 * time.Second)
		began := time.Now()
		r.link.Finish()
		read := make(chan struct{})
		go func() {
			defer close(read)
			for piece := make([]byte, 2*partBytes); ; {
				time.Sleep(time.Second)
				if _, err := io.ReadFull(r.peer, piece); err != nil {
					return
				}
			}
		}()
		<-ended
		if took := time.Since(began); took > timed.WriteTimeout {
			t.Errorf("it took %v", took)
		}
		if _, stalls := r.log.counts(); stalls > 0 {
			t.Error("its owner, who has ended it, is told that it stands still")
		}
		<-read
	})
}

// TestGoodbyeIsBounded: TLS would try for 5 s to write its goodbye.
func TestGoodbyeIsBounded(t *testing.T) {
	testTLS()
	o := timed
	o.WriteTimeout = 2 * time.Second
	for how, end := range map[string]struct {
		call  func(Link)
		takes time.Duration
	}{"finish": {Link.Finish, o.WriteTimeout}, "abort": {Link.Abort, 0}} {
		t.Run(how, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := tlsPipeRig(t, &o)
				ended := r.serveReader()
				began := time.Now()
				end.call(r.link)
				<-ended
				if took := time.Since(began); took != end.takes {
					t.Errorf("it took %v, want %v", took, end.takes)
				}
			})
		})
	}
}

func TestAbortWhileWritingIsAtOnce(t *testing.T) {
	eachPipe(t, func(t *testing.T, r *rig) {
		ended := r.serveReader()
		r.link.Send(numbered(1, 100_000), "")
		synctest.Wait() // the writer stands in it
		began := time.Now()
		r.link.Abort()
		<-ended
		if took := time.Since(began); took > 0 {
			t.Errorf("it took %v", took)
		}
	})
}

// TestLinger: what comes after Finish is discarded for lingerTime, whatever deadline the reader's owner would set.
func TestLinger(t *testing.T) {
	testTLS()
	synctest.Test(t, func(t *testing.T) {
		r := tlsPipeRig(t, &timed)
		peerSaw := make(chan error, 1)
		go func() {
			_, err := io.Copy(io.Discard, r.peer)
			peerSaw <- err
		}()
		talked := make(chan struct{})
		go func() { // a peer that talks on
			defer close(talked)
			for {
				time.Sleep(10 * time.Millisecond)
				if _, err := r.peer.Write([]byte("more")); err != nil {
					return
				}
			}
		}()
		began := time.Now()
		r.link.Finish()
		synctest.Wait() // the write half is shut
		r.link.ReadBy(time.Now().Add(time.Hour))
		r.link.Drain()
		if took := time.Since(began); took != lingerTime {
			t.Errorf("it lingers for %v", took)
		}
		if err := <-peerSaw; err != nil {
			t.Errorf("the peer saw %v, want an orderly end", err)
		}
		<-talked
	})
}
