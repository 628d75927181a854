package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"iop/actors"
	"iop/internal/testkit"
)

// liveStream reads /fleet/events as it happens.
type liveStream struct {
	t     *testing.T
	got   chan sse // closed at the stream's end
	close func()
}

// sse is one event of a stream, or a comment.
type sse struct {
	id, event, comment string
	data               object
}

func (d *testDaemon) stream(path string, headers ...string) *liveStream {
	d.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	d.t.Cleanup(cancel)
	request, _ := http.NewRequestWithContext(ctx, http.MethodGet, d.scheme+"://"+d.http+path, nil)
	request.Header.Set("Accept", "text/event-stream")
	for i := 0; i+1 < len(headers); i += 2 {
		request.Header.Set(headers[i], headers[i+1])
	}
	opens := time.AfterFunc(patience, cancel)
	response, err := (&http.Client{Transport: d.client.Transport}).Do(request) // no timeout once it is open: it goes on
	opens.Stop()
	if err != nil {
		d.t.Fatal(err)
	}
	if kind := response.Header.Get("Content-Type"); response.StatusCode != 200 || kind != "text/event-stream" {
		d.t.Fatalf("the stream: %d, %s", response.StatusCode, kind)
	}
	s := &liveStream{t: d.t, got: make(chan sse, 100_000), close: cancel}
	go func() {
		defer response.Body.Close()
		defer close(s.got)
		s.read(bufio.NewScanner(response.Body))
	}()
	return s
}

func (s *liveStream) read(lines *bufio.Scanner) {
	var e sse
	for lines.Scan() {
		name, value, _ := strings.Cut(lines.Text(), ":")
		value = strings.TrimPrefix(value, " ")
		switch {
		case lines.Text() == "":
			s.got <- e
			e = sse{}
		case name == "":
			e.comment = value
		case name == "id":
			e.id = value
		case name == "event":
			e.event = value
		case name == "data":
			_ = json.Unmarshal([]byte(value), &e.data)
		}
	}
}

func (s *liveStream) next() sse {
	s.t.Helper()
	select {
	case e, ok := <-s.got:
		if !ok {
			s.t.Fatal("the stream ended")
		}
		return e
	case <-time.After(patience):
		s.t.Fatal("nothing came")
	}
	return sse{}
}

// node wants the next event to be this node's, and gives its id.
func (s *liveStream) node(want string) string {
	s.t.Helper()
	e := s.next()
	for e.comment != "" {
		e = s.next()
	}
	if e.event != "node_ready" || e.data["node_id"] != want || e.data["id"] != e.id || e.id == "" {
		s.t.Fatalf("wanted the event of node %s, got %+v", want, e)
	}
	return e.id
}

func TestLiveStream(t *testing.T) {
	t.Parallel()
	d := startDaemon(t, "events: {fleet_buffer: 4}\n")
	e := d.connect(helloOf("e"))
	e.send(nodeEvent("before"))
	e.settle()
	d.lastNode("/fleet/events", "before")
	now := d.stream("/fleet/events") // from now on: what was before isn't shown
	var ids []string
	for i := range 3 {
		e.send(nodeEvent(fmt.Sprint(i)))
		ids = append(ids, now.node(fmt.Sprint(i)))
	}
	resumed := d.stream("/fleet/events", "Last-Event-ID", ids[0])
	resumed.node("1")
	resumed.node("2")
	byQuery := d.stream("/fleet/events?after="+ids[1], "Last-Event-ID", "")
	byQuery.node("2")
	both := d.stream("/fleet/events?after="+ids[0], "Last-Event-ID", ids[1]) // what a browser sends that comes back
	both.node("2")
	for i := range 5 {
		e.send(nodeEvent(fmt.Sprint("x", i)))
		for _, s := range []*liveStream{now, resumed, byQuery, both} {
			s.node(fmt.Sprint("x", i))
		}
	}
	late := d.stream("/fleet/events", "Last-Event-ID", ids[0])
	if gap := late.next(); gap.event != "gap" || gap.id != "" || gap.data["reason"] != "overwritten" || gap.data["dropped"] != 3.0 {
		t.Errorf("a gap of 1, 2 and x0: %+v", gap)
	}
	late.node("x1")
	strange := d.stream("/fleet/events", "Last-Event-ID", "nonsense")
	if gap := strange.next(); gap.event != "gap" || gap.data["reason"] != "restarted" {
		t.Errorf("an id of no run: %+v", gap)
	}
	strange.node("x1")
	for accept, live := range map[string]bool{"text/event-stream, application/json;q=0.9": true, "application/json, text/event-stream;q=0.5": false,
		"text/event-stream;q=0": false, "*/*": false, "": false, "application/json;q=0.5,text/event-stream;q=0.6": true} {
		kind := d.do("HEAD", "/fleet/events", "", "Accept", accept).is(200).header.Get("Content-Type")
		if (kind == "text/event-stream") != live {
			t.Errorf("Accept: %s gives %s", accept, kind)
		}
	}
	now.close()
	testkit.Eventually(t, "a reader that goes is let go", func() bool { return d.metric("iop_http_event_streams") == 5 })
	comment := strange.next()
	for comment.comment == "" {
		comment = strange.next()
	}
}

// TestSlowReader: one that can't keep up is ended, and others don't feel it.
func TestSlowReader(t *testing.T) {
	t.Parallel()
	d := startDaemon(t, "")
	e := d.connect(helloOf("e"))
	slow, err := narrow.Dial("tcp", d.http)
	if err != nil {
		t.Fatal(err)
	}
	defer slow.Close()
	fmt.Fprintf(slow, "GET /fleet/events HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\n\r\n")
	testkit.Eventually(t, "the slow reader is there", func() bool { return d.metric("iop_http_event_streams") == 1 })
	quick := d.stream("/fleet/events")
	const flood = 15_000
	ahead := make(chan struct{}, actors.SubscriberBuffer/4) // sent and not read yet: on a busy machine this reader must not be slow, too
	go func() {
		for i := range flood {
			select {
			case ahead <- struct{}{}:
			case <-t.Context().Done():
				return
			}
			m := nodeEvent(fmt.Sprint(i))
			m.GetEdgeNodeEvent().Message = strings.Repeat("m", 200)
			e.send(m)
		}
	}()
	last := ""
	for i := range flood {
		id := quick.node(fmt.Sprint(i))
		if id <= last {
			t.Fatalf("event %d is out of order: %q after %q", i, id, last)
		}
		last = id
		<-ahead
	}
	testkit.Eventually(t, "the slow reader is ended", func() bool {
		return d.metric("iop_events_dropped_total") == 1 && d.metric("iop_http_event_streams") == 1
	})
	d.get("/edges/e").is(200, "state", "connected", "connections", 1)
}
