package skill_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/etui-run/etui/skill"
)

// echo is a provider whose skills return what they were given.
type echo struct{}

func (echo) Type() string { return "http" }
func (echo) Load(c skill.Config) (skill.Skill, error) {
	if strings.Contains(c.Endpoint, "refused") {
		return nil, skill.Problem{Field: "endpoint", Message: "endpoint is refused"}
	}
	return echoed{c}, nil
}

type echoed struct{ c skill.Config }

func (e echoed) Name() string                      { return e.c.Name }
func (e echoed) Description() string               { return e.c.Description }
func (e echoed) Parameters() skill.ParameterSchema { return e.c.Parameters }
func (e echoed) Details() skill.Details            { return e.c.Details() }
func (e echoed) Execute(_ context.Context, args json.RawMessage) (any, error) {
	return args, nil
}

// written is a skill of a SKILL.md of one line.
func written(_ *os.Root, name string, text []byte) (skill.Skill, error) {
	return echoed{skill.Config{Name: name, Description: string(text)}}, nil
}

func config(workspace string) skill.LoaderConfig {
	return skill.LoaderConfig{
		Roots:     []skill.Root{{Dir: "skills", Scope: skill.Workspace, Within: workspace}},
		Providers: []skill.Provider{echo{}},
		Package:   written,
		Reserved:  func(name string) bool { return name == "read_file" },
	}
}

func yamlOf(name, description string) string {
	return fmt.Sprintf("name: %s\ndescription: %q\nprovider: http\nendpoint: http://127.0.0.1:9/\n", name, description)
}

func put(t testing.TB, parts ...string) {
	t.Helper()
	name := filepath.Join(parts[:len(parts)-1]...)
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(parts[len(parts)-1]), 0o644); err != nil {
		t.Fatal(err)
	}
}

// list is what is enabled in a table: name=description.
func list(table *skill.Table) string {
	var all []string
	for _, s := range table.ListEnabled() {
		all = append(all, s.Name()+"="+s.Description())
	}
	return strings.Join(all, " ")
}

func TestLoad(t *testing.T) {
	ws, table := t.TempDir(), skill.NewTable(nil)
	l := skill.NewLoader(table, config(ws))
	load := func() skill.Report { return l.Load(t.Context()) }
	if r := load(); len(r.Loaded)+len(r.Problems) > 0 {
		t.Fatalf("a missing folder: %+v", r)
	}
	dir := filepath.Join(ws, "skills")
	put(t, dir, "a.yaml", yamlOf("a", "1"))
	put(t, dir, "b.yml", yamlOf("b", "1"))
	put(t, dir, "pdf", "SKILL.md", "p")
	put(t, dir, "more", "deep", "doc", "SKILL.md", "d")
	put(t, dir, ".hidden.yaml", "{{{")
	put(t, dir, "a.yaml~", "{{{")
	put(t, dir, "a.yaml.swp", "{{{")
	put(t, dir, "bad.yaml", "name: bad\nprovidr: http\n")
	put(t, dir, "taken.yaml", yamlOf("read_file", "x"))
	put(t, dir, "refused.yaml", strings.ReplaceAll(yamlOf("refused", "x"), "127.0.0.1:9", "refused"))
	r := load()
	if got, want := list(table), "a=1 b=1 doc=d pdf=p"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	var problems []string
	for _, p := range r.Problems {
		problems = append(problems, p.Error())
	}
	want := []string{
		`skills/bad.yaml:1:1: the key description is missing`,
		`skills/bad.yaml:1:1: the key provider is missing: builtin, http, mcp, wasm or command; a skill without one must have tools`,
		`skills/bad.yaml:2:1: unknown key "providr"; did you mean "provider"?`,
		`skills/refused.yaml:4:1: provider http: endpoint is refused`,
		`skills/taken.yaml:1:1: the name read_file is one of etui's own; choose another`,
	}
	if !slices.Equal(problems, want) {
		t.Errorf("got  %s\nwant %s", strings.Join(problems, "\n     "), strings.Join(want, "\n     "))
	}
	if r := load(); r.Changed != 0 || len(r.Problems) != 5 {
		t.Errorf("nothing changed, but %+v", r)
	}

	put(t, dir, "a.yaml", yamlOf("a2", "2")) // another name
	put(t, dir, "b.yml", "broken: [")        // the last good one stays
	put(t, dir, "bad.yaml", yamlOf("good", "1"))
	_ = os.RemoveAll(filepath.Join(dir, "pdf"))
	r = load()
	if got, want := list(table), "a2=2 b=1 doc=d good=1"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if e, _ := table.Snapshot().Get("b"); e.Err == nil || !strings.Contains(e.Err.Error(), "skills/b.yml:2:") {
		t.Errorf("the last good one says %v", e.Err)
	}
	if _, ok := table.Snapshot().Failed()["skills/bad.yaml"]; ok || len(table.Snapshot().Failed()) != 2 {
		t.Errorf("failed: %v", table.Snapshot().Failed())
	}
	_ = os.RemoveAll(dir)
	if r = load(); list(table) != "" || len(r.Problems) > 0 {
		t.Errorf("the folder has gone: %s, %+v", list(table), r)
	}
}

