package skill_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
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
	loaded := (*skill.StateError)(nil)
	if s, err := table.Get("a"); s == nil || !errors.Is(err, skill.ErrDisabled) || !errors.As(err, &loaded) || loaded.State != skill.Loaded {
		t.Fatalf("a loaded skill: %v, %v", s, err)
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

// TestLog: every change is logged with who made it and why, and so is what could
// not be changed.
func TestLog(t *testing.T) {
	var log strings.Builder
	table := skill.NewTable(slog.New(slog.NewTextHandler(&log, nil)))
	actor := table.As("ada", "a test")
	for range 2 {
		if err := actor.Register(plain{name: "a"}); err != nil {
			t.Fatal(err)
		}
	}
	_ = actor.Enable("a")
	_ = actor.Disable("a")
	actor.Replace(skill.Change{Source: "b.yaml", Err: errors.New("broken")})
	_ = actor.Unregister("a")
	lines := strings.Split(strings.TrimSpace(log.String()), "\n")
	want := []string{"loaded", "WARN", "loaded", "enabled", "disabled", "broken", "removed"}
	if len(lines) != len(want) {
		t.Fatalf("%d lines:\n%s", len(lines), log.String())
	}
	for i, line := range lines {
		if !strings.Contains(line, want[i]) || !strings.Contains(line, `by=ada why="a test"`) {
			t.Errorf("line %d, wanted %s: %s", i, want[i], line)
		}
	}
}

// TestCall: a call validates the arguments.
func TestCall(t *testing.T) {
	table := skill.NewTable(nil)
	strict := strictSkill{plain{name: "a"}}
	if err := errors.Join(table.Register(strict), table.Enable("a")); err != nil {
		t.Fatal(err)
	}
	if out, err := table.Call(t.Context(), "a", []byte(`{"x":1}`)); err != nil || out != "a" {
		t.Error(out, err)
	}
	for _, args := range []string{`{"x":"1"}`, `{}`, ``, `{`, `[]`} {
		if _, err := table.Call(t.Context(), "a", []byte(args)); skill.Status(err) != 400 {
			t.Errorf("%s: %v", args, err)
		}
	}
	if _, err := table.Call(t.Context(), "b", nil); skill.Status(err) != 404 {
		t.Error(err)
	}
}

type strictSkill struct{ plain }

func (strictSkill) Parameters() skill.ParameterSchema {
	return skill.ParameterSchema(`{"type":"object","properties":{"x":{"type":"integer"}},"required":["x"]}`)
}

// TestVersions: each version is higher than the one before it.
func TestVersions(t *testing.T) {
	rising := []string{"", "1.0.0-7", "1.0.0-alpha", "1.0.0-alpha.1", "1.0.0-alpha.beta", "1.0.0-beta.2", "1.0.0-beta.11", "1.0.0-rc.1", "1.0.0", "1.0.1rc1", "1.0.1rc2", "1.0.1", "v1.1", "1.9", "1.10.dev3", "1.10", "2024.5.1", "2024.10.1"}
	for i, low := range rising {
		for _, high := range rising[i+1:] {
			if skill.CompareVersions(low, high) >= 0 {
				t.Errorf("%s is not below %s", low, high)
			}
			if skill.CompareVersions(high, low) <= 0 {
				t.Errorf("%s is not above %s", high, low)
			}
		}
	}
	for a, b := range map[string]string{"v1.2.3": "1.2.3", "1.2.3+a": "1.2.3+b"} {
		if skill.CompareVersions(a, b) != 0 {
			t.Errorf("%s and %s differ", a, b)
		}
	}
}

// TestShadowedLog: whichever of two files of one name comes first, the log names the one that is
// in effect, and the one that is not.
func TestShadowedLog(t *testing.T) {
	for _, order := range [][]string{{"a.yaml", "z.yaml"}, {"z.yaml", "a.yaml"}} {
		var log strings.Builder
		table := skill.NewTable(slog.New(slog.NewTextHandler(&log, nil)))
		for _, file := range order {
			table.As("test", "").Replace(skill.Change{Source: file, Scope: skill.Workspace, Skills: []skill.Skill{plain{name: "x"}}})
		}
		if e, _ := table.Snapshot().Get("x"); e.Source != "z.yaml" || len(e.Shadows) != 1 || e.Shadows[0].Source != "a.yaml" {
			t.Errorf("%v: %s is in effect", order, e.Source)
		}
		if !strings.Contains(log.String(), "file=z.yaml shadowed=a.yaml") {
			t.Errorf("%v: %s", order, log.String())
		}
	}
}
