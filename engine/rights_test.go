package engine_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/etui-run/etui/approval"
	"github.com/etui-run/etui/catalog"
	"github.com/etui-run/etui/engine"
	"github.com/etui-run/etui/identity"
	"github.com/etui-run/etui/model/fake"
	"github.com/etui-run/etui/route"
	"github.com/etui-run/etui/rules"
	"github.com/etui-run/etui/session"
	"github.com/etui-run/etui/store"
	"github.com/etui-run/etui/tool"
	"github.com/etui-run/etui/workflow"
)

// TestHiddenSkillIsNotNamedByACommand: /skill names no skill that is hidden from its sender,
// neither one that another member of the chat has chosen nor that of the agent.
func TestHiddenSkillIsNotNamedByACommand(t *testing.T) {
	r := tenants(t)
	if _, err := r.SetSkills(catalog.Skill{Name: "takeover", Description: "Plan the takeover", Tools: []string{"restart_server"}}); err != nil {
		t.Fatal(err)
	}
	ann := engine.Message{User: "ann", Channel: "irc", Chat: "ops", Roles: []string{"user", "admin"}, Text: "/skill takeover"}
	bob := engine.Message{User: "bob", Channel: "irc", Chat: "ops", Roles: []string{"user"}}
	for _, agents := range []bool{false, true} {
		g, _ := newEngine(t, func(c *engine.Config) {
			if c.Registry = r; agents {
				c.Agents[0].Skill = "takeover"
			}
		})
		if !agents {
			reply(t, g, ann)
		}
		for _, text := range []string{"/skill", "/skill auto"} {
			bob.Text = text
			if got := reply(t, g, bob); agents || text == "/skill" {
				if strings.Contains(got, "takeover") {
					t.Errorf("%s, the agent's is %v: %s", text, agents, got)
				}
			}
		}
	}
}

// TestDirectCallsTakePlaces: a tool that is called without a model takes a place of its
// sender's shares, as a message does.
func TestDirectCallsTakePlaces(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hold := make(chan struct{})
		var running, refused atomic.Int32
		r := catalog.NewRegistry(nil)
		must(t, r.Register(tool.Func(tool.Definition{Name: "slow", Description: "Take long"}, func(context.Context, struct{}) (string, error) {
			running.Add(1)
			<-hold
			return "", nil
		})))
		g, _ := newEngine(t, func(c *engine.Config) { c.Registry, c.MaxTurns = r, 32 })
		for range 100 {
			go func() {
				if _, err := g.Call(t.Context(), engine.Message{User: "eve", Channel: "api", Client: "laptop"}, "slow", json.RawMessage(`{}`)); errors.Is(err, engine.ErrBusy) {
					refused.Add(1)
				}
			}()
		}
		synctest.Wait()
		if running.Load() != 16 || refused.Load() != 84 {
			t.Errorf("%d calls of one sender run at once, want 16; %d are refused", running.Load(), refused.Load())
		}
		close(hold)
		synctest.Wait()
	})
}

// TestForgottenFlow: of a person who began a workflow in a chat, nothing stays of its input,
// its answers and its results.
func TestForgottenFlow(t *testing.T) {
	kept := &store.Memory{}
	set, err := workflow.Compile(workflow.Workflow{Name: "work", Phases: []workflow.Phase{{Name: "one", Next: []workflow.Next{{When: `reply != ""`, To: workflow.Done}}}}})
	must(t, err)
	flows := &workflow.Table{}
	flows.Store(set)
	g, _ := newEngine(t, func(c *engine.Config) { c.Store, c.Workflows = kept, flows }, fake.Step{Text: "hi"}, fake.Step{Text: "Your diagnosis is secret."})
	bob := engine.Message{User: "bob", Channel: "irc", Chat: "ops", Text: "hello"}
	ann := engine.Message{User: "ann", Channel: "irc", Chat: "ops", Text: "/run work my diagnosis"}
	reply(t, g, bob)
	reply(t, g, ann)
	_, err = eraser(g).Erase(t.Context(), "irc:ann")
	must(t, err)
	bob.Text = "/run"
	if got := reply(t, g, bob); strings.Contains(got, "diagnosis") {
		t.Errorf("bob reads %q", got)
	}
	list, err := kept.List(t.Context(), session.Filter{})
	must(t, err)
	for _, s := range list {
		now, err := kept.Load(t.Context(), s.Key, 0)
		must(t, err)
		if raw := asJSON(t, now); strings.Contains(raw, "diagnosis") || strings.Contains(raw, "irc:ann") {
			t.Errorf("it is kept: %s", raw)
		}
	}
}

