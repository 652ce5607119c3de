// Package metrics counts what an engine does, and writes it for Prometheus.
package metrics

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/health"
	"github.com/etui-run/etui/model"
	"github.com/etui-run/etui/store"
	"github.com/etui-run/etui/turn"
)

// Meter counts what an engine does, since it was made. Labels are names of configured
// agents and words of this file, so there are only so many; no user, session or tool
// becomes one. It is safe for concurrent use.
type Meter struct {
	mu       sync.Mutex
	turns    map[string]uint64 // by labels
	calls    map[string]uint64
	failures map[string]uint64
	tokens   map[string]uint64
	retries  map[string]uint64
	turnTook histogram
	callTook histogram
}

// bounds are the upper ends of a histogram's classes, in seconds.
var bounds = [...]float64{0.005, 0.025, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300}

// histogram counts durations by class. The last class has no upper end.
type histogram struct {
	classes [len(bounds) + 1]uint64
	sum     float64
}

func (h *histogram) add(took time.Duration) {
	seconds := max(took.Seconds(), 0)
	i, _ := slices.BinarySearch(bounds[:], seconds)
	h.classes[i]++
	h.sum += seconds
}

// Turn is one turn that a meter follows.
type Turn struct {
	meter   *Meter
	agent   string
	now     func() time.Time
	began   time.Time
	running map[string]time.Time // calls, by their ids
}

// Begin follows a turn of an agent.
func (m *Meter) Begin(agent string, now func() time.Time) *Turn {
	return &Turn{meter: m, agent: agent, now: now, began: now(), running: map[string]time.Time{}}
}

// See counts what an event says.
func (t *Turn) See(e turn.Event) {
	t.meter.mu.Lock()
	defer t.meter.mu.Unlock()
	switch {
	case e.Selection != nil:
		tokens := e.Selection.Tokens()
		add(&t.meter.tokens, `kind="tools_sent"`, tokens.Sent)
		add(&t.meter.tokens, `kind="tools_saved"`, tokens.Saved)
	case e.Call != nil:
		t.running[e.Call.ID] = t.now()
	case e.Result != nil:
		add(&t.meter.calls, fmt.Sprintf("outcome=%q", outcome(e.Result)), 1)
		if began, ok := t.running[e.Result.CallID]; ok {
			t.meter.callTook.add(t.now().Sub(began))
		}
	case e.Done != nil:
		add(&t.meter.retries, `cause="empty"`, e.Done.Empty)
		add(&t.meter.tokens, `kind="input"`, e.Done.Usage.Input)
		add(&t.meter.tokens, `kind="cache_read"`, e.Done.Usage.CacheRead)
		add(&t.meter.tokens, `kind="output"`, e.Done.Usage.Output)
	}
}

// Retry counts that something is tried again, for a cause that the help of etui_retries_total names.
func (m *Meter) Retry(cause string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	add(&m.retries, fmt.Sprintf("cause=%q", cause), 1)
}

// End counts the turn.
func (t *Turn) End(err error) {
	t.meter.mu.Lock()
	defer t.meter.mu.Unlock()
	result := "ok"
	if err != nil {
		result = "failed"
		for _, k := range failureKinds {
			if errors.Is(err, k.err) {
				add(&t.meter.failures, fmt.Sprintf("kind=%q", k.name), 1)
				break
			}
		}
	}
	add(&t.meter.turns, fmt.Sprintf("agent=%q,outcome=%q", t.agent, result), 1)
	t.meter.turnTook.add(t.now().Sub(t.began))
}

// failureKinds are the errors of models.
var failureKinds = []struct {
	name string
	err  error
}{
	{"auth", model.ErrAuth}, {"rate_limited", model.ErrRateLimited}, {"too_long", model.ErrTooLong},
	{"request", model.ErrRequest}, {"unavailable", model.ErrUnavailable}, {"billing", model.ErrBilling},
	{"no_model", model.ErrNoModel},
}

// outcome is what became of a call.
func outcome(r *chat.Result) string {
	switch {
	case r.Pending:
		return "pending"
	case r.Failed:
		return "failed"
	}
	return "ok"
}

func add(to *map[string]uint64, labels string, n int) {
	if *to == nil {
		*to = map[string]uint64{}
	}
	(*to)[labels] += uint64(max(n, 0))
}

