// Package examples_test proves that the examples work as they stand.
package examples_test

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"github.com/etui-run/etui/examples/demo"
	"github.com/etui-run/etui/internal/egress"
	"github.com/etui-run/etui/internal/leftout"
	"github.com/etui-run/etui/sandbox"
	"github.com/etui-run/etui/skill"
	"github.com/etui-run/etui/skill/builtin"
	"github.com/etui-run/etui/skill/command"
	skillhttp "github.com/etui-run/etui/skill/http"
	"github.com/etui-run/etui/skill/markdown"
	"github.com/etui-run/etui/skill/wasm"
)

// load loads a folder of skills in which the demo's address stands for that of a
// service of the test's own.
func load(t *testing.T, folder string) *skill.Table {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("the programs are POSIX scripts")
	}
	service := httptest.NewServer(demo.Handler(demo.Config{}))
	t.Cleanup(service.Close)
	address := strings.TrimPrefix(service.URL, "http://")
	dir := filepath.Join(t.TempDir(), "skills")
	if err := os.CopyFS(dir, os.DirFS(folder)); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "search_logs.yaml")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	text = bytes.ReplaceAll(text, []byte("127.0.0.1:8081"), []byte(address))
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	guard, err := egress.New(egress.Config{Allow: []string{address}})
	if err != nil {
		t.Fatal(err)
	}
	services, err := skillhttp.New(skillhttp.Config{Transport: guard})
	if err != nil {
		t.Fatal(err)
	}
	programs, err := sandbox.New(sandbox.Config{Mode: sandbox.Off})
	if err != nil {
		t.Fatal(err)
	}
	table := skill.NewTable(nil)
	report := skill.NewLoader(table, skill.LoaderConfig{
		Roots:     []skill.Root{{Dir: dir, Scope: skill.Workspace}},
		Providers: []skill.Provider{functions(), services, command.New(programs), wasm.New(), servers{}},
		Package:   markdown.LocalMachine().Load,
		Variables: skill.Variables{Lookup: func(name string) (string, bool) { return "demo-token", name == "TOKEN" }},
	}).Load(t.Context())
	for _, p := range report.Problems {
		t.Error(p)
	}
	return table
}

// functions stands for those of the program etui.
func functions() skill.Provider {
	type in struct {
		Text string `json:"text"`
	}
	return builtin.New(map[string]builtin.Function{
		"hash_text": builtin.Func(func(_ context.Context, in in) (string, error) { return in.Text, nil }),
	})
}

// servers stands for the provider of MCP servers, which would start them.
type servers struct{}

func (servers) Type() string { return "mcp" }

func (servers) Load(c skill.Config) (skill.Skill, error) { return server{c}, nil }

type server struct{ config skill.Config }

func (s server) Name() string                      { return s.config.Name }
func (s server) Description() string               { return s.config.Description }
func (s server) Parameters() skill.ParameterSchema { return nil }
func (s server) Execute(context.Context, json.RawMessage) (any, error) {
	return nil, skill.ErrProviderUnavailable
}

func TestSkills(t *testing.T) {
	table := load(t, "skills")
	for _, tt := range []struct{ name, args, want string }{
		{"search_logs", `{"namespace":"prod","pod":"checkout","keyword":"voucher"}`, `"pod":"checkout-7d9f8b6c5-x2kqp"`},
		{"hash_text", `{"text":"etui"}`, "etui"},
		{"disk_space", `{}`, `[{"path":"`},
		{"check_number", `{"number":"DE89 3704 0044 0532 0130 00"}`, `{"number":"DE89370400440532013000","right":{"IBAN":true}}`},
		{"check_number", `{"number":"gb82 west 1234 5698 7654 33"}`, `"IBAN":false`},
		{"check_number", `{"number":"978-7-111-54493-7"}`, `"ISBN-13":true,"payment card or IMEI (Luhn)":false`},
		{"check_number", `{"number":"0\u2013306\u201340615\u20132"}`, `"ISBN-10":true`},
		{"check_number", `{"number":"080442957X"}`, `"ISBN-10":true`},
		{"check_number", `{"number":"4539 1488 0343 6467"}`, `(Luhn)":true`},
		{"check_number", `{"number":"96385074"}`, `"EAN":true`},
		{"check_number", `{"number":"12"}`, `the skill failed: exit code 1: this is no IBAN`},
		{"incident-report", `{}`, "# Incident report"},
		{"release-notes", `{}`, "# Release notes"},
		{"data-cleanup", `{}`, "# Data cleanup"},
	} {
		result, err := table.Call(t.Context(), tt.name, []byte(tt.args))
		got := ""
		switch out := result.(type) {
		case string:
			got = out
		default:
			raw, _ := json.Marshal(out) // it is JSON already
			got = string(raw)
		}
		if err != nil {
			got = err.Error()
		}
		if !strings.Contains(got, tt.want) {
			t.Errorf("%s %s: %.300s", tt.name, tt.args, got)
		}
	}
	for _, name := range []string{"workdays", "workdays_http"} {
		if _, ok := table.Snapshot().Get(name); !ok {
			t.Errorf("%s is not loaded", name)
		}
	}
}