// TestForgottenFlowOfATurn: when a person is forgotten in a chat where another one's workflow waits
// for an approval, its turn ends with it, and does not go on with tools that its phases do not have.
func TestForgottenFlowOfATurn(t *testing.T) {
	set, err := workflow.Compile(work())
	must(t, err)
	flows := &workflow.Table{}
	flows.Store(set)
	r := catalog.NewRegistry(nil)
	must(t, r.Register(workshop()...))
	_, err = r.SetSkills(toolsets()...)
	must(t, err)
	g, _ := newEngine(t, func(c *engine.Config) {
		c.Registry, c.Workflows, c.Turn = r, flows, askFor("look")
		c.Agents = c.Agents[:1]
	}, fake.Step{Text: "hi"}, call("1", "look"), call("2", "burn"), fake.Step{Text: "done"})
	ann := engine.Message{User: "ann", Channel: "irc", Chat: "ops", Text: "hello"}
	bob := engine.Message{User: "bob", Channel: "irc", Chat: "ops", Text: "/run work mend it"}
	reply(t, g, ann)
	if done, err := ended(g, t.Context(), bob); err != nil || len(done.Awaits) != 1 {
		t.Fatalf("%+v, %v", done, err)
	}
	_, err = eraser(g).Erase(t.Context(), "irc:ann")
	must(t, err)
	bob.Text = "/approve"
	if o := flow(t, g, bob); o.err != nil || len(o.results) > 0 || o.done == nil || !strings.Contains(o.done.Reply, "nothing waits") {
		t.Errorf("the results are %q; it ends with %+v, %v", o.results, o.done, o.err)
	}
}

// TestForgottenApprover: an approval that a person gave somebody else counts on, without the
// person's name.
func TestForgottenApprover(t *testing.T) {
	kept := &store.Memory{}
	g, _ := newEngine(t, func(c *engine.Config) { c.Store = kept; approving(c) }, weather("sunny")...)
	a := wait(t, g, engine.Message{Text: "weather?", User: "bob"})
	reply(t, g, engine.Message{Text: "/approve " + a.ID + " always", User: "carol", Roles: []string{"admin"}})
	g.Wait(t.Context())
	_, err := eraser(g).Erase(t.Context(), "carol")
	must(t, err)
	grants, err := g.Approvals().Grants.List(t.Context())
	if err != nil || len(grants) != 1 || grants[0].User != "bob" || strings.Contains(asJSON(t, grants), "carol") {
		t.Errorf("grants: %+v, %v", grants, err)
	}
}

// TestConversationOfAll: under the scope main, where people without a name write, too, the
// conversation is nobody's own.
func TestConversationOfAll(t *testing.T) {
	kept := &store.Memory{}
	users, err := identity.New([]identity.User{{Name: "bob"}})
	must(t, err)
	g, _ := newEngine(t, func(c *engine.Config) {
		c.Store, c.Scope, c.Users = kept, route.Main, func(*catalog.Catalog) *identity.Users { return users }
	}, fake.Step{Text: "1"}, fake.Step{Text: "2"})
	reply(t, g, engine.Message{Channel: "cli", Text: "what the operator says"})
	reply(t, g, engine.Message{Channel: "api", User: "bob", Text: "hi"})
	list, err := kept.List(t.Context(), session.Filter{})
	must(t, err)
	for _, s := range list {
		if route.Belongs(s, g.Agents().Users().Names("bob")) {
			t.Errorf("%s is bob's", s.Key)
		}
	}
}

// TestApproversReadTheAgent: a rule for approvals that reads the agent or the conversation
// means those of the call.
func TestApproversReadTheAgent(t *testing.T) {
	g, _ := newEngine(t, func(c *engine.Config) {
		asks(c)
		list, err := rules.Compile(rules.Policy, []rules.Rule{{Deny: []string{"*"}, When: `agent == "main" || session.startsWith("agent:main:")`}}, nil)
		must(t, err)
		c.Approvers = list.Decide
	}, weather("x")...)
	a := wait(t, g, engine.Message{Text: "weather?", User: "ann"})
	if got := reply(t, g, engine.Message{Text: "/approve " + a.ID, User: "ann"}); !strings.Contains(got, "does not count") {
		t.Errorf("by the one who asked: %s", got)
	}
	if _, err := g.Answers().Give(t.Context(), engine.Message{User: "ann", Agent: "other"}, a.ID, session.Answer{Approved: true}, false); !errors.Is(err, approval.ErrNotYours) {
		t.Errorf("through another agent: %v", err)
	}
}
