// Package client speaks with a Control Plane: over HTTP, which is what operators and programs use, and over the Client wire.
//
//	repo, err := client.New("http://127.0.0.1:18080", client.Options{Token: token})
//	...
//	for edge, err := range repo.AllEdges(ctx, client.EdgeQuery{State: client.Disconnected}) {
//		...
//	}
//
// # What it promises
//
// Nothing waits for ever: each call ends with its context, or when the time is up that [Options] and the call itself give it.
// Answers are read up to a bound. Redirects aren't followed, so that a token goes nowhere else.
//
// What a Control Plane doesn't know is nil, never zero: a [Edge.ClockSkewMS] of nil was never measured.
//
// [Repository.Follow] never skips events silently: it comes back by itself, goes on behind the last event that it gave, and
// where events are missing it says so with a [Gap].
//
// [Repository.Command] sends a command under an idempotency key, its own if it is given none, and tries again under the same
// key when the network fails, unless the Control Plane has been started anew since and can't know the key.
//
// # Errors
//
//   - [*Problem]: the Control Plane said no. errors.Is(err, client.EdgeNotFound) asks for a code.
//   - [*Unreachable]: no whole answer came: no connection, a lost one, or no more time.
//   - [*Unexpected]: an answer that no Control Plane gives: something else listens there, or is in between.
//   - [*Uncertain]: of a command alone: whether it was sent isn't known.
//   - the context's own error, when that ended the call.
package client
