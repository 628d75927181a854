package httpapi

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"google.golang.org/protobuf/types/known/structpb"

	"iop/actors"
	"iop/wire"
)

const (
	maxNodeIDBytes = 256
	maxReasonBytes = 1024
	maxKeyBytes    = 128
	keyHeader      = "Idempotency-Key"

	defaultCommandTimeout = 30 * time.Second
	maxCommandTimeout     = 10 * time.Minute
)

// command dispatches a command to an Edge and answers with its record: at once where the caller doesn't want to wait,
// else when the Edge answered. A caller that hangs up ends the wait and nothing else.
func (s *Server) command(c *call) *problem {
	if p := c.checkMediaType(); p != nil {
		return p
	}
	body, p := c.readBody()
	if p != nil {
		return p
	}
	ask, p := s.readCommand(c, body)
	if p != nil {
		return p
	}
	_, v, p := c.edge()
	if p != nil {
		return p
	}
	if !v.Operations.Allows(ask.Operation) {
		return refuse(wire.OperationUnsupported, "the Edge lists its operations, and this is none of them")
	}
	if ask.Key, p = idempotencyKey(c.r.Header); p != nil {
		return p
	}
	ctx, cancel := c.within(ask.Timeout)
	defer cancel()
	reply := s.opts.Plane.Command(ctx, ask)
	if reply.Fault == nil {
		c.renderOperation(reply.Operation)
		return nil
	}
	p = asProblem(reply.Fault)
	p.operation, p.edgeError = reply.Operation, reply.EdgeError
	if p.Code == wire.EdgeDisconnected {
		p.edge = c.lastEnd(nil)
	}
	return p
}

// renderOperation answers 200 with a settled operation, and 202 and where to look with one that goes on.
func (c *call) renderOperation(o *actors.Operation) {
	status := http.StatusOK
	if !o.State.Terminal() {
		status = http.StatusAccepted
		c.Header().Set("Location", "/edges/"+o.EdgeID+"/operations/"+o.ID)
	}
	c.renderAs(status, jsonType, func(b []byte) []byte { return appendOperation(b, o) })
}

// readCommand makes an ask of body and query.
func (s *Server) readCommand(c *call, body []byte) (*actors.CommandAsk, *problem) {
	object, p := parseObject(body)
	if p != nil {
		return nil, p
	}
	m := members{object: object}
	ask := &actors.CommandAsk{
		EdgeID:    c.edgeID,
		RequestID: c.id,
		Operation: m.text("operation", wire.MaxOperationBytes),
		NodeID:    m.text("node_id", maxNodeIDBytes),
		Reason:    m.text("reason", maxReasonBytes),
		Timeout:   m.duration("timeout", defaultCommandTimeout, maxCommandTimeout),
	}
	parameters := m.nested("parameters")
	m.nothingElse()
	if ask.Operation == "" {
		m.refuse("operation", "it is required")
	}
	q := c.query()
	ask.Wait = q.oneOf("wait", "true", "false") != "false"
	for _, p := range []*problem{m.problem, q.problem} {
		if p != nil {
			return nil, p
		}
	}
	if len(c.r.Header[keyHeader]) > 0 { // without a key nobody compares it
		ask.Fingerprint = fingerprint(object)
	}
	if c.operator != nil {
		ask.RequestedBy = c.operator.Name
	}
	if parameters != nil {
		ask.Parameters, ask.Shown = structOf(parameters), encodeJSON(parameters)
	}
	if !s.frameFits(ask, len(body)) {
		return nil, tooLarge("the command would be too large for the wire; parameters can grow 5-fold there")
	}
	return ask, nil
}

// structOf makes what travels of what parseObject gave.
func structOf(object map[string]any) *structpb.Struct {
	fields, err := structpb.NewStruct(object)
	if err != nil {
		panic(fmt.Errorf("httpapi: what was parsed can't travel: %w", err)) // there is no such value
	}
	return fields
}

// fingerprint is of the body as parsed: the order of keys, spaces and the way a number is written make no difference.
func fingerprint(object map[string]any) [sha256.Size]byte { return sha256.Sum256(encodeJSON(object)) }

// encodeJSON writes what parseObject gave: compact, keys in order.
func encodeJSON(v map[string]any) []byte {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false) // it is shown as JSON, never inside a page
	if err := enc.Encode(v); err != nil {
		panic(fmt.Errorf("httpapi: what was parsed can't be written: %w", err)) // there is no such value
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

// idempotencyKey is 1 to 128 bytes, whatever they are: the key is compared and never shown. Empty when there is no such header.
func idempotencyKey(h http.Header) (string, *problem) {
	given := h[keyHeader]
	if len(given) == 0 {
		return "", nil
	}
	if len(given) > 1 || given[0] == "" || len(given[0]) > maxKeyBytes {
		return "", invalid(keyHeader, "it must be given once and have 1 to 128 bytes")
	}
	return given[0], nil
}
