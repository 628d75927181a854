package actors

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"iop/internal/testkit"
)

func TestOperationNames(t *testing.T) {
	text := rapid.OneOf(rapid.String(), rapid.StringOfN(rapid.Rune(), 100, 200, 256), rapid.Just(""))
	lists := rapid.SliceOfN(text, 0, 20)
	rapid.Check(t, func(t *rapid.T) {
		names, others := lists.Draw(t, "names"), lists.Draw(t, "others")
		l := NewOperationNames(names)
		if got := slices.Collect(l.All()); !slices.Equal(got, names) {
			t.Fatalf("got %q, want %q", got, names)
		}
		for range l.All() {
			break // whoever has seen enough may stop
		}
		for _, name := range append(others, names...) {
			if got := l.Allows(name); got != (len(names) == 0 || slices.Contains(names, name)) {
				t.Fatalf("%q: %v", name, got)
			}
		}
		if got := NewOperationNames(others) == l; got != slices.Equal(names, others) {
			t.Fatalf("the same as %q: %v", others, got)
		}
	})
}

// TestOperationListsAreForgotten: a peer that names other operations in each of its hellos makes nothing grow, and neither do
// Edges that were forgotten.
func TestOperationListsAreForgotten(t *testing.T) {
	const hellos, size = 20_000, 2 << 10
	x := newTable(TableOptions{MaxConnections: hellos, HeartbeatInterval: time.Second, MaxHeartbeatsPerSecond: 1000, RetainDisconnectedMax: 10})
	before := heapInUse()
	now := time.Now()
	for i := range hellos {
		c := claimOf(fmt.Sprintf("e%d", i%100), "instance")
		c.hello.Operations = []string{fmt.Sprint(i), strings.Repeat("o", size)}
		v := x.decide(c, now)
		if v.granted == nil {
			t.Fatalf("%+v", v)
		}
		if i%2 == 0 {
			x.release(c.hello.EdgeId, v.granted.token, ConnectionClosed, now)
			x.expire(now)
		}
	}
	if x.views.Len() == 0 {
		t.Fatal("no view is left")
	}
	testkit.Eventually(t, "the lists are collected", func() bool { return heapInUse() < before+hellos*size/10 })
	runtime.KeepAlive(x)
}

func heapInUse() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
