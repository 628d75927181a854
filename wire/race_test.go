//go:build race

package wire

// raceEnabled: the race detector makes sync.Pool forget at random, so that allocations can't be counted there.
const raceEnabled = true
