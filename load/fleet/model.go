package fleet

import (
	"strconv"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	iopv1 "iop/proto/iop/v1"
)

// model is the small life of an Edge's nodes and providers: numbers that follow from the Edge's, and from the step that
// its life is at, so that ten thousand of them need no memory.
type model struct{ nodes, providers int }

const capacity = 16

// A node is away one step in this many.
const nodeAway = 40

// up tells whether a node is connected at a step.
func (m model) up(edge, node int, step uint64) bool { return mix(edge, node, 0, step)%nodeAway != 0 }

// snapshot is what the Edge says of itself. The stamp, if there is one, goes into the first node's labels.
func (m model) snapshot(id string, edge int, step uint64, now time.Time, stamp string) *iopv1.EdgeStatusResponse {
	s := &iopv1.EdgeStatusResponse{EdgeId: id, ObservedAt: timestamppb.New(now), Nodes: make([]*iopv1.EdgeNodeSnapshot, m.nodes)}
	for i := range s.Nodes {
		n := &iopv1.EdgeNodeSnapshot{NodeId: "gpu-" + strconv.Itoa(i), Connected: m.up(edge, i, step)}
		n.Providers = make([]*iopv1.EdgeProviderSnapshot, m.providers)
		for j := range n.Providers {
			n.Providers[j] = m.provider(edge, i, j, step, n.Connected)
		}
		s.Nodes[i] = n
	}
	if stamp != "" && m.nodes > 0 {
		s.Nodes[0].Labels = map[string]string{StampLabel: stamp}
	}
	return s
}

func (m model) provider(edge, node, provider int, step uint64, up bool) *iopv1.EdgeProviderSnapshot {
	p := &iopv1.EdgeProviderSnapshot{ProviderId: "vllm-" + strconv.Itoa(provider), Type: "vllm", Models: models[(edge+provider)%len(models)]}
	if !up {
		p.Status, p.Health = iopv1.ProviderStatus_PROVIDER_STATUS_UNAVAILABLE, iopv1.ProviderHealth_PROVIDER_HEALTH_OFFLINE
		return p
	}
	r := mix(edge, node, provider+1, step)
	p.Status, p.Health = iopv1.ProviderStatus_PROVIDER_STATUS_AVAILABLE, iopv1.ProviderHealth_PROVIDER_HEALTH_ONLINE
	p.General = &iopv1.ProviderCounters{Capacity: capacity, InFlight: uint32(r % (capacity + 1))}
	p.LongContext = &iopv1.ProviderCounters{Capacity: capacity / 8, InFlight: uint32(r >> 8 % (capacity/8 + 1))}
	if p.General.InFlight == capacity {
		p.Status = iopv1.ProviderStatus_PROVIDER_STATUS_BUSY
		p.General.Queued = uint32(r >> 16 % 8)
	}
	return p
}

var models = [][]string{{"qwen3-32b"}, {"llama-3.3-70b-instruct"}, {"qwen3-32b", "bge-m3"}, {"gpt-oss-120b"}}

// mix makes a number that looks random from four (splitmix64's finish).
func mix(a, b, c int, d uint64) uint64 {
	x := uint64(a)*0x9e3779b97f4a7c15 ^ uint64(b)*0xbf58476d1ce4e5b9 ^ uint64(c)*0x94d049bb133111eb ^ d*0xd6e8feb86659fd93
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}
