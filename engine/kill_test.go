package engine_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
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
	"github.com/etui-run/etui/model"
	"github.com/etui-run/etui/session"
	"github.com/etui-run/etui/store"
	"github.com/etui-run/etui/store/sqlite"
	"github.com/etui-run/etui/tool"
	"github.com/etui-run/etui/turn"
)

// TestKilledAnywhere kills a real process with SIGKILL before and after every write to
// the store and every effect of a tool, starts it again, and looks at what is stored
// and at what was done.
func TestKilledAnywhere(t *testing.T) {
	t.Parallel()
	long(t)
	killed := 0
	for at := 1; ; at++ {
		dir := t.TempDir()
		if !child(t, dir, "ask", at) {
			break
		}
		killed++
		stored := storedResults(t, dir)
		before := effects(t, dir)
		if child(t, dir, "resume", 0) {
			t.Fatalf("killed at %d: the second process was killed, too", at)
		}
		checkOutcome(t, at, dir, stored, before)
	}
	// Five writes and five effects, before and after each of them.
	if killed < 16 {
		t.Errorf("the process was killed at %d places only", killed)
	}
}

// long leaves a test out of go test -short.
func long(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("left out: it takes ten seconds, and the tests are short")
	}
}

// TestKilledTwice kills the process that takes the turn up as well.
func TestKilledTwice(t *testing.T) {
	t.Parallel()
	long(t)
	const first = 8 // in the middle of the second round
	left := t.TempDir()
	if !child(t, left, "ask", first) {
		t.Fatal("the first process was not killed")
	}
	for again := 1; ; again++ {
		dir := t.TempDir()
		must(t, os.CopyFS(dir, os.DirFS(left)))
		if !child(t, dir, "resume", again) {
			break
		}
		stored, before := storedResults(t, dir), effects(t, dir)
		child(t, dir, "resume", 0)
		checkOutcome(t, 100*first+again, dir, stored, before)
	}
}

// A call that ends its process ends two: the second one stores that it runs, and the third refuses it.
func TestPoisonedCall(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if !child(t, dir, "poisoned", 0) || !child(t, dir, "resume", 0) {
		t.Fatal("the process was not killed")
	}
	if child(t, dir, "resume", 0) {
		t.Fatal("the call ran a third time")
	}
	s := loaded(t, dir)
	if last := s.Messages[len(s.Messages)-1]; turn.PhaseOf(s) != turn.Finished || last.Text != "Without it." {
		t.Errorf("the phase is %s, and the last message %+v", turn.PhaseOf(s), last)
	}
	if r := s.Messages[len(s.Messages)-2].Result; r == nil || !r.Failed || !strings.Contains(r.Text, "The program ended while poison ran") {
		t.Errorf("the model read %+v", r)
	}
}

// checkOutcome checks that the turn has ended, and that nothing ran that was not to.
func checkOutcome(t *testing.T, at int, dir string, stored []string, before []string) {
	t.Helper()
	s := loaded(t, dir)
	if len(s.Messages) == 0 && at == 1 {
		if done := effects(t, dir); len(done) > 0 {
			t.Errorf("killed at %d: %q was done for a message that is not stored", at, done)
		}
		return // killed before the message was accepted
	}
	if len(s.Messages) == 0 {
		t.Errorf("killed at %d: the message was accepted, and is lost", at)
		return
	}
	if phase := turn.PhaseOf(s); phase != turn.Finished {
		t.Errorf("killed at %d: the phase is %s", at, phase)
	}
	if last := s.Messages[len(s.Messages)-1]; last.Text != "All done." {
		t.Errorf("killed at %d: the last message is %+v", at, last)
	}
	done := effects(t, dir)
	for _, name := range stored {
		if was, is := count(before, name), count(done, name); was != is {
			t.Errorf("killed at %d: the result of %s was stored, and it ran again", at, name)
		}
	}
	if n := count(done, "send"); n > 1 {
		t.Errorf("killed at %d: send ran %d times", at, n)
	}
	var keys []string
	for _, line := range done {
		if key, ok := strings.CutPrefix(line, "pay "); ok && !slices.Contains(keys, key) {
			keys = append(keys, key)
		}
	}
	if len(keys) != 1 || keys[0] == "" {
		t.Errorf("killed at %d: pay ran with the keys %q, want one", at, keys)
	}
	answered := map[string]int{}
	for _, m := range s.Messages {
		if m.Result == nil {
			continue
		}
		answered[m.Result.CallID]++
		unknown := strings.Contains(m.Result.Text, "unknown")
		if unknown != (m.Result.View != nil && strings.Contains(m.Result.View.Error, "unknown")) {
			t.Errorf("killed at %d: model and user read different things: %+v", at, m.Result)
		}
		if unknown && m.Result.Name != "send" {
			t.Errorf("killed at %d: the outcome of %s is told as unknown", at, m.Result.Name)
		}
		if !unknown && m.Result.Name == "send" && count(done, "send") != 1 {
			t.Errorf("killed at %d: send is told as done and ran %d times", at, count(done, "send"))
		}
	}
	for id, n := range answered {
		if n != 1 {
			t.Errorf("killed at %d: call %s has %d results", at, id, n)
		}
	}
}

