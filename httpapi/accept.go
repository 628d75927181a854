package httpapi

import (
	"mime"
	"strconv"
	"strings"
)

const streamType = "text/event-stream"

// wantsStream tells whether Accept names text/event-stream and wants it at least as much as JSON. It must be named: what
// takes anything gets a list.
func wantsStream(accept []string) bool {
	stream := 0.0
	var json, application, anything float64 = -1, -1, -1 // -1: not mentioned
	for _, element := range strings.Split(strings.Join(accept, ","), ",") {
		kind, params, err := mime.ParseMediaType(element)
		if err != nil {
			continue
		}
		q := quality(params)
		switch kind {
		case streamType:
			stream = q
		case jsonType:
			json = q
		case "application/*":
			application = q
		case "*/*":
			anything = q
		}
	}
	for _, broader := range []float64{application, anything, 0} { // the most exact that is mentioned counts
		if json < 0 {
			json = broader
		}
	}
	return stream > 0 && stream >= json
}

func quality(params map[string]string) float64 {
	v, ok := params["q"]
	if !ok {
		return 1
	}
	q, err := strconv.ParseFloat(v, 64)
	if err != nil || !(q >= 0 && q <= 1) {
		return 0
	}
	return q
}
