package agent

import (
	"maps"
	"slices"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"

	"iop/edge"
	iopv1 "iop/proto/iop/v1"
)

// statement is how the providers are at one moment. A load that is as before but newer makes it another one: that it is seen
// at a heartbeat, and not before, is how its age comes to the Edge.
type statement struct {
	providers []*iopv1.EdgeProviderSnapshot
	loadAt    map[string]time.Time // of the providers whose load is told
}

// look is how the providers are now.
func (a *Agent) look() *statement {
	s := &statement{loadAt: map[string]time.Time{}}
	for _, n := range a.opts.Site.Nodes() {
		s.providers = append(s.providers, edge.ProvidersOnWire(n.Providers)...)
		for _, p := range n.Providers {
			if !p.LoadAt.IsZero() {
				s.loadAt[p.ID] = p.LoadAt
			}
		}
	}
	return s
}

func (s *statement) equal(other *statement) bool {
	return maps.EqualFunc(s.loadAt, other.loadAt, time.Time.Equal) &&
		slices.EqualFunc(s.providers, other.providers, func(a, b *iopv1.EdgeProviderSnapshot) bool { return proto.Equal(a, b) })
}

// loads are the ages of the loads when they are sent now.
func (s *statement) loads(now time.Time) (loads []*iopv1.NodeLoad) {
	for _, p := range s.providers {
		if at, told := s.loadAt[p.ProviderId]; told {
			loads = append(loads, &iopv1.NodeLoad{ProviderId: p.ProviderId, Age: durationpb.New(now.Sub(at))})
		}
	}
	return loads
}
