//go:build linux

package main

import (
	"bytes"
	"errors"
	"io"
	"net"
	"os"
	"testing"
	"time"
)

// listen serves each connection on its own until the end of the test.
func listen(t *testing.T, serve func(net.Conn)) (address string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				serve(conn)
			}()
		}
	}()
	return l.Addr().String()
}

func echo(conn net.Conn) { _, _ = io.Copy(conn, conn) }

func proxyTo(t *testing.T, upstream string) *proxy {
	t.Helper()
	p, err := startProxy(upstream)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.cut() })
	return p
}

// patient is for what comes at once unless something is broken.
const patient = 20 * time.Second

func dialProxy(t *testing.T, p *proxy) net.Conn {
	t.Helper()
	conn, err := net.DialTimeout("tcp", p.Listen, patient)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	_ = conn.SetDeadline(time.Now().Add(patient))
	return conn
}

func spoilFor(t *testing.T, p *proxy, f fault) {
	t.Helper()
	if err := p.spoil(f.toxic()); err != nil {
		t.Fatal(err)
	}
}

// echoed sends a message, and gives in how many reads it came back, and after how long.
func echoed(t *testing.T, conn net.Conn, message []byte) (reads int, took time.Duration) {
	t.Helper()
	began := time.Now()
	if _, err := conn.Write(message); err != nil {
		t.Fatal(err)
	}
	back, b := []byte(nil), make([]byte, len(message))
	for len(back) < len(message) {
		n, err := conn.Read(b)
		if err != nil {
			t.Fatal(err)
		}
		back = append(back, b[:n]...)
		reads++
	}
	if !bytes.Equal(back, message) {
		t.Errorf("%d bytes came back as %q", len(message), back)
	}
	return reads, time.Since(began)
}

func TestAProxyAddsLatency(t *testing.T) {
	p := proxyTo(t, listen(t, echo))
	before := dialProxy(t, p) // what is there already is late, too
	echoed(t, before, []byte("hello"))
	spoilFor(t, p, fault{Kind: proxySlow, Size: 200})
	const least = 150 * time.Millisecond // each way: a quarter is left to chance
	for _, conn := range []net.Conn{before, dialProxy(t, p)} {
		if _, took := echoed(t, conn, []byte("hello")); took < 2*least {
			t.Errorf("it took %v there and back, want at least %v each way", took, least)
		}
	}
	if err := p.heal(); err != nil {
		t.Error(err)
	}
	if left := p.Toxics.GetToxicArray(); len(left) > 0 {
		t.Errorf("it is healed, and still does %v", left)
	}
	echoed(t, before, []byte("hello"))
}

func TestAProxySlices(t *testing.T) {
	p := proxyTo(t, listen(t, echo))
	spoilFor(t, p, fault{Kind: proxySliced, Size: 200})
	if reads, _ := echoed(t, dialProxy(t, p), bytes.Repeat([]byte("frame"), 1000)); reads < 10 {
		t.Errorf("5000 bytes came in %d pieces", reads)
	}
}

func TestAProxyBeginsAnew(t *testing.T) {
	p := proxyTo(t, listen(t, echo))
	address := p.Listen
	spoilFor(t, p, fault{Kind: proxySlow, Size: 200})
	old := dialProxy(t, p)
	echoed(t, old, []byte("hello"))
	if err := p.anew(); err != nil || p.Listen != address {
		t.Fatalf("it is back at %s, was at %s: %v", p.Listen, address, err)
	}
	if _, err := old.Read(make([]byte, 1)); err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("an old link ended with %v", err)
	}
	if left := p.Toxics.GetToxicArray(); len(left) > 0 {
		t.Errorf("it begins anew, and still does %v", left)
	}
	echoed(t, dialProxy(t, p), []byte("hello"))
}

func TestAProxyCuts(t *testing.T) {
	p := proxyTo(t, listen(t, echo))
	conn := dialProxy(t, p)
	echoed(t, conn, []byte("hello"))
	address := p.Listen
	if err := p.cut(); err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Read(make([]byte, 1)); err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("a link that was cut: %v", err)
	}
	if other, err := net.DialTimeout("tcp", address, patient); err == nil {
		_ = other.Close()
		t.Error("it still accepts links")
	}
	if err := p.Start(); err != nil || p.Listen != address {
		t.Fatalf("it is back at %s, was at %s: %v", p.Listen, address, err)
	}
	echoed(t, dialProxy(t, p), []byte("hello"))
}

// What is said over an earlier link comes behind what is said over a much later one, and nothing is lost.
func TestAProxyReorders(t *testing.T) {
	const links, between, muchLater = 30, 20 * time.Millisecond, 5
	came := make(chan byte, links)
	p := proxyTo(t, listen(t, func(conn net.Conn) {
		b := make([]byte, 1)
		if _, err := io.ReadFull(conn, b); err == nil {
			came <- b[0]
		}
		_, _ = conn.Write(b)
	}))
	spoilFor(t, p, fault{Kind: proxyReorders, For: 2 * time.Second, Size: 200})
	var conns []net.Conn
	for i := range links {
		conn := dialProxy(t, p)
		if _, err := conn.Write([]byte{byte(i)}); err != nil {
			t.Fatal(err)
		}
		conns = append(conns, conn)
		time.Sleep(between)
	}
	for i, conn := range conns {
		b := make([]byte, 1)
		if _, err := io.ReadFull(conn, b); err != nil || b[0] != byte(i) {
			t.Fatalf("link %d got %d: %v", i, b[0], err)
		}
	}
	newest, behind := 0, 0
	for range links {
		number := int(<-came)
		newest = max(newest, number)
		behind = max(behind, newest-number)
	}
	if behind < muchLater {
		t.Errorf("nothing came behind what was said over more than %d later links", behind)
	}
}
