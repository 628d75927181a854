package testkit

import (
	"net"
	"testing"
)

// FreeAddress is one that nobody listens on. Where the system has further loopback addresses, it is on one that nobody else uses, and
// so it stays free.
func FreeAddress(t testing.TB) string { t.Helper(); return FreeAddresses(t, 1)[0] }

// FreeAddresses are n different ones.
func FreeAddresses(t testing.TB, n int) (addresses []string) {
	t.Helper()
	for range n {
		l, err := net.Listen("tcp", "127.19.8.1:0")
		if err != nil {
			l, err = net.Listen("tcp", "127.0.0.1:0")
		}
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close() // not before all are known: they must differ
		addresses = append(addresses, l.Addr().String())
	}
	return addresses
}
