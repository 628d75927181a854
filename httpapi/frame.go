package httpapi

import (
	"math"
	"strings"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"iop/actors"
	iopv1 "iop/proto/iop/v1"
	"iop/wire"
)

const (
	// smallBody is a body of which no more need be known: JSON grows less than wireGrowth-fold as a Struct ("0," is two bytes and
	// becomes eleven), and what that makes is far from all limits of a receiver.
	smallBody  = 4 << 10
	wireGrowth = 8
	// envelopeBytes is over everything that a command's frame holds besides what its body says.
	envelopeBytes = 1024
	// longestCommandID is over what an id takes that the command will be given.
	longestCommandID = 64
)

// frameFits tells whether a command will go through the wire: within max_frame_bytes, and not unfolding to more
// than a receiver takes, for that would end the Edge's connection.
func (s *Server) frameFits(ask *actors.CommandAsk, bodyBytes int) bool {
	if bodyBytes <= smallBody && wireGrowth*bodyBytes+envelopeBytes <= s.opts.MaxFrameBytes {
		return true
	}
	return wire.Fits(commandEnvelope(ask), s.opts.MaxFrameBytes)
}

// commandEnvelope is a command as it would be sent, with the longest of what is not known yet.
func commandEnvelope(ask *actors.CommandAsk) *iopv1.Envelope {
	return &iopv1.Envelope{Id: math.MaxUint64, Body: &iopv1.Envelope_EdgeCommandRequest{EdgeCommandRequest: &iopv1.EdgeCommandRequest{
		CommandId:   strings.Repeat("x", longestCommandID),
		Operation:   ask.Operation,
		NodeId:      ask.NodeID,
		Parameters:  ask.Parameters,
		Timeout:     durationpb.New(ask.Timeout),
		RequestedBy: ask.RequestedBy,
		RequestId:   ask.RequestID,
		ExpiresAt:   timestamppb.New(time.Now()),
	}}}
}
