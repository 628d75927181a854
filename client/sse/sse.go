// Package sse reads server-sent events, as the client's live streams bring them:
// https://html.spec.whatwg.org/multipage/server-sent-events.html.
package sse

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

// Message is one message or comment of a stream.
type Message struct {
	Comment bool // only a sign that the stream lives; the rest is empty then
	Event   string
	ID      string // empty: it has none, and the previous id stays the last
	Data    []byte // its lines, with LF between them; valid until the next message
}

// ErrMessageTooLong is returned for a message of more than 1 MiB.
var ErrMessageTooLong = errors.New("a message of the stream is too long")

// Reader reads a stream. It ignores the field retry: the back-off is the caller's. Only one goroutine may use it.
type Reader struct {
	lines   *bufio.Scanner
	data    []byte // of the message that is being read
	skipLF  bool
	started bool
}

// NewReader makes a Reader. It reads nothing yet.
func NewReader(r io.Reader) *Reader {
	s := &Reader{lines: bufio.NewScanner(r)}
	s.lines.Buffer(nil, maxLineBytes)
	s.lines.Split(s.splitLine)
	return s
}

// splitLine ends lines at CR, LF or CR LF. It doesn't wait for what follows a CR.
func (s *Reader) splitLine(data []byte, _ bool) (advance int, token []byte, err error) {
	skipped := 0
	if s.skipLF && len(data) > 0 {
		s.skipLF = false
		if data[0] == '\n' {
			skipped = 1
		}
	}
	rest := data[skipped:]
	i := bytes.IndexByte(rest, '\n')
	if cr := bytes.IndexByte(rest[:max(i, 0)], '\r'); cr >= 0 {
		i = cr
	} else if i < 0 {
		i = bytes.IndexByte(rest, '\r')
	}
	if i < 0 {
		return skipped, nil, nil // a last line without an end is of a message without one
	}
	s.skipLF = rest[i] == '\r'
	return skipped + i + 1, rest[:i:i], nil
}

// Next returns the next message or comment. io.EOF is the stream's end; an incomplete last message is dropped. Other errors are
// those of the underlying reader, ErrMessageTooLong, and bufio.ErrTooLong for a line of more than 1 MiB. Nothing comes after an
// error.
func (s *Reader) Next() (Message, error) {
	m := Message{Data: s.data[:0]}
	var some bool // of a message
	for s.lines.Scan() {
		line := s.lines.Bytes()
		if !s.started {
			line = bytes.TrimPrefix(line, []byte("\ufeff"))
			s.started = true
		}
		switch {
		case len(line) == 0 && some:
			s.data = m.Data
			m.Data = bytes.TrimSuffix(m.Data, []byte("\n"))
			return m, nil
		case len(line) == 0: // a message without data is none
			m = Message{Data: s.data[:0]}
		case line[0] == ':' && !some && m.Event == "" && m.ID == "":
			return Message{Comment: true}, nil
		default:
			if some = m.field(line) || some; len(m.Data) > maxMessageBytes {
				return Message{}, ErrMessageTooLong
			}
		}
	}
	if err := s.lines.Err(); err != nil {
		return Message{}, err
	}
	return Message{}, io.EOF
}

// field takes one line; true where it is of the data.
func (m *Message) field(line []byte) (data bool) {
	name, value, _ := bytes.Cut(line, []byte(":"))
	value = bytes.TrimPrefix(value, []byte(" "))
	switch string(name) {
	case "event":
		m.Event = string(value)
	case "id":
		if bytes.IndexByte(value, 0) < 0 {
			m.ID = string(value)
		}
	case "data":
		m.Data = append(append(m.Data, value...), '\n')
		return true
	}
	return false
}
