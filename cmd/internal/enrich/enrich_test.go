package enrich_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/etui-run/etui/catalog"
	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/cmd/internal/enrich"
	"github.com/etui-run/etui/model"
	"github.com/etui-run/etui/model/fake"
	"github.com/etui-run/etui/tool"
)

type described struct{ definition tool.Definition }

func (d described) Definition() tool.Definition { return d.definition }

func (described) Call(context.Context, json.RawMessage) (chat.Result, error) {
	return chat.Result{}, nil
}

func office(t *testing.T, names ...string) *catalog.Catalog {
	t.Helper()
	r := catalog.NewRegistry(nil)
	for _, name := range names {
		if err := r.Register(described{tool.Definition{Name: name, Description: "Deals with the office's " + name}}); err != nil {
			t.Fatal(err)
		}
	}
	return r.Catalog()
}

func left(t *testing.T, c *catalog.Catalog, f *enrich.File) (names []string, list []enrich.Subject) {
	t.Helper()
	lines, err := f.Read()
	if err != nil {
		t.Fatal(err)
	}
	list = enrich.Subjects(c, lines, []string{"English"}, nil)
	for _, s := range list {
		names = append(names, s.Name)
	}
	return names, list
}

// A model reads one definition with its neighbours. Broken JSON is repaired, an answer
// without JSON is asked for again, and what was written is not written again.
func TestWrite(t *testing.T) {
	t.Parallel()
	f := enrich.Open(filepath.Join(t.TempDir(), "new", "enriched.jsonl"))
	c := office(t, "mail", "post")
	reads := func(r model.Request) error {
		if text := r.Messages[0].Text; !strings.Contains(text, `"neighbours":[{"name":"`) || !strings.Contains(text, `["English"]`) {
			return errors.New("no neighbours or languages in " + text)
		}
		return nil
	}
	_, list := left(t, c, f)
	m := fake.New(fake.Step{Check: reads, Text: "Sure!"}, fake.Step{Check: reads, Text: "```json\n{'aliases': ['write to', 'write to', ' '], examples: [\"tell Bob\",],}\n```"})
	if _, err := (&enrich.Writer{Model: m, File: f}).Write(t.Context(), list[:1], 0); err != nil {
		t.Fatal(err)
	}
	lines, err := f.Read()
	if err != nil {
		t.Fatal(err)
	}
	if got := lines["mail"]; !got.Equal(tool.Texts{Aliases: []string{"write to"}, Examples: []string{"tell Bob"}}) || got.By != "fake" || got.Edited() {
		t.Errorf("kept %+v", got)
	}
	names, list := left(t, c, f)
	if strings.Join(names, " ") != "post" {
		t.Errorf("left to write about: %v", names)
	}
	m = fake.New(fake.Step{Text: `{"aliases":[],"examples":[]}`}, fake.Step{Text: "no"})
	var failed []string
	w := enrich.Writer{Model: m, File: f, Wrote: func(name string, _ enrich.Cost, err error) {
		if err != nil {
			failed = append(failed, name+": "+err.Error())
		}
	}}
	if _, err := w.Write(t.Context(), list, 0); err != nil || strings.Join(failed, "") != "post: the model answered without JSON" {
		t.Errorf("failed: %v, %v", failed, err)
	}
	if enrich.Texts(lines)["mail"].For == "" {
		t.Error("a model's texts hold for every version")
	}
}

// Looking for what is left costs little while nothing is: a gateway does it every minute.
func TestNothingLeft(t *testing.T) {
	var names []string
	lines := map[string]enrich.Line{}
	for i := range 100 {
		name := fmt.Sprint("tool_", i)
		names = append(names, name)
		lines[name] = enrich.Line{Tool: name}
	}
	c := office(t, names...)
	if allocs := testing.AllocsPerRun(5, func() { enrich.Subjects(c, lines, []string{"English"}, nil) }); allocs > 500 {
		t.Errorf("%.0f allocations for 100 tools with texts", allocs)
	}
}

// What was written and paid for is kept although the file could not be read in between: a
// person had half an edit in it.
func TestWriteBesideAPerson(t *testing.T) {
	t.Parallel()
	f := enrich.Open(filepath.Join(t.TempDir(), "enriched.jsonl"))
	c := office(t, strings.Fields("a1 b2 c3 d4 e5 f6 g7 h8 i9 j10 k11 l12 m13 n14 o15 p16")...)
	_, list := left(t, c, f)
	m := fake.New()
	for range list {
		m.Add(fake.Step{Text: `{"aliases":["x"],"examples":["y"]}`})
	}
	edit := func(text string) {
		if err := os.WriteFile(f.Path(), []byte(text), 0o600); err != nil {
			t.Error(err)
		}
	}
	w := enrich.Writer{Model: m, File: f, Wrote: func(_ string, so enrich.Cost, _ error) {
		switch so.Tools {
		case 9:
			edit("half an ed")
		case 10: // which the file could not take
			edit("")
		}
	}}
	spent, err := w.Write(t.Context(), list, 0)
	if err == nil || !strings.Contains(err.Error(), "enriched.jsonl:1") {
		t.Errorf("got %v", err)
	}
	if names, _ := left(t, c, f); len(names) != len(list)-spent.Tools || spent.Tools < 10 {
		t.Errorf("%d were written, and are left to write: %v", spent.Tools, names)
	}
}

