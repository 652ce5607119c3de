package message_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/etui-run/etui/approval"
	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/identity"
	"github.com/etui-run/etui/message"
	"github.com/etui-run/etui/model"
	"github.com/etui-run/etui/outbox"
	"github.com/etui-run/etui/session"
	"github.com/etui-run/etui/store"
	"github.com/etui-run/etui/turn"
)

func TestKindOf(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]message.Kind{
		"hello": message.KindQuestion, "/stop": message.KindStop, "please /stop": message.KindQuestion,
		approval.Approve + " k3f9": message.KindAnswer, approval.Deny + " k3f9 no": message.KindAnswer, "/compact": message.KindQuestion,
	} {
		if got := message.KindOf(message.Message{Text: text}); got != want {
			t.Errorf("%q is a %s, want %s", text, got, want)
		}
	}
	if got := message.KindOf(message.Message{Answers: []session.Answer{{Call: "c"}}}); got != message.KindAnswer {
		t.Errorf("answers are a %s", got)
	}
}

// TestCheck: names are bounded, and can be names.
func TestCheck(t *testing.T) {
	t.Parallel()
	many := make([]string, 5000)
	for name, m := range map[string]message.Message{
		"a long user":      {User: strings.Repeat("x", 10_000)},
		"a control":        {Chat: "a\x00b"},
		"no UTF-8":         {Session: "\xff"},
		"a colon":          {Channel: "telegram:42"},
		"many roles":       {Roles: many},
		"many tools":       {Include: many},
		"a long attribute": {Attrs: map[string]string{"plan": strings.Repeat("x", identity.MaxValue+1)}},
		"a bad attribute":  {Attrs: map[string]string{"a\nb": ""}},
		"a negative limit": {Limit: -1},
	} {
		if err := m.Check(); !errors.Is(err, message.ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
	fine := message.Message{User: "Zoë", Channel: "telegram", Roles: []string{"admin"}, Attrs: map[string]string{"plan": "a: b"}, Limit: 3}
	if err := fine.Check(); err != nil {
		t.Errorf("a usual one: %v", err)
	}
}

// TestStored: the record of an open turn has who asked, and not what was said, which is stored elsewhere.
func TestStored(t *testing.T) {
	t.Parallel()
	who := identity.Caller{
		Channel: "telegram", Account: "bot", Chat: "7", Thread: "1", Direct: true, User: "42", Guest: "g",
		Roles: []string{"a"}, PlatformRoles: []string{"b"}, Attrs: map[string]string{"c": "d"},
	}
	m := message.New(message.Message{
		Agent: "main", Text: "a secret plan", Skill: "oncall", Exclude: []string{"exec"}, IdempotencyKey: "k", Wait: true,
		Reply: json.RawMessage(`{"chat":"7"}`), Answers: []session.Answer{{Call: "c"}}, Workflow: "w", Target: "t",
	}).From(who)
	m.Operator, m.Notice = true, "n"
	raw := m.Stored()
	got, err := message.Read(raw)
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got.Caller(), who) || got.Agent != "main" || !reflect.DeepEqual(got.Exclude, m.Exclude) || string(got.Reply) != `{"chat":"7"}` {
		t.Errorf("it keeps %s", raw)
	}
	if got.Text+got.Skill+got.IdempotencyKey+got.Workflow+got.Target+got.Notice != "" || got.Wait || got.Operator || len(got.Answers) > 0 || got.Kind != message.KindQuestion {
		t.Errorf("it keeps too much: %s", raw)
	}
	m.History = []chat.Message{}
	if raw := m.Stored(); raw != nil {
		t.Errorf("a conversation that the client keeps is stored: %s", raw)
	}
	if _, err := message.Read(json.RawMessage("{")); err == nil {
		t.Error("a broken record is read")
	}
}

// TestDigest: what makes two messages with one key the same one.
func TestDigest(t *testing.T) {
	t.Parallel()
	m := message.Message{Text: "a", User: "ann", Files: []chat.File{{Name: "x", SHA256: "1", Data: []byte("1")}}}
	for name, c := range map[string]struct {
		change func(*message.Message)
		same   bool
	}{
		"waits":          {func(m *message.Message) { m.Wait = true }, true},
		"another key":    {func(m *message.Message) { m.IdempotencyKey = "2" }, true},
		"without bytes":  {func(m *message.Message) { m.Files = chat.WithoutData(m.Files) }, true},
		"another text":   {func(m *message.Message) { m.Text = "b" }, false},
		"another sender": {func(m *message.Message) { m.User = "bob" }, false},
		"another file":   {func(m *message.Message) { m.Files = []chat.File{{Name: "x", SHA256: "2"}} }, false},
	} {
		other := m
		if c.change(&other); (other.Digest() == m.Digest()) != c.same {
			t.Errorf("%s: the same message is %v, want %v", name, !c.same, c.same)
		}
	}
	if a, b := message.ShortKey("result-a"), message.ShortKey("result-b"); a == b || !strings.HasPrefix(a, "result-") || len(a) > 200 {
		t.Errorf("short keys: %s, %s", a, b)
	}
}

// TestResult: a stored end is the same end again, for programs and for people.
func TestResult(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		err          error
		excuse, word string
	}{
		"stopped":      {fmt.Errorf("the turn: %w", turn.ErrStopped), "Stopped.", "stopped"},
		"too long":     {model.ErrTooLong, "That is too long for me. /new starts a new conversation.", "too_long"},
		"unknown":      {fmt.Errorf("agent %q: %w", "x", message.ErrUnknown), `That is not possible: agent "x": not found.`, "unknown"},
		"not theirs":   {approval.ErrNotYours, "That is not possible: " + approval.ErrNotYours.Error() + ".", "not_yours"},
		"a busy model": {model.ErrRateLimited, "The language model cannot be reached at the moment. Please try again in a few minutes.", "rate_limited"},
		"a wrong key":  {model.ErrAuth, "Something went wrong here, and the answer is lost. Please tell whoever runs this service, or try again later.", "auth"},
	} {
		_, _, err := message.ResultOf(store.Item{Result: message.Result(nil, c.err)})
		if err == nil || err.Error() != c.err.Error() || outbox.Excuse(err, "") != c.excuse || message.FailureOf(err) != c.word {
			t.Errorf("%s: %v, %q, %q", name, err, outbox.Excuse(err, ""), message.FailureOf(err))
		}
	}
	file := chat.File{Name: "a.png", SHA256: "1"}
	done, files, err := message.ResultOf(store.Item{Result: message.Result(&turn.End{Reply: "hi"}, nil, file)})
	if err != nil || done.Reply != "hi" || len(files) != 1 || files[0].Name != "a.png" {
		t.Errorf("%+v, %+v, %v", done, files, err)
	}
	var events []string
	message.Repeat(store.Item{Result: message.Result(&turn.End{Reply: "hi"}, nil)}, func(e turn.Event, err error) bool {
		events = append(events, fmt.Sprintf("%q %v %v", e.Text, e.Done != nil, err))
		return true
	})
	if got := strings.Join(events, ", "); got != `"hi" false <nil>, "" true <nil>` {
		t.Errorf("a reply is repeated as %q", got)
	}
	if _, _, err := message.ResultOf(store.Item{State: store.Parked, Reason: "it crashed"}); !errors.Is(err, message.ErrParked) {
		t.Errorf("a parked one: %v", err)
	}
	for err, want := range map[error]string{nil: "", turn.ErrSuspended: "", store.ErrAway: "database_unavailable", context.Canceled: "cancelled", errors.New("x"): "_OTHER"} {
		if got := message.FailureOf(err); got != want {
			t.Errorf("%v is %q, want %q", err, got, want)
		}
	}
}

