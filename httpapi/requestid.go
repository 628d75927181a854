package httpapi

import (
	"crypto/rand"
	"net/http"
)

const (
	requestIDHeader   = "X-Request-Id"
	maxRequestIDBytes = 128
)

// requestID keeps the caller's id when it is a sane one, so that it can be followed through logs; else it makes one.
func requestID(h http.Header) string {
	if given := h[requestIDHeader]; len(given) == 1 && len(given[0]) <= maxRequestIDBytes && isToken(given[0]) {
		return given[0]
	}
	return newRequestID()
}

func newRequestID() string { return rand.Text() }

// isToken tells whether s is one or more of A-Z a-z 0-9 . _ -
func isToken(s string) bool {
	for i := range len(s) {
		switch c := s[i]; {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', c == '.', c == '_', c == '-':
		default:
			return false
		}
	}
	return s != ""
}