// until waits for a condition that another goroutine brings about.
func until(t *testing.T, table *skill.Table, what string, holds func() bool) {
	t.Helper()
	changed := make(chan struct{}, 1)
	table.Watch(func(*skill.Snapshot) {
		select {
		case changed <- struct{}{}:
		default:
		}
	})
	limit := time.After(20 * time.Second)
	for !holds() {
		select {
		case <-changed:
		case <-limit:
			t.Fatalf("%s: still %q", what, list(table))
		}
	}
}

func run(t *testing.T, l *skill.Loader) {
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	wg.Go(func() { l.Run(ctx) })
	t.Cleanup(func() { cancel(); wg.Wait() })
}

func TestRun(t *testing.T) {
	ws, table := t.TempDir(), skill.NewTable(nil)
	dir := filepath.Join(ws, "skills")
	put(t, dir, "a.yaml", yamlOf("a", "1"))
	run(t, skill.NewLoader(table, config(ws)))
	is := func(want string) {
		t.Helper()
		until(t, table, "want "+want, func() bool { return list(table) == want })
	}
	is("a=1")
	put(t, dir, "b.yaml", yamlOf("b", "1"))
	is("a=1 b=1")
	put(t, dir, "b.tmp", yamlOf("b", "2")) // an atomic rename
	if err := os.Rename(filepath.Join(dir, "b.tmp"), filepath.Join(dir, "b.yaml")); err != nil {
		t.Fatal(err)
	}
	is("a=1 b=2")
	put(t, dir, "x", "pdf", "SKILL.md", "p") // a new folder in a new folder
	is("a=1 b=2 pdf=p")
	put(t, dir, "x", "pdf", "SKILL.md", "q")
	is("a=1 b=2 pdf=q")
	_ = os.RemoveAll(dir)
	is("")
	put(t, dir, "a.yaml", yamlOf("a", "back"))
	is("a=back")
	put(t, dir, "a.yaml", yamlOf("a", "again")) // the new folder is watched
	is("a=again")

	put(t, dir, "..v1", "m.yaml", yamlOf("m", "1")) // a mounted configuration
	for _, link := range [][2]string{{"..v1", "..data"}, {"..data/m.yaml", "m.yaml"}} {
		if err := os.Symlink(link[0], filepath.Join(dir, link[1])); err != nil {
			t.Fatal(err)
		}
	}
	is("a=again m=1")
	put(t, dir, "..v2", "m.yaml", yamlOf("m", "2"))
	_ = os.Symlink("..v2", filepath.Join(dir, "..new"))
	if err := os.Rename(filepath.Join(dir, "..new"), filepath.Join(dir, "..data")); err != nil {
		t.Fatal(err)
	}
	is("a=again m=2")
}

