package sse

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
)

func readAll(r io.Reader) (all []Message, err error) {
	s := NewReader(r)
	for {
		m, err := s.Next()
		if err != nil {
			return all, err
		}
		m.Data = bytes.Clone(m.Data)
		all = append(all, m)
	}
}

var compareMessages = cmp.Comparer(func(a, b Message) bool {
	return a.Comment == b.Comment && a.Event == b.Event && a.ID == b.ID && string(a.Data) == string(b.Data)
})

func TestReader(t *testing.T) {
	one := Message{Event: "e", ID: "1", Data: []byte("d")}
	for name, c := range map[string]struct {
		stream string
		want   []Message
	}{
		"LF":                      {"id: 1\nevent: e\ndata: d\n\n", []Message{one}},
		"CR LF":                   {"id: 1\r\nevent: e\r\ndata: d\r\n\r\n", []Message{one}},
		"CR":                      {"id: 1\revent: e\rdata: d\r\r", []Message{one}},
		"no space":                {"id:1\nevent:e\ndata:d\n\n", []Message{one}},
		"BOM":                     {"\ufeffid: 1\nevent: e\ndata: d\n\n", []Message{one}},
		"several lines":           {"data: a\ndata\ndata: b\n\n", []Message{{Data: []byte("a\n\nb")}}},
		"comments":                {": hi\n\nid: 1\nevent: e\n: in between\ndata: d\n\n:\n\n", []Message{{Comment: true}, one, {Comment: true}}},
		"no data is none":         {"id: 7\nevent: x\n\nid: 1\nevent: e\ndata: d\n\n", []Message{one}},
		"unknown fields":          {"retry: 1\nfoo: bar\nfoo\nid: 1\nevent: e\ndata: d\n\n", []Message{one}},
		"id with NUL":             {"id: 1\nid: \x002\nevent: e\ndata: d\n\n", []Message{one}},
		"a cut message":           {"id: 1\nevent: e\ndata: d\n\ndata: half\n", []Message{one}},
		"a cut line":              {"id: 1\nevent: e\ndata: d\n\ndata: ha", []Message{one}},
		"nothing":                 {"", nil},
		"empty data is a message": {"data\n\n", []Message{{Data: []byte{}}}},
	} {
		t.Run(name, func(t *testing.T) {
			for kind, r := range map[string]io.Reader{"whole": strings.NewReader(c.stream), "bytes": iotest.OneByteReader(strings.NewReader(c.stream))} {
				got, err := readAll(r)
				if diff := cmp.Diff(c.want, got, compareMessages); diff != "" || err != io.EOF {
					t.Errorf("%s: %v %s", kind, err, diff)
				}
			}
		})
	}
}

func TestReaderIsBounded(t *testing.T) {
	line := "data: " + strings.Repeat("x", 1000) + "\n"
	for name, stream := range map[string]string{
		"a line":    "data: " + strings.Repeat("x", maxLineBytes+1),
		"a message": strings.Repeat(line, maxMessageBytes/1000+2),
	} {
		if got, err := readAll(strings.NewReader(stream)); err == nil || err == io.EOF || len(got) > 0 {
			t.Errorf("%s: %d messages, %v", name, len(got), err)
		}
	}
	broken := errors.New("broken")
	if _, err := readAll(iotest.ErrReader(broken)); !errors.Is(err, broken) {
		t.Errorf("a broken stream ends with %v", err)
	}
}

// A message is there when its empty line is: what comes after it may take a minute.
func TestReaderDoesNotWaitForMore(t *testing.T) {
	for _, end := range []string{"\n\n", "\r\r", "\r\n\r\n"} {
		r, w := io.Pipe()
		got := make(chan error, 1)
		go func() {
			_, err := NewReader(r).Next()
			got <- err
		}()
		if _, err := io.WriteString(w, "data: x"+end); err != nil {
			t.Fatal(err)
		}
		if err := <-got; err != nil {
			t.Errorf("%q: %v", end, err)
		}
		_ = w.Close()
	}
}

func FuzzReader(f *testing.F) {
	f.Add([]byte("id: 1\nevent: e\ndata: d\n\n"))
	f.Add([]byte(": c\n\nid: 1\r\nevent: gap\r\ndata: {}\r\n\r\n"))
	f.Add([]byte("\ufeffdata: a\rdata: b\r\r\ndata"))
	f.Fuzz(func(t *testing.T, stream []byte) {
		whole, err := readAll(bytes.NewReader(stream))
		if err == nil {
			t.Fatal("it has no end")
		}
		cut, err := readAll(iotest.OneByteReader(bytes.NewReader(stream)))
		if err == nil {
			t.Fatal("it has no end")
		}
		if diff := cmp.Diff(whole, cut, compareMessages); diff != "" {
			t.Fatalf("read byte by byte it is another one: %s", diff)
		}
		for _, m := range whole {
			if strings.ContainsAny(m.ID, "\r\n\x00") {
				t.Fatalf("the id %q can't be sent back", m.ID)
			}
		}
	})
}
