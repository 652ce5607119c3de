package turn_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/model/fake"
	"github.com/etui-run/etui/selection"
	"github.com/etui-run/etui/session"
	"github.com/etui-run/etui/tool"
	"github.com/etui-run/etui/turn"
)

// TestPicturesOfMessages: the model sees the newest pictures of a conversation, up to a
// limit. The place where they begin moves rarely.
func TestPicturesOfMessages(t *testing.T) {
	picture := make([]byte, 3<<20)
	file := func(context.Context, string) ([]byte, error) { return picture, nil }
	for _, c := range []struct{ earlier, want int }{{0, 1}, {2, 3}, {3, 4}, {4, 2}, {5, 3}, {6, 4}, {7, 2}} {
		b := newBench(t, turn.Config{}, selection.Config{}, nil, fake.Step{Text: "I see."})
		var s session.Session
		for range c.earlier {
			s.Messages = append(s.Messages, chat.Message{Role: chat.User, Text: "look", Files: []chat.File{{Size: len(picture), SHA256: "x"}}}, chat.Message{Role: chat.Assistant, Text: "ok"})
		}
		if o := run(b, t.Context(), turn.Input{Session: s, Text: "look", Files: []chat.File{{Size: len(picture), SHA256: "x", Data: picture}}, File: file}); o.err != nil {
			t.Fatal(o.err)
		}
		seen := ""
		for _, m := range b.model.Requests()[0].Messages {
			for _, f := range m.Files {
				seen += map[bool]string{true: "-", false: "+"}[f.Data == nil]
			}
		}
		if want := strings.Repeat("-", c.earlier+1-c.want) + strings.Repeat("+", c.want); seen != want {
			t.Errorf("of %d pictures the model sees %s, want %s", c.earlier+1, seen, want)
		}
	}
}

// TestImages: the model sees the pictures of its turn, up to a limit, and none of
// them is stored.
func TestImages(t *testing.T) {
	picture := make([]byte, 5<<20)
	look := tool.Func(tool.Definition{Name: "look", Risk: tool.Read}, func(context.Context, city) (chat.Result, error) {
		return chat.Result{Text: "a picture", Images: []chat.File{{MediaType: "image/png", Data: picture}}}, nil
	})
	call := func(id string) chat.Call { return fake.Call(id, "look", `{"city":"x"}`) }
	b := newBench(t, turn.Config{}, selection.Config{}, []tool.Tool{look},
		fake.Step{Calls: []chat.Call{call("1"), call("2")}}, fake.Step{Calls: []chat.Call{call("3")}}, fake.Step{Text: "I see."})
	o := run(b, t.Context(), turn.Input{Text: "look"})
	if o.err != nil {
		t.Fatal(o.err)
	}
	requests := b.model.Requests()
	seen := 0
	for _, m := range requests[len(requests)-1].Messages {
		if m.Result != nil {
			seen += len(m.Result.Images)
		}
	}
	if seen != 2 {
		t.Errorf("the model sees %d pictures, want 2", seen)
	}
	for i, r := range o.results() {
		if len(r.Images) > 0 {
			t.Errorf("the picture of result %d is stored", i+1)
		}
		if late := strings.Contains(r.Text, "is not shown"); late != (i == 2) {
			t.Errorf("result %d says %q", i+1, r.Text)
		}
	}
}

// TestFiles: a turn keeps a limited amount of files, however many calls one answer has.
func TestFiles(t *testing.T) {
	file := make([]byte, 20<<20)
	give := tool.Func(tool.Definition{Name: "give", Risk: tool.Read}, func(context.Context, city) (chat.Result, error) {
		return chat.Result{Text: "it goes to the user", View: &chat.View{Files: []chat.File{{Name: "a", Data: file}}}}, nil
	})
	var calls []chat.Call
	for i := range 20 {
		calls = append(calls, fake.Call(strings.Repeat("x", i+1), "give", fmt.Sprintf(`{"city":"%d"}`, i)))
	}
	b := newBench(t, turn.Config{}, selection.Config{}, []tool.Tool{give}, fake.Step{Calls: calls[:10]}, fake.Step{Calls: calls[10:]}, fake.Step{Text: "Here they are."})
	o := run(b, t.Context(), turn.Input{Text: "give"})
	if o.err != nil {
		t.Fatal(o.err)
	}
	size := 0
	for i, r := range o.results() {
		for _, f := range r.View.Files {
			size += len(f.Data)
		}
		if late := strings.Contains(r.Text, "not given"); late != (i >= 3) {
			t.Errorf("result %d says %q", i+1, r.Text)
		}
	}
	if size != 60<<20 {
		t.Errorf("the results have %d MiB of files", size>>20)
	}
}
