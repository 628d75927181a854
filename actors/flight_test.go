package actors

import (
	"fmt"
	"testing"
)

// Which connection carried a command, by every order in which its link's word and its end may come.
func TestWhatWasLostWithItsConnection(t *testing.T) {
	const older, carrier, newer = Token(4), Token(5), Token(6)
	for _, c := range []struct {
		state          OperationState
		ended          Token
		lost, thenLost bool // at the end; and when the link says afterwards that the carrier has begun to write it
	}{
		{Pending, older, false, false},
		{Pending, carrier, false, true},
		{Pending, newer, false, false},
		{Sent, older, false, false},
		{Sent, carrier, true, false},
		{Sent, newer, false, false},
		{Accepted, carrier, false, false},
		{Succeeded, carrier, false, false},
	} {
		t.Run(fmt.Sprint(c.state, c.ended), func(t *testing.T) {
			e := &entry{op: operationIn(c.state)}
			if c.state != Pending {
				e.carriedBy(carrier)
			}
			wantEqual(t, "lost with it", e.lostWith(c.ended), c.lost)
			if c.state == Pending {
				wantEqual(t, "lost once it is known who carried it", e.carriedBy(carrier), c.thenLost)
			}
			wantEqual(t, "unanswered on an older connection", []bool{e.carriedBefore(carrier), e.carriedBefore(newer)}, []bool{false, c.state == Sent})
		})
	}
	var never *edgeLog
	wantEqual(t, "an Edge without a record is back", never.backSince(older), false)
	l := &edgeLog{back: carrier}
	wantEqual(t, "back since", []bool{l.backSince(older), l.backSince(carrier), l.backSince(newer)}, []bool{true, false, false})
}
