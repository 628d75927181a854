package main

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"syscall"
	"testing"

	"iop/client"
)

// What to try where no answer came depends on what came instead.
func TestWhereElse(t *testing.T) {
	refused := &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}
	for _, c := range []struct {
		address, using string
		err            error
		want           string
	}{
		{"http://h", "http://h", refused, "it was set otherwise: http://h:18080"},
		{"http://h/iop", "http://h/iop", refused, "it was set otherwise: http://h:18080/iop"},
		{"http://[::1]", "http://[::1]", refused, "it was set otherwise: http://[::1]:18080"},
		{"http://h:1", "http://h:1", refused, "say where to ask"},
		{"http://h:1", "http://h:1", context.DeadlineExceeded, "say where to ask"},
		{"http://h:1", "http://h:1", io.EOF, "with TLS the address begins with https://"},
		{"https://h:1", "https://h:1", io.EOF, "It is 18080 unless set otherwise"},
		{"https://h:1", "https://h:1", http.ErrSchemeMismatch, "that begins with http://"},
		{"http://h:1", "http://h:1", errors.New("malformed HTTP response"), "is http://h:1 the HTTP port"},
		{"http://h:1", "ws://h:19081/client", errors.New("malformed HTTP response"), "--wire ws://host:port/client"},
		{"https://h", "wss://h:19080/client", refused, "--wire ws://host:port/client"},
	} {
		a := testApp()
		a.asked = &target{address: c.address, using: c.using}
		if next := a.explain(&client.Unreachable{Err: c.err}).next; !strings.Contains(next, c.want) {
			t.Errorf("%s, %v: %s", c.using, c.err, next)
		}
	}
}
