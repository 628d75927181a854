package wire

import (
	"fmt"
	"runtime"
	"sort"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"
)

// field is one length-delimited field.
func field(num protowire.Number, content []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(nil, num, protowire.BytesType), content)
}

func inStatus(b []byte) []byte   { return field(13, b) }
func inNode(b []byte) []byte     { return inStatus(field(3, b)) }
func inProvider(b []byte) []byte { return inNode(field(5, b)) }
func inQuery(b []byte) []byte    { return field(19, b) }
func inResult(b []byte) []byte   { return field(15, field(4, b)) }
func inList(b []byte) []byte     { return inResult(field(1, field(2, field(6, b)))) }

// hostile shapes are elements that take little on the wire and much in memory.
var hostile = []struct {
	name    string
	wrap    func(elements []byte) []byte // to a whole Envelope
	element func(i int) []byte
}{
	{"providers", inNode, func(int) []byte { return field(5, nil) }},
	{"providers with counters", inNode, func(int) []byte { return field(5, append(field(6, nil), field(7, nil)...)) }},
	{"models", inProvider, func(int) []byte { return field(3, nil) }},
	{"labels", inNode, func(i int) []byte { return field(4, field(1, fmt.Appendf(nil, "%x", i))) }},
	{"nodes with one label", inStatus, func(int) []byte { return field(3, field(4, nil)) }},
	{"answers to a query", inQuery, func(int) []byte { return field(1, nil) }},
	{"answers with a result of one field", inQuery, func(int) []byte { return field(1, field(4, field(1, nil))) }},
	{"results of many fields", inResult, func(i int) []byte { return field(1, field(1, fmt.Appendf(nil, "%x", i))) }},
	{"list of nulls", inList, func(int) []byte { return field(1, []byte{1 << 3, 0}) }},
	{"list of numbers", inList, func(int) []byte { return field(1, []byte{2<<3 | 1, 0, 0, 0, 0, 0, 0, 0, 0}) }},
	{"list of texts", inList, func(int) []byte { return field(1, field(3, nil)) }},
	{"list of objects", inList, func(int) []byte { return field(1, field(5, nil)) }},
	{"list of objects with one field", inList, func(int) []byte { return field(1, field(5, field(1, nil))) }},
	{"list of lists", inList, func(int) []byte { return field(1, field(6, field(1, nil))) }},
	{"bodies by turns", func(b []byte) []byte { return b }, func(i int) []byte { return field(protowire.Number(12+i%2), nil) }},
	{"unknown fields", func(b []byte) []byte { return b }, func(int) []byte { return field(99, nil) }},
}

// TestDecodeStaysBounded decodes the largest frame of each shape that passes, and measures what it keeps.
func TestDecodeStaysBounded(t *testing.T) {
	for _, h := range hostile {
		t.Run(h.name, func(t *testing.T) {
			frame := largestPassing(h.wrap, h.element)
			kept, err := keptBytes(frame)
			if err != nil {
				t.Fatalf("a frame of %d bytes is refused", len(frame))
			}
			t.Logf("%d bytes keep %d (estimate %d)", len(frame), kept, unfolded(frame, envelopeShape, maxDepth))
			if kept > maxUnfoldedBytes {
				t.Errorf("a frame of %d bytes keeps %d, over %d", len(frame), kept, maxUnfoldedBytes)
			}
			// The frames that aren't looked at keep to the limit, too.
			if most := kept * (maxUnfoldedBytes / unfoldAtMost) / len(frame); most > maxUnfoldedBytes {
				t.Errorf("128 KiB of this would keep %d", most)
			}
		})
	}
}

// largestPassing is the largest frame of at most max_frame_bytes that Decode takes.
func largestPassing(wrap func([]byte) []byte, element func(int) []byte) []byte {
	var elements []byte
	var ends []int
	passes := func(n int) bool {
		frame := wrap(elements[:ends[n]])
		return len(frame) <= DefaultMaxFrameBytes && !unfoldsTooFar(frame)
	}
	for len(ends) == 0 || passes(len(ends)-1) {
		for range max(4096, len(ends)) {
			elements = append(elements, element(len(ends))...)
			ends = append(ends, len(elements))
		}
	}
	n := sort.Search(len(ends), func(n int) bool { return !passes(n) })
	return wrap(elements[:ends[n-1]])
}

func keptBytes(frame []byte) (int, error) {
	var before, after runtime.MemStats
	runtime.GC()
	runtime.GC() // what pools hold goes with the second one
	runtime.ReadMemStats(&before)
	e, err := Decode(frame)
	runtime.GC()
	runtime.ReadMemStats(&after)
	runtime.KeepAlive(e)
	runtime.KeepAlive(frame)
	return int(after.HeapAlloc) - int(before.HeapAlloc), err
}

func TestDecodeRefusesWhatUnfoldsTooFar(t *testing.T) {
	empty := make([]byte, 0, DefaultMaxFrameBytes)
	for len(empty) < DefaultMaxFrameBytes-16 {
		empty = append(empty, 5<<3|2, 0) // an empty provider
	}
	frame := inNode(empty)
	if _, err := Decode(frame); err != ErrUndecodable {
		t.Errorf("got %v, want ErrUndecodable", err)
	}
	allocated := testing.AllocsPerRun(5, func() { _, _ = Decode(frame) })
	if allocated > 0 {
		t.Errorf("the refusal allocates %v times", allocated)
	}
}
