package main

import (
	"encoding/binary"
	"fmt"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	iopv1 "iop/proto/iop/v1"
	"iop/wire"
)

// shape is how large a snapshot is.
type shape struct{ Nodes, Providers int }

func (s shape) snapshot(edgeID string) *iopv1.EdgeStatusResponse {
	m := &iopv1.EdgeStatusResponse{EdgeId: edgeID, ObservedAt: timestamppb.Now()}
	for i := range s.Nodes {
		n := &iopv1.EdgeNodeSnapshot{NodeId: fmt.Sprintf("gpu-%d", i), Name: fmt.Sprintf("GPU host %d", i), Connected: true,
			Labels: map[string]string{"rack": fmt.Sprintf("r%d", i), "gpu": "h100"}}
		for j := range s.Providers {
			n.Providers = append(n.Providers, &iopv1.EdgeProviderSnapshot{
				ProviderId: fmt.Sprintf("vllm-%d", j), Type: "vllm", Models: []string{"qwen3-32b", "llama-3.3-70b-instruct"},
				Status: iopv1.ProviderStatus_PROVIDER_STATUS_AVAILABLE, Health: iopv1.ProviderHealth_PROVIDER_HEALTH_ONLINE,
				General:     &iopv1.ProviderCounters{Capacity: 32, InFlight: 7, Queued: 2},
				LongContext: &iopv1.ProviderCounters{Capacity: 4, InFlight: 1},
			})
		}
		m.Nodes = append(m.Nodes, n)
	}
	return m
}

// encoded is an envelope with that snapshot and without numbers.
func (s shape) encoded(edgeID string) ([]byte, error) {
	return proto.Marshal(&iopv1.Envelope{Body: &iopv1.Envelope_EdgeStatusResponse{EdgeStatusResponse: s.snapshot(edgeID)}})
}

const replyToField = 2 // of an envelope

// appendAnswer puts the number of the request that an encoded envelope answers into its frame; 0 for a push. The Edges are on the
// server's machine: what they don't encode anew takes no CPU from it.
func appendAnswer(b, envelope []byte, replyTo uint64) []byte {
	start := len(b)
	b = append(b, make([]byte, wire.HeaderBytes)...)
	if replyTo != 0 {
		b = protowire.AppendTag(b, replyToField, protowire.VarintType)
		b = protowire.AppendVarint(b, replyTo)
	}
	b = append(b, envelope...)
	binary.BigEndian.PutUint32(b[start:], uint32(len(b)-start-wire.HeaderBytes))
	return b
}
