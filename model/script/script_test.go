package script_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/model"
	"github.com/etui-run/etui/model/script"
)

const two = `
name: demo
answers:
  - text: I look.
    calls:
      - {name: look, arguments: {where: [here, there], deep: true}}
      - {name: list}
  - text: Found.
`

func TestScript(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "two.yaml")
	if err := os.WriteFile(file, []byte(two), 0o600); err != nil {
		t.Fatal(err)
	}
	m, err := script.Read(file)
	if err != nil {
		t.Fatal(err)
	}
	if m.Info().Name != "scripted/demo" {
		t.Errorf("it is called %q", m.Info().Name)
	}
	ask := func(messages ...chat.Message) chat.Message {
		answer, usage, _, err := model.Answer(m.Stream(context.Background(), model.Request{Messages: messages}))
		if err != nil || usage.Output == 0 {
			t.Errorf("%v, %+v", err, usage)
		}
		return answer
	}
	question := chat.Message{Role: chat.User, Text: "?"}
	first := ask(question)
	if first.Text != "I look." || len(first.Calls) != 2 || string(first.Calls[0].Arguments) != `{"deep":true,"where":["here","there"]}` || string(first.Calls[1].Arguments) != "{}" {
		t.Errorf("first: %+v", first)
	}
	result := chat.Message{Role: chat.Tool, Result: &chat.Result{CallID: first.Calls[0].ID, Text: "x"}}
	if second := ask(question, first, result); second.Text != "Found." {
		t.Errorf("second: %+v", second)
	}
	// The IDs of calls tell the place, where older answers are not sent any more; and there is
	// an end.
	if again := ask(question, chat.Message{Role: chat.Assistant, Calls: []chat.Call{{ID: "script_7_1"}}}); !strings.Contains(again.Text, "no more answers") {
		t.Errorf("after the end: %+v", again)
	}
}

func TestMistakes(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":                                      "it needs answers",
		"answers: [{txet: x}]":                  `did you mean "text"?`,
		"answers: [{calls: [{arguments: {}}]}]": "name",
		"answers: [{calls: [{name: x, arguments: 3}]}]": "f.yaml:1",
		"a: [": "f.yaml",
	} {
		if _, err := script.Parse("f.yaml", []byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
	dir := t.TempDir()
	if err := os.Symlink("/etc/passwd", filepath.Join(dir, "link.yaml")); err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{"missing.yaml", "link.yaml", "."} {
		if _, err := script.Read(filepath.Join(dir, file)); err == nil {
			t.Errorf("%s was read", file)
		}
	}
}

// FuzzParse: no text crashes it, and what it reads can be played.
func FuzzParse(f *testing.F) {
	f.Add(two)
	f.Fuzz(func(t *testing.T, text string) {
		s, err := script.Parse("f.yaml", []byte(text))
		if err != nil {
			return
		}
		for _, a := range s.Answers {
			for _, c := range a.Calls {
				if c.Arguments != nil && !json.Valid(c.Arguments) {
					t.Errorf("arguments %q", c.Arguments)
				}
			}
		}
	})
}
