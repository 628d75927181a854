package edge

import (
	"testing"
	"time"

	"iop/edge/backend"
)

func TestProviderState(t *testing.T) {
	spec := &ProbedProvider{ID: "p", Type: "vllm", Capacity: 4, LongContextCapacity: 1}
	told := func(running, waiting uint32) answer {
		return answer{load: &backend.Load{Running: running, Waiting: waiting, Exported: true}, at: time.Unix(1, 0), models: []string{"m"}, slots: 9}
	}
	mute := answer{models: []string{"m"}, slots: 9, loadErr: backend.ErrTimeout}
	silent := answer{load: &backend.Load{}, models: []string{"m"}, slots: 9}
	fail := answer{err: backend.ErrTimeout}
	gone := Provider{ID: "p", Type: "vllm", Status: Unavailable, Health: Offline}
	up := func(s Status, running, waiting uint32) Provider {
		return Provider{ID: "p", Type: "vllm", Models: []string{"m"}, Status: s, Health: Online,
			General: Counters{4, running, waiting}, LongContext: Counters{Capacity: 1}}
	}
	for name, c := range map[string]struct {
		answers []answer
		want    Provider
		doubted bool
	}{
		"never asked":                {nil, gone, false},
		"never answered":             {[]answer{fail}, gone, false},
		"answers":                    {[]answer{told(1, 0)}, up(Available, 1, 0), false},
		"answers at last":            {[]answer{fail, fail, told(1, 0)}, up(Available, 1, 0), false},
		"just under its capacity":    {[]answer{told(3, 5)}, up(Available, 3, 5), false},
		"at its capacity":            {[]answer{told(4, 0)}, up(Busy, 4, 0), false},
		"over its capacity":          {[]answer{told(7, 2)}, up(Busy, 7, 2), false},
		"has free capacity again":    {[]answer{told(4, 0), told(0, 0)}, up(Available, 0, 0), false},
		"one answer lost":            {[]answer{told(2, 1), fail}, up(Available, 2, 1), true},
		"one answer lost and found":  {[]answer{told(2, 1), fail, told(0, 0)}, up(Available, 0, 0), false},
		"two answers lost":           {[]answer{told(2, 1), fail, fail}, gone, false},
		"one lost, twice apart":      {[]answer{told(2, 1), fail, told(1, 1), fail}, up(Available, 1, 1), true},
		"back":                       {[]answer{told(2, 1), fail, fail, told(0, 0)}, up(Available, 0, 0), false},
		"back, but tells no numbers": {[]answer{told(2, 1), fail, fail, mute}, up("", 0, 0), false},
		"one load lost":              {[]answer{told(2, 1), mute}, up(Available, 2, 1), false},
		"one load lost and found":    {[]answer{told(2, 1), mute, told(3, 0), mute}, up(Available, 3, 0), false},
		"one load lost while busy":   {[]answer{told(4, 1), mute}, up(Busy, 4, 1), false},
		"two loads lost":             {[]answer{told(2, 1), mute, mute}, up("", 2, 1), false},
		"two loads lost while busy":  {[]answer{told(4, 1), mute, mute}, up("", 4, 1), false},
		"many loads lost, one found": {[]answer{told(2, 1), mute, mute, mute, told(1, 0)}, up(Available, 1, 0), false},
		"never tells its load":       {[]answer{mute}, up("", 0, 0), false},
		"never tells it for long":    {[]answer{mute, mute}, up("", 0, 0), false},
		"exports no load":            {[]answer{silent, silent}, up(Available, 0, 0), false},
		"exports a load later":       {[]answer{silent, told(4, 1)}, up(Busy, 4, 1), false},
		"one load not exported":      {[]answer{told(4, 1), silent}, up(Busy, 4, 1), false},
		"two loads not exported":     {[]answer{told(4, 1), silent, silent}, up("", 4, 1), false},
		"one lost, one not exported": {[]answer{told(4, 1), mute, silent}, up("", 4, 1), false},
		"restarted without a load":   {[]answer{told(4, 1), fail, fail, silent, silent}, up(Available, 0, 0), false},
	} {
		var s providerState
		for _, a := range c.answers {
			s.take(a, time.Now())
		}
		if got := s.view(spec); !equalProvider(got, c.want) || s.doubted != c.doubted {
			t.Errorf("%s: %+v, doubted %v; want %+v, %v", name, got, s.doubted, c.want, c.doubted)
		}
	}
}

// A page without gauges says nothing of what waits, and is no sign of work.
func TestASuspicionOutlivesAPageWithoutGauges(t *testing.T) {
	var s providerState
	began := time.Now()
	take := func(l backend.Load, after time.Duration) { s.take(answer{load: &l}, began.Add(after)) }
	stuck := backend.Load{Waiting: 3, Work: 40, Exported: true}
	take(stuck, 0)
	take(stuck, time.Second)
	take(backend.Load{}, 2*time.Second)
	take(stuck, time.Second+suspectAfter)
	if !s.suspicion.suspect {
		t.Error("a page without gauges began the suspicion anew")
	}
	take(backend.Load{}, 2*suspectAfter)
	if v := s.view(&ProbedProvider{ID: "p"}); v.Health != Degraded {
		t.Errorf("a page without gauges ended the suspicion: %+v", v)
	}
}

