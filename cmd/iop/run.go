package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"iop/client"
)

func (a *app) runCommand() *cobra.Command {
	var command client.Command
	var parameters paramFlag
	var wait bool
	c := &cobra.Command{
		Use:   "run EDGE OPERATION",
		Short: "Have an Edge run a command",
		Long: `Has an Edge run a command, and shows its record: done, or accepted and still running. With --wait it shows the steps and waits
for the end; Ctrl-C then stops the waiting, not the command.

When the network fails, the command is sent again under its idempotency key, so that it doesn't run twice.`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 3 {
				return usage(cmd, "there is %q after the operation; a node is given as --node %[1]s", args[2])
			}
			return cobra.ExactArgs(2)(cmd, args)
		},
		ValidArgsFunction: a.completeRun,
		Example: `  iop run seoul-1 edge.ping
  iop run seoul-1 node.drain --node gpu-1 --param deadline_seconds:=60 --reason "new driver" --wait
  iop run seoul-1 node.resume --node gpu-1`,
		RunE: func(cmd *cobra.Command, args []string) error {
			command.EdgeID, command.Operation, command.Parameters = args[0], args[1], parameters
			repo, err := a.repository()
			if err != nil {
				return err
			}
			return a.dispatch(cmd.Context(), repo, command, wait)
		},
	}
	f := c.Flags()
	f.StringVar(&command.NodeID, "node", "", "the `node` that the command is for")
	_ = c.RegisterFlagCompletionFunc("node", a.completeNode)
	f.VarP(&parameters, "param", "p", "a parameter: k=v is a text, k:=v is JSON; may be repeated")
	f.StringVar(&command.Reason, "reason", "", "`why`, for the record")
	f.DurationVar(&command.Timeout, "timeout", 0, "how long the Edge has for its first answer, at most 10m (default 30s)")
	f.StringVar(&command.Key, "key", "", "idempotency `key`: the same command with the same key never runs twice, until the Control Plane is restarted (default: a new one)")
	f.BoolVar(&wait, "wait", false, "wait until it is done; the exit code is its outcome's")
	return c
}

// paramFlag collects --param. Texts and JSON are told apart by how they are written: what looks like a number may be a version.
type paramFlag map[string]any

func (p *paramFlag) String() string { return "" }
func (p *paramFlag) Type() string   { return "k=v" }
func (p *paramFlag) Set(s string) error {
	key, text, ok := strings.Cut(s, "=")
	var value any = text
	if name, isJSON := strings.CutSuffix(key, ":"); ok && isJSON {
		key = name
		if err := json.Unmarshal([]byte(text), &value); err != nil {
			return fmt.Errorf("the text after := is not valid JSON: %w", err)
		}
	}
	if !ok || key == "" {
		return errors.New("it is neither key=text nor key:=JSON")
	}
	if _, had := (*p)[key]; had {
		return fmt.Errorf("%q is given twice", key)
	}
	if *p == nil {
		*p = paramFlag{}
	}
	(*p)[key] = value
	return nil
}

func (a *app) dispatch(ctx context.Context, repo *client.Repository, c client.Command, wait bool) error {
	if wait {
		c.NoWait = true // the first answer is waited for below, where its steps are shown
	}
	silence := outage{app: a}
	c.Changed = func(err error, _ time.Duration) { silence.after(err, "trying again") }
	o, err := repo.Command(ctx, c)
	if errors.Is(err, client.OperationUnsupported) {
		return a.unsupported(ctx, repo, c.EdgeID, err)
	}
	if err != nil {
		return err
	}
	if wait {
		return a.waitFor(ctx, repo, o)
	}
	if err := a.showOperation(o); err != nil {
		return err
	}
	if !o.State.Terminal() && o.State != client.Unknown {
		a.say("It is still running. To wait for it: iop ops get %s %s --wait", o.EdgeID, o.OperationID)
		return nil
	}
	return judge(o)
}

