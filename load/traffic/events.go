package traffic

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"iop/client/sse"
	"iop/load/fleet"
	"iop/load/ledger"
	"iop/load/measure"
)

// eventView is what is looked at in an event.
type eventView struct {
	EdgeID      string    `json:"edge_id"`
	OperationID string    `json:"operation_id"`
	Kind        string    `json:"kind"`
	Message     string    `json:"message"`
	At          time.Time `json:"at"`
}

// slowRead is what a slow live reader waits before each event.
const slowRead = 250 * time.Millisecond

// eventReader is one live reader.
type eventReader struct {
	t      *Traffic
	slow   bool
	book   *ledger.EventBook
	last   string // the id of the last event, to resume after
	outage uint32 // the count of outages when it came
}

func (t *Traffic) newReader(slow bool) *eventReader {
	return &eventReader{t: t, slow: slow, book: t.opts.Ledger.Events()}
}

// run reads until ctx ends. It comes back where it was ended, as a browser does.
func (r *eventReader) run(ctx context.Context) {
	t := r.t
	r.outage = t.outage.Load()
	r.book.Open()
	defer r.book.Close()
	for ctx.Err() == nil {
		t.Readers.Begin()
		kind := r.read(ctx)
		if ctx.Err() != nil {
			t.Readers.End(0, measure.Outcome{Untimed: true})
			return
		}
		t.Readers.End(0, measure.Outcome{Kind: kind, Excused: r.excused(), Untimed: true})
		select {
		case <-ctx.Done():
		case <-time.After(time.Second):
		}
	}
}

// excused tells whether the reader may miss events or lose its stream now. An outage excuses what comes before the next event: a server
// that was restarted tells a gap when the reader is back, which may be after the outage.
func (r *eventReader) excused() bool { return r.slow || r.t.outageSince(r.outage) }

// read reads one stream to its end and tells why it ended.
func (r *eventReader) read(ctx context.Context) (kind string) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, r.t.opts.HTTP+"/fleet/events", nil)
	if err != nil {
		return "no request: " + err.Error()
	}
	request.Header.Set("Accept", "text/event-stream")
	if r.last != "" {
		request.Header.Set("Last-Event-ID", r.last)
	}
	r.t.authorize(request)
	response, err := r.t.streams.Do(request)
	if err != nil {
		return failure(err)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return "status " + strconv.Itoa(response.StatusCode)
	}
	if r.last == "" { // it resumes nothing
		r.book.Excuse()
	}
	r.stream(ctx, response.Body)
	return "stream ended"
}

// stream takes events until the stream ends. One counts once it is whole: a stream may be cut in the middle of one.
func (r *eventReader) stream(ctx context.Context, body io.Reader) {
	events := sse.NewReader(body)
	for {
		m, err := events.Next()
		if err != nil {
			return
		}
		if m.Comment {
			continue
		}
		r.event(m.Event, m.Data)
		if m.ID != "" {
			r.last = m.ID
		}
		if r.slow {
			select {
			case <-ctx.Done():
			case <-time.After(slowRead):
			}
		}
	}
}

func (r *eventReader) event(name string, data []byte) {
	if name == "gap" {
		r.t.Gaps.Add(1)
		if !r.excused() {
			r.t.UnexcusedGaps.Add(1)
		}
		r.book.Gap()
		return
	}
	r.outage = r.t.outage.Load()
	var v eventView
	r.t.Events.Begin()
	if json.Unmarshal(data, &v) != nil {
		r.t.Events.End(0, measure.Outcome{Kind: "not JSON"})
		return
	}
	lag := measure.Outcome{}
	if r.slow {
		lag = measure.Outcome{Kind: "slow reader", Excused: true} // its lag is its own
	}
	r.t.Events.End(max(0, time.Since(v.At)), lag)
	number, ok := r.t.number(v.EdgeID)
	if !ok {
		return
	}
	if n, since, ok := fleet.ParseEvent(v.Message); ok {
		r.book.Saw(number, n, since)
	}
	if v.OperationID != "" {
		r.book.SawCommand(v.OperationID, v.Kind)
	}
}

// number is the Edge that an id names, if it is one of this run.
func (t *Traffic) number(id string) (int, bool) {
	digits, ok := strings.CutPrefix(id, t.opts.IDPrefix)
	if !ok {
		return 0, false
	}
	n, err := strconv.Atoi(digits)
	return n, err == nil && n >= 0 && n < t.opts.Edges && ledger.EdgeID(t.opts.IDPrefix, n) == id
}
