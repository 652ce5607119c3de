package tracing_test

import (
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/etui-run/etui/internal/tracing"
)

// TestCollector: a collector receives what ran, below the span that the request
// named, and outgoing requests name their span.
func TestCollector(t *testing.T) {
	type body struct {
		ResourceSpans []struct {
			Resource   json.RawMessage
			ScopeSpans []struct {
				Spans []struct {
					TraceID, SpanID, ParentSpanID, Name string
					Kind                                int
					Start                               string `json:"startTimeUnixNano"`
					Attributes, Status                  json.RawMessage
				}
			}
		}
	}
	var got body
	var headers http.Header
	collector := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		headers = r.Header
		if r.URL.Path != "/v1/traces" {
			t.Error(r.URL.Path)
		}
		raw, err := io.ReadAll(r.Body)
		if err == nil {
			err = json.Unmarshal(raw, &got)
		}
		if err != nil {
			t.Error(err)
		}
	}))
	defer collector.Close()
	env := map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": collector.URL + "/", "OTEL_EXPORTER_OTLP_HEADERS": "x-key=a%20b", "OTEL_SERVICE_NAME": "mine"}
	traces, err := tracing.New(func(name string) string { return env[name] }, "1", slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	out := http.Header{}
	req := httptest.NewRequest(http.MethodGet, "/", nil)
	req.Header.Set("Traceparent", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01")
	traces.Handler(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		ctx, end := traces.Start(r.Context(), "skill a", "etui.skill", "a", "etui.version", "")
		traces.Inject(ctx, out)
		end("timeout", false)
	})).ServeHTTP(httptest.NewRecorder(), req)
	if err := traces.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	s := got.ResourceSpans[0].ScopeSpans[0].Spans[0]
	for _, c := range []struct{ what, got, want string }{
		{"trace", s.TraceID, "0af7651916cd43dd8448eb211c80319c"},
		{"parent", s.ParentSpanID, "b7ad6b7169203331"},
		{"name", s.Name, "skill a"},
		{"attributes", string(s.Attributes), `[{"key":"etui.skill","value":{"stringValue":"a"}},{"key":"etui.outcome","value":{"stringValue":"timeout"}}]`},
		{"status", string(s.Status), `{"code":2,"message":"timeout"}`},
	} {
		if c.got != c.want {
			t.Errorf("%s %s, want %s", c.what, c.got, c.want)
		}
	}
	if len(s.Start) != 19 {
		t.Errorf("the start is %s, want nanoseconds", s.Start)
	}
	if about := string(got.ResourceSpans[0].Resource); !strings.Contains(about, "mine") {
		t.Errorf("the resource is %s", about)
	}
	if want := "00-" + s.TraceID + "-" + s.SpanID + "-01"; out.Get("Traceparent") != want {
		t.Errorf("%v, want %s", out, want)
	}
	if headers.Get("X-Key") != "a b" || headers.Get("Content-Type") != "application/json" {
		t.Error(headers)
	}
}

// TestOff: without an endpoint nothing is traced, and every method works.
func TestOff(t *testing.T) {
	traces, err := tracing.New(func(string) string { return "" }, "", nil)
	if err != nil || traces != nil {
		t.Fatal(traces, err)
	}
	_, end := traces.Start(t.Context(), "x")
	end("ok", true)
	traces.Inject(t.Context(), http.Header{})
	if err := traces.Close(t.Context()); err != nil {
		t.Error(err)
	}
	if _, err := tracing.New(func(string) string { return "localhost:4318" }, "", nil); err == nil {
		t.Error("an address without a scheme is taken")
	}
}