// TestFiles: pictures are what their bytes say, and files of results are kept once.
func TestFiles(t *testing.T) {
	t.Parallel()
	pdf := chat.File{Name: "a\nb.pdf", MediaType: "image/png", Data: []byte("%PDF-1.7")}
	files, err := message.Pictures([]chat.File{pdf})
	if err != nil || files[0].MediaType != chat.PDF || files[0].Name != "a b.pdf" || files[0].Size != 8 || len(files[0].SHA256) != 64 {
		t.Errorf("%+v, %v", files, err)
	}
	if _, err := message.Pictures([]chat.File{{Data: []byte("text")}}); !errors.Is(err, message.ErrInvalid) {
		t.Errorf("a text as a picture: %v", err)
	}
	if _, err := message.Pictures(make([]chat.File, message.MaxPictures+1)); !errors.Is(err, message.ErrTooLong) {
		t.Errorf("too many: %v", err)
	}
	said := []chat.Message{{Role: chat.User, Text: "draw"}, {Role: chat.Tool, Result: &chat.Result{View: &chat.View{Files: []chat.File{pdf}}}}}
	kept, given := message.Storable(said)
	if len(given) != 1 || given[0].Data != nil || string(kept[1].Files[0].Data) != "%PDF-1.7" || kept[1].Result.View.Files[0].Data != nil {
		t.Errorf("kept %+v, given %+v", kept, given)
	}
	if said[1].Result.View.Files[0].Data == nil || said[1].Files != nil {
		t.Error("the result of the tool was changed")
	}
	if list := message.Give(given, given); len(list) != 1 {
		t.Errorf("a file is given %d times", len(list))
	}
	if list := message.GivenBefore(append([]chat.Message{{Role: chat.Tool, Files: files}}, kept...)); len(list) != 1 || list[0].Name != given[0].Name {
		t.Errorf("of the turn: %+v", list)
	}
}
