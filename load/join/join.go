// Package join lets several processes, on one machine or several, be one load run: each has a share of the Edges and of
// the rates, holds its own books, and hands what it found to the one that leads.
//
// They speak lines of JSON over TCP. A process that joins hears its part, says a sample a second and at the end its
// result, and stops early when it is told to, or when the leader has gone. There is no protection on that connection
// beyond where the leader listens; tokens never cross it.
package join

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	"iop/load"
	"iop/load/measure"
)

// version is of this protocol: processes of different builds don't share a run.
const version = 1

// Part is what one process does of a run.
type Part struct {
	Scenario load.Scenario
	HTTP     string
	EdgeWire string
	Wire     string
}

// message is one line, with one of these.
type message struct {
	Version int             `json:"version,omitempty"` // the first word of both sides
	Part    *Part           `json:"part,omitempty"`
	Stop    bool            `json:"stop,omitempty"`
	Sample  *measure.Sample `json:"sample,omitempty"`
	Result  *load.Result    `json:"result,omitempty"`
	Failed  string          `json:"failed,omitempty"` // there is no result
}

const (
	helloTime = 10 * time.Second
	writeTime = 10 * time.Second
	// maxLine bounds a line; a result with its histograms and samples is some hundred KiB.
	maxLine = 64 << 20
)

// line is one connection. One goroutine reads, one writes.
type line struct {
	conn net.Conn
	in   *bufio.Scanner
}

func newLine(c net.Conn) *line {
	l := &line{conn: c, in: bufio.NewScanner(c)}
	l.in.Buffer(nil, maxLine)
	return l
}

func (l *line) say(m message) error {
	b, err := json.Marshal(m)
	if err != nil {
		return err
	}
	_ = l.conn.SetWriteDeadline(time.Now().Add(writeTime))
	_, err = l.conn.Write(append(b, '\n'))
	return err
}

func (l *line) hear() (message, error) {
	var m message
	if !l.in.Scan() {
		if err := l.in.Err(); err != nil {
			return m, err
		}
		return m, io.EOF
	}
	return m, json.Unmarshal(l.in.Bytes(), &m)
}

// greet says and hears the first word, under a deadline.
func (l *line) greet() error {
	_ = l.conn.SetReadDeadline(time.Now().Add(helloTime))
	defer l.conn.SetReadDeadline(time.Time{})
	if err := l.say(message{Version: version}); err != nil {
		return err
	}
	m, err := l.hear()
	switch {
	case err != nil:
		return err
	case m.Version == 0:
		return errors.New("the other side is no iop-load")
	case m.Version != version:
		return fmt.Errorf("the other side speaks version %d of joining, this one %d", m.Version, version)
	}
	return nil
}
