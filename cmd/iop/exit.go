package main

import "github.com/spf13/cobra"

// Exit codes. exitCodesTopic and docs/cli.md tell them to people.
const (
	exitOK       = 0
	exitFailed   = 1
	exitUsage    = 2
	exitDegraded = 3
	exitNotFound = 4
	exitDenied   = 5
	exitNotNow   = 6
	exitSignal   = 128 // plus the signal's number
)

func exitCodesTopic() *cobra.Command {
	return &cobra.Command{
		Use:   "exit-codes",
		Short: "What the exit codes mean",
		Long: `Exit codes:

  0    done; for run --wait and ops get --wait: the operation succeeded
  1    it failed: the Edge answered a question with an error, the operation failed, was rejected or cancelled, or something
       else went wrong
  2    a mistake in the command line, the configuration or the request; no Edge was asked for anything
  3    there is an answer, and it is bad: --check found trouble or no Edge at all, or less is free than --min-free
       (in fleet models, also if no Edge serves a model)
  4    no such Edge, operation or model; no such context to use or remove (an unknown --context is 2)
  5    no token, a wrong one, or one whose role is too low
  6    no answer: the Control Plane or the Edge can't be reached, is busy, is stopping, or did not answer in time. A
       command may have been sent all the same: the message tells
       operations: expired (never ran); unknown, also where the Edge answered with an error, or lost in a restart of the
       Control Plane (may have run)
       fleet models MODEL: no Edge that answered serves it, but some connected ones gave no answer, or none is connected
  130  ended by Ctrl-C (143: by SIGTERM)`,
	}
}