// TestBurst: many changes at once are few steps, and readers never see a table
// that is half there.
func TestBurst(t *testing.T) {
	ws, table := t.TempDir(), skill.NewTable(nil)
	dir := filepath.Join(ws, "skills")
	put(t, dir, "keep.yaml", yamlOf("keep", "1"))
	l := skill.NewLoader(table, config(ws))
	run(t, l)
	until(t, table, "keep", func() bool { return list(table) != "" })
	stop := make(chan struct{})
	var readers sync.WaitGroup
	for range 2 {
		readers.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				runtime.Gosched()
				if _, err := table.Get("keep"); err != nil {
					t.Error(err)
					return
				}
				if len(table.ListEnabled()) == 0 || len(table.ToTools()) == 0 {
					t.Error("an empty table")
					return
				}
			}
		})
	}
	steps := 0
	table.Watch(func(*skill.Snapshot) { steps++ })
	for i := range 1000 {
		put(t, dir, fmt.Sprintf("s%d.yaml", i), yamlOf(fmt.Sprintf("s%d", i), "1"))
	}
	until(t, table, "a thousand", func() bool { return len(table.List()) == 1001 })
	for i := range 1000 {
		_ = os.Remove(filepath.Join(dir, fmt.Sprintf("s%d.yaml", i)))
	}
	until(t, table, "one", func() bool { return len(table.List()) == 1 })
	close(stop)
	readers.Wait()
	done := make(chan int)
	go table.Watch(func(*skill.Snapshot) { done <- steps })
	if n := <-done; n > 100 {
		t.Errorf("%d steps for two thousand changes", n)
	}
}

// TestPolling: without news from the system a change is seen within 5 s.
func TestPolling(t *testing.T) {
	ws := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		table := skill.NewTable(nil)
		dir := filepath.Join(ws, "skills")
		loader := skill.NewLoader(table, config(ws))
		loader.PollOnly()
		run(t, loader)
		synctest.Wait()
		for i, want := range []string{"a=1", "a=2", "a=2 b=1", ""} {
			switch i {
			case 0, 1:
				put(t, dir, "a.yaml", yamlOf("a", fmt.Sprint(i+1)))
			case 2:
				put(t, dir, "b.yaml", yamlOf("b", "1"))
			case 3:
				_ = os.RemoveAll(dir)
			}
			time.Sleep(5 * time.Second)
			synctest.Wait()
			if got := list(table); got != want {
				t.Errorf("got %q, want %q", got, want)
			}
		}
	})
}

// TestModule: a changed module beside the file makes a new skill.
func TestModule(t *testing.T) {
	ws, table := t.TempDir(), skill.NewTable(nil)
	put(t, ws, "skills", "a.yaml", "name: a\ndescription: Does it.\nprovider: wasm\nmodule: a.wasm\n")
	c := config(ws)
	c.Providers = []skill.Provider{module{}}
	l := skill.NewLoader(table, c)
	for _, content := range []string{"one", "other"} {
		put(t, ws, "skills", "a.wasm", content)
		if r := l.Load(t.Context()); list(table) != "a="+content {
			t.Errorf("%s: %s, %+v", content, list(table), r)
		}
	}
	l.Load(t.Context())
	if r := l.Load(t.Context()); r.Changed != 0 {
		t.Errorf("nothing changed, but %+v", r)
	}
}

// module is a provider whose skills describe themselves as their module says.
type module struct{}

func (module) Type() string { return "wasm" }
func (module) Load(c skill.Config) (skill.Skill, error) {
	text, err := c.Folder.ReadFile(c.Module)
	c.Description = string(text)
	return echoed{c}, err
}

func TestReload(t *testing.T) {
	ws, table, env := t.TempDir(), skill.NewTable(nil), map[string]string{}
	put(t, ws, "skills", "a.yaml", yamlOf("a", "1")+"headers: {Authorization: 'Bearer ${TOKEN}'}\n")
	c := config(ws)
	c.Variables.Lookup = func(name string) (string, bool) { v, ok := env[name]; return v, ok }
	l := skill.NewLoader(table, c)
	if r := l.Load(t.Context()); len(r.Problems) != 1 || !strings.Contains(r.Problems[0].Message, "TOKEN") {
		t.Fatalf("%+v", r)
	}
	env["TOKEN"] = "x"
	if r := l.Load(t.Context()); len(r.Problems) != 1 {
		t.Fatalf("an unchanged file: %+v", r)
	}
	if r := l.Reload(t.Context(), "ann", "the token is there"); len(r.Problems) != 0 || list(table) != "a=1" {
		t.Fatalf("%+v", r)
	}
}