// State is what an engine does now.
type State struct {
	Running, Waiting, Tools int
	// Panics is how many were caught.
	Panics uint64
	// Depth is how many messages of the inbox there are, and Age how many seconds the oldest of
	// them is old, by state.
	Depth, Age map[store.State]uint64
	// Refused are the causes for which messages are refused.
	Refused []health.Cause
}

// Write writes what was counted, and what the engine does now, in the text format of Prometheus. It
// fails when w does.
func (m *Meter) Write(w io.Writer, now State) error {
	var b strings.Builder
	m.mu.Lock()
	counter(&b, "etui_turns_total", "Turns that ended.", m.turns)
	counter(&b, "etui_tokens_total",
		"Tokens: of tools, sent and saved (estimated), and those that providers counted.", m.tokens)
	counter(&b, "etui_tool_calls_total", "Calls of tools that were answered.", m.calls)
	counter(&b, "etui_model_errors_total", "Turns that failed because the model did.", m.failures)
	counter(&b, "etui_retries_total", "What was tried again: store, a message whose step could not be stored; "+
		"left, one that a process left that ended; panic; delivery, of a reply; empty, an answer of a model that said nothing.", m.retries)
	m.turnTook.write(&b, "etui_turn_seconds", "How long turns took.")
	m.callTook.write(&b, "etui_tool_call_seconds", "How long calls of tools took.")
	m.mu.Unlock()
	counter(&b, "etui_panics_total",
		"Panics that were caught: each is a mistake in etui or in a program's own tool, and is logged.",
		map[string]uint64{"": now.Panics})
	gauge(&b, "etui_turns_running", "Turns that run.", now.Running)
	gauge(&b, "etui_messages_waiting", "Messages that wait for their turn.", now.Waiting)
	gauge(&b, "etui_tools", "Tools in the catalog.", now.Tools)
	gauges(&b, "etui_inbox_messages", "Messages of the inbox: waiting, also while their turn runs; "+
		"answered, until the reply is delivered; parked.", byState(now.Depth))
	gauges(&b, "etui_inbox_oldest_seconds", "Age of the oldest of them.", byState(now.Age))
	refused := map[string]uint64{}
	for _, name := range health.Names() {
		refused[fmt.Sprintf("cause=%q", name)] = 0
	}
	for _, c := range now.Refused {
		refused[fmt.Sprintf("cause=%q", c.Name)] = 1
	}
	gauges(&b, "etui_refusing", "Whether messages are refused, by cause: busy, all places are taken; stopping; "+
		"store, the database takes nothing.", refused)
	_, err := io.WriteString(w, b.String())
	return err
}

func byState(values map[store.State]uint64) map[string]uint64 {
	labelled := map[string]uint64{}
	for state, n := range values {
		labelled[fmt.Sprintf("state=%q", state)] = n
	}
	return labelled
}

func gauges(b *strings.Builder, name, help string, values map[string]uint64) {
	fmt.Fprintf(b, "# HELP %s %s\n# TYPE %[1]s gauge\n", name, help)
	for _, labels := range slices.Sorted(maps.Keys(values)) {
		fmt.Fprintf(b, "%s{%s} %d\n", name, labels, values[labels])
	}
}

func counter(b *strings.Builder, name, help string, values map[string]uint64) {
	fmt.Fprintf(b, "# HELP %s %s\n# TYPE %[1]s counter\n", name, help)
	for _, labels := range slices.Sorted(maps.Keys(values)) {
		fmt.Fprintf(b, "%s{%s} %d\n", name, labels, values[labels])
	}
}

func gauge(b *strings.Builder, name, help string, value int) {
	fmt.Fprintf(b, "# HELP %s %s\n# TYPE %[1]s gauge\n%[1]s %[3]d\n", name, help, value)
}

func (h *histogram) write(b *strings.Builder, name, help string) {
	fmt.Fprintf(b, "# HELP %s %s\n# TYPE %[1]s histogram\n", name, help)
	var total uint64
	for i, bound := range bounds {
		total += h.classes[i]
		fmt.Fprintf(b, "%s_bucket{le=\"%g\"} %d\n", name, bound, total)
	}
	total += h.classes[len(bounds)]
	fmt.Fprintf(b, "%s_bucket{le=\"+Inf\"} %d\n%[1]s_sum %[3]g\n%[1]s_count %[2]d\n", name, total, h.sum)
}
