package main

import (
	"errors"
	"runtime"

	"github.com/spf13/cobra"

	"iop/client"
	"iop/cmd/internal/build"
)

// versions are this program's and, where it was asked, the Control Plane's.
type versions struct {
	Version   string          `json:"version"`
	Commit    *string         `json:"commit"`
	GoVersion string          `json:"go_version"`
	Server    *client.Version `json:"server,omitempty"`
}

func (a *app) versionCommand() *cobra.Command {
	var server bool
	c := &cobra.Command{
		Use:     "version",
		Short:   "Show the version of iop, and with --server the Control Plane's",
		Args:    cobra.NoArgs,
		Example: "  iop version\n  iop version --server",
		RunE: func(cmd *cobra.Command, _ []string) error {
			v := versions{Version: build.Version(), GoVersion: runtime.Version()}
			if from := build.Commit(); from != build.Unknown {
				v.Commit = &from
			}
			if server {
				repo, err := a.repository()
				if err != nil {
					return err
				}
				if v.Server, err = repo.Version(cmd.Context()); err != nil { // its own is known all the same
					return errors.Join(a.show(view{doc: v, table: func(p *page) { v.page(p) }}), err)
				}
			}
			return a.show(view{doc: v, table: func(p *page) { v.page(p) }})
		},
	}
	c.Flags().BoolVar(&server, "server", false, "ask the Control Plane, too")
	return c
}

func (v *versions) page(p *page) {
	pairs := [][2]string{{"version", v.Version}, {"commit", textOr(v.Commit)}, {"go", v.GoVersion}}
	if s := v.Server; s != nil {
		pairs = append(pairs, [2]string{"server version", clean(s.Version)}, [2]string{"server commit", textOr(s.Commit)}, [2]string{"server go", clean(s.GoVersion)})
	}
	p.details(pairs)
}
