package httpapi

import "testing"

func TestWantsStream(t *testing.T) {
	for accept, want := range map[string]bool{
		"text/event-stream":                                  true,
		"Text/Event-Stream":                                  true,
		"text/event-stream; charset=utf-8":                   true,
		"text/event-stream, */*":                             true,
		"text/event-stream;q=0.5, */*;q=0.1":                 true,
		"application/json, text/event-stream":                true,
		"text/html, text/event-stream;q=0.9":                 true,
		"application/json;q=0.5, text/event-stream":          true,
		"application/json;q=0, text/event-stream;q=0.1, */*": true,
		"":                      false,
		"*/*":                   false,
		"text/*":                false,
		"application/json":      false,
		"text/event-stream;q=0": false,
		"text/event-stream;q=0.5, application/json": false,
		"text/event-stream;q=0.5, application/*":    false,
		"text/event-stream;q=0.5, */*;q=0.6":        false,
		"text/event-stream;q=nonsense":              false,
		"text/event-stream;q=2":                     false,
		"text/event-streams":                        false,
		",,;q=1,text":                               false,
	} {
		if wantsStream([]string{accept}) != want {
			t.Errorf("%q: %v", accept, !want)
		}
	}
	if !wantsStream([]string{"text/html", "text/event-stream"}) {
		t.Error("a second Accept header is not read")
	}
}
