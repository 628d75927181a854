package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/spf13/cobra"

	"iop/cmd/internal/build"
	"iop/cmd/internal/program"
	"iop/cmd/internal/terminal"
	"iop/configs"
	"iop/edge"
)

// statusReport is what a running Edge tells "iop-edge status". Both are one program, so its form is nobody else's.
type statusReport struct {
	EdgeID, Version string
	StartedAt       time.Time
	Nodes           []edge.Node
	Drained         map[string]bool
}

// openStatus listens on the status socket, when there is one.
func (a *app) openStatus(cfg *configs.Edge) error {
	if cfg.StatusSocket == "" {
		return nil
	}
	listener, err := listenUnix(cfg.StatusSocket)
	if err != nil {
		return fmt.Errorf("status_socket: %w", err)
	}
	started := time.Now()
	handler := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		report := statusReport{EdgeID: cfg.Edge.ID, Version: build.Version(), StartedAt: started, Nodes: a.site.Nodes(), Drained: map[string]bool{}}
		for _, n := range report.Nodes {
			report.Drained[n.ID] = a.site.Pool().Drained(n.ID)
		}
		_ = json.NewEncoder(w).Encode(report) // whoever hung up doesn't read it
	})
	a.servers = append(a.servers, served{&http.Server{Handler: handler, ReadHeaderTimeout: 5 * time.Second, WriteTimeout: 5 * time.Second}, listener})
	return nil
}

// listenUnix takes the place of a socket that nobody serves any more, and of nothing else.
func listenUnix(path string) (net.Listener, error) {
	listener, err := net.Listen("unix", path)
	if err != nil {
		if info, statErr := os.Lstat(path); statErr != nil || info.Mode().Type() != fs.ModeSocket {
			return nil, err
		}
		if conn, dialErr := net.Dial("unix", path); dialErr == nil {
			_ = conn.Close()
			return nil, fmt.Errorf("%s is served by another process", path)
		}
		if err := os.Remove(path); err != nil {
			return nil, err
		}
		if listener, err = net.Listen("unix", path); err != nil {
			return nil, err
		}
	}
	if err := os.Chmod(path, 0o600); err != nil {
		return nil, errors.Join(err, listener.Close())
	}
	return listener, nil
}

func statusCommand(load func() (*configs.Edge, error)) *cobra.Command {
	return &cobra.Command{
		Use:   "status",
		Short: "Print the nodes and providers of the Edge that runs with this configuration",
		Args:  program.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, err := load()
			if err != nil {
				return err
			}
			if cfg.StatusSocket == "" {
				return errors.New("the configuration has no status_socket to ask at: set it, and restart the Edge")
			}
			report, err := askStatus(cmd.Context(), cfg.StatusSocket)
			if err != nil {
				return err
			}
			return printStatus(cmd.OutOrStdout(), report, time.Now())
		},
	}
}

func askStatus(ctx context.Context, socket string) (*statusReport, error) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	transport := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", socket)
	}}
	defer transport.CloseIdleConnections()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://edge/status", nil)
	if err != nil {
		return nil, err
	}
	resp, err := transport.RoundTrip(req)
	if err != nil {
		return nil, fmt.Errorf("no Edge answers at %s: %w", socket, err)
	}
	defer resp.Body.Close()
	report := &statusReport{}
	if err := json.NewDecoder(io.LimitReader(resp.Body, 64<<20)).Decode(report); err != nil {
		return nil, fmt.Errorf("the answer of the Edge can't be read: %w", err)
	}
	return report, nil
}

// printStatus writes the report for people: one provider a line.
func printStatus(out io.Writer, r *statusReport, now time.Time) error {
	t := terminal.Table()
	t.AppendHeader(table.Row{"NODE", "STATE", "PROVIDER", "TYPE", "STATUS", "HEALTH", "RUNNING", "WAITING", "LONG RUNNING", "LONG WAITING", "MODELS"})
	for _, n := range r.Nodes {
		state := stateOf(n, r.Drained[n.ID])
		if len(n.Providers) == 0 {
			t.AppendRow(table.Row{terminal.Clean(n.ID), state, "-"})
		}
		for _, p := range n.Providers {
			row := table.Row{
				terminal.Clean(n.ID), state, terminal.Clean(p.ID), terminal.Clean(p.Type), p.Status, p.Health, used(p.General), p.General.Queued, usedLong(p.LongContext), p.LongContext.Queued,
				terminal.Clean(strings.Join(p.Models, ",")),
			}
			if p.Status == "" {
				copy(row[4:], table.Row{"unspecified", cmp.Or(p.Health, "unspecified"), "?", "?", "?", "?"})
			}
			t.AppendRow(row)
		}
	}
	_, err := fmt.Fprintf(out, "%s  version %s, up %v\n\n%s\n", terminal.Clean(r.EdgeID), terminal.Clean(r.Version), now.Sub(r.StartedAt).Round(time.Second), t.Render())
	return err
}

func stateOf(n edge.Node, drained bool) string {
	switch {
	case !n.Connected:
		return "disconnected"
	case drained:
		return "drained"
	}
	return "connected"
}

// used is how much of a capacity is in use; a capacity that isn't known is not shown as one of none.
func used(c edge.Counters) string {
	if c.Capacity == 0 {
		return fmt.Sprintf("%d/?", c.InFlight)
	}
	return fmt.Sprintf("%d/%d", c.InFlight, c.Capacity)
}

// usedLong is the same for long context, where none is none.
func usedLong(c edge.Counters) string {
	if c == (edge.Counters{}) {
		return "-"
	}
	return fmt.Sprintf("%d/%d", c.InFlight, c.Capacity)
}