func count(lines []string, name string) int {
	n := 0
	for _, line := range lines {
		if strings.HasPrefix(line, name+" ") {
			n++
		}
	}
	return n
}

func loaded(t *testing.T, dir string) session.Session {
	t.Helper()
	store, err := sqlite.Open(t.Context(), filepath.Join(dir, "etui.db"))
	must(t, err)
	defer store.Close()
	list, err := store.List(t.Context(), session.Filter{})
	must(t, err)
	if len(list) == 0 {
		return session.Session{}
	}
	s, err := store.Load(t.Context(), list[0].Key, 0)
	must(t, err)
	return s
}

// storedResults names the tools whose results are stored.
func storedResults(t *testing.T, dir string) []string {
	t.Helper()
	var names []string
	for _, m := range loaded(t, dir).Messages {
		if m.Result != nil {
			names = append(names, strings.ReplaceAll(m.Result.Name, "call_tool", "pay"))
		}
	}
	return names
}

func effects(t *testing.T, dir string) []string {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(dir, "effects"))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	return slices.Collect(strings.Lines(string(raw)))
}

// program is the one that is killed: this one or, since the race detector makes every start of it
// slow and finds nothing there, the one that make test has built without.
func program() string { return cmp.Or(os.Getenv("TEST_ENGINE"), os.Args[0]) }

// child runs TestChild in a process of its own, which is killed at a place, and reports
// whether it was killed.
func child(t *testing.T, dir, do string, at int) (killed bool) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), program(), "-test.run=^TestChild$")
	cmd.Env = append(os.Environ(), "ETUI_TEST_CHILD="+do, "ETUI_TEST_DIR="+dir, "ETUI_TEST_KILL="+strconv.Itoa(at))
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.Sys().(syscall.WaitStatus).Signal() == syscall.SIGKILL {
		return true
	}
	if err != nil {
		t.Fatalf("%s: %v\n%s", do, err, out)
	}
	return false
}

