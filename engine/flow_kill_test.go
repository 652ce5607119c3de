package engine_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/etui-run/etui/catalog"
	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/engine"
	"github.com/etui-run/etui/message"
	"github.com/etui-run/etui/model/script"
	"github.com/etui-run/etui/session"
	"github.com/etui-run/etui/store"
	"github.com/etui-run/etui/store/sqlite"
	"github.com/etui-run/etui/tool"
	"github.com/etui-run/etui/turn"
	"github.com/etui-run/etui/workflow"
)

// worked is what the tools of a run have done.
type worked interface {
	add(name string) error
	all() []string
}

// deadFlow makes an engine with the workflow of work and a scripted model.
func deadFlow(t *testing.T, s store.Store, w worked) *engine.Engine {
	t.Helper()
	act := func(name string, risk tool.Risk, result func() string) tool.Tool {
		return tool.Func(tool.Definition{Name: name, Description: "Do " + name, Risk: risk}, func(context.Context, struct{}) (chat.Result, error) {
			if err := w.add(name); err != nil {
				return chat.Result{}, err
			}
			return tool.Text(result()), nil
		})
	}
	r := catalog.NewRegistry(nil)
	must(t, r.Register(
		act("look", tool.Read, func() string { return "a crack" }), act("mend", tool.Write, func() string { return "mended" }),
		act("check", tool.Read, func() string { return fmt.Sprintf(`{"ok": %v}`, countOf(w.all(), "mend") > 1) }),
		act("burn", tool.Destructive, func() string { return "burnt" }),
	))
	_, err := r.SetSkills(toolsets()...)
	must(t, err)
	set, err := workflow.Compile(work())
	must(t, err)
	flows := &workflow.Table{}
	flows.Store(set)
	call := func(name, args string) script.Answer {
		return script.Answer{Calls: []script.Call{{Name: name, Arguments: json.RawMessage(args)}}}
	}
	m := script.New(script.Script{Answers: []script.Answer{
		call("look", "{}"), call("finish_phase", `{"summary":"a crack"}`), call("mend", "{}"), call("check", "{}"), call("mend", "{}"), call("check", "{}"), {Text: "Mended."},
	}})
	e, err := engine.New(engine.Config{Registry: r, Agents: []engine.Agent{{Name: "main", Model: m}}, Workflows: flows, Store: s})
	must(t, err)
	return e
}

func countOf(list []string, name string) int {
	return len(slices.DeleteFunc(slices.Clone(list), func(s string) bool { return s != name }))
}

var errKilled = errors.New("the process is dead")

// dyingFlow is a store of a process that dies at a write: before it, or after it. Nothing that
// comes later reaches the store.
type dyingFlow struct {
	store.Store
	mu         sync.Mutex
	at, passed int
}

func (d *dyingFlow) write(f func() error) error {
	d.mu.Lock()
	d.passed++
	before := d.at > 0 && d.passed >= d.at
	d.passed++
	after := d.at > 0 && d.passed >= d.at
	d.mu.Unlock()
	if before {
		return errKilled
	}
	if err := f(); err != nil || !after {
		return err
	}
	return errKilled
}

func (d *dyingFlow) dead() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.passed >= d.at
}

func (d *dyingFlow) Append(ctx context.Context, key session.Key, state session.State, messages ...chat.Message) error {
	return d.write(func() error { return d.Store.Append(ctx, key, state, messages...) })
}

func (d *dyingFlow) Accept(ctx context.Context, i store.Item) (out store.Item, fresh bool, err error) {
	err = d.write(func() error {
		out, fresh, err = d.Store.Accept(ctx, i)
		return err
	})
	return out, fresh, err
}

func (d *dyingFlow) Finish(ctx context.Context, e store.End) error {
	return d.write(func() error { return d.Store.Finish(ctx, e) })
}

// done is worked in memory.
type done struct {
	mu   sync.Mutex
	list []string
}

func (d *done) add(name string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.list = append(d.list, name)
	return nil
}

func (d *done) all() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.list)
}

// TestFlowDiesAnywhere lets the process die before and after every write of a run, and
// another one take it up: the run ends, in the same phases, and nothing runs twice.
func TestFlowDiesAnywhere(t *testing.T) {
	t.Parallel()
	died := map[string]int{} // by the phase in which it died
	for at := 1; ; at++ {
		kept, w := &store.Memory{}, &done{}
		d := &dyingFlow{Store: kept, at: at}
		first := deadFlow(t, d, w)
		ctx, cancel := context.WithCancel(t.Context())
		for _, err := range first.Send(ctx, engine.Message{Workflow: "work", Text: "the bridge", Session: "s", IdempotencyKey: "k"}) {
			if err != nil {
				break
			}
		}
		cancel()
		first.Stop(ctx) // what it still tries does not reach the store
		if !d.dead() {
			break
		}
		died[phaseOf(t, kept)]++
		must(t, deadFlow(t, kept, w).Resume(t.Context()))
		checkFlow(t, fmt.Sprint("at ", at), kept, w)
	}
	for _, phase := range []string{"look", "mend", "report"} {
		if died[phase] == 0 {
			t.Errorf("no process died in the phase %s: %v", phase, died)
		}
	}
}

