// Package tracing reports to an OpenTelemetry collector what ran, for how long and
// with which outcome: names and outcomes, never arguments or results.
//
// It speaks OTLP over HTTP in JSON, which every collector accepts at port 4318. The
// usual exporter would add 11 MB to the program, since it brings gRPC.
package tracing

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/resource"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

// Tracing makes spans and sends them. A nil one does nothing. It is safe for
// concurrent use.
type Tracing struct {
	provider *sdk.TracerProvider
	tracer   trace.Tracer
	carrier  propagation.TraceContext
}

// New returns tracing as the environment configures it: to
// OTEL_EXPORTER_OTLP_TRACES_ENDPOINT, or to /v1/traces below
// OTEL_EXPORTER_OTLP_ENDPOINT, with OTEL_EXPORTER_OTLP_HEADERS, as
// OTEL_SERVICE_NAME and under OTEL_TRACES_SAMPLER. It is nil when neither endpoint
// is set. At most 2,048 spans wait to be sent; more are dropped. When the collector
// is unavailable, log says so once, and nothing else happens.
func New(getenv func(string) string, version string, log *slog.Logger) (*Tracing, error) {
	endpoint, err := endpointOf(getenv)
	if err != nil || endpoint == "" {
		return nil, err
	}
	out := &exporter{endpoint: endpoint, headers: http.Header{}, log: log, client: &http.Client{
		Timeout: 10 * time.Second,
		// The headers may contain a key, which is for this server only.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
	for pair := range strings.SplitSeq(getenv("OTEL_EXPORTER_OTLP_HEADERS"), ",") {
		name, value, ok := strings.Cut(pair, "=")
		value, err := url.PathUnescape(strings.TrimSpace(value))
		if ok && err == nil {
			out.headers.Set(strings.TrimSpace(name), value)
		}
	}
	about := resource.NewSchemaless(attribute.String("service.name", cmp.Or(getenv("OTEL_SERVICE_NAME"), "etui")),
		attribute.String("service.version", version))
	provider := sdk.NewTracerProvider(sdk.WithBatcher(out, sdk.WithBatchTimeout(2*time.Second)),
		sdk.WithResource(about))
	return &Tracing{provider: provider, tracer: provider.Tracer("github.com/etui-run/etui")}, nil
}

func endpointOf(getenv func(string) string) (string, error) {
	if getenv("OTEL_SDK_DISABLED") == "true" {
		return "", nil
	}
	name, path := "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", ""
	if getenv(name) == "" {
		name, path = "OTEL_EXPORTER_OTLP_ENDPOINT", "/v1/traces"
	}
	raw := getenv(name)
	if raw == "" {
		return "", nil
	}
	u, err := url.Parse(raw)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return "", fmt.Errorf("%s is not an address such as http://127.0.0.1:4318", name)
	}
	return strings.TrimSuffix(raw, "/") + path, nil
}

// Close sends the spans that are waiting.
func (t *Tracing) Close(ctx context.Context) error {
	if t == nil {
		return nil
	}
	return t.provider.Shutdown(ctx)
}

// Tracer returns what makes the spans of a turn; nil when nothing is traced.
func (t *Tracing) Tracer() trace.Tracer {
	if t == nil {
		return nil
	}
	return t.tracer
}

// Start begins a span. The attributes alternate between names and values; empty
// values are left out. end ends the span with an outcome, a failure unless ok.
func (t *Tracing) Start(ctx context.Context, name string, attributes ...string) (_ context.Context,
	end func(outcome string, ok bool)) {
	if t == nil {
		return ctx, func(string, bool) {}
	}
	var list []attribute.KeyValue
	for i := 0; i+1 < len(attributes); i += 2 {
		if attributes[i+1] != "" {
			list = append(list, attribute.String(attributes[i], attributes[i+1]))
		}
	}
	ctx, span := t.tracer.Start(ctx, name, trace.WithAttributes(list...))
	return ctx, func(outcome string, ok bool) {
		span.SetAttributes(attribute.String("etui.outcome", outcome))
		if !ok {
			span.SetStatus(codes.Error, outcome)
		}
		span.End()
	}
}

// Inject adds the current span to the headers of a request.
func (t *Tracing) Inject(ctx context.Context, h http.Header) {
	if t != nil {
		t.carrier.Inject(ctx, propagation.HeaderCarrier(h))
	}
}

// Handler makes the span that a request names the parent of those begun for it.
func (t *Tracing) Handler(next http.Handler) http.Handler {
	if t == nil {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		next.ServeHTTP(w, r.WithContext(t.carrier.Extract(r.Context(), propagation.HeaderCarrier(r.Header))))
	})
}
