package main

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// What isn't a file is written to, and not replaced by one: a pipe whose reader waits, /dev/stdout.
func TestAddressesFile(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	l, dir := &listeners{http: ln, wire: ln, edge: ln}, t.TempDir()
	is := func(what, content string) {
		t.Helper()
		if !strings.Contains(content, `"http":"`+ln.Addr().String()+`"`) || !strings.HasSuffix(content, "}\n") {
			t.Errorf("%s: %q", what, content)
		}
	}

	pipe := filepath.Join(dir, "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	read := make(chan string)
	go func() {
		content, _ := os.ReadFile(pipe)
		read <- string(content)
	}()
	if err := l.writeAddresses(pipe); err != nil {
		t.Fatal(err)
	}
	is("what the pipe's reader got", <-read)
	if info, err := os.Lstat(pipe); err != nil || info.Mode().Type() != os.ModeNamedPipe {
		t.Errorf("the pipe is %v now (%v)", info, err)
	}

	file, link := filepath.Join(dir, "file"), filepath.Join(dir, "link")
	if err := os.Symlink(file, link); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{file, link} { // a file that isn't there yet, and a link to one
		if err := l.writeAddresses(path); err != nil {
			t.Fatal(err)
		}
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		is(path, string(content))
	}
	if info, err := os.Lstat(link); err != nil || info.Mode().Type() != os.ModeSymlink {
		t.Errorf("the link is %v now (%v)", info, err)
	}
	if err := l.writeAddresses(filepath.Join(dir, "no", "such")); err == nil {
		t.Error("a directory that isn't there is no error")
	}
}
