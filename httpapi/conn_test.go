package httpapi

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"iop/actors"
	"iop/wire"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// What net/http refuses before any handler sees it is a problem like every other failure.
func TestUnreadableHeads(t *testing.T) {
	for name, raw := range map[string]string{
		"no HTTP":             "nonsense\r\n\r\n",
		"a bad escape":        "GET /edges/%zz HTTP/1.1\r\nHost: localhost\r\n\r\n",
		"no Host":             "GET /edges HTTP/1.1\r\n\r\n",
		"two Hosts":           "GET /edges HTTP/1.1\r\nHost: localhost\r\nHost: localhost\r\n\r\n",
		"a bad Host":          "GET /edges HTTP/1.1\r\nHost: local host\r\n\r\n",
		"a bad header":        "GET /edges HTTP/1.1\r\nHost: localhost\r\nbad header\r\n\r\n",
		"a bad header value":  "GET /edges HTTP/1.1\r\nHost: localhost\r\nA: \x00\r\n\r\n",
		"too long a head":     "GET /edges HTTP/1.1\r\nHost: localhost\r\nA: " + strings.Repeat("a", 80<<10) + "\r\n\r\n",
		"HTTP/3.0":            "GET /edges HTTP/3.0\r\nHost: localhost\r\n\r\n",
		"an unknown encoding": "POST /edges HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: gzip\r\n\r\n",
		"two lengths":         "POST /edges HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab",
		"a bad length":        "POST /edges HTTP/1.1\r\nHost: localhost\r\nContent-Length: -1\r\n\r\n",
		"an unknown Expect":   "GET /edges HTTP/1.1\r\nHost: localhost\r\nExpect: wonders\r\n\r\n",
		"Expect in HTTP/1.0":  "GET /edges HTTP/1.0\r\nHost: localhost\r\nExpect: wonders\r\n\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			served(t, &fakePlane{}, func(t *testing.T, _ *Server, p *pipes) {
				c := p.dial()
				defer c.Close()
				send(c, raw)
				all := answers(t, c)
				if len(all) != 1 {
					t.Fatalf("%d answers", len(all))
				}
				b, _ := io.ReadAll(all[0].Body)
				h := all[0].Header
				if all[0].StatusCode != http.StatusBadRequest || h.Get("Content-Type") != problemType || !strings.Contains(string(b), `"code":"invalid_request"`) ||
					!strings.Contains(string(b), h.Get(requestIDHeader)) || h.Get(requestIDHeader) == "" {
					t.Errorf("answered %d %v %s", all[0].StatusCode, h, b)
				}
			})
		})
	}
}

func TestOddButReadableHeads(t *testing.T) {
	for raw, code := range map[string]wire.Code{
		"OPTIONS * HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n":                     wire.NotFound,
		"GET * HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n":                         wire.NotFound,
		"CONNECT localhost:80 HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n":          wire.NotFound,
		"CONNECT /edges HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n":                wire.MethodNotAllowed,
		"GET http://evil.example/edges HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n": wire.PermissionDenied,
		"GET //edges HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n":                   wire.NotFound,
		"GET /edges/x/../x HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n":             wire.NotFound,
		"GET /edges HTTP/1.0\r\n\r\n": wire.PermissionDenied,
	} {
		served(t, &fakePlane{}, func(t *testing.T, _ *Server, p *pipes) {
			c := p.dial()
			defer c.Close()
			send(c, raw)
			all := answers(t, c)
			if len(all) != 1 || all[0].StatusCode != statuses[code] || all[0].Header.Get("Content-Type") != problemType {
				t.Errorf("%q: %+v", raw, all)
			}
		})
	}
}

