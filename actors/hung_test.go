package actors

import (
	"context"
	"testing"
	"time"

	"iop/wire"
)

// TestFleetOfAHungRegistry: the daemon's watchdog asks for the fleet to see whether the registry lives, so the asker must hear
// within its own time that it doesn't, and again that it does.
func TestFleetOfAHungRegistry(t *testing.T) {
	bubble(t, testOptions(), func(t *testing.T, s *System) {
		nobodyReads := make(chan *Fleet)
		s.root().Send(s.registry, &fleetAsk{to: nobodyReads})
		began := time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		defer cancel()
		_, fault := s.Fleet(ctx)
		wantFault(t, fault, wire.Internal)
		wantEqual(t, "waited", time.Since(began), 2*time.Second)
		<-nobodyReads
		if _, fault := s.Fleet(t.Context()); fault != nil {
			t.Errorf("the registry goes on, and Fleet says %v", fault)
		}
	})
}
