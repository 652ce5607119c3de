package etui_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/etui-run/etui"
	"github.com/etui-run/etui/engine"
	"github.com/etui-run/etui/model/offline"
	"github.com/etui-run/etui/session"
	"github.com/etui-run/etui/store"
	"github.com/etui-run/etui/tool"
)

// TestConfigGroups: agents without groups of their own have those of the configuration.
func TestConfigGroups(t *testing.T) {
	var tools []tool.Tool
	for _, group := range []string{"file", "shell", "mail"} {
		tools = append(tools, tool.Func(tool.Definition{Name: "use_" + group, Description: "Use " + group, Groups: []string{group}},
			func(context.Context, struct{}) (string, error) { return "", nil }))
	}
	gateway, err := etui.New(offline.New(offline.Config{}), etui.Config{
		Tools: tools, Groups: "file,shell", Agents: []engine.Agent{{Name: "main"}, {Name: "mail", Groups: "mail"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer gateway.Close()
	for agent, want := range map[string]string{"main": "file,shell", "mail": "mail"} {
		now, err := gateway.Engine().Agents().Status(agent)
		if err != nil {
			t.Fatal(err)
		}
		if now.Groups != want {
			t.Errorf("agent %s has the groups %q, want %q", agent, now.Groups, want)
		}
	}
}

// unread is a store of which nobody can read what is open, for a while.
type unread struct {
	*store.Memory
	err error
}

func (u *unread) Open(ctx context.Context) ([]session.Key, error) {
	if u.err != nil {
		return nil, u.err
	}
	return u.Memory.Open(ctx)
}

// TestRun: an application learns at once that nothing is resumed, and else runs until it is
// told to end.
func TestRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		kept := &unread{&store.Memory{}, errors.New("the disk is gone")}
		gateway, err := etui.New(offline.New(offline.Config{}), etui.Config{Store: kept})
		if err != nil {
			t.Fatal(err)
		}
		defer gateway.Close()
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		if err := gateway.Run(ctx); !errors.Is(err, kept.err) || ctx.Err() != nil {
			t.Errorf("without the store: %v, %v", err, ctx.Err())
		}
		kept.err = nil
		if err := gateway.Run(ctx); err != nil || ctx.Err() == nil {
			t.Errorf("until the end: %v, %v", err, ctx.Err())
		}
	})
}