// Heads and bodies that don't arrive are cut after 10 s, whether or not anybody wanted the body.
func TestSlowRequestsAreCut(t *testing.T) {
	const head = "POST /edges/x/commands HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
	for name, raw := range map[string]string{
		"nothing":                    "",
		"half a head":                "GET /edges HTTP/1.1\r\nHo",
		"half a body":                head + "Content-Length: 100\r\n\r\n{\"operation\":",
		"half a chunk":               head + "Transfer-Encoding: chunked\r\n\r\n5\r\n{\"o",
		"a body that is refused":     strings.Replace(head, "application/json", "text/plain", 1) + "Content-Length: 100\r\n\r\nhalf",
		"a body that nobody reads":   "GET /healthz HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\nhalf",
		"a body to another method":   "PUT /edges HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n",
		"a body with the wrong Host": "POST /edges HTTP/1.1\r\nHost: evil.example\r\nContent-Length: 100\r\n\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			served(t, everything(nil), func(t *testing.T, _ *Server, p *pipes) {
				c := p.dial()
				defer c.Close()
				send(c, raw)
				began := time.Now()
				answers(t, c)
				if took := time.Since(began); took > arrivalTime+time.Second {
					t.Errorf("cut after %v", took)
				}
			})
		})
	}
}

// A body that drips is cut as well: the time is for the whole of it.
func TestDrippingBodyIsCut(t *testing.T) {
	served(t, everything(nil), func(t *testing.T, _ *Server, p *pipes) {
		c := p.dial()
		defer c.Close()
		began := time.Now()
		dripped := make(chan struct{})
		go func() {
			defer close(dripped)
			_, _ = io.WriteString(c, "POST /edges/x/commands HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n")
			for range 100 {
				time.Sleep(time.Second)
				if _, err := c.Write([]byte(" ")); err != nil {
					return
				}
			}
		}()
		all := answers(t, c)
		if took := time.Since(began); took > arrivalTime+time.Second {
			t.Errorf("cut after %v", took)
		}
		if len(all) != 1 || all[0].StatusCode != http.StatusBadRequest {
			t.Errorf("answered %+v", all)
		}
		c.Close()
		<-dripped
	})
}

// The time that a body has to arrive must not cut the wait for an Edge that comes after it.
func TestLongWaitsOutliveTheBodyDeadline(t *testing.T) {
	plane := everything(nil)
	plane.command = func(ctx context.Context, ask *actors.CommandAsk) actors.CommandReply {
		select {
		case <-time.After(5 * time.Minute):
			return settled(ask)
		case <-ctx.Done():
			return actors.CommandReply{Fault: &wire.Fault{Code: wire.Internal, Message: "cut"}}
		}
	}
	served(t, plane, func(t *testing.T, _ *Server, p *pipes) {
		c := p.dial()
		defer c.Close()
		body := `{"operation":"x","timeout":"10m"}`
		send(c, fmt.Sprintf("POST /edges/x/commands HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nConnection: close\r\nContent-Length: %d\r\n\r\n%s", len(body), body))
		if all := answers(t, c); len(all) != 1 || all[0].StatusCode != http.StatusOK {
			t.Errorf("answered %+v", all)
		}
	})
}

// A caller that hangs up ends its own wait.
func TestHangUpEndsTheWait(t *testing.T) {
	ended := make(chan struct{}, 1)
	plane := everything(nil)
	plane.command = func(ctx context.Context, _ *actors.CommandAsk) actors.CommandReply {
		<-ctx.Done()
		ended <- struct{}{}
		return actors.CommandReply{Fault: &wire.Fault{Code: wire.Internal, Message: "gone"}}
	}
	served(t, plane, func(t *testing.T, s *Server, p *pipes) {
		c := p.dial()
		body := `{"operation":"x","timeout":"10m"}`
		send(c, fmt.Sprintf("POST /edges/x/commands HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", len(body), body))
		synctest.Wait()
		if n := s.InFlight(); n != 1 {
			t.Errorf("%d in flight", n)
		}
		c.Close()
		synctest.Wait()
		select {
		case <-ended:
		default:
			t.Error("the wait goes on")
		}
	})
}

