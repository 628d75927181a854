package configs

import (
	"net"
	"net/netip"
	"net/url"
	"regexp"
	"strconv"
	"strings"
)

var (
	portRule = regexp.MustCompile(`^[0-9]{1,5}$`)
	// Names of hosts: dotted labels. One whose last label is a number is a mistyped IPv4 address.
	hostRule   = regexp.MustCompile(`^([A-Za-z0-9_]([A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?\.)*[A-Za-z0-9_]([A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?\.?$`)
	numberRule = regexp.MustCompile(`(^|\.)[0-9]+\.?$`)
)

func hostName(s string) string {
	if _, err := netip.ParseAddr(s); err == nil {
		return ""
	}
	if len(s) > 253 || !hostRule.MatchString(s) || numberRule.MatchString(s) {
		return "is not a host; expected a name or an IP address"
	}
	return ""
}

func address(s string, lowestPort int, emptyHost bool) bool {
	host, port, err := net.SplitHostPort(s)
	if err != nil || !portRule.MatchString(port) {
		return false
	}
	if n, _ := strconv.Atoi(port); n < lowestPort || n > 65535 {
		return false
	}
	return host == "" && emptyHost || hostName(host) == ""
}

// listenAddress takes an empty host (all interfaces) and port 0 (a free one).
func listenAddress(s string) string {
	if !address(s, 0, true) {
		return "is not a listen address; expected host:port such as 127.0.0.1:18080, with a port from 0 to 65535"
	}
	return ""
}

func dialAddress(s string) string {
	if !address(s, 1, false) {
		return "is not an address to connect to; expected host:port such as 127.0.0.1:19081, with a port from 1 to 65535"
	}
	return ""
}

func loopbackOnly(s string) string {
	if !onLoopback(s) {
		return "is not on loopback; expected an address such as 127.0.0.1:6060"
	}
	return ""
}

// onLoopback tells whether an address that follows listenAddress can't be reached from other machines.
// No name is looked up: localhost is the only one that is loopback by definition.
func onLoopback(s string) bool {
	host, _, err := net.SplitHostPort(s)
	if err != nil {
		return false
	}
	if ip, err := netip.ParseAddr(host); err == nil {
		return ip.Unmap().IsLoopback()
	}
	return strings.EqualFold(strings.TrimSuffix(host, "."), "localhost")
}

// webOrigin takes an origin as browsers send it, since it is compared byte by byte. "*" is refused: it would
// let any web page that a person has open speak to the Control Plane from inside their network.
func webOrigin(s string) string {
	const expected = "expected scheme://host or scheme://host:port as browsers send it: lower case, no path, no default port, no *"
	u, err := url.Parse(s)
	if err != nil || u.Scheme == "" || u.Host == "" || hostName(u.Hostname()) != "" {
		return "is not an origin; " + expected
	}
	host, port := strings.ToLower(u.Hostname()), u.Port()
	if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	if port != "" && !(u.Scheme == "http" && port == "80" || u.Scheme == "https" && port == "443") {
		host += ":" + port
	}
	if s != u.Scheme+"://"+host {
		return "is not an origin; " + expected
	}
	return ""
}

func anyURL(s string) string {
	if u, err := url.Parse(s); err != nil || u.Scheme == "" || u.Host == "" && u.Path == "" {
		return "is not a URL; expected scheme://host and so on"
	}
	return ""
}

// httpURL takes the base of a provider's addresses, which paths are added to.
func httpURL(s string) string {
	u, err := url.Parse(s)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || hostName(u.Hostname()) != "" ||
		u.User != nil || u.RawQuery != "" || u.ForceQuery || strings.Contains(s, "#") {
		return "is not a base URL; expected http:// or https:// with a host, without user, query and fragment"
	}
	return ""
}
