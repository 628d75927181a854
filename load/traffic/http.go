package traffic

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"strconv"
	"syscall"
	"time"
)

// maxBody bounds what is read of an answer.
const maxBody = 4 << 20

// answer is an HTTP answer, or why there is none.
type answer struct {
	status int // 0: none came
	body   []byte
	kind   string // "" for 2xx, else the problem's code or a word for what went wrong
	asked  time.Time
}

// noAnswer tells whether the caller was left without one: it never came, or it says that the Edge's didn't.
func (a *answer) noAnswer() bool { return a.kind == timedOut || a.kind == "edge_timeout" }

const timedOut = "no answer: timeout"

// ask makes one request.
func (t *Traffic) ask(method, path string, body []byte, wait time.Duration) *answer {
	ctx, cancel := context.WithTimeout(context.Background(), wait+grace)
	defer cancel()
	a := &answer{asked: time.Now()}
	request, err := http.NewRequestWithContext(ctx, method, t.opts.HTTP+path, bytes.NewReader(body))
	if err != nil {
		a.kind = "no request: " + err.Error() // the address is wrong, and so is every request
		return a
	}
	if body != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	t.authorize(request)
	response, err := t.http.Do(request)
	if err != nil {
		a.kind = failure(err)
		return a
	}
	defer response.Body.Close()
	a.status = response.StatusCode
	a.body, err = io.ReadAll(io.LimitReader(response.Body, maxBody))
	switch {
	case err != nil:
		a.kind = failure(err)
	case a.status/100 != 2:
		a.kind = problemCode(a.status, a.body)
	}
	return a
}

func (t *Traffic) authorize(r *http.Request) {
	if t.opts.Token != "" {
		r.Header.Set("Authorization", "Bearer "+t.opts.Token)
	}
}

func problemCode(status int, body []byte) string {
	var p struct {
		Code string `json:"code"`
	}
	if json.Unmarshal(body, &p) != nil || p.Code == "" {
		return "status " + strconv.Itoa(status)
	}
	return p.Code
}

// failure is a word for why no answer came.
func failure(err error) string {
	var timeout net.Error
	switch {
	case errors.Is(err, syscall.ECONNREFUSED):
		return "no answer: refused"
	case errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE), errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return "no answer: connection lost"
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, os.ErrDeadlineExceeded), errors.As(err, &timeout) && timeout.Timeout():
		return timedOut
	}
	return "no answer: failed"
}