// The packages pass the standard's own rules, and name only files that they have.
func TestPackages(t *testing.T) {
	files, err := filepath.Glob("skills/*/SKILL.md")
	if err != nil || len(files) != 3 {
		t.Fatalf("%v, %v", files, err)
	}
	named := regexp.MustCompile(`(references|scripts)/[a-z.-]+`)
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		folder := filepath.Dir(file)
		for _, p := range markdown.Validate(filepath.Base(folder), "SKILL.md", text) {
			t.Errorf("%s: %s", file, p)
		}
		seen := 0
		for _, other := range named.FindAllString(string(text), -1) {
			if _, err := os.Stat(filepath.Join(folder, other)); err != nil {
				t.Error(err)
			}
			seen++
		}
		if seen < 2 {
			t.Errorf("%s names %d files", file, seen)
		}
	}
}

// The scripts of the packages do what their instructions say.
func TestScripts(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the scripts are POSIX scripts")
	}
	run := func(stdin string, args ...string) string {
		t.Helper()
		c := exec.Command("sh", args...)
		c.Stdin = strings.NewReader(stdin)
		out, err := c.CombinedOutput()
		if err != nil {
			t.Errorf("%v: %v: %s", args, err, out)
		}
		return string(out)
	}
	got := run("2026-03-01T00:10 alert\n2026-02-28T23:59 deploy | x\n2026-03-01T00:10 alert\nnoise\n", "skills/incident-report/scripts/timeline.sh")
	if !strings.HasSuffix(got, "| 2026-02-28T23:59 | 0 | deploy \\| x | |\n| 2026-03-01T00:10 | 11 | alert | |\n") {
		t.Errorf("timeline:\n%s", got)
	}
	table := filepath.Join(t.TempDir(), "table.csv")
	if err := os.WriteFile(table, []byte("name,born\r\n\"Berg, Anna\",2001-02-03\r\n\"Berg, Anna\",2001-02-03\r\n ,3.4.02\r\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	got = run("", "skills/data-cleanup/scripts/profile.sh", table)
	for _, want := range []string{"3 rows, 2 columns, 1 exact duplicates", "empty 1, different 1, length 10-10", "2 shapes: 9999-99-99  9.9.99"} {
		if !strings.Contains(got, want) {
			t.Errorf("profile without %q:\n%s", want, got)
		}
	}
}

// The module is what its source says. That needs the compiler, which make test
// installs.
func TestModuleIsBuilt(t *testing.T) {
	if _, err := os.Stat("wasm/node_modules"); err != nil {
		leftout.Without(t, "the AssemblyScript compiler from npm")
	}
	file := filepath.Join(t.TempDir(), "check_number.wasm")
	build := exec.Command("npm", "run", "--silent", "build", "--", "--outFile", file)
	build.Dir = "wasm"
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	built, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if committed, err := os.ReadFile("skills/check_number.wasm"); err != nil || !bytes.Equal(committed, built) {
		t.Errorf("skills/check_number.wasm is not what wasm/check_number.ts says: npm run --prefix examples/wasm build (%v)", err)
	}
}