// unsupported names the operations that the Edge does have.
func (a *app) unsupported(ctx context.Context, repo *client.Repository, edgeID string, err error) error {
	f := a.explain(err)
	if e, err := repo.Edge(ctx, edgeID); err == nil && len(e.Operations) > 0 {
		f.next = "one of " + clean(strings.Join(e.Operations, ", "))
	}
	return f
}

// waitFor shows an operation's steps on stderr until it is over, and then the record. o is the record as it is known.
func (a *app) waitFor(ctx context.Context, repo *client.Repository, o *client.Operation) error {
	steps := stepTalk{say: a.say}
	steps.tell(o)
	silence := outage{app: a}
	q := client.WatchQuery{EdgeID: o.EdgeID, OperationID: o.OperationID,
		Changed: func(err error, _ time.Duration) { silence.after(err, "looking again until it answers") }}
	for next, err := range repo.Watch(ctx, q) {
		switch {
		case errors.Is(err, client.OperationNotFound), errors.Is(err, client.EdgeNotFound):
			return failure{what: "the Control Plane, perhaps restarted, no longer knows the command: it may have run", next: "iop status " + o.EdgeID, exit: exitNotNow}
		case err != nil:
			a.say("It was %s when last seen. To wait for it: iop ops get %s %s --wait", o.State, o.EdgeID, o.OperationID)
			return err
		}
		o = next
		steps.tell(o)
		if o.State == client.Unknown {
			break // it may stay so for hours
		}
	}
	if err := a.showOperation(o); err != nil {
		return err
	}
	return judge(o)
}

// stepTalk says what is new about an operation.
type stepTalk struct {
	say   func(format string, args ...any)
	state client.OperationState
	told  uint64 // steps
}

func (s *stepTalk) tell(o *client.Operation) {
	for i, e := range o.Events {
		if n := o.EventsDropped + uint64(i); n < s.told {
			continue
		}
		line := clean(e.Phase)
		if e.ProgressPercent != nil {
			line += " " + percent(e.ProgressPercent)
		}
		if e.Message != nil {
			line += ": " + clean(*e.Message)
		}
		s.say("%s", line)
	}
	if s.told == 0 && len(o.Events) == 0 && o.State != s.state {
		s.say("%s", o.State)
	}
	s.told, s.state = o.EventsDropped+uint64(len(o.Events)), o.State
}

// judge is an error where an operation didn't end well, or may not have.
func judge(o *client.Operation) error {
	if o.State == client.Succeeded {
		return nil
	}
	what := fmt.Sprintf("%s on %s: %s", clean(o.Operation), clean(o.EdgeID), o.State)
	if o.Message != nil {
		what += ": " + clean(*o.Message)
	}
	note, next := sequel(o)
	return failure{what: what + note, next: next, exit: badEnd(o.State)}
}

// badEnd is the exit code of an operation that hasn't succeeded.
func badEnd(s client.OperationState) int {
	switch s {
	case client.Failed, client.Rejected, client.Cancelled:
		return exitFailed
	}
	return exitNotNow
}

// sequel is what to try after a command; note says in brackets whether it ran, where its state alone doesn't tell.
func sequel(o *client.Operation) (note, next string) {
	get := fmt.Sprintf("iop ops get %s %s", o.EdgeID, o.OperationID)
	const settles = " --wait, once the Edge is back: it settles if the Edge knows of it. Find out what it did before you send it again"
	switch {
	case o.State == client.Expired:
		return " (it never ran)", "the same command again, without --key or with another one"
	case o.State == client.Rejected && o.Message != nil && strings.Contains(*o.Message, "node_id"):
		return "", fmt.Sprintf("the same command with --node; iop status %s lists the nodes", o.EdgeID)
	case o.State == client.Rejected:
		return "", fmt.Sprintf("fix what the message names; iop status %s", o.EdgeID)
	case o.State == client.Unknown:
		return " (it may have run)", get + settles
	case o.State.Terminal():
		return "", get + "; iop status " + o.EdgeID
	}
	return "", get + settles
}
