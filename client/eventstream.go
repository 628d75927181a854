package client

import (
	"bufio"
	"bytes"
	"errors"
	"io"
)

// maxLineBytes bounds a line of a live stream, and maxMessageBytes a message's data: an Event's text is a few KiB.
const (
	maxLineBytes    = 1 << 20
	maxMessageBytes = 1 << 20
)

// streamMessage is what a live stream brings at a time.
type streamMessage struct {
	comment bool // a line that only says that the stream lives; the rest is empty then
	event   string
	id      string
	data    []byte // valid until the next message
}

var errMessageTooLong = errors.New("a message of the stream is too long")

// eventStream reads server-sent events: https://html.spec.whatwg.org/multipage/server-sent-events.html. A field retry is
// ignored, the back-off is ours.
type eventStream struct {
	lines   *bufio.Scanner
	skipLF  bool
	started bool
}

func newEventStream(r io.Reader) *eventStream {
	s := &eventStream{lines: bufio.NewScanner(r)}
	s.lines.Buffer(nil, maxLineBytes)
	s.lines.Split(s.splitLine)
	return s
}

// splitLine ends lines at CR, LF or CR LF. It doesn't wait for what follows a CR.
func (s *eventStream) splitLine(data []byte, _ bool) (advance int, token []byte, err error) {
	skipped := 0
	if s.skipLF && len(data) > 0 {
		s.skipLF = false
		if data[0] == '\n' {
			skipped = 1
		}
	}
	rest := data[skipped:]
	i := bytes.IndexAny(rest, "\r\n")
	if i < 0 {
		return skipped, nil, nil // a last line without an end is of a message without one
	}
	s.skipLF = rest[i] == '\r'
	return skipped + i + 1, rest[:i:i], nil
}

// next gives the next message or comment. io.EOF is the stream's end; a message that it cut is dropped.
func (s *eventStream) next() (streamMessage, error) {
	var m streamMessage
	var some bool // of a message
	for s.lines.Scan() {
		line := s.lines.Bytes()
		if !s.started {
			line = bytes.TrimPrefix(line, []byte("\ufeff"))
			s.started = true
		}
		switch {
		case len(line) == 0 && some:
			m.data = bytes.TrimSuffix(m.data, []byte("\n"))
			return m, nil
		case len(line) == 0: // a message without data is none
			m = streamMessage{}
		case line[0] == ':' && !some && m.event == "" && m.id == "":
			return streamMessage{comment: true}, nil
		default:
			if some = m.field(line) || some; len(m.data) > maxMessageBytes {
				return streamMessage{}, errMessageTooLong
			}
		}
	}
	if err := s.lines.Err(); err != nil {
		return streamMessage{}, err
	}
	return streamMessage{}, io.EOF
}

// field takes one line; true where it is of the data.
func (m *streamMessage) field(line []byte) (data bool) {
	name, value, _ := bytes.Cut(line, []byte(":"))
	value = bytes.TrimPrefix(value, []byte(" "))
	switch string(name) {
	case "event":
		m.event = string(value)
	case "id":
		if bytes.IndexByte(value, 0) < 0 {
			m.id = string(value)
		}
	case "data":
		m.data = append(append(m.data, value...), '\n')
		return true
	}
	return false
}
