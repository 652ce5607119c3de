package skill_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"

	"github.com/etui-run/etui/skill"
)

type plain struct{ name, version string }

func (p plain) Name() string                    { return p.name }
func (plain) Description() string               { return "Does something." }
func (plain) Parameters() skill.ParameterSchema { return nil }
func (p plain) Details() skill.Details          { return skill.Details{Version: p.version} }
func (p plain) Execute(context.Context, json.RawMessage) (any, error) {
	return p.name + p.version, nil
}

func TestLife(t *testing.T) {
	table := skill.NewTable(nil)
	if err := table.Register(plain{name: "a"}); err != nil {
		t.Fatal(err)
	}
	if _, err := table.Get("a"); !errors.Is(err, skill.ErrDisabled) {
		t.Fatalf("a loaded skill: %v", err)
	}
	if err := table.Enable("a"); err != nil {
		t.Fatal(err)
	}
	if s, err := table.Get("a"); err != nil || s.Name() != "a" {
		t.Fatal(s, err)
	}
	if got := len(table.ToTools()); got != 1 {
		t.Fatalf("%d tools", got)
	}
	if err := table.Unregister("a"); err != nil {
		t.Fatal(err)
	}
	if _, err := table.Get("a"); !errors.Is(err, skill.ErrNotFound) || skill.Status(err) != 404 {
		t.Fatalf("a removed skill: %v", err)
	}
	if err := table.Unregister("a"); !errors.Is(err, skill.ErrNotFound) {
		t.Fatal(err)
	}
}

func TestPrecedence(t *testing.T) {
	table := skill.NewTable(nil)
	loader := table.As("test", "")
	var got []string
	table.Watch(func(s *skill.Snapshot) {
		line := ""
		for _, e := range s.All() {
			line += fmt.Sprintf("%s@%s:%s(%d) ", e.Name(), e.Details.Version, e.Scope, len(e.Shadows))
		}
		got = append(got, line)
	})
	loader.Replace(
		skill.Change{Source: "g/a.yaml", Scope: skill.Global, Skills: []skill.Skill{plain{"a", "9"}}},
		skill.Change{Source: "w/a.yaml", Scope: skill.Workspace, Skills: []skill.Skill{plain{"a", "1.9"}}},
		skill.Change{Source: "w/b.yaml", Scope: skill.Workspace, Skills: []skill.Skill{plain{"a", "1.10"}, plain{"b", ""}}},
	)
	_ = loader.Use("a", "1.9")
	_ = loader.Unregister("a")
	loader.Replace(skill.Change{Source: "w/b.yaml", Scope: skill.Workspace})
	loader.Replace(skill.Change{Source: "g/a.yaml", Err: errors.New("broken")})
	want := []string{"", "a@1.10:workspace(2) b@:workspace(0) ", "a@1.9:workspace(2) b@:workspace(0) ", "a@1.10:workspace(1) b@:workspace(0) ", "a@9:global(0) ", "a@9:global(0) "}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	if e, _ := table.Snapshot().Get("a"); e.Err == nil || e.State != skill.Enabled {
		t.Errorf("the last good one: %+v", e)
	}
}
