//go:build !unix

package fleet

// FileLimit: there is no such limit here.
func FileLimit() (limit uint64, err error) { return 0, nil }
