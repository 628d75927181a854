package wire

import (
	"fmt"
	"runtime"
	"sort"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"

	iopv1 "iop/proto/iop/v1"
)

// field is one length-delimited field.
func field(num protowire.Number, content []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(nil, num, protowire.BytesType), content)
}

type path []protowire.Number

// Where elements can stand, from the Envelope inwards.
var (
	envelope   path
	inStatus   = path{13}
	inNode     = path{13, 3}
	inProvider = path{13, 3, 5}
	inQuery    = path{19}
	inResult   = path{15, 4}
	inList     = path{15, 4, 1, 2, 6}
	pathBytes  = 2048 // over what any path in these tests takes
)

// wrap puts the tags and lengths of a path before content, which has pathBytes of room there.
func (p path) wrap(room []byte) []byte {
	at := pathBytes
	for i := len(p) - 1; i >= 0; i-- {
		header := protowire.AppendVarint(protowire.AppendTag(nil, p[i], protowire.BytesType), uint64(len(room)-at))
		at -= len(header)
		copy(room[at:], header)
	}
	return room[at:]
}

// hostile shapes are elements that take little on the wire and much in memory.
var hostile = []struct {
	name    string
	in      path
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
	{"bodies by turns", envelope, func(i int) []byte { return field(protowire.Number(12+i%2), nil) }},
	{"unknown fields", envelope, func(int) []byte { return field(99, nil) }},
}

// TestDecodeStaysBounded decodes the largest frame of each shape that passes, and measures what it keeps.
func TestDecodeStaysBounded(t *testing.T) {
	for _, h := range hostile {
		t.Run(h.name, func(t *testing.T) {
			frame := largestPassing(h.in, h.element)
			kept, err := keptBytes(frame)
			if err != nil {
				t.Fatalf("a frame of %d bytes is refused", len(frame))
			}
			t.Logf("%d bytes keep %d (estimate %d)", len(frame), kept, unfolded(frame, envelopeShape, maxDepth, 1<<40))
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
func largestPassing(in path, element func(int) []byte) []byte {
	room := make([]byte, pathBytes, pathBytes+2*DefaultMaxFrameBytes)
	var ends []int
	frame := func(n int) []byte { return in.wrap(room[:ends[n]]) }
	passes := func(n int) bool {
		return len(frame(n)) <= DefaultMaxFrameBytes && !unfoldsTooFar(frame(n), envelopeShape)
	}
	for len(ends) == 0 || passes(len(ends)-1) {
		for range max(4096, len(ends)/2) {
			room = append(room, element(len(ends))...)
			ends = append(ends, len(room))
		}
	}
	n := sort.Search(len(ends), func(n int) bool { return !passes(n) })
	return frame(n - 1)
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

// TestDecodeTakesLargeFrames: where max_frame_bytes allows them, an honest snapshot of any size is taken.
func TestDecodeTakesLargeFrames(t *testing.T) {
	m := &iopv1.EdgeStatusResponse{EdgeId: "e"}
	for i := range 100_000 {
		m.Nodes = append(m.Nodes, &iopv1.EdgeNodeSnapshot{NodeId: fmt.Sprintf("node-%06d", i), Connected: true, Providers: []*iopv1.EdgeProviderSnapshot{
			{ProviderId: "vllm-0", Type: "vllm", Models: []string{"qwen3-32b"}, General: &iopv1.ProviderCounters{Capacity: 8, InFlight: 3}}}})
	}
	frame, err := AppendFrame(nil, &iopv1.Envelope{Body: &iopv1.Envelope_EdgeStatusResponse{EdgeStatusResponse: m}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Decode(frame[HeaderBytes:]); err != nil || len(frame) < 4<<20 {
		t.Errorf("%d bytes: %v", len(frame), err)
	}
}

func TestDecodeRefusesWhatUnfoldsTooFar(t *testing.T) {
	room := make([]byte, pathBytes, DefaultMaxFrameBytes)
	for len(room) < cap(room) {
		room = append(room, 5<<3|2, 0) // an empty provider
	}
	frame := inNode.wrap(room)
	if _, err := Decode(frame); err != ErrUndecodable {
		t.Errorf("got %v, want ErrUndecodable", err)
	}
	allocated := testing.AllocsPerRun(5, func() { _, _ = Decode(frame) })
	if allocated > 0 {
		t.Errorf("the refusal allocates %v times", allocated)
	}
}