func TestProviderView(t *testing.T) {
	s := providerState{asked: true, online: true, models: []string{"asked"}, slots: 3, load: backend.Load{Running: 3}}
	unset := s.view(&ProbedProvider{ID: "p"})
	if unset.General.Capacity != 3 || unset.Status != Busy || unset.Models[0] != "asked" {
		t.Errorf("what isn't configured is %+v", unset)
	}
	s.take(answer{load: &s.load, modelsErr: backend.StatusError(401), slotsErr: backend.ErrTimeout}, time.Now())
	if again := s.view(&ProbedProvider{ID: "p"}); !equalProvider(again, unset) {
		t.Errorf("what isn't told again is %+v, and was %+v", again, unset)
	}
	s.take(answer{load: &s.load, models: []string{}}, time.Now())
	if none := s.view(&ProbedProvider{ID: "p"}); none.Models == nil || len(none.Models) != 0 {
		t.Errorf("what has no models any more has %v", none.Models)
	}
	set := s.view(&ProbedProvider{ID: "p", Models: []string{"set"}, Capacity: 8})
	if set.General.Capacity != 8 || set.Status != Available || set.Models[0] != "set" {
		t.Errorf("what is configured is %+v", set)
	}
	s.slots = 0
	if v := s.view(&ProbedProvider{ID: "p"}); v.Status != Available || v.General.Capacity != 0 {
		t.Errorf("a capacity that isn't known makes it %+v", v)
	}
	if v := new(providerState).view(&ProbedProvider{ID: "p", Models: []string{"set"}, Capacity: 8}); v.Models[0] != "set" || v.General != (Counters{}) {
		t.Errorf("offline it is %+v", v)
	}
	if v := new(providerState).view(&ProbedProvider{ID: "p", Models: []string{}}); v.Models != nil {
		t.Errorf("models that nobody told are %#v", v.Models)
	}
}

func TestNextProbe(t *testing.T) {
	const interval = 10 * time.Second
	for name, c := range map[string]struct {
		doubted bool
		ago     time.Duration
		chance  float64
		want    time.Duration
	}{
		"an interval":              {false, 0, 0, interval},
		"less by chance":           {false, 0, 1, 9 * time.Second},
		"counted from its begin":   {false, 2 * time.Second, 0, 8 * time.Second},
		"overdue":                  {false, time.Minute, 0, 0},
		"doubted":                  {true, 0, 1, 5 * time.Second},
		"doubted after a time-out": {true, 2 * time.Second, 0, 3 * time.Second},
		"doubted and overdue":      {true, 7 * time.Second, 0, 0},
	} {
		s := providerState{doubted: c.doubted}
		if got := s.nextProbe(interval, c.ago, c.chance); got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

// A load is as old as the question that it answers, and a provider that exports none has none. One that refuses connections
// has none that runs.
func TestALoadHasItsTime(t *testing.T) {
	spec := &ProbedProvider{ID: "p", Type: "vllm"}
	at := func(n int64) time.Time { return time.Unix(n, 0) }
	told := func(n int64) answer { return answer{load: &backend.Load{Exported: true}, at: at(n)} }
	for name, c := range map[string]struct {
		answers []answer
		want    time.Time
	}{
		"told":                {[]answer{told(1), told(2)}, at(2)},
		"lost":                {[]answer{told(1), {at: at(2)}, {at: at(3)}}, at(1)},
		"lost from the start": {[]answer{{at: at(1)}}, time.Time{}},
		"not exported":        {[]answer{told(1), {load: &backend.Load{}, at: at(2)}}, at(1)},
		"doesn't answer":      {[]answer{told(1), {err: backend.ErrTimeout, at: at(2)}, {err: backend.ErrTimeout, at: at(3)}}, time.Time{}},
		"refuses connections": {[]answer{told(1), {err: backend.ErrRefused, at: at(2)}, {err: backend.ErrRefused, at: at(3)}}, at(3)},
		"refused them once":   {[]answer{{err: backend.ErrRefused, at: at(1)}, {err: backend.ErrTimeout, at: at(2)}}, time.Time{}},
		"is back, and lost":   {[]answer{{err: backend.ErrRefused, at: at(1)}, {at: at(2)}}, time.Time{}},
		"exports none":        {[]answer{{load: &backend.Load{}, at: at(1)}}, time.Time{}},
	} {
		var s providerState
		for _, a := range c.answers {
			s.take(a, time.Now())
		}
		if got := s.view(spec).LoadAt; !got.Equal(c.want) {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

// Probes of different providers that are due about the same time are made at the same time, and never later than due.
func TestOnSharedTick(t *testing.T) {
	const interval = 5 * time.Second
	noon := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	for _, c := range []struct{ now, due, want time.Duration }{
		{0, 5 * time.Second, 5 * time.Second},
		{0, 5*time.Second - 1, 4750 * time.Millisecond},
		{100 * time.Millisecond, 4700 * time.Millisecond, 4650 * time.Millisecond},
		{200 * time.Millisecond, 4600 * time.Millisecond, 4550 * time.Millisecond},
		{10 * time.Millisecond, 100 * time.Millisecond, 0},
		{10 * time.Millisecond, 0, 0},
	} {
		if got := onSharedTick(c.due, interval, noon.Add(c.now)); got != c.want {
			t.Errorf("at %v, due in %v: in %v, want %v", c.now, c.due, got, c.want)
		}
	}
	if got := onSharedTick(5, 10, noon); got != 5 {
		t.Errorf("of an interval without ticks: %v", got)
	}
}