// A caller that doesn't read is cut when one piece stands still; a slow one that does read is not.
func TestStuckWritesAreCut(t *testing.T) {
	plane := &fakePlane{views: crowd(1000)}
	const ask = "GET /edges?limit=1000 HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
	served(t, plane, func(t *testing.T, s *Server, p *pipes) {
		c := p.dial()
		defer c.Close()
		send(c, ask)
		time.Sleep(writeTime - time.Second)
		if n := s.InFlight(); n != 1 {
			t.Errorf("%d in flight before its time", n)
		}
		time.Sleep(2 * time.Second)
		if n := s.InFlight(); n != 0 {
			t.Errorf("%d in flight", n)
		}
	})
	served(t, plane, func(t *testing.T, _ *Server, p *pipes) {
		c := p.dial()
		defer c.Close()
		send(c, ask)
		got, buf := 0, make([]byte, writePiece)
		for {
			time.Sleep(500 * time.Millisecond)
			n, err := c.Read(buf)
			got += n
			if err != nil {
				break
			}
		}
		if got < 400_000 {
			t.Errorf("a slow reader got %d bytes", got)
		}
	})
}

// Streams end with Drain; what is under way is answered; and then everything is closed.
func TestDrainOverConnections(t *testing.T) {
	plane := everything(site("x", time.Now()))
	plane.subscribe = func(string) *actors.Subscription {
		return actors.NewSubscription(nil, func() bool { return false }, func() {})
	}
	plane.status = func(edgeID string, _ time.Duration) actors.StatusReply {
		time.Sleep(1500 * time.Millisecond)
		return answered(site(edgeID, time.Now()))
	}
	served(t, plane, func(t *testing.T, s *Server, p *pipes) {
		stream, pending := p.dial(), p.dial()
		defer stream.Close()
		defer pending.Close()
		send(stream, "GET /fleet/events HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\n\r\n")
		res, err := http.ReadResponse(bufio.NewReader(stream), nil)
		if err != nil || res.StatusCode != http.StatusOK {
			t.Fatalf("stream: %v %v", res, err)
		}
		send(pending, "GET /edges/x/status HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
		synctest.Wait()
		if n := s.InFlight(); n != 2 {
			t.Errorf("%d in flight", n)
		}
		s.Drain()
		if rest, err := io.ReadAll(res.Body); err != nil || len(rest) != 0 {
			t.Errorf("the stream ended with %q %v", rest, err)
		}
		late := p.dial()
		defer late.Close()
		send(late, "GET /edges HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
		if all := answers(t, late); len(all) != 1 || all[0].StatusCode != http.StatusServiceUnavailable {
			t.Errorf("late: %+v", all)
		}
		if all := answers(t, pending); len(all) != 1 || all[0].StatusCode != http.StatusOK {
			t.Errorf("pending: %+v", all)
		}
	})
}

// Close listens as long as a request is under way, however long its body takes, and answers who asks meanwhile.
func TestCloseListensToTheEnd(t *testing.T) {
	const post = "POST /edges/x/commands HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 17\r\n"
	served(t, everything(nil), func(t *testing.T, s *Server, p *pipes) {
		asks := func(what string) int {
			c := p.dial()
			defer c.Close()
			send(c, what+" HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
			all := answers(t, c)
			if len(all) != 1 {
				t.Fatalf("%s: %d answers", what, len(all))
			}
			return all[0].StatusCode
		}
		slow := p.dial()
		defer slow.Close()
		send(slow, post+"Connection: close\r\n\r\n{")
		synctest.Wait()
		closed := make(chan error)
		ctx, cancel := context.WithTimeout(context.Background(), 15*time.Second)
		defer cancel()
		go func() { closed <- s.Close(ctx) }()
		for range 8 {
			time.Sleep(time.Second)
			if health, ready, edges := asks("GET /healthz"), asks("GET /readyz"), asks("GET /edges"); health != 200 || ready != 503 || edges != 503 {
				t.Errorf("answered %d, %d and %d", health, ready, edges)
			}
		}
		// None of these is waited for: one that is refused and doesn't come to an end, and one that says nothing.
		refused, mute := p.dial(), p.dial()
		defer refused.Close()
		defer mute.Close()
		send(refused, post+"\r\n{")
		send(slow, `"operation":"x"}`)
		if all := answers(t, slow); len(all) != 1 || all[0].StatusCode != http.StatusOK {
			t.Errorf("the slow one got %+v", all)
		}
		began := time.Now()
		if err := <-closed; err != nil || time.Since(began) > closeTime {
			t.Errorf("closed after %v: %v", time.Since(began), err)
		}
	})
}

// Close cuts what is still under way when its time is up.
func TestCloseDoesNotWaitForEver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		plane := everything(nil)
		plane.status = func(string, time.Duration) actors.StatusReply {
			<-release
			return actors.StatusReply{Fault: &wire.Fault{Code: wire.EdgeTimeout, Message: "late"}}
		}
		s, p := newServer(plane), newPipes()
		done := make(chan error)
		go func() { done <- s.Serve(p) }()
		c := p.dial()
		defer c.Close()
		send(c, "GET /edges/x/status HTTP/1.1\r\nHost: localhost\r\n\r\n")
		synctest.Wait()
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		began := time.Now()
		if err := s.Close(ctx); err != nil || time.Since(began) > 2*time.Second {
			t.Errorf("closed after %v: %v", time.Since(began), err)
		}
		if all := answers(t, c); len(all) != 0 {
			t.Errorf("answered %+v", all)
		}
		close(release)
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

// A panic after half an answer cuts the connection: nothing else tells the caller that it isn't whole.
func TestPanicInTheMiddleCuts(t *testing.T) {
	plane := everything(nil)
	plane.subscribe = func(string) *actors.Subscription {
		return actors.NewSubscription(nil, nil, func() { panic("in the middle") })
	}
	served(t, plane, func(t *testing.T, s *Server, p *pipes) {
		c := p.dial()
		defer c.Close()
		send(c, "GET /fleet/events HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\n\r\n")
		res, err := http.ReadResponse(bufio.NewReader(c), nil)
		if err != nil {
			t.Fatal(err)
		}
		s.Drain()
		if _, err := io.ReadAll(res.Body); !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("the body ended with %v", err)
		}
	})
}

// What a handler answers is never taken for net/http's own refusal, though an Edge's texts say the same words and a write to
// the connection begins with them: what doesn't fit into net/http's buffer of 4096 bytes is a write of its own.
func TestAnswersInARefusalsWordsArriveWhole(t *testing.T) {
	const words = "HTTP/1.1 417 Expectation Failed "
	var said string
	plane := everything(nil)
	plane.subscribe = func(string) *actors.Subscription {
		sub := actors.NewSubscription(nil, func() bool { return false }, func() {})
		sub.Backlog = []*actors.Event{{Kind: "node_ready", Message: said}}
		return sub
	}
	s := newServer(plane)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error)
	go func() { done <- s.Serve(l) }()
	for offset := range len(words) {
		said = strings.Repeat(".", offset) + strings.Repeat(words, 8<<10/len(words))
		plane.views = []*actors.View{connectedEdge("x", nil)}
		plane.views[0].Name = said
		for _, ask := range []string{"GET /edges HTTP/1.1\r\n", "GET /fleet/events HTTP/1.1\r\nAccept: text/event-stream\r\n"} {
			c, err := net.Dial("tcp", l.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			_ = c.SetDeadline(time.Now().Add(5 * time.Second))
			_, _ = io.WriteString(c, ask+"Host: localhost\r\n\r\n")
			got := ""
			for r := bufio.NewReader(c); err == nil && !strings.Contains(got, said); {
				var line string
				line, err = r.ReadString('}')
				got += line
			}
			if err != nil {
				t.Errorf("%q, %d bytes on: %v after %d bytes", ask, offset, err, len(got))
			}
			c.Close()
		}
	}
	if err := s.Close(context.Background()); err != nil {
		t.Error(err)
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// A connection that has answered well still refuses in its own way.
func TestAnUnreadableHeadAfterAnAnswer(t *testing.T) {
	for _, second := range []string{"nonsense\r\n\r\n", "GET /edges HTTP/1.1\r\nHost: localhost\r\nExpect: wonders\r\n\r\n"} {
		served(t, &fakePlane{}, func(t *testing.T, _ *Server, p *pipes) {
			c := p.dial()
			defer c.Close()
			send(c, "GET /edges HTTP/1.1\r\nHost: localhost\r\n\r\n"+second)
			all := answers(t, c)
			if len(all) != 2 || all[0].StatusCode != http.StatusOK || all[1].Header.Get("Content-Type") != problemType {
				t.Errorf("%q: %+v", second, all)
			}
		})
	}
}
