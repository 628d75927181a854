//go:build linux

package main

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const (
	lost    = `{"phase":"unknown","message":"the connection ended"}`
	unheard = `{"phase":"unknown","message":"the Edge does not know this command"}`
)

func TestRecords(t *testing.T) {
	for name, c := range map[string]struct {
		json           string
		ran, connected bool
		wrong          string
		open           bool
	}{
		"its result":            {`"succeeded","parameters":{"nonce":"n"},"result":{"nonce":"n"}`, true, true, "", false},
		"another's result":      {`"succeeded","parameters":{"nonce":"n"},"result":{"nonce":"m"}`, true, true, "1 has the result of another command", false},
		"no result":             {`"succeeded","parameters":{"nonce":"n"},"result":null`, true, true, "1 has the result of another command", false},
		"never ran":             {`"succeeded","parameters":{"nonce":"n"},"result":{"nonce":"n"}`, false, true, "1 has succeeded, and never reached its Edge", false},
		"of a process":          {`"succeeded","parameters":null,"result":{"time":"now"}`, false, true, "", false},
		"never sent":            {`"expired"`, false, true, "", false},
		"never sent, and ran":   {`"expired"`, true, true, "1 is expired, and its Edge ran it", false},
		"refused":               {`"rejected"`, false, true, "", false},
		"refused, and ran":      {`"rejected"`, true, true, "1 is rejected, and its Edge ran it", false},
		"failed":                {`"failed","events":[` + lost + `]`, false, true, "1 is failed, and no Edge said so", false},
		"cancelled":             {`"cancelled"`, true, true, "1 is cancelled, and no Edge said so", false},
		"a state of no kind":    {`"lost"`, true, true, "1 is lost, and no Edge said so", false},
		"pending":               {`"pending"`, false, true, "1 is still pending", true},
		"sent":                  {`"sent"`, true, true, "1 is still sent", true},
		"accepted":              {`"accepted"`, true, true, "1 is still accepted", true},
		"running":               {`"running"`, true, true, "1 is still running", true},
		"lost on the way":       {`"unknown","events":[` + lost + `,` + unheard + `]`, false, true, "", false},
		"lost, and not asked":   {`"unknown","events":[` + lost + `]`, false, true, "1 is unknown, and its Edge, which is back, was not asked", true},
		"lost with its Edge":    {`"unknown","events":[` + lost + `]`, false, false, "", false},
		"lost, and ran":         {`"unknown","events":[` + lost + `,` + unheard + `]`, true, true, "1 is unknown, and its Edge knows that it ran", true},
		"unknown by nobody":     {`"unknown","events":[]`, false, false, "1 is unknown without a reason", false},
		"unknown for no reason": {`"unknown","events":[{"phase":"unknown","message":null}]`, false, false, "1 is unknown without a reason", false},
		"another phase's":       {`"unknown","events":[{"phase":"accepted","message":"yes"}]`, false, false, "1 is unknown without a reason", false},
	} {
		var r record
		if err := json.Unmarshal([]byte(`{"operation_id":"1","state":`+c.json+`}`), &r); err != nil {
			t.Fatal(err)
		}
		if got := r.judge(c.ran, c.connected); got != (verdict{c.wrong, c.open}) {
			t.Errorf("%s: %+v, want %q, open %v", name, got, c.wrong, c.open)
		}
	}
}

func TestRecordsAddUp(t *testing.T) {
	r := newChaosReport(plan{})
	for range 2 { // lives of the daemon
		j := judged{counts: map[string]int{}, dropped: 3}
		j.add(&record{Operation: "edge.ping", State: "succeeded"}, verdict{})
		j.add(&record{Operation: "edge.ping", State: "succeeded"}, verdict{wrong: "it"})
		j.add(&record{Operation: "edge.ping", State: "sent"}, verdict{"it", true})
		if len(j.wrong) != 2 || j.open != 1 {
			t.Errorf("wrong %q, open %d", j.wrong, j.open)
		}
		r.addRecords(&j)
	}
	want := map[string]int{"edge.ping succeeded": 4, "edge.ping sent": 2}
	if diff := cmp.Diff(want, r.Operations); diff != "" || r.Judged != 6 || r.Unjudged != 6 {
		t.Errorf("judged %d, not judged %d, by state (-want +got):\n%s", r.Judged, r.Unjudged, diff)
	}
}
