package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"iop/load/daemon"
)

// errNotHeld is told by what was printed and written.
var errNotHeld = errors.New("not all targets are held")

// run measures, prints, and writes the page where there is one. Only then it says whether the targets are held.
func run(ctx context.Context, out io.Writer, set *settings, figures []figure, page string) error {
	began := time.Now()
	kinds, remove, err := build(ctx)
	if err != nil {
		return err
	}
	defer remove()
	fmt.Fprint(out, benchHead())
	r := newResults(out)
	if err := r.measure(ctx, set, figures, kinds); err != nil {
		return err
	}
	v := judge(r, set.targets, figures)
	fmt.Fprintf(out, "\n%s\n%s\nTargets:\n%s", machine(time.Since(began)), r.table(figures), v.text())
	if outlook := r.outlook(); outlook != "" {
		fmt.Fprint(out, "\n"+outlook)
	}
	if page != "" {
		if err := r.write(page, r.page(set, figures, v, machine(time.Since(began)))); err != nil {
			return err
		}
	}
	if !v.held() {
		return errNotHeld
	}
	return nil
}

// build makes both servers, in the module's root or below, the Control Plane first.
func build(ctx context.Context) (kinds []kind, remove func(), err error) {
	dir, err := os.MkdirTemp("", "iop-bench")
	if err != nil {
		return nil, nil, err
	}
	remove = func() { _ = os.RemoveAll(dir) }
	build := exec.CommandContext(ctx, "go", "build", "-o", dir, "iop/cmd/iop-control-plane", "iop/bench/baseline")
	build.Stderr = os.Stderr
	if err := build.Run(); err != nil {
		remove()
		return nil, nil, fmt.Errorf("building the servers: %w", err)
	}
	return []kind{
		controlPlane(filepath.Join(dir, "iop-control-plane")),
		{baseline, daemon.Options{Bin: filepath.Join(dir, "baseline")}},
	}, remove, nil
}
