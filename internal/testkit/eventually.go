// Package testkit is what tests of several packages need. It imports nothing of this module, so that all of them may.
package testkit

import (
	"testing"
	"time"
)

// Patience is how long a machine that is busy with other tests may take for what takes milliseconds.
const Patience = time.Minute

// Eventually waits until something holds that is so before long, and ends the test where it isn't.
func Eventually(t testing.TB, what string, holds func() bool) {
	t.Helper()
	for by := time.Now().Add(Patience); !holds(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(by) {
			t.Fatalf("not within %v: %s", Patience, what)
		}
	}
}
