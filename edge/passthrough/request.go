package passthrough

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"time"
)

// readRequest reads the body and finds its model.
func readRequest(w http.ResponseWriter, r *http.Request) (body []byte, model string, wrong *refusal) {
	if r.ContentLength > maxBodyBytes {
		return nil, "", errTooLarge
	}
	control := http.NewResponseController(w)
	_ = control.SetReadDeadline(time.Now().Add(bodyTime)) // not every writer has deadlines; a test's hasn't
	var tooLarge *http.MaxBytesError
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBodyBytes))
	switch {
	case errors.As(err, &tooLarge):
		return nil, "", errTooLarge
	case err != nil:
		return nil, "", errUnread
	}
	_ = control.SetReadDeadline(time.Time{})
	if model = modelOf(body); model == "" {
		return nil, "", errNoJSON
	}
	return body, model, nil
}

// modelOf is the model that a request names; empty: none.
func modelOf(body []byte) string {
	var request struct {
		Model string `json:"model"`
	}
	if json.Unmarshal(body, &request) != nil {
		return ""
	}
	return request.Model
}
