package wire

import (
	"testing"

	"pgregory.net/rapid"
)

// outboxModel is the outbox as a plain list of what waits.
type outboxModel struct {
	box     outbox
	waiting []outFrame
	nextTag uint64
	held    [][]outFrame // batches that were taken and are still being written
	content [][]string
}

func (m *outboxModel) bytes() (sum int) {
	for _, f := range m.waiting {
		sum += len(f.payload)
	}
	return sum
}

func (m *outboxModel) push(t *rapid.T) {
	f := outFrame{payload: rapid.SliceOfN(rapid.Byte(), 0, 12).Draw(t, "payload")}
	if rapid.Bool().Draw(t, "tagged") {
		m.nextTag++
		f.tag = tagOf(m.nextTag)
	}
	room := len(m.waiting) == 0 || len(m.waiting)+1 <= m.box.opts.MaxQueueFrames && m.bytes()+len(f.payload) <= m.box.opts.MaxQueueBytes
	if fits := m.box.fits(len(f.payload)); fits != room {
		t.Fatalf("fits is %v with %d frames and %d bytes waiting", fits, len(m.waiting), m.bytes())
	}
	if room {
		m.box.push(f)
		m.waiting = append(m.waiting, f)
	}
}

func (m *outboxModel) take(t *rapid.T) {
	atLeast := rapid.IntRange(0, 40).Draw(t, "atLeast")
	batch := m.box.take(atLeast)
	sum := 0
	var content []string
	for i, f := range batch {
		if sum >= atLeast {
			t.Fatalf("took %d frames where %d were enough", len(batch), i)
		}
		if i >= len(m.waiting) || m.waiting[i].tag != f.tag || string(m.waiting[i].payload) != string(f.payload) {
			t.Fatalf("frame %d is not the one that waited there", i)
		}
		sum += len(f.payload)
		content = append(content, string(f.payload))
	}
	if sum < atLeast && len(batch) < len(m.waiting) {
		t.Fatalf("took %d bytes of at least %d while more waited", sum, atLeast)
	}
	m.waiting = m.waiting[len(batch):]
	m.held, m.content = append(m.held, batch), append(m.content, content)
}

// written is what the writer does with a batch: it must still be what was taken, whatever happened to the queue.
func (m *outboxModel) written(t *rapid.T) {
	if len(m.held) == 0 {
		t.Skip("nothing is being written")
	}
	for i, f := range m.held[0] {
		if string(f.payload) != m.content[0][i] {
			t.Fatalf("a frame changed while it was written")
		}
	}
	clear(m.held[0])
	m.held, m.content = m.held[1:], m.content[1:]
}

func (m *outboxModel) withdraw(t *rapid.T) {
	tag := tagOf(rapid.Uint64Range(0, m.nextTag+1).Draw(t, "tag"))
	at := -1
	for i, f := range m.waiting {
		if f.tag == tag && tag != "" {
			at = i
		}
	}
	if got := m.box.withdraw(tag); got != (at >= 0) {
		t.Fatalf("withdraw %q is %v", tag, got)
	}
	if at >= 0 {
		m.waiting = append(append([]outFrame(nil), m.waiting[:at]...), m.waiting[at+1:]...)
	}
}

func (m *outboxModel) check(t *rapid.T) {
	if len(m.box.waiting) != len(m.waiting) || m.box.bytes != m.bytes() {
		t.Fatalf("%d frames and %d bytes wait, want %d and %d", len(m.box.waiting), m.box.bytes, len(m.waiting), m.bytes())
	}
	frames, bytes := int64(len(m.waiting)), int64(m.bytes())
	if m.box.abandoned {
		frames, bytes = 0, 0
	}
	if f, b := m.box.opts.Traffic.Waiting(); f != frames || b != bytes {
		t.Fatalf("%d frames and %d bytes are counted as waiting, want %d and %d", f, b, frames, bytes)
	}
}

func TestOutboxAgainstModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := &outboxModel{box: outbox{opts: &LinkOptions{
			MaxQueueFrames: rapid.IntRange(1, 6).Draw(t, "maxFrames"),
			MaxQueueBytes:  rapid.IntRange(1, 50).Draw(t, "maxBytes"),
			Traffic:        &Traffic{},
		}}}
		t.Repeat(map[string]func(*rapid.T){
			"push": m.push, "take": m.take, "written": m.written, "withdraw": m.withdraw,
			"abandon": func(*rapid.T) { m.box.abandon() },
			"":        m.check,
		})
	})
}
