package a2a_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/a2aproject/a2a-go/a2a"
	"github.com/a2aproject/a2a-go/a2aclient"
	"github.com/a2aproject/a2a-go/a2aclient/agentcard"

	"github.com/etui-run/etui/catalog"
	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/engine"
	"github.com/etui-run/etui/model"
	"github.com/etui-run/etui/model/fake"
	"github.com/etui-run/etui/rules"
	"github.com/etui-run/etui/server"
	"github.com/etui-run/etui/session"
	"github.com/etui-run/etui/tool"
)

// serve serves two agents, of which one is offered. Its tool delete waits for an approval.
func serve(t *testing.T, cfg server.Config, steps ...fake.Step) (*engine.Engine, *a2aclient.Client, string) {
	t.Helper()
	r := catalog.NewRegistry(nil)
	if err := r.Register(
		tool.Func(tool.Definition{Name: "delete", Risk: tool.Destructive}, func(context.Context, struct{}) (string, error) { return "gone", nil }),
		tool.Func(tool.Definition{Name: "look", Risk: tool.Read}, func(context.Context, struct{}) (string, error) { return "seen", nil }),
	); err != nil {
		t.Fatal(err)
	}
	c := engine.Config{Registry: r, Agents: []engine.Agent{{Name: "other", Model: fake.New()}, {Name: "main", Model: fake.New(steps...)}}}
	c.Turn.Approvals = true
	c.Turn.Decide = func(_ context.Context, a rules.Attempt) rules.Decision {
		if a.Entry != nil && a.Entry.Definition.Name == "delete" {
			return rules.Decision{Effect: rules.Ask}
		}
		return rules.Decision{Effect: rules.Allow}
	}
	e, err := engine.New(c)
	if err != nil {
		t.Fatal(err)
	}
	cfg.A2A = map[string]string{"main": "Looks after things."}
	web := httptest.NewServer(server.New(e, cfg))
	t.Cleanup(web.Close)
	t.Cleanup(http.DefaultClient.CloseIdleConnections)
	card, err := agentcard.DefaultResolver.Resolve(t.Context(), web.URL)
	if err != nil {
		t.Fatal(err)
	}
	if card.Name != "main" || card.Description != "Looks after things." || !strings.HasSuffix(card.URL, "/a2a/main") || !card.Capabilities.Streaming {
		t.Errorf("the card is %+v", card)
	}
	store := a2aclient.NewInMemoryCredentialsStore()
	store.Set("me", "key", "secret")
	client, err := a2aclient.NewFromCard(t.Context(), card, a2aclient.WithInterceptors(&a2aclient.AuthInterceptor{Service: store}), a2aclient.WithJSONRPCTransport(nil))
	if err != nil {
		t.Fatal(err)
	}
	return e, client, web.URL
}

func say(text string) *a2a.MessageSendParams {
	return &a2a.MessageSendParams{Message: a2a.NewMessage(a2a.MessageRoleUser, a2a.TextPart{Text: text})}
}

func textOf(parts a2a.ContentParts) (text string) {
	for _, p := range parts {
		if p, ok := p.(a2a.TextPart); ok {
			text += p.Text
		}
	}
	return text
}

// TestSend: a message is a task, and its context goes on.
func TestSend(t *testing.T) {
	remembers := fake.Step{Text: "As I said.", Check: func(r model.Request) error {
		if len(r.Messages) < 3 {
			return fmt.Errorf("it has %d messages", len(r.Messages))
		}
		return nil
	}}
	_, client, _ := serve(t, server.Config{}, fake.Step{Text: "Looking.", Calls: []chat.Call{fake.Call("1", "look", "{}")}}, fake.Step{Text: "Hello."}, remembers)
	got, err := client.SendMessage(t.Context(), say("hi"))
	if err != nil {
		t.Fatal(err)
	}
	first, ok := got.(*a2a.Task)
	if !ok || first.Status.State != a2a.TaskStateCompleted || textOf(first.Artifacts[0].Parts) != "Looking.\n\nHello." {
		t.Fatalf("got %+v", got)
	}
	again := say("and now?")
	again.Message.ContextID = first.ContextID
	text, last := "", a2a.TaskStateUnspecified
	for e, err := range client.SendStreamingMessage(t.Context(), again) {
		if err != nil {
			t.Fatal(err)
		}
		switch e := e.(type) {
		case *a2a.TaskArtifactUpdateEvent:
			text += textOf(e.Artifact.Parts)
		case *a2a.TaskStatusUpdateEvent:
			last = e.Status.State
		}
	}
	if text != "As I said." || last != a2a.TaskStateCompleted {
		t.Errorf("streamed %q, %s", text, last)
	}
	if task, err := client.GetTask(t.Context(), &a2a.TaskQueryParams{ID: first.ID}); err != nil || task.Status.State != a2a.TaskStateCompleted {
		t.Errorf("got %+v, %v", task, err)
	}
	if _, err := client.CancelTask(t.Context(), &a2a.TaskIDParams{ID: first.ID}); !errors.Is(err, a2a.ErrTaskNotCancelable) {
		t.Errorf("cancelling an ended task: %v", err)
	}
}

