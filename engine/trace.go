package engine

import (
	"context"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"github.com/etui-run/etui/internal/span"
	"github.com/etui-run/etui/message"
	"github.com/etui-run/etui/session"
)

// A message's spans belong to one trace, whatever ends processes in between: the message in
// the inbox, the open turn and the letter name the span in which the message was received.

// received begins the span in which a message is accepted. Its end says with which error it
// was not.
func (s *sender) received(ctx context.Context, m *message.Mail) (end func(error)) {
	if s.engine.config.Tracer == nil {
		return func(error) {}
	}
	if m.Trace != "" {
		ctx = span.Below(ctx, m.Trace)
	}
	ctx, made := span.Start(
		ctx, s.engine.config.Tracer, "receive message", trace.WithSpanKind(trace.SpanKindConsumer),
		about(s.job.agent.Name, s.job.key), span.Texts("etui.channel", m.Channel),
	)
	m.Trace = span.Parent(ctx)
	return func(err error) { span.End(made, message.FailureOf(err)) }
}

// traced begins the span of a turn, after one of the time that its message waited.
func (r *turnRun) traced(ctx context.Context, m *message.Mail) (_ context.Context, end func(error)) {
	j := r.job
	if j.engine.config.Tracer == nil {
		return ctx, func(error) {}
	}
	ctx = span.Below(ctx, m.Trace)
	if !j.item.Accepted.IsZero() {
		_, waited := span.Start(
			ctx, j.engine.config.Tracer, "wait in inbox", trace.WithTimestamp(j.item.Accepted),
			about(j.agent.Name, j.key),
			trace.WithAttributes(attribute.Int("etui.tries", j.item.Tries)),
		)
		waited.End()
	}
	ctx, s := span.Start(
		ctx, j.engine.config.Tracer, "invoke_agent "+j.agent.Name, about(j.agent.Name, j.key),
		span.Texts("gen_ai.operation.name", "invoke_agent", "etui.channel", m.Channel),
	)
	return ctx, func(err error) { span.End(s, message.FailureOf(err)) }
}

func about(agent string, key session.Key) trace.SpanStartEventOption {
	return span.Texts("gen_ai.agent.name", agent, "gen_ai.conversation.id", key.Hash())
}
