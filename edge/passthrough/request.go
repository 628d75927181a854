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

// modelOf is the model that a request names; empty: none. It must be the one that a provider reads there: the member whose name
// is exactly "model", the last if there are several. encoding/json takes "Model" for a struct's field, too.
func modelOf(body []byte) string {
	var members map[isModel]shortValue // of two, however many the request has
	var model string
	if json.Unmarshal(body, &members) != nil || json.Unmarshal([]byte(members[true]), &model) != nil {
		return ""
	}
	return model
}

// isModel is a member's name, of which nothing else matters.
type isModel bool

func (is *isModel) UnmarshalText(name []byte) error {
	*is = string(name) == "model"
	return nil
}

// shortValue is JSON that can be a model's name; longer values, such as prompts, aren't copied.
type shortValue string

// maxModelJSONBytes is well over the longest name of a model that a provider reports, with each byte of it escaped.
const maxModelJSONBytes = 4096

func (v *shortValue) UnmarshalJSON(value []byte) error {
	if len(value) <= maxModelJSONBytes {
		*v = shortValue(value)
	}
	return nil
}