// TestApproval: a task whose call waits for a person says so, and goes on when the person has answered.
func TestApproval(t *testing.T) {
	e, client, _ := serve(t, server.Config{}, fake.Step{Calls: []chat.Call{fake.Call("1", "delete", "{}")}}, fake.Step{Text: "Deleted."})
	got, err := client.SendMessage(t.Context(), say("delete it"))
	if err != nil {
		t.Fatal(err)
	}
	task, _ := got.(*a2a.Task)
	if task == nil || task.Status.State != a2a.TaskStateInputRequired || !strings.Contains(textOf(task.Status.Message.Parts), "delete") {
		t.Fatalf("got %+v", got)
	}
	waiting, err := e.Approvals().List(t.Context())
	if err != nil || len(waiting) != 1 {
		t.Fatalf("%v, %v", waiting, err)
	}
	m := engine.Message{Agent: "main", Channel: "api", Session: "a2a-" + task.ContextID, Trusted: true, Answers: []session.Answer{{Call: "1", ID: waiting[0].ID, Approved: true}}}
	for _, err := range e.Send(t.Context(), m) {
		if err != nil {
			t.Fatal(err)
		}
	}
	task, err = client.GetTask(t.Context(), &a2a.TaskQueryParams{ID: task.ID})
	if err != nil || task.Status.State != a2a.TaskStateCompleted || !strings.Contains(textOf(task.Artifacts[0].Parts), "Deleted.") {
		t.Errorf("got %+v, %v", task, err)
	}
}

// TestCancel: a task that is not waited for runs on, and ends when it is cancelled.
func TestCancel(t *testing.T) {
	_, client, _ := serve(t, server.Config{}, fake.Step{Wait: make(chan struct{})})
	quick := say("hi")
	quick.Config = &a2a.MessageSendConfig{Blocking: new(bool)}
	got, err := client.SendMessage(t.Context(), quick)
	if err != nil {
		t.Fatal(err)
	}
	id := got.TaskInfo().TaskID
	if task, err := client.GetTask(t.Context(), &a2a.TaskQueryParams{ID: id}); err != nil || task.Status.State != a2a.TaskStateWorking {
		t.Errorf("got %+v, %v", task, err)
	}
	followed := make(chan a2a.TaskState, 1)
	events := client.ResubscribeToTask(t.Context(), &a2a.TaskIDParams{ID: id})
	next, stop := iter.Pull2(events)
	defer stop()
	if _, err, ok := next(); err != nil || !ok {
		t.Fatal(err)
	}
	go func() {
		state := a2a.TaskStateUnspecified
		for {
			e, _, ok := next()
			if !ok {
				break
			}
			if e, ok := e.(*a2a.TaskStatusUpdateEvent); ok {
				state = e.Status.State
			}
		}
		followed <- state
	}()
	task, err := client.CancelTask(t.Context(), &a2a.TaskIDParams{ID: id})
	if err != nil || task.Status.State != a2a.TaskStateCanceled {
		t.Errorf("got %+v, %v", task, err)
	}
	if state := <-followed; state != a2a.TaskStateCanceled {
		t.Errorf("who follows saw %s", state)
	}
}

