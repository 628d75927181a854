package wire

// outbox is the queue of a link's frames that wait to be written. It is bounded in frames and bytes, and push
// says Full beyond that. The zero value with limits set is ready; its owner guards it.
type outbox struct {
	maxFrames, maxBytes int
	waiting             []outFrame
	bytes               int
}

type outFrame struct {
	payload []byte
	tag     uint64
}

func (o *outbox) push(f outFrame) SendResult {
	if len(o.waiting) > 0 && (len(o.waiting) >= o.maxFrames || o.bytes+len(f.payload) > o.maxBytes) {
		return Full
	}
	o.waiting = append(o.waiting, f)
	o.bytes += len(f.payload)
	return Queued
}

// take removes frames from the front until they are atLeast bytes together, or all.
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
	o.bytes -= sum
	return batch
}

// withdraw removes the frame with this tag; false when it isn't waiting.
func (o *outbox) withdraw(tag uint64) bool {
	for i, f := range o.waiting {
		if f.tag == tag {
			// A new slice: the old array may still be read by the writer, as an earlier batch.
			rest := make([]outFrame, 0, len(o.waiting)-1)
			o.waiting = append(append(rest, o.waiting[:i]...), o.waiting[i+1:]...)
			o.bytes -= len(f.payload)
			return true
		}
	}
	return false
}

func (o *outbox) drop() { o.waiting, o.bytes = nil, 0 }
