package main

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"time"

	"github.com/rs/zerolog"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"iop/cmd/internal/build"
	"iop/cmd/internal/program"
)

// otlpEndpoint turns tracing on. This and the rest of OpenTelemetry's variables (OTEL_EXPORTER_OTLP_HEADERS,
// OTEL_TRACES_SAMPLER, …) are read by its own code.
const otlpEndpoint = "OTEL_EXPORTER_OTLP_ENDPOINT"

// flushTime is how long a stop waits for a collector, which may be gone.
const flushTime = 2 * time.Second

// tracing exports spans over OTLP/HTTP. What the collector doesn't take waits in the SDK's queue of 2048 spans, beyond which
// they are dropped. Nil traces nothing.
type tracing struct{ provider *sdktrace.TracerProvider }

// newTracing gives nil where the environment doesn't ask for tracing: then nothing of it is made.
func newTracing(serverID string, log zerolog.Logger) (*tracing, error) {
	endpoint := os.Getenv(otlpEndpoint)
	if endpoint == "" {
		return nil, nil
	}
	u, err := url.Parse(endpoint)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return nil, program.Usage(fmt.Errorf("%s: it must be the URL of a collector for OTLP over HTTP, such as http://127.0.0.1:4318", otlpEndpoint))
	}
	ctx := context.Background()
	exporter, err := otlptracehttp.New(ctx)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", otlpEndpoint, err)
	}
	about, err := resource.New(ctx, resource.WithTelemetrySDK(), resource.WithAttributes(
		attribute.String("service.name", "iop-control-plane"), attribute.String("service.version", build.Version()),
		attribute.String("service.instance.id", serverID)), resource.WithFromEnv())
	if err != nil {
		return nil, program.Usage(fmt.Errorf("OTEL_RESOURCE_ATTRIBUTES: %w", err))
	}
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) {
		log.Warn().Str("error", err.Error()).Msg("traces were not exported")
	}))
	return &tracing{sdktrace.NewTracerProvider(sdktrace.WithBatcher(exporter), sdktrace.WithResource(about))}, nil
}

// tracer is nil where nothing is traced.
func (t *tracing) tracer() trace.Tracer {
	if t == nil {
		return nil
	}
	return t.provider.Tracer("iop")
}

// stop exports what waits, for at most flushTime.
func (t *tracing) stop(ctx context.Context) {
	if t == nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, flushTime)
	defer cancel()
	if err := t.provider.Shutdown(ctx); err != nil {
		otel.Handle(err)
	}
}
