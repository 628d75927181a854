package program

import (
	"errors"
	"fmt"
	"net"
	"syscall"
)

// Listen opens a TCP listener at the address that a key of the configuration has.
func Listen(key, address string) (net.Listener, error) {
	listener, err := net.Listen("tcp", address)
	if errors.Is(err, syscall.EADDRINUSE) {
		return nil, fmt.Errorf("%s: the address %s is taken; stop what listens there, or choose another", key, address)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: can't listen on %s: %w", key, address, err)
	}
	return listener, nil
}
