package edge

import (
	"context"
	"maps"
	"slices"
	"time"
)

// ping answers at once with the Edge's time and how long it has run.
func (e *Edge) ping(_ context.Context, c *Command) (map[string]any, error) {
	if len(c.Parameters) > 0 {
		return nil, Rejected("edge.ping takes no parameters.")
	}
	now := time.Now()
	return map[string]any{
		"time":           now.UTC().Format(time.RFC3339Nano),
		"uptime_seconds": now.Sub(e.startedAt).Seconds(),
	}, nil
}

// builtinOperations is how many operations every Edge has.
const builtinOperations = 1

// allOperations are the built-in one and those given, which may replace it.
func (e *Edge) allOperations(given map[string]Operation) map[string]Operation {
	all := map[string]Operation{"edge.ping": e.ping}
	maps.Copy(all, given)
	return all
}

func operationNames(operations map[string]Operation) []string {
	return slices.Sorted(maps.Keys(operations))
}
