package httpapi

import (
	"errors"
	"io"
	"net/http"
	"time"

	"iop/wire"
)

// maxBodyBytes bounds a body as it is sent.
const maxBodyBytes = 1 << 20

// readBody reads a whole body, which ServeHTTP gave its time to arrive.
func (c *call) readBody() ([]byte, *problem) {
	if c.r.ContentLength > maxBodyBytes {
		return nil, tooLarge("the body is over 1 MiB")
	}
	body, err := io.ReadAll(http.MaxBytesReader(c.ResponseWriter, c.r.Body, maxBodyBytes))
	var over *http.MaxBytesError
	switch {
	case errors.As(err, &over):
		return nil, tooLarge("the body is over 1 MiB")
	case err != nil:
		c.Header().Set("Connection", "close") // where the next request would begin is not known
		return nil, invalid("body", "it did not arrive whole, or not in time")
	}
	// From here on the reading side only tells that the caller has gone, for which it may wait as long as the answer takes.
	_ = http.NewResponseController(c.ResponseWriter).SetReadDeadline(time.Time{})
	return body, nil
}

func tooLarge(sentence string) *problem { return refuse(wire.PayloadTooLarge, sentence) }
