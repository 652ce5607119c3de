package server_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/etui-run/etui/catalog"
	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/console"
	"github.com/etui-run/etui/engine"
	"github.com/etui-run/etui/hub"
	"github.com/etui-run/etui/identity"
	"github.com/etui-run/etui/inspect"
	"github.com/etui-run/etui/internal/leftout"
	"github.com/etui-run/etui/lab/preview"
	"github.com/etui-run/etui/memory"
	"github.com/etui-run/etui/model"
	"github.com/etui-run/etui/model/fake"
	"github.com/etui-run/etui/rules"
	"github.com/etui-run/etui/scan"
	"github.com/etui-run/etui/server"
	"github.com/etui-run/etui/server/admin"
	"github.com/etui-run/etui/server/api"
	"github.com/etui-run/etui/session"
	"github.com/etui-run/etui/store/sqlite"
	"github.com/etui-run/etui/tool"
	"github.com/etui-run/etui/workflow"
)

// ready is a model that answers at once, as often as it is asked.
type ready struct{}

func (ready) Info() model.Info { return model.Info{Name: "ready"} }

func (ready) Stream(context.Context, model.Request) iter.Seq2[model.Event, error] {
	return func(yield func(model.Event, error) bool) {
		_ = yield(model.Event{Text: "An **answer**."}, nil) && yield(model.Event{Stop: model.Done, Usage: &model.Tokens{Input: 900, Output: 4}}, nil)
	}
}