// TestChild is the process that TestKilledAnywhere kills. By itself it does nothing.
func TestChild(t *testing.T) {
	do, dir := os.Getenv("ETUI_TEST_CHILD"), os.Getenv("ETUI_TEST_DIR")
	if do == "" {
		return
	}
	at, err := strconv.Atoi(os.Getenv("ETUI_TEST_KILL"))
	must(t, err)
	k := &killer{at: at}
	store, err := sqlite.Open(t.Context(), filepath.Join(dir, "etui.db"))
	must(t, err)
	defer store.Close()
	r := catalog.NewRegistry(nil)
	act := func(name string, risk tool.Risk, replay tool.Replay) tool.Tool {
		return tool.Func(tool.Definition{Name: name, Description: "Do " + name, Risk: risk, Replay: replay}, func(ctx context.Context, _ struct{}) (string, error) {
			k.pass()
			f, err := os.OpenFile(filepath.Join(dir, "effects"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
			if err != nil {
				return "", err
			}
			_, err = fmt.Fprintln(f, name, tool.IdempotencyKey(ctx))
			err = errors.Join(err, f.Close())
			k.pass()
			return name + " is done", err
		})
	}
	must(t, r.Register(tool.Func(tool.Definition{Name: "poison", Description: "Ends the process.", Risk: tool.Read}, func(context.Context, struct{}) (string, error) {
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		select {}
	})))
	must(t, r.Register(act("look", tool.Read, ""), act("list", tool.Read, ""), act("check", tool.Read, ""), act("pay", tool.Write, tool.Keyed), act("send", tool.Write, "")))
	e, err := engine.New(engine.Config{Registry: r, Store: killing{store, k}, Agents: []engine.Agent{{Name: "main", Model: worker{}}}})
	must(t, err)
	if do == "resume" {
		must(t, e.Resume(t.Context()))
		return
	}
	if do == "poisoned" {
		_, _ = send(e, t.Context(), engine.Message{Text: "poison", User: "ann"})
		return
	}
	if text, err := send(e, t.Context(), engine.Message{Text: "look, then pay, check and send", User: "ann"}); err != nil || text != "All done." {
		t.Fatalf("%q, %v", text, err)
	}
}

// worker is a model that looks and lists at once, then pays by call_tool, takes up a
// skill, checks and sends, and then is done.
type worker struct{}

func (worker) Info() model.Info { return model.Info{Name: "worker"} }

func (worker) Stream(_ context.Context, req model.Request) iter.Seq2[model.Event, error] {
	return func(yield func(model.Event, error) bool) {
		answers := 0
		for _, m := range req.Messages {
			if m.Role == chat.Assistant {
				answers++
			}
		}
		if slices.ContainsFunc(req.Messages, func(m chat.Message) bool { return m.Role == chat.User && m.Text == "poison" }) {
			if answers == 0 {
				_ = yield(model.Event{Call: &chat.Call{ID: "1", Name: "poison", Arguments: []byte("{}")}}, nil) && yield(model.Event{Stop: model.ToolCalls}, nil)
				return
			}
			_ = yield(model.Event{Text: "Without it."}, nil) && yield(model.Event{Stop: model.Done}, nil)
			return
		}
		rounds := [][]string{{"look", "list"}, {"call_tool", "use_skill", "check", "send"}}
		args := map[string]string{"call_tool": `{"name":"pay"}`, "use_skill": `{"name":"full"}`}
		if answers >= len(rounds) {
			_ = yield(model.Event{Text: "All done."}, nil) && yield(model.Event{Stop: model.Done}, nil)
			return
		}
		for i, name := range rounds[answers] {
			if !yield(model.Event{Call: &chat.Call{ID: fmt.Sprintf("%d.%d", answers, i), Name: name, Arguments: []byte(cmp.Or(args[name], "{}"))}}, nil) {
				return
			}
		}
		yield(model.Event{Stop: model.ToolCalls}, nil)
	}
}

// killer ends the process at the at-th place that it passes; 0 means never.
type killer struct {
	mu         sync.Mutex
	at, passed int
}

func (k *killer) pass() {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.passed++; k.passed == k.at {
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		select {} // the signal may come a moment later
	}
}

// killing is a store that may end the process before and after it writes.
type killing struct {
	store.Store
	*killer
}

func (s killing) Append(ctx context.Context, key session.Key, state session.State, messages ...chat.Message) error {
	s.pass()
	defer s.pass()
	return s.Store.Append(ctx, key, state, messages...)
}

func (s killing) Accept(ctx context.Context, i store.Item) (store.Item, bool, error) {
	s.pass()
	defer s.pass()
	return s.Store.Accept(ctx, i)
}

func (s killing) Finish(ctx context.Context, e store.End) error {
	s.pass()
	defer s.pass()
	return s.Store.Finish(ctx, e)
}
