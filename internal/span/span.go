// Package span makes spans with OpenTelemetry's API, under the semantic conventions for
// generative AI where they have a name for what runs. Spans say what ran, for how long and
// with which outcome. They have no texts of messages, no arguments and no results.
//
// Without a tracer nothing is made, and the functions cost next to nothing.
package span

import (
	"context"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
)

// Start begins a span below the one in ctx. A nil tracer makes none.
func Start(ctx context.Context, t trace.Tracer, name string, options ...trace.SpanStartOption) (context.Context,
	trace.Span) {
	if t == nil {
		return ctx, trace.SpanFromContext(context.Background()) // one that does nothing
	}
	return t.Start(ctx, name, options...)
}

// Texts returns attributes from names and values that alternate, without empty values.
func Texts(list ...string) trace.SpanStartEventOption {
	var set []attribute.KeyValue
	for i := 0; i+1 < len(list); i += 2 {
		if list[i+1] != "" {
			set = append(set, attribute.String(list[i], list[i+1]))
		}
	}
	return trace.WithAttributes(set...)
}

// End ends a span. The word what says how it failed; empty means that it did not.
func End(s trace.Span, what string) {
	if what != "" {
		s.SetAttributes(attribute.String("error.type", what))
		s.SetStatus(codes.Error, what)
	}
	s.End()
}

const header = "traceparent"

// Parent returns the span in ctx as W3C's header traceparent names it; empty if there is none.
func Parent(ctx context.Context) string {
	carrier := propagation.MapCarrier{}
	propagation.TraceContext{}.Inject(ctx, carrier)
	return carrier[header]
}

// Below returns ctx with the span that a traceparent names in place of its own. Without one
// it is unchanged.
func Below(ctx context.Context, parent string) context.Context {
	if parent == "" {
		return ctx
	}
	return propagation.TraceContext{}.Extract(ctx, propagation.MapCarrier{header: parent})
}
