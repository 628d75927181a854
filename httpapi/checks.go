package httpapi

import (
	"mime"
	"net/http"
	"path"
	"strings"

	"iop/actors"
	"iop/internal/crossorigin"
	"iop/wire"
)

// isOpen is true of the two probe paths, which need neither token nor known Host.
func isOpen(r *http.Request) bool {
	p := r.URL.EscapedPath()
	return p == healthPath || p == readyPath
}

// admit makes the checks that go before any path is looked at.
func (s *Server) admit(c *call) *problem {
	if s.isDraining() {
		return refuse(wire.ShuttingDown, "the Control Plane is stopping")
	}
	keys := s.opts.Keys()
	if len(keys.Operators) == 0 && s.opts.Loopback && !crossorigin.IsLoopbackName(c.r.Host) {
		return refuse(wire.PermissionDenied, "the Host is not a name of this machine's loopback address")
	}
	if crossorigin.IsForeign(c.r) {
		return refuse(wire.PermissionDenied, "the request comes from a page of another site")
	}
	if len(keys.Operators) == 0 {
		return nil
	}
	token, ok := bearer(c.r.Header)
	if !ok {
		return refuse(wire.Unauthenticated, "a bearer token is needed")
	}
	operator, ok := keys.Operator(token)
	if !ok {
		return refuse(wire.Unauthenticated, "the token is not known")
	}
	c.operator = &operator
	if operator.Role != actors.Operator && !reads(c.r.Method) {
		return refuse(wire.PermissionDenied, "this needs the role operator")
	}
	return nil
}

// reads tells whether a method only reads, which is all that a viewer may do. The role goes before the path, so no route
// is asked.
func reads(method string) bool { return method == http.MethodGet || method == http.MethodHead }

func bearer(h http.Header) (string, bool) {
	given := h["Authorization"]
	if len(given) != 1 {
		return "", false
	}
	scheme, token, ok := strings.Cut(given[0], " ")
	token = strings.Trim(token, " ")
	return token, ok && token != "" && strings.EqualFold(scheme, "Bearer")
}

// isExact tells whether a path is written the one way that the mux would not redirect.
func isExact(escaped string) bool {
	return strings.HasPrefix(escaped, "/") && path.Clean(escaped) == escaped
}

// namesExactly tells whether a path has the pattern's own words unescaped; the mux unescapes before it compares. Ids may be
// escaped: some clients escape a ':'.
func namesExactly(escaped, pattern string) bool {
	for strings.Contains(escaped, "%") {
		var segment, word string
		segment, escaped, _ = strings.Cut(escaped, "/")
		word, pattern, _ = strings.Cut(pattern, "/")
		if segment != word && !strings.HasPrefix(word, "{") {
			return false
		}
	}
	return true
}

// checkMediaType wants a body that is plainly JSON.
func (c *call) checkMediaType() *problem {
	if given := c.r.Header["Content-Type"]; len(given) == 1 {
		kind, params, err := mime.ParseMediaType(given[0])
		charset, named := params["charset"]
		if err == nil && kind == jsonType && (!named || strings.EqualFold(charset, "utf-8")) && isIdentity(c.r.Header["Content-Encoding"]) {
			return nil
		}
	}
	return refuse(wire.UnsupportedMediaType, "the body must be application/json, in UTF-8 and not compressed")
}

func isIdentity(encodings []string) bool {
	return len(encodings) == 0 || len(encodings) == 1 && strings.EqualFold(encodings[0], "identity")
}
