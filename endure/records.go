//go:build linux

package main

import (
	"context"
	"fmt"
	"strings"
	"time"
)

// record is what is looked at in the record of a command.
type record struct {
	ID         string    `json:"operation_id"`
	EdgeID     string    `json:"edge_id"`
	Operation  string    `json:"operation"`
	State      string    `json:"state"`
	CreatedAt  time.Time `json:"created_at"`
	Parameters nonce     `json:"parameters"`
	Result     nonce     `json:"result"`
	Events     []struct {
		Phase   string `json:"phase"`
		Message string `json:"message"`
	} `json:"events"`
}

// nonce is what a simulated Edge gives back as it got it. Other Edges' commands have none.
type nonce struct {
	Nonce string `json:"nonce"`
}

// verdict is what is wrong with a record, or "", and whether it may become right by waiting.
type verdict struct {
	wrong string
	open  bool
}

// judge holds a record against what is known at the Edge's side: whether the command ran there, and whether the Edge is connected, so
// that it has been asked about what was lost. No Edge of a run ever fails or cancels a command.
func (r *record) judge(ran, connected bool) verdict {
	switch r.State {
	case "succeeded":
		switch {
		case r.Result != r.Parameters:
			return verdict{wrong: r.ID + " has the result of another command"}
		case r.Parameters.Nonce != "" && !ran:
			return verdict{wrong: r.ID + " has succeeded, and never reached its Edge"}
		}
		return verdict{}
	case "expired", "rejected":
		if ran {
			return verdict{wrong: fmt.Sprintf("%s is %s, and its Edge ran it", r.ID, r.State)}
		}
		return verdict{}
	case "unknown":
		return r.judgeUnknown(ran, connected)
	case "pending", "sent", "accepted", "running":
		return verdict{r.ID + " is still " + r.State, true}
	}
	return verdict{wrong: fmt.Sprintf("%s is %s, and no Edge said so", r.ID, r.State)}
}

// judgeUnknown: that a command was lost is one reason, and that its Edge, which is back, doesn't know it is a second one.
func (r *record) judgeUnknown(ran, connected bool) verdict {
	reasons := 0
	for _, e := range r.Events {
		if e.Phase == "unknown" && e.Message != "" {
			reasons++
		}
	}
	switch {
	case reasons == 0:
		return verdict{wrong: r.ID + " is unknown without a reason"}
	case ran:
		return verdict{r.ID + " is unknown, and its Edge knows that it ran", true}
	case connected && reasons == 1:
		return verdict{r.ID + " is unknown, and its Edge, which is back, was not asked", true}
	}
	return verdict{}
}

const (
	// settleTime is for commands under way, and for what the daemon still ends by its own time limits.
	settleTime = 30 * time.Second
	// lastTime is for connections that this side has just closed to be closed on the other.
	lastTime   = 5 * time.Second
	settleLook = 200 * time.Millisecond
	// pageSize keeps an answer under maxAnswer, also when each command is one of those for an Edge that never reads.
	pageSize = 20
)

// judged is what came out of one look at the records.
type judged struct {
	counts map[string]int  // by operation and state
	nonces map[string]bool // of all that are listed
	wrong  []string
	open   int // of those that are wrong
}

// checkRecords wants every command that was asked until now settled, and settled rightly; the load may go on. f is the fault that ends
// these records, nil at the end of the run.
func (c *chaos) checkRecords(ctx context.Context, f *fault) {
	var j judged
	began := time.Now()
	for by := began.Add(settleTime); ; {
		var err error
		if j, err = c.judgeRecords(began); err != nil {
			j.wrong, j.open = append(j.wrong, err.Error()), j.open+1
		}
		if j.open == 0 || time.Now().After(by) {
			break
		}
		if !sleep(ctx, settleLook) {
			return
		}
	}
	c.mu.Lock()
	c.report.addRecords(&j)
	c.mu.Unlock()
	if len(j.wrong) > 0 {
		c.fail(f, fmt.Sprintf("%d operations: %s", len(j.wrong), strings.Join(j.wrong[:min(5, len(j.wrong))], "; ")))
	}
}

// judgeRecords looks at all that were made until then.
func (c *chaos) judgeRecords(until time.Time) (judged, error) {
	j := judged{counts: map[string]int{}, nonces: map[string]bool{}}
	for path := fmt.Sprintf("/fleet/operations?limit=%d", pageSize); ; {
		var page struct {
			Operations []record `json:"operations"`
			Dropped    int      `json:"dropped"`
			Next       string   `json:"next_cursor"`
		}
		if err := c.ask.get(path, &page); err != nil {
			return j, err
		}
		for i := range page.Operations {
			r := &page.Operations[i]
			j.nonces[r.Parameters.Nonce] = true
			if !r.CreatedAt.After(until) {
				j.add(r, r.judge(c.ran(r), !strings.HasPrefix(r.EdgeID, deafPrefix)))
			}
		}
		if page.Next == "" {
			j.notKept(page.Dropped)
			for _, bed := range c.testbeds() {
				j.missing(bed.ledger.Reached(c.daemon.Began(), until))
			}
			return j, nil
		}
		path = fmt.Sprintf("/fleet/operations?limit=%d&cursor=%s", pageSize, page.Next)
	}
}

func (j *judged) add(r *record, v verdict) {
	j.counts[r.Operation+" "+r.State]++
	if v.wrong != "" {
		j.wrong = append(j.wrong, v.wrong)
	}
	if v.open {
		j.open++
	}
}

// missing holds what is listed against the nonces of the commands that reached their Edges: each has a record, which was made before it
// was sent.
func (j *judged) missing(reached []string) {
	for _, nonce := range reached {
		if !j.nonces[nonce] {
			j.wrong = append(j.wrong, nonce+" reached its Edge, and has no record")
		}
	}
}

// notKept: the daemon is told to keep more than one life of it has commands.
func (j *judged) notKept(dropped int) {
	if dropped > 0 {
		j.wrong = append(j.wrong, fmt.Sprintf("%d records are kept no longer", dropped))
	}
}

// ran tells whether a simulated Edge has had a command. Of the others that isn't known.
func (c *chaos) ran(r *record) bool {
	for _, bed := range c.testbeds() {
		if bed.ledger.Ran(r.Parameters.Nonce) {
			return true
		}
	}
	return false
}
