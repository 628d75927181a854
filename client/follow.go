package client

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"io"
	"iter"
	"mime"
	"net/http"
	"time"

	"iop/client/sse"
	"iop/wire/backoff"
)

// FollowQuery says where live events begin.
type FollowQuery struct {
	// After is an event's id: the events after it come first. Empty: from now on.
	After string
	// FromStart has all events that the Control Plane keeps come first, instead of those after an id. It is for whoever has had an
	// empty list: what happened since that list was made is in no other place.
	FromStart bool
	// Changed, if set, is called with nil when a stream opens, and with the cause and the time until the next attempt when one is
	// lost or can't be opened.
	Changed func(err error, retryIn time.Duration)
}

// Update is an event, or a gap before the next one. Exactly one of the two is set.
type Update struct {
	Event *Event
	Gap   *Gap
}

const (
	gapEvent     = "gap"
	eventsStream = "text/event-stream"

	streamRetryInitial = 250 * time.Millisecond
	streamRetryMax     = 15 * time.Second
	// longestSilence is three times what the Control Plane promises to be silent at most.
	longestSilence = 45 * time.Second
	// beforeAll is an id that no event has: the Control Plane gives all that it keeps, and a gap.
	beforeAll = "none"
)

// Follow yields the fleet's events as they happen. A lost stream is resumed after the last event, until the context ends;
// events that are missing then are reported by a Gap. It ends after an error: the context's, or a
// refusal that doesn't go away by itself.
func (r *Repository) Follow(ctx context.Context, q FollowQuery) iter.Seq2[Update, error] {
	q.Changed = orIgnore(q.Changed)
	return func(yield func(Update, error) bool) {
		f := &follower{last: q.After}
		if q.FromStart {
			f.startAt("")
		}
		wait := r.streamBackoff()
		for {
			opened := func() { q.Changed(nil, 0) }
			err := r.followOnce(ctx, f, wait, opened, func(u Update) bool { return yield(u, nil) })
			switch {
			case errors.Is(err, errEnough):
				return
			case ctx.Err() != nil:
				yield(Update{}, ctx.Err())
				return
			case isFinal(err):
				yield(Update{}, err)
				return
			}
			pause := max(wait.Next(), askedToWait(err))
			q.Changed(err, pause)
			if err := sleep(ctx, pause); err != nil {
				yield(Update{}, err)
				return
			}
		}
	}
}

// errEnough: the caller wants no more.
var errEnough = errors.New("enough")

// followOnce follows one stream to its end, which it gives.
func (r *Repository) followOnce(ctx context.Context, f *follower, wait *backoff.Backoff, opened func(), tell func(Update) bool) error {
	if f.last == "" {
		last, err := r.newestEvent(ctx)
		if err != nil {
			return err
		}
		f.startAt(last)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	silence := time.AfterFunc(r.opts.Timeout, func() { cancel(context.DeadlineExceeded) })
	defer silence.Stop()
	response, err := r.openStream(ctx, f.last)
	if err != nil {
		return ended(ctx, err)
	}
	defer response.Body.Close()
	opened()
	f.begin()
	stream := sse.NewReader(response.Body)
	for {
		silence.Reset(longestSilence)
		m, err := stream.Next()
		if err != nil {
			return ended(ctx, err)
		}
		wait.Reset()
		updates, err := f.take(m)
		for _, u := range updates {
			silence.Stop() // the caller takes the time that it takes
			if !tell(u) {
				return errEnough
			}
		}
		if err != nil {
			return err
		}
	}
}

// openStream gives a response that is a stream, or why there is none.
func (r *Repository) openStream(ctx context.Context, after string) (*http.Response, error) {
	response, err := r.send(ctx, request{path: "/fleet/events",
		header: map[string]string{"Accept": eventsStream, "Last-Event-ID": after}})
	if err != nil {
		return nil, err
	}
	kind, _, _ := mime.ParseMediaType(response.Header.Get("Content-Type"))
	if response.StatusCode == http.StatusOK && kind == eventsStream {
		return response, nil
	}
	defer response.Body.Close()
	if response.StatusCode < http.StatusMultipleChoices {
		return nil, unexpected(response, "it is no event stream")
	}
	body, err := r.readBody(response)
	if err != nil {
		return nil, err
	}
	return nil, refusal(response, body)
}

// ended says how a stream ended: a Control Plane's refusal stays, the rest is the network's.
func ended(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil {
		err = cause
	}
	var refused *Problem
	var odd *Unexpected
	if errors.As(err, &refused) || errors.As(err, &odd) {
		return err
	}
	if errors.Is(err, io.EOF) {
		err = errors.New("the stream ended")
	}
	return noAnswer(context.Background(), err)
}

// orIgnore is for who doesn't want to hear of outages.
func orIgnore(changed func(err error, retryIn time.Duration)) func(error, time.Duration) {
	if changed == nil {
		return func(error, time.Duration) {}
	}
	return changed
}

// isFinal tells what stays as it is however often it is tried: a wrong token, a certificate that isn't trusted, something that is no
// Control Plane, or an answer that is too large.
func isFinal(err error) bool {
	var refused *Problem
	var odd *Unexpected
	switch {
	case errors.As(err, &refused):
		return refused.Status < http.StatusInternalServerError && refused.Status != http.StatusTooManyRequests
	case errors.As(err, &odd):
		return odd.Status < http.StatusInternalServerError
	}
	return errors.As(err, new(*TooLarge)) || errors.As(err, new(*tls.CertificateVerificationError))
}

func askedToWait(err error) time.Duration {
	var refused *Problem
	if errors.As(err, &refused) {
		return refused.RetryAfter
	}
	return 0
}

// follower decides what of the streams is told and where the next one goes on.
//
// A gap at a stream's beginning is told at once. A later one is what a reader gets that was too slow, right before the end of
// its stream: since the next stream goes on behind the last event, and says itself what is missing then, it is told only if the
// stream goes on.
type follower struct {
	last      string // the id that the next stream goes on behind; empty before the first one
	expectGap bool   // the first stream's gap says nothing: no event was seen that others could be missing after
	fresh     bool   // the stream has brought nothing yet
	held      *Gap
}

// startAt makes the first stream begin behind the newest event, which is empty where there is none.
func (f *follower) startAt(newest string) {
	f.last = newest
	if newest == "" {
		f.last, f.expectGap = beforeAll, true
	}
}

// begin starts another stream.
func (f *follower) begin() { f.fresh, f.held = true, nil }

// take gives what a message has to tell.
func (f *follower) take(m sse.Message) (updates []Update, err error) {
	first := f.fresh
	f.fresh = false
	if f.held != nil {
		updates = append(updates, Update{Gap: f.held})
		f.held = nil
	}
	switch {
	case m.Comment:
	case m.Event == gapEvent:
		gap := &Gap{}
		if json.Unmarshal(m.Data, gap) != nil {
			return updates, errNotEvents
		}
		switch {
		case !first:
			f.held = gap
		case !f.expectGap:
			updates = append(updates, Update{Gap: gap})
		}
	default:
		e := &Event{}
		if json.Unmarshal(m.Data, e) != nil {
			return updates, errNotEvents
		}
		if m.ID != "" {
			f.last = m.ID
		}
		updates = append(updates, Update{Event: e})
	}
	f.expectGap = false
	return updates, nil
}

var errNotEvents = &Unexpected{Status: http.StatusOK, What: "its stream brings no events"}
