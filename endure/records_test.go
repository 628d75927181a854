//go:build linux

package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"iop/load/daemon"
	"iop/load/ledger"
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
		j := judged{counts: map[string]int{}}
		j.add(&record{Operation: "edge.ping", State: "succeeded"}, verdict{})
		j.add(&record{Operation: "edge.ping", State: "succeeded"}, verdict{wrong: "it"})
		j.add(&record{Operation: "edge.ping", State: "sent"}, verdict{"it", true})
		if len(j.wrong) != 2 || j.open != 1 {
			t.Errorf("wrong %q, open %d", j.wrong, j.open)
		}
		r.addRecords(&j)
	}
	want := map[string]int{"edge.ping succeeded": 4, "edge.ping sent": 2}
	if diff := cmp.Diff(want, r.Operations); diff != "" || r.Judged != 6 {
		t.Errorf("judged %d, by state (-want +got):\n%s", r.Judged, diff)
	}
}

// Every command that reached its Edge has a record, on whichever page.
func TestRecordsThatAreMissing(t *testing.T) {
	newBed := func(prefix string) *testbed { return &testbed{ledger: ledger.New(prefix, 1)} }
	direct, proxied := newBed("direct-"), newBed("proxied-")
	ran := func(bed *testbed) (nonce string) {
		nonce = bed.ledger.Ask(0)
		bed.ledger.Arrived(0, nonce, nonce)
		return nonce
	}
	one, two, three := ran(direct), ran(proxied), ran(direct)
	direct.ledger.Ask(0) // this one never arrived
	until := time.Now()
	ran(proxied) // too late for this look
	for name, c := range map[string]struct {
		pages   [][]string // of nonces
		dropped int
		wrong   []string
	}{
		"all are there":           {[][]string{{one, two}, {three}}, 0, nil},
		"a page is skipped":       {[][]string{{one, two}}, 0, []string{three + " reached its Edge, and has no record"}},
		"none is there":           {[][]string{{}}, 0, []string{one + " reached its Edge, and has no record", three + " reached its Edge, and has no record", two + " reached its Edge, and has no record"}},
		"some are kept no longer": {[][]string{{three, two}, {one}}, 2, []string{"2 records are kept no longer"}},
	} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			at := len(r.FormValue("cursor"))
			var records []string
			for _, nonce := range c.pages[at] {
				records = append(records, fmt.Sprintf(`{"operation_id":"id","edge_id":"e","state":"succeeded","parameters":{"nonce":%[1]q},"result":{"nonce":%[1]q}}`, nonce))
			}
			next := ""
			if at+1 < len(c.pages) {
				next = strings.Repeat("x", at+1)
			}
			fmt.Fprintf(w, `{"operations":[%s],"dropped":%d,"next_cursor":%q}`, strings.Join(records, ","), c.dropped, next)
		}))
		all := chaos{ask: newAsker(server.URL), direct: direct, proxied: proxied, daemon: &daemon.Daemon{}}
		got, err := all.judgeRecords(until)
		server.Close()
		if diff := cmp.Diff(c.wrong, got.wrong); diff != "" || got.open > 0 || err != nil {
			t.Errorf("%s: open %d, %v; wrong (-want +got):\n%s", name, got.open, err, diff)
		}
	}
}
