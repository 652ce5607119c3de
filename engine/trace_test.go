package engine_test

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/engine"
	"github.com/etui-run/etui/internal/span"
	"github.com/etui-run/etui/internal/tracing"
	"github.com/etui-run/etui/model"
	"github.com/etui-run/etui/model/fake"
	"github.com/etui-run/etui/store"
)

// collector receives spans as OTLP.
type collector struct {
	mu    sync.Mutex
	spans []spanSent
	raw   strings.Builder
}

type spanSent struct {
	TraceID, SpanID, ParentSpanID, Name string
	Attributes                          []struct {
		Key   string
		Value json.RawMessage
	}
}

func (s spanSent) attribute(name string) string {
	for _, a := range s.Attributes {
		if a.Key == name {
			return string(a.Value)
		}
	}
	return ""
}

func (c *collector) ServeHTTP(_ http.ResponseWriter, r *http.Request) {
	var body struct {
		ResourceSpans []struct{ ScopeSpans []struct{ Spans []spanSent } }
	}
	raw := json.NewDecoder(r.Body)
	var text json.RawMessage
	if raw.Decode(&text) != nil || json.Unmarshal(text, &body) != nil {
		return // the test finds nothing then
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.raw.Write(text)
	c.spans = append(c.spans, body.ResourceSpans[0].ScopeSpans[0].Spans...)
}

// A message is one trace from where it was received to its reply, also if another process
// finishes it, and has no text of the conversation in it.
func TestTrace(t *testing.T) {
	t.Parallel()
	c := &collector{}
	web := httptest.NewServer(c)
	t.Cleanup(web.Close)
	traces, err := tracing.New(func(name string) string {
		return map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": web.URL}[name]
	}, "1", slog.New(slog.DiscardHandler))
	must(t, err)
	kept := &store.Memory{}
	process := func(steps ...fake.Step) *engine.Engine {
		g, _ := newEngine(t, func(c *engine.Config) {
			c.Store, c.Tracer = kept, traces.Tracer()
			for i := range c.Agents {
				c.Agents[i].Model = model.Trace(fake.New(steps...), "openai", traces.Tracer())
			}
		})
		return g
	}
	call := chat.Call{ID: "call_1", Name: "echo", Arguments: json.RawMessage(`{"word": "secret-word"}`)}
	asked := make(chan struct{})
	first := process(fake.Step{Text: "secret-thought", Calls: []chat.Call{call}}, fake.Step{Check: func(model.Request) error { close(asked); return nil }, Wait: make(chan struct{})})
	ctx, stop := context.WithCancel(t.Context())
	const parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	var talking sync.WaitGroup
	talking.Go(func() {
		_, _ = send(first, span.Below(ctx, parent), engine.Message{Text: "secret-question", Channel: "web", User: "zoe-q", IdempotencyKey: "k", Reply: json.RawMessage(`{"to": "zoe-q"}`)})
	})
	<-asked
	gone, end := context.WithCancel(t.Context())
	end()
	first.Stop(gone) // at once: the turn stays open, as after a crash
	stop()
	talking.Wait()
	second := process(fake.Step{Text: "secret-reply"})
	must(t, second.Resume(t.Context()))
	idle(t, second)
	letters, err := second.Outbox().Letters(t.Context(), 0, 10)
	must(t, err)
	if len(letters) != 1 || letters[0].Text != "secret-reply" {
		t.Fatalf("the letters are %+v", letters)
	}
	_, delivered := second.Outbox().Delivery(t.Context(), letters[0], "web")
	delivered(nil)
	must(t, traces.Close(t.Context()))

	var names []string
	for _, s := range c.spans {
		names = append(names, s.Name)
	}
	slices.Sort(names)
	if got, want := strings.Join(names, ", "), "chat fake, chat fake, chat fake, deliver reply, execute_tool echo, invoke_agent main, invoke_agent main, receive message, wait in inbox"; got != want {
		t.Errorf("the spans are %s, want %s", got, want)
	}
	c.check(t, "0af7651916cd43dd8448eb211c80319c")
	if text := c.raw.String(); strings.Contains(text, "secret") || strings.Contains(text, "zoe-q") {
		t.Errorf("the spans have texts: %s", text)
	}
}

// check checks that the spans are of one trace, which one is below which, and what they say.
func (c *collector) check(t *testing.T, trace string) {
	t.Helper()
	byID := map[string]spanSent{}
	for _, s := range c.spans {
		byID[s.SpanID] = s
		if s.TraceID != trace {
			t.Errorf("%s belongs to the trace %s", s.Name, s.TraceID)
		}
	}
	for _, s := range c.spans {
		above := byID[s.ParentSpanID].Name
		want := map[string]string{"receive message": "", "wait in inbox": "receive message", "invoke_agent main": "receive message", "deliver reply": "receive message"}[s.Name]
		if strings.HasPrefix(s.Name, "chat") || strings.HasPrefix(s.Name, "execute") {
			want = "invoke_agent main"
		}
		if above != want {
			t.Errorf("%s is below %q, want %q", s.Name, above, want)
		}
		switch s.Name {
		case "execute_tool echo":
			if got := s.attribute("gen_ai.tool.call.id"); got != `{"stringValue":"call_1"}` {
				t.Errorf("the call is %s", got)
			}
		case "chat fake":
			if got := s.attribute("gen_ai.request.model"); got != `{"stringValue":"fake"}` {
				t.Errorf("the model is %s", got)
			}
		}
	}
}