// TestConsoleSpeed measures the console in Chromium with 10,000 tools and 100,000 sessions, where
// TEST_SPEED says so: the figures depend on the machine.
func TestConsoleSpeed(t *testing.T) {
	if os.Getenv("TEST_SPEED") == "" {
		t.Skip("TEST_SPEED is not set")
	}
	var tools []tool.Tool
	for i := range 10_000 {
		d := tool.Definition{
			Name: fmt.Sprintf("move_box_%d", i), Description: fmt.Sprintf("Move a box to the shelf with the number %d, and write down who did it and when", i),
			Groups: []string{fmt.Sprintf("group%d", i%50)}, Risk: tool.Write, Source: "test",
		}
		tools = append(tools, tool.Func(d, func(context.Context, struct {
			Title string `json:"title"`
			Day   int    `json:"day,omitempty"`
		}) (string, error) {
			return "done", nil
		}))
	}
	r := catalog.NewRegistry(nil)
	if err := r.Register(tools...); err != nil {
		t.Fatal(err)
	}
	db, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "etui.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	var writers sync.WaitGroup
	for part := range 100 {
		writers.Go(func() {
			for i := range 1000 {
				key := session.Key(fmt.Sprintf("agent:main:user%d:%d", part, i))
				if err := db.Append(t.Context(), key, session.State{}, chat.Message{Role: chat.User, Text: fmt.Sprintf("Question %d of user %d", i, part)}, chat.Message{Role: chat.Assistant, Text: "An **answer**."}); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	writers.Wait()
	s := newServer(t, server.Config{}, func(c *engine.Config) { c.Registry, c.Store, c.Agents[0].Model = r, db, ready{} })
	gateway := httptest.NewServer(s)
	defer gateway.Close()
	cmd := exec.CommandContext(t.Context(), "node", "speed.mjs", gateway.URL, gateway.URL+s.ConsolePath("ann"))
	cmd.Dir = "testdata/console"
	out, err := cmd.CombinedOutput()
	if t.Logf("%s", out); err != nil {
		t.Errorf("node speed.mjs: %v", err)
	}
}

// shelf is a registry with one skill.
type shelf struct{ offer hub.Offer }

func (s shelf) Find(context.Context, string, string, int) ([]hub.Match, []error) {
	return []hub.Match{{Registry: s.offer.Registry, Name: s.offer.Name, Description: "Says hello"}}, nil
}

func (s shelf) Lookup(context.Context, string, string, string) (hub.Source, hub.Ref, error) {
	return nil, hub.Ref{Name: s.offer.Name}, nil
}

func (s shelf) Offer(context.Context, hub.Source, hub.Ref, hub.Options) (hub.Offer, error) {
	return s.offer, nil
}

func (s shelf) Install(_ context.Context, _ hub.Source, ref hub.Ref, o hub.Options) (*hub.Installation, error) {
	if o.Only != s.offer.Sum || !o.Accept {
		return nil, hub.ErrRefused
	}
	return &hub.Installation{Name: ref.Name}, nil
}

// switches are rules that switch tools off.
type switches struct{ off []string }

func (switches) Guard(*catalog.Catalog) catalog.Guard { return nil }
func (s switches) Disabled() []string                 { return s.off }

// TestConsoleInBrowser opens every page of the console in Chromium: in both languages, both themes,
// wide and narrow, with the keyboard alone, and as somebody whose sign-in ended. TEST_SHOTS names a
// folder for pictures of them.
func TestConsoleInBrowser(t *testing.T) {
	if _, err := os.Stat("testdata/console/node_modules/playwright-core"); err != nil {
		leftout.Without(t, "a browser from npm")
	}
	r := catalog.NewRegistry(nil)
	add := func(name, description string, risk tool.Risk) {
		definition := tool.Definition{Name: name, Description: description, Groups: []string{"office"}, Risk: risk, Source: "test"}
		if err := r.Register(tool.Func(definition, func(context.Context, struct {
			Title string `json:"title"`
			Day   int    `json:"day,omitempty"`
		}) (string, error) {
			return "done", nil
		})); err != nil {
			t.Fatal(err)
		}
	}
	add("report", "Send a report, such as the weekly one. <img src=x onerror=alert(1)><script>alert(1)</script>", tool.Destructive)
	for i := range 400 {
		add(fmt.Sprintf("move_box_%d", i), fmt.Sprintf("Move a box to the shelf with the number %d", i), tool.Write)
	}
	for name, choices := range map[string][]string{"name_it": nil, "choose_it": {"red", "blue"}} {
		if err := r.Register(tool.Func(tool.Definition{Name: name, Description: "Ask the person something", Risk: tool.Read, Source: "test"}, func(ctx context.Context, _ struct{}) (string, error) {
			if reply, _ := tool.Asks(ctx); reply != nil {
				return "The person said " + reply.Text, nil
			}
			return "", &tool.Question{Text: "Which one, and why?", Choices: choices}
		})); err != nil {
			t.Fatal(err)
		}
	}
	file := filepath.Join(t.TempDir(), "etui.yaml")
	if err := os.WriteFile(file, []byte("# kept\nagents: [{name: main}]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	people, err := identity.New([]identity.User{{Name: "ann", Identities: []string{"slack:U1"}, Roles: []string{"admin"}}})
	if err != nil {
		t.Fatal(err)
	}
	set, err := workflow.Compile(workflow.Workflow{Name: "work", Description: "Mend what is broken", Phases: []workflow.Phase{
		{Name: "look", Next: []workflow.Next{{When: "finished", To: "mend"}}},
		{Name: "mend", Next: []workflow.Next{{When: "round > 3", To: "look"}, {When: "finished", To: "report"}}},
		{Name: "report", Next: []workflow.Next{{When: `reply != ""`, To: workflow.Done}}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	flows := &workflow.Table{}
	flows.Store(set)
	weight := api.Weight{Name: "description", Default: 0.5, Before: 0.5, Now: 0.8}
	var added api.Example
	offer := hub.Offer{Name: "greeter", Registry: "test", Version: "1.0.0", Verdict: hub.Unjudged, Signature: hub.Unsigned, Files: []string{"SKILL.md", "run.sh"}, Sum: "1", Flags: []scan.Flag{{File: "run.sh", Line: 3, Why: "it deletes files"}}}
	status := api.Config{AddExample: func(_ context.Context, e api.Example) (api.Texts, error) {
		if e.Save {
			added = e
		}
		return api.Texts{File: "enriched.jsonl", After: `{"tool":"` + e.Tool + `","examples":["` + e.Example + `"]}`, Saved: e.Save}, nil
	}, Ranking: func() api.Ranking {
		return api.Ranking{Weights: []api.Weight{weight}, Recommender: []api.Weight{{Name: "history", Default: 30, Before: 30, Now: 20}}, Judged: &api.FittingGain{HeldOut: 66, Before: 0.7, After: 0.8, Noise: 0.02}}
	}}
	bare := catalog.NewRegistry(nil)
	if err := bare.Register(tool.Func(tool.Definition{Name: "clock", Description: "Say the time of a weekly report"}, func(context.Context, struct{}) (string, error) { return "now", nil })); err != nil {
		t.Fatal(err)
	}
	status.Otherwise = func(text string) (preview.Book, error) {
		if text != "# hides the report" {
			return preview.Book{}, errors.New("these are no rules")
		}
		return preview.Book{Catalog: bare.Catalog(), Decide: func(context.Context, rules.Attempt) rules.Decision { return rules.Decision{Effect: rules.Allow} }}, nil
	}
	closer := func(_ context.Context, _ string, past []inspect.PastTurn) (preview.Result, error) {
		closed := preview.Change{Tool: "report", Before: "ask", After: preview.Hidden, Why: "nobody reports"}
		r := preview.Result{Turns: len(past), Tools: []preview.ToolChange{{Change: closed, Turns: len(past), Used: 1}}}
		for _, p := range past {
			r.Changed = append(r.Changed, preview.Turn{Past: p, Tools: []preview.Change{closed}, Calls: []preview.Change{closed}})
		}
		return r, nil
	}
	write := func(path string, text []byte) error {
		if list := regexp.MustCompile(`(?m)^# off: (.*)$`).FindSubmatch(text); list != nil {
			r.SetRules(switches{[]string{string(list[1])}})
		} else {
			r.SetRules(nil)
		}
		return os.WriteFile(path, text, 0o600)
	}
	switched := func(text []byte, tool string, on bool) ([]byte, error) {
		line := "# off: " + tool + "\n"
		if on {
			return bytes.ReplaceAll(text, []byte(line), nil), nil
		}
		return append(text, line...), nil
	}
	s := newServer(t, server.Config{Status: status, Preview: closer, Skills: admin.Config{Registry: shelf{offer}}, Users: func() *identity.Users { return people }, File: &console.File{Path: file, Schema: []byte(`{"properties":{"agents":{"description":"Those who answer.","items":{"properties":{"mode":{"enum":["auto","bridge"]}}}}}}`), Read: os.ReadFile, Write: write, Switch: switched, Check: func(text []byte) error {
		if strings.Contains(string(text), "agnets") {
			return errors.New(file + ":2:1: unknown key \"agnets\"; did you mean \"agents\"?")
		}
		return nil
	}}}, func(c *engine.Config) {
		c.Registry, c.Workflows = r, flows
		c.Users = func(*catalog.Catalog) *identity.Users { return people }
		c.Agents[0].Memory = memory.New(memory.Config{Own: t.TempDir()})
		c.Turn.Approvals = true
		c.Turn.Decide = func(_ context.Context, a rules.Attempt) rules.Decision {
			if a.Entry != nil && strings.HasSuffix(a.Entry.Definition.Name, "_it") {
				return rules.Decision{Effect: rules.Allow}
			}
			return rules.Decision{Effect: rules.Ask}
		}
		c.Agents[0].Model = fake.New(fake.Step{Text: "**Sending** <b onclick=alert(1)>it</b> ![x](http://x.test/y.png)", Calls: []chat.Call{{ID: "1", Name: "report", Arguments: []byte(`{"title":"weekly \u202egpj.exe <img src=x onerror=alert(1)>"}`)}}, Usage: model.Tokens{Input: 4000, CacheRead: 1000, Output: 50}}, fake.Step{Text: "[a](javascript:alert(1)) <iframe src=/></iframe>"}, fake.Step{Text: "Sent."},
			fake.Step{Calls: []chat.Call{{ID: "n", Name: "name_it", Arguments: []byte("{}")}}}, fake.Step{Text: "Named."},
			fake.Step{Calls: []chat.Call{{ID: "c", Name: "choose_it", Arguments: []byte("{}")}}}, fake.Step{Text: "Chosen."})
	})
	gateway := httptest.NewServer(s)
	defer gateway.Close()
	if status, body := ask(arrived(t.Context(), "127.0.0.1"), s, "POST", "http://localhost/api/chat", `{"text":"Send the weekly report","user":"ann","background":true}`); status != 200 {
		t.Fatal(status, body)
	}
	if status, body := ask(arrived(t.Context(), "127.0.0.1"), s, "POST", "http://localhost/api/chat", `{"text":"<script>alert(1)</script><img src=x onerror=alert(1)>\n## assistant\n![x](http://x.test/y.png)\n~~~","user":"<b onclick=alert(1)>bob"}`); status != 200 {
		t.Fatal(status, body)
	}
	cmd := exec.CommandContext(t.Context(), "node", "pages.mjs", gateway.URL, gateway.URL+s.ConsolePath("ann"), file, os.Getenv("TEST_SHOTS"))
	cmd.Dir = "testdata/console"
	cmd.Env = append(os.Environ(), "AWS_LAMBDA_JS_RUNTIME=nodejs20.x") // the browser from npm brings its libraries for this one
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("node pages.mjs: %v\n%s", err, out)
	}
	if added.Tool != "move_box_7" || added.Example != "zyx wvu" {
		t.Errorf("added as an example: %+v", added)
	}
}
