package actors

import (
	"crypto/rand"
	"time"

	"github.com/oklog/ulid/v2"
)

// operationIDs makes ids that only grow, also when the clock is set back: they are the order in which operations are listed
// and dropped.
type operationIDs struct {
	last    uint64 // milliseconds of the newest id
	entropy *ulid.MonotonicEntropy
}

func newOperationIDs() operationIDs { return operationIDs{entropy: ulid.Monotonic(rand.Reader, 0)} }

func (i *operationIDs) next(now time.Time) string {
	i.last = max(i.last, ulid.Timestamp(now))
	id, err := ulid.New(i.last, i.entropy)
	if err != nil { // this millisecond has no id left
		i.last++
		id = ulid.MustNew(i.last, i.entropy)
	}
	return id.String()
}
