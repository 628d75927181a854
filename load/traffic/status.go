package traffic

import (
	"encoding/json"
	"net/http"
	"time"

	"iop/load/fleet"
	"iop/load/measure"
)

// statusView is what is looked at in a status.
type statusView struct {
	EdgeID string `json:"edge_id"`
	Source string `json:"source"`
	Nodes  []struct {
		Labels map[string]string `json:"labels"`
	} `json:"nodes"`
}

func (v *statusView) stamp() string {
	if len(v.Nodes) == 0 {
		return ""
	}
	return v.Nodes[0].Labels[fleet.StampLabel]
}

// pairEvery: of so many status reads the last two are sent at once, to one Edge. Without that hardly two would ever be under way at
// the same Edge, whose answers could be swapped.
const pairEvery = 10

// sendStatuses gives what sends the next status read when it is due.
func (t *Traffic) sendStatuses() func(due time.Time) {
	n := 0
	return func(due time.Time) {
		n++
		times := 1
		switch n % pairEvery {
		case pairEvery - 1:
			times = 2
		case 0: // it was sent with the one before
			return
		}
		number, id := t.anyEdge()
		for range times {
			t.send(t.Status, func() { t.status(due, number, id) })
		}
	}
}

// status asks one Edge for its status and holds the answer against the ledger.
func (t *Traffic) status(due time.Time, number int, id string) {
	excused := t.excuse(number)
	question := t.opts.Ledger.Question(t.opts.Timeout)
	a := t.ask(http.MethodGet, "/edges/"+id+"/status?timeout="+question.String(), nil, t.opts.Timeout)
	took := time.Since(due)
	kind := a.kind
	if kind == "" {
		kind = t.checkStatus(number, id, question, a)
	}
	o := measure.Outcome{Kind: kind, Excused: kind != "" && excused()}
	if !o.Excused && a.noAnswer() && t.opts.Ledger.Missed(number, a.asked, question) {
		o.Kind = "lost"
	}
	t.Status.End(took, o)
}

// checkStatus tells what is wrong with a status that was given, or "".
func (t *Traffic) checkStatus(number int, id string, question time.Duration, a *answer) string {
	var v statusView
	if err := json.Unmarshal(a.body, &v); err != nil {
		return "not JSON"
	}
	stamp := v.stamp()
	if v.EdgeID != id {
		stamp = "" // whatever is in it, it is not what was asked for
	}
	switch {
	case !t.opts.Ledger.Took(number, stamp, question):
		return "not its answer"
	case v.Source != "live":
		return "not live"
	}
	return ""
}

// summary asks for the totals of the fleet.
func (t *Traffic) summary(due time.Time) {
	excused := t.excuse(-1)
	a := t.ask(http.MethodGet, "/fleet/summary?timeout="+t.opts.Timeout.String(), nil, t.opts.Timeout)
	took := time.Since(due)
	t.Summaries.End(took, measure.Outcome{Kind: a.kind, Excused: a.kind != "" && excused()})
}
