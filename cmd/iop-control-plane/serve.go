package main

import (
	"context"
	"errors"
	"io"

	"iop/configs"
)

// serve runs the daemon until ctx or a signal ends it. reload reads the configuration again, on SIGHUP.
func serve(ctx context.Context, cfg *configs.ControlPlane, addressesFile string,
	reload func() (*configs.ControlPlane, error), stderr io.Writer) error {
	return errors.New("serving is not wired yet")
}