func phaseOf(t *testing.T, s store.Store) string {
	t.Helper()
	for _, key := range keysOf(t, s) {
		if one, err := s.Load(t.Context(), key, 0); err == nil && one.Flow != nil {
			return one.Flow.Phase
		}
	}
	return ""
}

// checkFlow checks that the run has ended well, if it began.
func checkFlow(t *testing.T, at string, s store.Store, w worked) {
	t.Helper()
	keys := keysOf(t, s)
	if len(keys) == 0 {
		if all := w.all(); len(all) > 0 {
			t.Errorf("%s: %v was done for a message that was not accepted", at, all)
		}
		return
	}
	one, err := s.Load(t.Context(), keys[0], 0)
	must(t, err)
	if f := one.Flow; turn.PhaseOf(one) != turn.Finished || f == nil || f.Outcome != workflow.Done || f.Phase != "report" || f.Visits["mend"] != 1 || f.Visits["look"] != 1 {
		t.Errorf("%s: %+v, turn %s", at, f, turn.PhaseOf(one))
	}
	if n := countOf(w.all(), "mend"); n > 2 {
		t.Errorf("%s: mend ran %d times for two calls", at, n)
	}
	answered := map[string]int{}
	for _, m := range one.Messages {
		if m.Result != nil {
			answered[m.Result.CallID]++
		}
	}
	for id, n := range answered {
		if n != 1 {
			t.Errorf("%s: the call %s has %d results", at, id, n)
		}
	}
}

// inFile is worked in a file.
type inFile struct {
	dir  string
	kill string // the call at which the process is killed, as in mend1
}

func (f inFile) all() []string {
	raw, _ := os.ReadFile(filepath.Join(f.dir, "worked")) // it may not exist yet
	return strings.Fields(string(raw))
}

func (f inFile) add(name string) error {
	before := f.all()
	raw := strings.Join(append(before, name), "\n")
	if err := os.WriteFile(filepath.Join(f.dir, "worked"), []byte(raw), 0o600); err != nil {
		return err
	}
	if f.kill == name+strconv.Itoa(countOf(before, name)) {
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		select {}
	}
	return nil
}

// TestFlowKilled kills a real process in each phase with tools, and another one takes the
// run up.
func TestFlowKilled(t *testing.T) {
	t.Parallel()
	for _, kill := range []string{"look0", "mend0", "check1"} {
		t.Run(kill, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			cmd := exec.CommandContext(t.Context(), program(), "-test.run=^TestFlowChild$")
			cmd.Env = append(os.Environ(), "ETUI_TEST_FLOW="+dir, "ETUI_TEST_FLOW_KILL="+kill)
			if out, err := cmd.CombinedOutput(); err == nil || cmd.ProcessState.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
				t.Fatalf("the process was not killed: %v\n%s", err, out)
			}
			s, err := sqlite.Open(t.Context(), filepath.Join(dir, "etui.db"))
			must(t, err)
			defer s.Close()
			w := inFile{dir: dir}
			// Its sender follows what is left of the run.
			var phases []string
			for e, err := range deadFlow(t, s, w).Send(t.Context(), engine.Message{Text: message.Run, Session: "s"}) {
				must(t, err)
				if e.Phase != nil {
					phases = append(phases, e.Phase.Name)
				}
			}
			if len(phases) == 0 || phases[len(phases)-1] != "report" {
				t.Errorf("the sender saw the phases %v", phases)
			}
			checkFlow(t, kill, s, w)
		})
	}
}

// TestFlowChild is the process that TestFlowKilled kills. By itself it does nothing.
func TestFlowChild(t *testing.T) {
	dir := os.Getenv("ETUI_TEST_FLOW")
	if dir == "" {
		return
	}
	s, err := sqlite.Open(t.Context(), filepath.Join(dir, "etui.db"))
	must(t, err)
	for _, err := range deadFlow(t, s, inFile{dir, os.Getenv("ETUI_TEST_FLOW_KILL")}).Send(t.Context(), engine.Message{Workflow: "work", Text: "the bridge", Session: "s"}) {
		must(t, err)
	}
}
