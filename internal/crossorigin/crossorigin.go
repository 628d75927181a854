// Package crossorigin tells requests of web pages of other sites, which a person's browser sends from inside their network.
package crossorigin

import (
	"net"
	"net/http"
	"net/netip"
	"strings"
)

var protection = http.NewCrossOriginProtection()

// IsForeign tells whether a request comes from a web page of another site. net/http's check lets GET, HEAD and OPTIONS pass; here
// a foreign Origin is refused on every method. Someone who follows a link on another site sends none. No browser sends either
// header twice, and the check would read only the first.
func IsForeign(r *http.Request) bool {
	origins := r.Header["Origin"]
	if len(origins) > 1 || len(r.Header["Sec-Fetch-Site"]) > 1 {
		return true
	}
	if len(origins) == 1 {
		asPost := *r
		asPost.Method = http.MethodPost
		r = &asPost
	}
	return protection.Check(r) != nil
}

// IsLoopbackName tells whether a Host names the loopback: localhost, with or without the root's dot, or one of its addresses,
// any port. A page whose own name was made to lead there (DNS rebinding) is no foreign one, but its Host is.
func IsLoopbackName(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	} else {
		host = strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
	}
	if strings.EqualFold(strings.TrimSuffix(host, "."), "localhost") {
		return true
	}
	addr, err := netip.ParseAddr(host)
	return err == nil && addr.Unmap().IsLoopback()
}
