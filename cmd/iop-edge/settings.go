package main

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"sync"

	"iop/configs"
	"iop/edge"
	"iop/edge/manage"
)

// liveSettings are those in force. A change of them lasts as long as the process; the file stays as it is.
type liveSettings struct {
	probed *edge.ProbedSite
	site   *manage.Site
	log    *slog.Logger

	mu  sync.Mutex // also makes one change come after another
	cfg *configs.Edge
}

func (s *liveSettings) operations() map[string]edge.Operation {
	return map[string]edge.Operation{"config.show": s.show, "config.apply": s.apply}
}

func (s *liveSettings) show(_ context.Context, c *edge.Command) (map[string]any, error) {
	if len(c.Parameters) > 0 {
		return nil, edge.Rejected("config.show takes no parameters.")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	shown, err := s.cfg.Show()
	if err != nil {
		return nil, err
	}
	return map[string]any{"config": shown}, nil
}

// apply puts a settings document in force, or changes nothing.
func (s *liveSettings) apply(_ context.Context, c *edge.Command) (map[string]any, error) {
	document, err := documentOf(c)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	next, err := s.cfg.ParseSettings(document)
	if problems := (configs.Problems)(nil); errors.As(err, &problems) {
		return nil, edge.Rejected("The settings are as before. " + problems.Error())
	}
	if err != nil {
		return nil, err
	}
	changes := []any{}
	for _, change := range s.cfg.Settings().ChangesTo(next) {
		changes = append(changes, change)
	}
	if len(changes) > 0 {
		if err := s.probed.Declare(probedNodes(next.Nodes), next.Probe.Interval, next.Probe.Timeout); err != nil {
			return nil, err
		}
		s.site.Declared()
		s.cfg = s.cfg.WithSettings(next)
		s.log.Info("New settings are in force.", "command_id", c.ID, "requested_by", c.RequestedBy, "changes", changes)
	}
	return map[string]any{"changes": changes, "nodes": len(next.Nodes)}, nil
}

// documentOf takes text, YAML or JSON, or the object itself.
func documentOf(c *edge.Command) (string, error) {
	given, ok := c.Parameters["settings"]
	if !ok || len(c.Parameters) != 1 {
		return "", edge.Rejected("config.apply takes one parameter, settings.")
	}
	if text, isText := given.(string); isText {
		return text, nil
	}
	text, err := json.Marshal(given)
	return string(text), err
}
