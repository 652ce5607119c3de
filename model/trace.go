package model

import (
	"context"
	"errors"
	"iter"
	"strings"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"github.com/etui-run/etui/internal/span"
)

// Trace returns a model that behaves like m and makes a span of each request, under
// OpenTelemetry's conventions for generative AI, without messages and answers. Provider is
// what these call the provider, as "openai". A nil tracer returns m.
func Trace(m Model, provider string, t trace.Tracer) Model {
	if t == nil {
		return m
	}
	return &tracedModel{m, provider, t}
}

type tracedModel struct {
	Model
	provider string
	tracer   trace.Tracer
}

// finished is what the conventions call the reasons of an end.
var finished = map[Stop]string{Done: "stop", ToolCalls: "tool_calls", Length: "length", Refused: "content_filter"}

// Stream implements [Model].
func (m *tracedModel) Stream(ctx context.Context, req Request) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		name := strings.TrimPrefix(m.Info().Name, m.provider+"/")
		ctx, s := span.Start(ctx, m.tracer, "chat "+name, trace.WithSpanKind(trace.SpanKindClient),
			span.Texts("gen_ai.operation.name", "chat", "gen_ai.provider.name", m.provider, "gen_ai.request.model",
				name))
		failed := "cancelled" // unless the answer ends
		defer func() { span.End(s, failed) }()
		for e, err := range m.Model.Stream(ctx, req) {
			switch {
			case err != nil && ctx.Err() == nil:
				failed = kindOf(err)
			case e.Stop != "":
				failed = ""
				s.SetAttributes(attribute.StringSlice("gen_ai.response.finish_reasons", []string{finished[e.Stop]}))
			}
			if u := e.Usage; u != nil {
				s.SetAttributes(attribute.Int("gen_ai.usage.input_tokens", u.Input),
					attribute.Int("gen_ai.usage.output_tokens", u.Output),
					attribute.Int("gen_ai.usage.cache_read.input_tokens", u.CacheRead),
					attribute.Int("gen_ai.usage.cache_creation.input_tokens", u.CacheWrite))
			}
			if !yield(e, err) {
				return
			}
		}
	}
}

// kindOf returns a word for a failure.
func kindOf(err error) string {
	for _, k := range []struct {
		kind error
		name string
	}{
		{ErrAuth, "auth"}, {ErrBilling, "billing"}, {ErrNoModel, "no_model"}, {ErrRateLimited, "rate_limited"},
		{ErrTooLong, "too_long"}, {ErrRequest, "request"},
		{ErrUnsupported, "unsupported"}, {ErrUnavailable, "unavailable"},
	} {
		if errors.Is(err, k.kind) {
			return k.name
		}
	}
	return "_OTHER"
}
