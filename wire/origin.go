package wire

import (
	"fmt"
	"net/url"
	"strings"
)

// origins is the rule for a browser's Origin: it must be the host that was asked, whatever the scheme, or be listed.
type origins map[origin]bool

// origin is scheme://host:port with the port always there, in lower case.
type origin struct{ scheme, hostPort string }

func newOrigins(allowed []string) (origins, error) {
	o := origins{}
	for _, s := range allowed {
		parsed, ok := parseOrigin(s)
		if !ok {
			return nil, fmt.Errorf("%q is not an origin; expected scheme://host or scheme://host:port", s)
		}
		o[parsed] = true
	}
	return o, nil
}

// allow takes the Origin headers of a request and its Host. No Origin: not a browser.
func (o origins) allow(headers []string, host string) bool {
	if len(headers) == 0 {
		return true
	}
	from, ok := parseOrigin(headers[0])
	if !ok || len(headers) > 1 {
		return false
	}
	return o[from] || from.hostPort == withPort(host, from.scheme)
}

// parseOrigin refuses what has more than an origin has, and "null".
func parseOrigin(s string) (origin, bool) {
	u, err := url.Parse(s)
	if err != nil || u.Scheme == "" || u.Host == "" || u.Hostname() == "" || !strings.EqualFold(s, u.Scheme+"://"+u.Host) {
		return origin{}, false
	}
	return origin{u.Scheme, withPort(u.Host, u.Scheme)}, true
}

// withPort adds the scheme's own port where none is given: browsers leave it out.
func withPort(host, scheme string) string {
	host = strings.ToLower(host)
	if (&url.URL{Host: host}).Port() != "" {
		return host
	}
	host = strings.TrimSuffix(host, ":")
	switch scheme {
	case "http", "ws":
		return host + ":80"
	case "https", "wss":
		return host + ":443"
	default:
		return host
	}
}
