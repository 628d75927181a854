package wire

import (
	"sync/atomic"

	"google.golang.org/protobuf/encoding/protowire"

	iopv1 "iop/proto/iop/v1"
)

// Traffic counts what goes over a wire: frames and bytes by what they carry, and what waits to be written. Many links
// share one (LinkOptions.Traffic). It may be used from several goroutines and allocates nothing; a nil one counts nothing.
type Traffic struct {
	in, out [bodyNumbers]flow

	refused       atomic.Int64
	waitingFrames atomic.Int64
	waitingBytes  atomic.Int64
}

type flow struct{ frames, bytes atomic.Int64 }

// bodyNumbers is over the highest number that the protocol keeps for a body of Envelope.
const bodyNumbers = 96

// otherBody is what a frame is counted as if its body isn't known.
const otherBody = "other"

// bodyNames are the bodies of Envelope by their numbers. What a peer makes up is in none of them, so that it can't become
// a label: it counts under number 0.
var bodyNames = func() (names [bodyNumbers]string) {
	names[0] = otherBody
	fields := (&iopv1.Envelope{}).ProtoReflect().Descriptor().Oneofs().ByName("body").Fields()
	for i := range fields.Len() {
		f := fields.Get(i)
		names[f.Number()] = string(f.Name())
	}
	return names
}()

// bodyNumber finds which body a payload carries; 0 for none that is known. It reads the tags of the top level alone, so that
// a frame can be counted by its bytes, decoded or not.
func bodyNumber(payload []byte) (number protowire.Number) {
	for len(payload) > 0 {
		num, typ, n := protowire.ConsumeTag(payload)
		if n < 0 {
			return 0
		}
		payload = payload[n:]
		if n = protowire.ConsumeFieldValue(num, typ, payload); n < 0 {
			return 0
		}
		payload = payload[n:]
		if typ == protowire.BytesType && num < bodyNumbers && bodyNames[num] != "" {
			number = num // of several the last one counts, as in decoding
		}
	}
	return number
}

// Read counts a payload that came.
func (t *Traffic) Read(payload []byte) {
	if t != nil {
		t.in[bodyNumber(payload)].add(payload)
	}
}

// sent counts a frame (with its header) that was handed to a link, by what became of it, which it gives back.
func (t *Traffic) sent(frame []byte, result SendResult) SendResult {
	switch {
	case t == nil:
	case result == Sent || result == Queued:
		payload := frame[HeaderBytes:]
		t.out[bodyNumber(payload)].add(payload)
	case result == Full:
		t.refused.Add(1)
	}
	return result
}

func (t *Traffic) wait(frames, bytes int) {
	if t != nil {
		t.waitingFrames.Add(int64(frames))
		t.waitingBytes.Add(int64(bytes))
	}
}

func (f *flow) add(payload []byte) {
	f.frames.Add(1)
	f.bytes.Add(int64(len(payload)))
}

// Each tells the counts of every body that the protocol has, and of "other". Bytes are those of the envelopes, without
// headers.
func (t *Traffic) Each(visit func(direction, body string, frames, bytes int64)) {
	for number, name := range bodyNames {
		if name == "" {
			continue
		}
		visit("in", name, t.in[number].frames.Load(), t.in[number].bytes.Load())
		visit("out", name, t.out[number].frames.Load(), t.out[number].bytes.Load())
	}
}

// Refused is how many frames were not taken because a link's queue was full.
func (t *Traffic) Refused() int64 { return t.refused.Load() }

// Waiting is what is in the links' queues now.
func (t *Traffic) Waiting() (frames, bytes int64) {
	return t.waitingFrames.Load(), t.waitingBytes.Load()
}
