package edge

import (
	"time"

	"iop/edge/backend"
)

// suspectAfter is how long requests may wait at a provider while none runs and none ends, before it isn't believed to
// work. A healthy engine takes up what waits within milliseconds; the longest honest pause is the load of a model or
// an adapter, for which the engine mostly isn't alive yet.
const suspectAfter = 30 * time.Second

// suspicion decides from a row of numbers whether a provider that says it is healthy does work. Engines have been
// seen dead behind a 200. The zero value suspects nothing.
//
// Once suspect, it takes a sign of work to be trusted again: that nothing waits any more may only mean that
// everybody has given up.
type suspicion struct {
	since   time.Time // work has waited and nothing has moved since; zero: not so
	work    float64   // the counter when it was seen last
	suspect bool
}

// look takes new numbers.
func (s *suspicion) look(l backend.Load, now time.Time) {
	worked := l.Running > 0 || l.Work != s.work // less than before: it was restarted
	s.work = l.Work
	switch {
	case worked:
		s.worked()
	case l.Waiting == 0:
		s.since = time.Time{}
	case s.since.IsZero():
		s.since = now
	case now.Sub(s.since) >= suspectAfter:
		s.suspect = true
	}
}

// worked is a sign of work.
func (s *suspicion) worked() { s.since, s.suspect = time.Time{}, false }
