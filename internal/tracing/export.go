package tracing

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strconv"
	"sync"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	sdk "go.opentelemetry.io/otel/sdk/trace"
)

// exporter sends spans as OTLP in JSON.
type exporter struct {
	endpoint string
	headers  http.Header
	client   *http.Client
	log      *slog.Logger

	mu   sync.Mutex // guards away
	away bool       // the collector was unavailable last time
}

var _ sdk.SpanExporter = (*exporter)(nil)

// ExportSpans sends spans. It drops spans that it cannot send.
func (e *exporter) ExportSpans(ctx context.Context, spans []sdk.ReadOnlySpan) error {
	if len(spans) == 0 {
		return nil
	}
	err := e.send(ctx, spans)
	e.mu.Lock()
	defer e.mu.Unlock()
	if err != nil && !e.away {
		e.log.WarnContext(ctx, "spans are lost: the collector does not accept them", "endpoint", e.endpoint, "error",
			err)
	}
	e.away = err != nil
	return nil // logged above
}

// Shutdown implements [sdk.SpanExporter].
func (e *exporter) Shutdown(context.Context) error { return nil }

func (e *exporter) send(ctx context.Context, spans []sdk.ReadOnlySpan) error {
	body, err := json.Marshal(requestOf(spans))
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, e.endpoint, bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.Header = e.headers.Clone()
	req.Header.Set("Content-Type", "application/json")
	resp, err := e.client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if _, err := io.Copy(io.Discard, io.LimitReader(resp.Body, 1<<20)); err != nil {
		return err
	}
	if resp.StatusCode/100 != 2 {
		return fmt.Errorf("the collector answered with status %d", resp.StatusCode)
	}
	return nil
}

// These types are OTLP's JSON: IDs in hexadecimal, 64-bit numbers as strings.
type (
	request struct {
		ResourceSpans []resourceSpans `json:"resourceSpans"`
	}
	resourceSpans struct {
		Resource   attributed   `json:"resource"`
		ScopeSpans []scopeSpans `json:"scopeSpans"`
	}
	scopeSpans struct {
		Scope named  `json:"scope"`
		Spans []span `json:"spans"`
	}
	named struct {
		Name string `json:"name"`
	}
	attributed struct {
		Attributes []keyValue `json:"attributes"`
	}
	span struct {
		TraceID    string     `json:"traceId"`
		SpanID     string     `json:"spanId"`
		Parent     string     `json:"parentSpanId,omitempty"`
		Name       string     `json:"name"`
		Kind       int        `json:"kind"`
		Start      string     `json:"startTimeUnixNano"`
		End        string     `json:"endTimeUnixNano"`
		Attributes []keyValue `json:"attributes"`
		Status     status     `json:"status"`
	}
	status struct {
		Code    int    `json:"code,omitempty"`
		Message string `json:"message,omitempty"`
	}
	keyValue struct {
		Key   string   `json:"key"`
		Value anyValue `json:"value"`
	}
	// anyValue has one of them.
	anyValue struct {
		String *string     `json:"stringValue,omitempty"`
		Int    string      `json:"intValue,omitempty"`
		Array  *arrayValue `json:"arrayValue,omitempty"`
	}
	arrayValue struct {
		Values []anyValue `json:"values"`
	}
)

// failed is OTLP's status code of a failure.
const failed = 2

// requestOf converts spans to OTLP. All of them are from this program.
func requestOf(spans []sdk.ReadOnlySpan) request {
	group := resourceSpans{Resource: attributed{keyValues(spans[0].Resource().Attributes())}}
	scope := scopeSpans{Scope: named{spans[0].InstrumentationScope().Name}}
	for _, s := range spans {
		out := span{
			TraceID: s.SpanContext().TraceID().String(), SpanID: s.SpanContext().SpanID().String(), Name: s.Name(),
			Kind:  int(s.SpanKind()),
			Start: nanoseconds(s.StartTime()), End: nanoseconds(s.EndTime()), Attributes: keyValues(s.Attributes()),
		}
		if s.Parent().SpanID().IsValid() {
			out.Parent = s.Parent().SpanID().String()
		}
		if s.Status().Code == codes.Error {
			out.Status = status{failed, s.Status().Description}
		}
		scope.Spans = append(scope.Spans, out)
	}
	group.ScopeSpans = []scopeSpans{scope}
	return request{[]resourceSpans{group}}
}

func keyValues(list []attribute.KeyValue) []keyValue {
	out := make([]keyValue, len(list))
	for i, a := range list {
		out[i] = keyValue{string(a.Key), valueOf(a.Value)}
	}
	return out
}

func valueOf(v attribute.Value) anyValue {
	switch v.Type() {
	case attribute.INT64:
		return anyValue{Int: strconv.FormatInt(v.AsInt64(), 10)}
	case attribute.STRINGSLICE:
		list := &arrayValue{Values: []anyValue{}}
		for _, text := range v.AsStringSlice() {
			list.Values = append(list.Values, anyValue{String: &text})
		}
		return anyValue{Array: list}
	}
	text := v.String()
	return anyValue{String: &text}
}

func nanoseconds(t time.Time) string { return strconv.FormatInt(t.UnixNano(), 10) }