// A model that always fails is given up, and a spent budget ends the writing.
func TestWriteGivesUp(t *testing.T) {
	t.Parallel()
	f := enrich.Open(filepath.Join(t.TempDir(), "enriched.jsonl"))
	c := office(t, strings.Fields("a1 b2 c3 d4 e5 f6 g7 h8 i9 j10 k11 l12")...)
	_, list := left(t, c, f)
	m := fake.New()
	if _, err := (&enrich.Writer{Model: m, File: f}).Write(t.Context(), list, 0); err == nil || !strings.Contains(err.Error(), "in a row failed") {
		t.Errorf("got %v", err)
	}
	m = fake.New()
	for range list {
		m.Add(fake.Step{Text: `{"aliases":["x"],"examples":["y"]}`})
	}
	spent, err := (&enrich.Writer{Model: m, File: f}).Write(t.Context(), list, 1)
	if err != nil || spent.Tools == 0 || spent.Tools > 4 {
		t.Errorf("wrote about %d tools with a budget of 1 token: %v", spent.Tools, err)
	}
	if names, _ := left(t, c, f); len(names) != len(list)-spent.Tools {
		t.Errorf("left: %v", names)
	}
}

// What a person edits stays, also when the tool changes; what nobody has is dropped unless
// a person wrote it.
func TestEditsWin(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "enriched.jsonl")
	f := enrich.Open(path)
	c := office(t, "mail", "post")
	_, list := left(t, c, f)
	answer := fake.Step{Text: `{"aliases":["letters"],"examples":["write home"]}`}
	if _, err := (&enrich.Writer{Model: fake.New(answer, answer), File: f}).Write(t.Context(), list, 0); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	edited := strings.Replace(string(text), "letters", "snail mail", 1) + `{"tool":"own","aliases":["mine"]}` + "\n"
	if err := os.WriteFile(path, []byte(edited), 0o600); err != nil {
		t.Fatal(err)
	}
	lines, err := f.Read()
	if err != nil || !lines["mail"].Edited() || lines["post"].Edited() || !lines["own"].Edited() {
		t.Fatalf("%+v, %v", lines, err)
	}
	if texts := enrich.Texts(lines); texts["mail"].For != "" || texts["post"].For == "" {
		t.Errorf("texts %+v", texts)
	}
	if n, err := f.Drop(office(t, "other")); n != 1 || err != nil {
		t.Errorf("dropped %d, %v", n, err)
	}
	if lines, _ = f.Read(); len(lines) != 2 {
		t.Errorf("left %v", lines)
	}
	if err := os.WriteFile(path, []byte(`{"tool":"mail","alias":["x"]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := f.Read(); err == nil || !strings.Contains(err.Error(), "enriched.jsonl:1") {
		t.Errorf("a mistake gives %v", err)
	}
}

// What a person wrote is never dropped unread: a second line about a tool, and what
// follows an object on its line, are mistakes.
func TestReadLosesNothing(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "enriched.jsonl")
	f := enrich.Open(path)
	c := office(t, "mail", "post")
	_, list := left(t, c, f)
	answer := fake.Step{Text: `{"aliases":["letters"],"examples":["write home"]}`}
	if _, err := (&enrich.Writer{Model: fake.New(answer), File: f}).Write(t.Context(), list[:1], 0); err != nil {
		t.Fatal(err)
	}
	written, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, own := range []struct{ line, want string }{
		{`{"tool":"mail","aliases":["mine"]}` + "\n", "enriched.jsonl:2: line 1 is about mail, too"},
		{`{"tool":"own","aliases":["mine"]} {"tool":"two","aliases":["mine"]}` + "\n", "enriched.jsonl:1: it has more than one object"},
		{`{"tool":"own","aliases":["mine"]} mine` + "\n", "enriched.jsonl:1: it has more than one object"},
	} {
		if err := os.WriteFile(path, []byte(own.line+string(written)), 0o600); err != nil {
			t.Fatal(err)
		}
		if lines, err := f.Read(); err == nil || !strings.Contains(err.Error(), own.want) {
			t.Errorf("%s is read as %v, %v", own.line, lines, err)
		}
		if _, err := f.Drop(office(t, "other")); err == nil {
			t.Errorf("%s: the file was changed", own.line)
		}
	}
}
