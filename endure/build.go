//go:build linux

package main

import (
	"context"
	"fmt"
	"io"
	"os/exec"
)

// build makes the binaries of this tree.
func build(ctx context.Context, dir string, race bool, stderr io.Writer) error {
	args := []string{"build", "-o", dir}
	if race {
		args = append(args, "-race")
	}
	cmd := exec.CommandContext(ctx, "go", append(args, "iop/cmd/iop-control-plane", "iop/cmd/iop-edge")...)
	cmd.Stderr = stderr
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("building the daemon: %w", err)
	}
	return nil
}
