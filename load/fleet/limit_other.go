//go:build !unix

package fleet

// RaiseFileLimit: there is no such limit here.
func RaiseFileLimit() (limit uint64, err error) { return 0, nil }
