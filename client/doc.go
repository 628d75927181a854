// Package client talks to a Control Plane: over HTTP, which operators and programs use, and over the Client wire.
//
//	repo, err := client.New("http://127.0.0.1:18080", client.Options{Token: token})
//	...
//	for edge, err := range repo.AllEdges(ctx, client.EdgeQuery{State: client.Disconnected}) {
//		...
//	}
//
// # What it promises
//
// Nothing waits for ever: each call ends with its context, or after the time limits of [Options] and of the call itself.
// Answers are read up to a bound. Redirects aren't followed, so that a token goes nowhere else.
//
// What a Control Plane doesn't know is nil, never zero: an [Edge.ClockSkewMS] of nil was never measured.
//
// [Repository.Follow] never skips events silently: it reconnects by itself, continues after the last event that it returned, and
// reports missing events with a [Gap]. [Repository.Watch] goes on when the Control Plane answers again.
//
// [Repository.Command] sends a command under an idempotency key, a new one if it is given none, and tries again under the same
// key when the network fails, unless the Control Plane has been restarted since and can't know the key. [Command.Changed] hears of an
// outage while it lasts.
//
// # Errors
//
//   - [*Problem]: the Control Plane refused. errors.Is(err, client.EdgeNotFound) tests for a code.
//   - [*Unreachable]: no complete answer came: no connection, a lost one, or the time was up.
//   - [*Unexpected]: an answer that no Control Plane gives: something else listens there, or is in between. With [Unexpected.Gateway]
//     it is a proxy that gets no answer from the Control Plane.
//   - [*TooLarge]: an answer over the bound. Lists are asked for in smaller pages before it comes to that.
//   - [*Uncertain]: only for commands: it isn't known whether the command was sent.
//   - the context's own error, when that ended the call.
package client
