package traffic

import (
	"encoding/json"
	"math/rand/v2"
	"net/http"
	"time"

	"iop/load/fleet"
	"iop/load/measure"
)

// operationView is what is looked at in an operation.
type operationView struct {
	OperationID string         `json:"operation_id"`
	EdgeID      string         `json:"edge_id"`
	State       string         `json:"state"`
	Result      map[string]any `json:"result"`
}

// asked is what an answer to a command shows: an operation, or a problem that may carry one.
func asked(a *answer) (v operationView, ok bool) {
	if a.kind == "" {
		return v, json.Unmarshal(a.body, &v) == nil
	}
	var p struct {
		Operation operationView `json:"operation"`
	}
	_ = json.Unmarshal(a.body, &p) // one without is told from one with by its id
	return p.Operation, true
}

// command sends one command and, if the Edge goes on with it, sees it to its end.
func (t *Traffic) command(due time.Time) {
	number, id := t.anyEdge()
	excused := t.excuse(number)
	nonce := t.opts.Ledger.Ask(number)
	phased := rand.IntN(100) < t.opts.PhasedPercent
	operation := fleet.OperationQuick
	if phased {
		operation = fleet.OperationPhased
	}
	body, err := json.Marshal(map[string]any{
		"operation": operation, "parameters": map[string]string{fleet.NonceKey: nonce}, "timeout": t.opts.CommandTimeout.String(),
	})
	if err != nil {
		panic(err) // strings alone
	}
	a := t.ask(http.MethodPost, "/edges/"+id+"/commands", body, t.opts.CommandTimeout)
	took := time.Since(due)
	v, readable := asked(a)
	kind := a.kind
	switch {
	case !readable:
		kind = "not JSON"
	case kind == "" && a.status == http.StatusOK:
		kind = t.checkEnd(id, nonce, &v)
	}
	goesOn := kind == "" && a.status == http.StatusAccepted || a.noAnswer() && v.OperationID != ""
	o := measure.Outcome{Kind: kind, Excused: kind != "" && excused()}
	if !o.Excused && !goesOn && a.noAnswer() && t.opts.Ledger.Unanswered(nonce, t.opts.CommandTimeout) {
		o.Kind = "lost"
	}
	t.Commands.End(took, o)
	if goesOn {
		t.follow(due, number, id, nonce, v.OperationID, excused)
	}
}

// checkEnd tells what is wrong with an operation that is shown as ended, or "".
func (t *Traffic) checkEnd(id, nonce string, v *operationView) string {
	if v.State != "succeeded" {
		return "command " + v.State
	}
	result, _ := v.Result[fleet.NonceKey].(string)
	if edge, _ := v.Result[fleet.EdgeKey].(string); edge != id || v.EdgeID != id {
		result = ""
	}
	if !t.opts.Ledger.Settled(nonce, result) {
		return "not its result"
	}
	return ""
}

const (
	// settleTime is how long an accepted command may take beyond its phases until it is shown as ended.
	settleTime = 10 * time.Second
	// arrivalTime is how long the end of a command may need from the Edge to the operation's record.
	arrivalTime = 2 * time.Second
)

// follow looks after a command that is under way until it is shown as ended: accepted, or with an answer that is late.
func (t *Traffic) follow(due time.Time, number int, id, nonce, operationID string, excused func() bool) {
	t.Settled.Begin()
	phases := 3 * t.opts.PhaseDelay
	deadline := time.Now().Add(phases + settleTime)
	wait := phases + 100*time.Millisecond
	kind := ""
	for enough := false; ; {
		select {
		case <-time.After(wait):
		case <-t.enough:
			enough = true
		}
		var v operationView
		a := t.ask(http.MethodGet, "/edges/"+id+"/operations/"+operationID, nil, settleTime)
		kind = a.kind
		if kind == "" && json.Unmarshal(a.body, &v) != nil {
			kind = "not JSON"
		}
		if kind == "" && terminal(v.State) {
			kind = t.checkEnd(id, nonce, &v)
			break
		}
		if enough {
			t.Settled.End(0, measure.Outcome{Kind: "not waited for", Excused: true})
			return
		}
		if time.Now().After(deadline) {
			if kind == "" {
				kind = "command stays " + v.State
			}
			break
		}
		wait = min(2*wait, time.Second)
	}
	o := measure.Outcome{Kind: kind, Excused: kind != "" && excused()}
	if kind != "" && !o.Excused && t.opts.Ledger.Unsettled(nonce, arrivalTime) {
		o.Kind = "lost"
	}
	t.Settled.End(time.Since(due), o)
}

func terminal(state string) bool {
	switch state {
	case "succeeded", "failed", "rejected", "cancelled", "expired":
		return true
	}
	return false
}
