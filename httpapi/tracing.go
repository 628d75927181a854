package httpapi

import (
	"context"
	"net/http"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"iop/actors"
	"iop/wire"
)

// With a Tracer each request is a span, and each ask of Edges one below it. They hold ids and no text that a caller or an
// Edge made up: not the path, no query, no header but the request's id, no peer's address.
const (
	methodKey      = "http.request.method"
	routeKey       = "http.route"
	statusKey      = "http.response.status_code"
	requestIDKey   = "iop.request_id"
	edgeIDKey      = "iop.edge_id"
	operationKey   = "iop.operation"
	operationIDKey = "iop.operation_id"
	faultKey       = "iop.fault"
)

// beginSpan goes on with the caller's trace where the request brings a traceparent, and else begins one.
func (c *call) beginSpan() {
	if c.s.opts.Tracer == nil {
		return
	}
	ctx := propagation.TraceContext{}.Extract(c.r.Context(), propagation.HeaderCarrier(c.r.Header))
	ctx, c.span = c.s.opts.Tracer.Start(ctx, c.spanName(), trace.WithSpanKind(trace.SpanKindServer),
		trace.WithAttributes(attribute.String(methodKey, knownMethod(c.r.Method)), attribute.String(requestIDKey, c.id)))
	c.r = c.r.WithContext(ctx)
}

func (c *call) endSpan() {
	if c.span == nil {
		return
	}
	c.span.SetName(c.spanName())
	c.span.SetAttributes(attribute.String(routeKey, c.routeName()), attribute.Int(statusKey, c.status))
	if wire.ValidEdgeID(c.edgeID) {
		c.span.SetAttributes(attribute.String(edgeIDKey, c.edgeID))
	}
	if c.status >= http.StatusInternalServerError && !c.deserted() {
		c.span.SetStatus(codes.Error, "")
	}
	c.span.End()
}

func (c *call) spanName() string { return knownMethod(c.r.Method) + " " + c.routeName() }

// tracedPlane makes a span of each ask of Edges. What is answered out of memory takes no time worth one.
type tracedPlane struct {
	Plane
	tracer trace.Tracer
}

func (p tracedPlane) Status(ctx context.Context, edgeID string, timeout time.Duration) actors.StatusReply {
	ctx, span := p.ask(ctx, "edge status", attribute.String(edgeIDKey, edgeID))
	defer span.End()
	reply := p.Plane.Status(ctx, edgeID, timeout)
	failed(span, reply.Fault)
	return reply
}

func (p tracedPlane) Command(ctx context.Context, ask *actors.CommandAsk) actors.CommandReply {
	ctx, span := p.ask(ctx, "edge command", attribute.String(edgeIDKey, ask.EdgeID), attribute.String(operationKey, ask.Operation))
	defer span.End()
	reply := p.Plane.Command(ctx, ask)
	if reply.Operation != nil {
		span.SetAttributes(attribute.String(operationIDKey, reply.Operation.ID))
	}
	failed(span, reply.Fault)
	return reply
}

func (p tracedPlane) Gather(ctx context.Context, match func(*actors.View) bool, maxAge, timeout time.Duration) (actors.FleetReply, *wire.Fault) {
	ctx, span := p.ask(ctx, "fleet status")
	defer span.End()
	reply, fault := p.Plane.Gather(ctx, match, maxAge, timeout)
	failed(span, fault)
	return reply, fault
}

func (p tracedPlane) ask(ctx context.Context, name string, about ...attribute.KeyValue) (context.Context, trace.Span) {
	return p.tracer.Start(ctx, name, trace.WithSpanKind(trace.SpanKindClient), trace.WithAttributes(about...))
}

func failed(span trace.Span, f *wire.Fault) {
	if f != nil {
		span.SetAttributes(attribute.String(faultKey, string(f.Code)))
		span.SetStatus(codes.Error, string(f.Code))
	}
}
