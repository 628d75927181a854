package edge

import (
	"context"
	"maps"
	"slices"
	"time"
)

// builtin are the operations of every Edge.
var builtin = map[string]func(*Edge) Operation{
	"edge.ping": (*Edge).pingOperation,
}

// pingOperation answers at once with the Edge's time and how long it has run.
func (e *Edge) pingOperation() Operation {
	return func(context.Context, *Command) (map[string]any, error) {
		now := time.Now()
		return map[string]any{
			"time":           now.UTC().Format(time.RFC3339Nano),
			"uptime_seconds": now.Sub(e.startedAt).Seconds(),
		}, nil
	}
}

// allOperations are the built-in ones and those given; a given one may replace a built-in one.
func (e *Edge) allOperations(given map[string]Operation) map[string]Operation {
	all := make(map[string]Operation, len(builtin)+len(given))
	for name, make := range builtin {
		all[name] = make(e)
	}
	maps.Copy(all, given)
	return all
}

func operationNames(operations map[string]Operation) []string {
	return slices.Sorted(maps.Keys(operations))
}
