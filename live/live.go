// Package live keeps what the turns of this process are doing, for people who look at them while they run. It
// holds no text of a message, an answer or a call.
package live

import (
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/etui-run/etui/internal/printable"
	"github.com/etui-run/etui/selection"
	"github.com/etui-run/etui/selection/meta"
	"github.com/etui-run/etui/session"
	"github.com/etui-run/etui/turn"
)

const (
	maxTools = 32 // of a turn; the earliest are forgotten first
	maxName  = 128
	maxPast  = 4096 // calls that have ended; the earliest are forgotten first
)

// Call is a call of a tool that has ended. Took includes the decision whether it may run.
type Call struct {
	Tool   string    `json:"tool"`
	Time   time.Time `json:"time"`
	Took   float64   `json:"took_ms"`
	Failed bool      `json:"failed,omitempty"`
}

// running is a call that has not ended.
type running struct {
	tool  string
	began time.Time
}

// Turn is a turn that runs.
type Turn struct {
	// Item is its message in the inbox; 0 for a conversation that its client keeps.
	Item    int64       `json:"item,omitempty"`
	Session session.Key `json:"session"`
	Agent   string      `json:"agent"`
	User    string      `json:"user,omitempty"`
	Channel string      `json:"channel,omitempty"`
	Began   time.Time   `json:"began"`
	// Tools are the latest that the model called, and Calls how many calls there were.
	Tools []string `json:"tools,omitempty"`
	Calls int      `json:"calls"`
	// Running is the tool whose call runs; empty while the model is asked.
	Running string `json:"running,omitempty"`
	// Input and Output are the tokens of the answers that the model has given.
	Input  int `json:"input"`
	Output int `json:"output"`
}

// Table has the turns that run. Its zero value has none. It is safe for concurrent use, and as long as the
// engine's turns, whose number is bounded.
type Table struct {
	mu   sync.Mutex
	last int64
	runs map[int64]*Turn
	past []Call // a ring once it is full, whose earliest is at next
	next int
}

// Run is a turn in the table until End.
type Run struct {
	table *Table
	id    int64
	turn  *Turn
	calls map[string]running // by the ID of the call
}

// Begin adds a turn.
func (t *Table) Begin(turn Turn) *Run {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.runs == nil {
		t.runs = map[int64]*Turn{}
	}
	t.last++
	t.runs[t.last] = &turn
	return &Run{t, t.last, &turn, map[string]running{}}
}

// See takes up what an event says. Most events, such as a piece of text, cost nothing.
func (r *Run) See(e turn.Event) {
	if e.Call == nil && e.Result == nil && e.Step == nil {
		return
	}
	r.table.mu.Lock()
	defer r.table.mu.Unlock()
	switch {
	case e.Call != nil:
		name := e.Call.Name
		if name == selection.CallTool {
			if target, _, err := meta.Target(e.Call.Arguments); err == nil {
				name = target
			}
		}
		name = printable.Line(name, maxName)
		r.calls[e.Call.ID], r.turn.Running = running{name, time.Now()}, name
		r.turn.Calls++
		r.turn.Tools = append(r.turn.Tools, name)
		if more := len(r.turn.Tools) - maxTools; more > 0 {
			r.turn.Tools = slices.Delete(r.turn.Tools, 0, more)
		}
	case e.Result != nil:
		if c, ok := r.calls[e.Result.CallID]; ok {
			took := float64(time.Since(c.began).Microseconds()) / 1000
			r.table.keep(Call{Tool: c.tool, Time: c.began, Took: took, Failed: e.Result.Failed})
		}
		delete(r.calls, e.Result.CallID)
		r.turn.Running = ""
		for _, c := range r.calls {
			r.turn.Running = c.tool
		}
	case e.Step != nil:
		for _, m := range e.Step.Messages {
			if m.Spent != nil {
				r.turn.Input += m.Spent.Input
				r.turn.Output += m.Spent.Output
			}
		}
	}
}

// keep keeps a call that has ended. The caller holds mu.
func (t *Table) keep(c Call) {
	if len(t.past) < maxPast {
		t.past = append(t.past, c)
		return
	}
	t.past[t.next] = c
	t.next = (t.next + 1) % maxPast
}

// Calls returns the latest calls of a tool that have ended, the oldest first.
func (t *Table) Calls(tool string) (list []Call) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, part := range [][]Call{t.past[t.next:], t.past[:t.next]} {
		for _, c := range part {
			if c.Tool == tool {
				list = append(list, c)
			}
		}
	}
	return list
}

// End takes the turn out of the table.
func (r *Run) End() {
	r.table.mu.Lock()
	defer r.table.mu.Unlock()
	delete(r.table.runs, r.id)
}

// Turns returns those that run, the oldest first.
func (t *Table) Turns() []Turn {
	t.mu.Lock()
	defer t.mu.Unlock()
	list := []Turn{}
	for _, id := range slices.Sorted(maps.Keys(t.runs)) {
		turn := *t.runs[id]
		turn.Tools = slices.Clone(turn.Tools)
		list = append(list, turn)
	}
	return list
}
