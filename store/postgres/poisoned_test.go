package postgres_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/etui-run/etui/catalog"
	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/engine"
	"github.com/etui-run/etui/model/fake"
	"github.com/etui-run/etui/session"
	"github.com/etui-run/etui/store"
	"github.com/etui-run/etui/tool"
	"github.com/etui-run/etui/turn"
)

// A call that ends its process ends two, whichever process takes its turn up. The third one refuses it.
func TestPoisonedCall(t *testing.T) {
	url := server.Database(t)
	for range 2 {
		cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestPoisonedProcess$")
		cmd.Env = append(os.Environ(), "ETUI_TEST_POISONED="+url)
		out, err := cmd.CombinedOutput()
		var exit *exec.ExitError
		if !errors.As(err, &exit) || exit.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
			t.Fatalf("the process was not killed: %v\n%s", err, out)
		}
		must(t, server.Exec(t.Context(), database(url), "DELETE FROM etui.replicas"))
	}
	s := open(t, url)
	e := poisoned(t, s, fake.Step{Text: "Without it."})
	ctx, cancel := context.WithCancel(t.Context())
	resumed := make(chan error, 1)
	go func() { resumed <- e.Resume(ctx) }()
	var now session.Session
	for now.Turn.ID != "" || len(now.Messages) < 4 {
		time.Sleep(time.Millisecond)
		list, err := s.List(t.Context(), session.Filter{})
		must(t, err)
		if len(list) > 0 {
			now, err = s.Load(t.Context(), list[0].Key, 0)
			must(t, err)
		}
	}
	cancel()
	<-resumed
	if r := now.Messages[2].Result; turn.PhaseOf(now) != turn.Finished || now.Messages[3].Text != "Without it." || r == nil || !strings.Contains(r.Text, "The program ended while poison ran") {
		t.Errorf("the phase is %s, and the messages are %+v", turn.PhaseOf(now), now.Messages)
	}
}

// poisoned is an engine with a tool that ends the process.
func poisoned(t *testing.T, s store.Store, steps ...fake.Step) *engine.Engine {
	t.Helper()
	r := catalog.NewRegistry(nil)
	must(t, r.Register(tool.Func(tool.Definition{Name: "poison", Description: "Ends the process.", Risk: tool.Read}, func(context.Context, struct{}) (string, error) {
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		select {}
	})))
	e, err := engine.New(engine.Config{Registry: r, Store: s, Agents: []engine.Agent{{Name: "main", Model: fake.New(steps...)}}})
	must(t, err)
	return e
}

// TestPoisonedProcess is a process of TestPoisonedCall. By itself it does nothing.
func TestPoisonedProcess(t *testing.T) {
	url := os.Getenv("ETUI_TEST_POISONED")
	if url == "" {
		return
	}
	s := open(t, url)
	e := poisoned(t, s, fake.Step{Calls: []chat.Call{fake.Call("1", "poison", "{}")}})
	list, err := s.Mailboxes(t.Context(), s.Holder())
	must(t, err)
	if len(list) > 0 {
		must(t, e.Resume(t.Context()))
	}
	for range e.Send(t.Context(), engine.Message{Text: "poison", User: "ann"}) {
	}
}
