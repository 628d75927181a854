package wire

import "slices"

// outbox is the queue of a link's frames that wait to be written, bounded in frames and bytes. The zero value
// with options set is ready; its owner guards it.
type outbox struct {
	opts      *LinkOptions
	waiting   []outFrame
	bytes     int
	abandoned bool
}

type outFrame struct {
	payload []byte
	tag     string
}

// fits tells whether a frame of this many bytes has room. Any frame fits an empty queue.
func (o *outbox) fits(bytes int) bool {
	return len(o.waiting) == 0 || len(o.waiting) < o.opts.MaxQueueFrames && o.bytes+bytes <= o.opts.MaxQueueBytes
}

// push takes a frame whatever waits: its owner asks fits first, except for what has a place always.
func (o *outbox) push(f outFrame) {
	o.waiting = append(o.waiting, f)
	o.count(1, len(f.payload))
}

// take removes frames from the front until they are atLeast bytes together, or all. They share an array
// with those that go on waiting, so whoever took them clears them when they are written.
func (o *outbox) take(atLeast int) []outFrame {
	n, sum := 0, 0
	for n < len(o.waiting) && sum < atLeast {
		sum += len(o.waiting[n].payload)
		n++
	}
	batch := o.waiting[:n:n]
	o.waiting = o.waiting[n:]
	if len(o.waiting) == 0 {
		o.waiting = nil
	}
	o.count(-n, -sum)
	return batch
}

// advance tells that this many bytes of the first frame were written.
func (o *outbox) advance(bytes int) {
	first := &o.waiting[0]
	first.payload = first.payload[bytes:]
	if len(first.payload) > 0 {
		o.count(0, -bytes)
		return
	}
	o.count(-1, -bytes)
	*first = outFrame{} // the array lives on
	o.waiting = o.waiting[1:]
	if len(o.waiting) == 0 {
		o.waiting = nil
	}
}

// withdraw removes the frame with this tag; false when it isn't waiting. Untagged frames can't be named.
func (o *outbox) withdraw(tag string) bool {
	if tag == "" {
		return false
	}
	i := slices.IndexFunc(o.waiting, func(f outFrame) bool { return f.tag == tag })
	if i < 0 {
		return false
	}
	o.count(-1, -len(o.waiting[i].payload))
	o.waiting = slices.Delete(o.waiting, i, i+1)
	return true
}

// abandon: what waits will never be written. It can still be withdrawn, but counts no more as waiting.
func (o *outbox) abandon() {
	if !o.abandoned {
		o.abandoned = true
		o.opts.Traffic.wait(-len(o.waiting), -o.bytes)
	}
}

func (o *outbox) count(frames, bytes int) {
	o.bytes += bytes
	if !o.abandoned {
		o.opts.Traffic.wait(frames, bytes)
	}
}
