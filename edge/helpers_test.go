package edge

import (
	"context"
	"slices"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func nothing(context.Context, *Command) (map[string]any, error) { return nil, nil }

func equalStrings(got []string, want ...string) bool { return slices.Equal(got, want) }

func node(id string, connected bool, providers ...Provider) Node {
	return Node{ID: id, Connected: connected, Providers: providers}
}

func provider(id string, h Health, inFlight uint32) Provider {
	return Provider{ID: id, Type: "vllm", Status: Available, Health: h, General: Counters{Capacity: 8, InFlight: inFlight}}
}
