package main

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"net/http"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	iopv1 "iop/proto/iop/v1"
)

type (
	commandBody struct {
		Operation  string         `json:"operation"`
		NodeID     string         `json:"node_id"`
		Parameters map[string]any `json:"parameters"`
	}
	// operationView is an operation that nobody keeps.
	operationView struct {
		OperationID string         `json:"operation_id"`
		EdgeID      string         `json:"edge_id"`
		Operation   string         `json:"operation"`
		NodeID      string         `json:"node_id"`
		Parameters  map[string]any `json:"parameters"`
		State       string         `json:"state"`
		CreatedAt   time.Time      `json:"created_at"`
		RespondedAt time.Time      `json:"responded_at"`
		Message     string         `json:"message"`
		Result      map[string]any `json:"result"`
	}
)

const (
	commandTimeout  = 30 * time.Second
	maxCommandBytes = 1 << 20
)

var outcomeWords = []string{"unknown", "accepted", "succeeded", "rejected", "failed", "cancelled"}

// command passes one on and answers with what the Edge said.
func (s *server) command(w http.ResponseWriter, r *http.Request) {
	var body commandBody
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxCommandBytes)).Decode(&body); err != nil {
		http.Error(w, "invalid_request", http.StatusBadRequest)
		return
	}
	parameters, err := structpb.NewStruct(body.Parameters)
	if err != nil {
		http.Error(w, "invalid_request", http.StatusBadRequest)
		return
	}
	e := s.get(r.PathValue("id"))
	if e == nil {
		http.Error(w, "edge_not_found", http.StatusNotFound)
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), commandTimeout)
	defer cancel()
	created := time.Now()
	id := rand.Text()
	m, err := e.ask(ctx, &iopv1.Envelope{Body: &iopv1.Envelope_EdgeCommandRequest{EdgeCommandRequest: &iopv1.EdgeCommandRequest{
		CommandId: id, Operation: body.Operation, NodeId: body.NodeID, Parameters: parameters,
		Timeout: durationpb.New(commandTimeout), ExpiresAt: timestamppb.New(created.Add(commandTimeout))}}})
	answer := m.GetEdgeCommandResponse()
	if err != nil || answer == nil {
		http.Error(w, "edge_timeout", http.StatusGatewayTimeout)
		return
	}
	writeJSON(w, operationView{OperationID: id, EdgeID: e.id, Operation: body.Operation, NodeID: body.NodeID, Parameters: body.Parameters,
		State: word(outcomeWords, int(answer.Outcome)), CreatedAt: created, RespondedAt: time.Now(), Message: answer.Message, Result: answer.Result.AsMap()})
}
