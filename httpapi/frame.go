package httpapi

import (
	"math"
	"strings"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"iop/actors"
	iopv1 "iop/proto/iop/v1"
	"iop/wire"
)

const (
	// wireGrowth is over what JSON can grow as a Struct ("0," is two bytes and becomes eleven), so that a body that is small
	// enough need not be tried.
	wireGrowth = 8
	// envelopeBytes is over everything that a command's frame holds besides what its body says.
	envelopeBytes = 1024
	// longestCommandID is over what an id takes that the command will be given.
	longestCommandID = 64
	// alwaysDecoded is the largest frame that a receiver decodes without a look at what it would unfold to.
	alwaysDecoded = 128 << 10
)

// frameFits tells whether a command will go through the wire: within max_frame_bytes, and not unfolding to more
// than a receiver of this protocol takes, for that would end the Edge's connection.
func (s *Server) frameFits(ask *actors.CommandAsk, parameters map[string]any, bodyBytes int) bool {
	most := wireGrowth*bodyBytes + envelopeBytes
	if most <= s.opts.MaxFrameBytes && most <= alwaysDecoded {
		return true
	}
	e := commandEnvelope(ask, parameters)
	size := wire.Size(e)
	if size > s.opts.MaxFrameBytes {
		return false
	}
	if size <= alwaysDecoded {
		return true
	}
	frame, err := wire.AppendFrame(make([]byte, 0, wire.HeaderBytes+size), e)
	if err != nil {
		return false
	}
	_, err = wire.Decode(frame[wire.HeaderBytes:])
	return err == nil
}

// commandEnvelope is a command as it would be sent, with the longest of what is not known yet.
func commandEnvelope(ask *actors.CommandAsk, parameters map[string]any) *iopv1.Envelope {
	fields, err := structpb.NewStruct(parameters)
	if err != nil {
		panic("httpapi: a body was parsed into what a Struct can't hold: " + err.Error())
	}
	return &iopv1.Envelope{Id: math.MaxUint64, Body: &iopv1.Envelope_EdgeCommandRequest{EdgeCommandRequest: &iopv1.EdgeCommandRequest{
		CommandId:   strings.Repeat("x", longestCommandID),
		Operation:   ask.Operation,
		NodeId:      ask.NodeID,
		Parameters:  fields,
		Timeout:     durationpb.New(ask.Timeout),
		RequestedBy: ask.RequestedBy,
		ExpiresAt:   timestamppb.New(time.Now()),
	}}}
}