// TestRefusals: only a key comes in, to agents that are offered, and sees its own tasks alone.
func TestRefusals(t *testing.T) {
	_, client, url := serve(t, server.Config{Key: "secret"}, fake.Step{Text: "Hello."})
	got, err := client.SendMessage(a2aclient.WithSessionID(t.Context(), "me"), say("hi"))
	if err != nil || got.(*a2a.Task).Status.State != a2a.TaskStateCompleted {
		t.Fatalf("%+v, %v", got, err)
	}
	id := string(got.TaskInfo().TaskID)
	for _, c := range []struct {
		path, key, user, body string
		status                int
		says                  string
	}{
		{"/a2a/main", "", "", `{}`, 401, "API key"},
		{"/a2a/main", "wrong", "", `{}`, 401, "API key"},
		{"/a2a/other", "secret", "", `{}`, 404, "offered"},
		{"/a2a/none", "secret", "", `{}`, 404, "offered"},
		{"/a2a/main", "secret", "", `{"jsonrpc":"2.0","id":1,"method":"tasks/get","params":{"id":"` + id + `"}}`, 200, `"completed"`},
		{"/a2a/main", "secret", "bob", `{"jsonrpc":"2.0","id":1,"method":"tasks/get","params":{"id":"` + id + `"}}`, 200, "-32001"},
		{"/a2a/main", "secret", "bob", `{"jsonrpc":"2.0","id":1,"method":"tasks/cancel","params":{"id":"` + id + `"}}`, 200, "-32001"},
		{"/a2a/main", "secret", "", `{"jsonrpc":"2.0","id":1,"method":"message/send"}`, 200, "-32700"},
		{"/a2a/main", "secret", "", `{"jsonrpc":"2.0","id":1,"method":"message/send","params":null}`, 200, "-32602"},
		{"/a2a/main", "secret", "", `{"jsonrpc":"2.0","id":1,"method":"message/stream","params":{}}`, 200, "-32602"},
		{"/a2a/main", "secret", "", `{"jsonrpc":"2.0","id":1,"method":"message/send","params":{"message":{"parts":[{"kind":"file","file":{"uri":"http://127.0.0.1/x"}}]}}}`, 200, "fetches no address"},
		{"/a2a/main", "secret", "", `{"jsonrpc":"2.0","id":1,"method":"message/send","params":{"message":{"contextId":"` + strings.Repeat("x", 5000) + `","parts":[{"kind":"text","text":"hi"}]}}}`, 200, "-32602"},
		{"/a2a/main", "secret", "", `{"jsonrpc":"2.0","id":1,"method":"message/send","params":{"message":{"taskId":"` + id + `","parts":[{"kind":"text","text":"hi"}]}}}`, 200, "leave taskId out"},
		{"/a2a/main", "secret", "", `{"jsonrpc":"2.0","id":1,"method":"tasks/pushNotificationConfig/set","params":{}}`, 200, "-32003"},
		{"/a2a/main", "secret", "", `[` + strings.Repeat(`{},`, 100_001) + `{}]`, 413, "values"},
	} {
		r, _ := http.NewRequest(http.MethodPost, url+c.path, strings.NewReader(c.body))
		if c.key != "" {
			r.Header.Set("Authorization", "Bearer "+c.key)
		}
		if c.user != "" {
			r.Header.Set("X-Etui-User", c.user)
		}
		res, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		text, _ := io.ReadAll(res.Body)
		_ = res.Body.Close()
		if res.StatusCode != c.status || !strings.Contains(string(text), c.says) {
			t.Errorf("%s as %q %.120s: %d %.300s", c.path, c.user, c.body, res.StatusCode, text)
		}
	}
}

// FuzzServe: no request makes it fail.
func FuzzServe(f *testing.F) {
	for _, body := range []string{
		`{"jsonrpc":"2.0","id":1,"method":"message/send","params":{"message":{"role":"user","parts":[{"kind":"text","text":"hi"},{"kind":"data","data":{"a":1}},{"kind":"file","file":{"bytes":"eA==","mimeType":"text/plain"}}]}}}`,
		`{"jsonrpc":"2.0","id":"x","method":"message/stream","params":{"message":{"taskId":"t"}}}`, `{"jsonrpc":"2.0","method":"tasks/resubscribe","params":{"id":"x"}}`,
		`{"jsonrpc":"2.0","method":"tasks/get","params":null}`, `{"jsonrpc":"2.0","method":"agent/getAuthenticatedExtendedCard"}`, `null`, `[]`,
	} {
		f.Add(body)
	}
	e, err := engine.New(engine.Config{Registry: catalog.NewRegistry(nil), Agents: []engine.Agent{{Name: "main", Model: fake.New()}}})
	if err != nil {
		f.Fatal(err)
	}
	s := server.New(e, server.Config{A2A: map[string]string{"main": ""}})
	f.Fuzz(func(t *testing.T, body string) {
		w := httptest.NewRecorder()
		s.ServeHTTP(w, httptest.NewRequest(http.MethodPost, "http://localhost/a2a/main", strings.NewReader(body)))
		if w.Code >= http.StatusInternalServerError {
			t.Errorf("%q: %d %s", body, w.Code, w.Body)
		}
	})
}
