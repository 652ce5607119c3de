package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"example.com/unittest/lang"
	"example.com/unittest/report"
	"example.com/unittest/work"
	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/model"
	"github.com/etui-run/etui/model/script"
	"github.com/etui-run/etui/tool"
)

// asProgram makes the test program the program itself, with the toy language, so that a test
// can kill it.
const asProgram = "UNITTEST_PROGRAM"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		os.Exit(toyHost(nil).program(context.Background(), os.Args[1:], os.Stdout, os.Stderr))
	}
	os.Exit(m.Run())
}

func toyHost(m model.Model) host { return host{languages: []lang.Language{toy{}}, model: m} }

// copyOf copies a folder to where a test may write.
func copyOf(t *testing.T, from string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "project")
	if err := os.CopyFS(dir, os.DirFS(from)); err != nil {
		t.Fatal(err)
	}
	return dir
}

// reportOf is the report of the newest run in a project.
func reportOf(t *testing.T, dir string) (r report.Report) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, ".unittest", "runs", "*", "report.json"))
	if err != nil || len(files) == 0 {
		t.Fatalf("there is no report in %s: %v", dir, err)
	}
	slices.Sort(files)
	text, err := os.ReadFile(files[len(files)-1])
	if err == nil {
		err = json.Unmarshal(text, &r)
	}
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func phasesOf(r report.Report) (names []string) {
	for _, p := range r.Phases {
		names = append(names, p.Name)
	}
	return names
}

// allPhases is the way that testdata/toy.script and the scripts of the samples lead.
var allPhases = []string{"analysis", "generation", "verification", "repair", "verification", "repair", "verification", "repair", "verification"}

// TestWorkflow goes all ways of the workflow: tests that do not compile, that fail, that cover
// too little, that assert nothing.
func TestWorkflow(t *testing.T) {
	t.Parallel()
	dir := copyOf(t, "testdata/toy")
	var out, errs strings.Builder
	code := toyHost(nil).program(t.Context(), []string{"--target", filepath.Join(dir, "price.toy"), "--script", "testdata/toy.script"}, &out, &errs)
	if code != exitDone {
		t.Fatalf("exit %d: %s%s", code, out.String(), errs.String())
	}
	r := reportOf(t, dir)
	if got := phasesOf(r); !slices.Equal(got, allPhases) {
		t.Errorf("the phases were %v", got)
	}
	if r.Outcome != "done" || r.Before.Branch != 0 || r.After.Branch != 80 || r.Score != 75 || r.Uncompiled != 1 || !slices.Equal(r.Tests, []string{"price0.toytest"}) || !r.Scripted {
		t.Errorf("the report: %+v", r)
	}
	for _, want := range []string{"▶ repair (visit 1): 4 tools", "because !results.MavenExecutor.data.green", "■ done after 11 rounds"} {
		if !strings.Contains(errs.String(), want) {
			t.Errorf("the progress does not say %q: %s", want, errs.String())
		}
	}
	if source, err := os.ReadFile(filepath.Join(dir, "price.toy")); err != nil || !strings.HasPrefix(string(source), "if cheap\nif heavy\n") {
		t.Errorf("the target has changed: %s, %v", source, err)
	}
	for _, name := range []string{"report.md", "report.html"} {
		text, err := os.ReadFile(filepath.Join(dir, ".unittest", "runs", r.ID, name))
		if err != nil || !strings.Contains(string(text), "price0.toytest") || !strings.Contains(string(text), "scripted") {
			t.Errorf("%s: %v: %s", name, err, text)
		}
	}
}

// recorded is a model that notes what definitions each request has.
type recorded struct {
	model.Model
	mu       sync.Mutex
	requests [][]string
	tokens   []int
}

func (r *recorded) Stream(ctx context.Context, req model.Request) iter.Seq2[model.Event, error] {
	r.mu.Lock()
	tokens, names := 0, []string{}
	for i := range req.Tools {
		raw, _ := json.Marshal(&req.Tools[i])
		tokens += chat.Tokens(string(raw))
		names = append(names, req.Tools[i].Name)
	}
	r.requests, r.tokens = append(r.requests, names), append(r.tokens, tokens)
	r.mu.Unlock()
	return r.Model.Stream(ctx, req)
}

// runRecorded runs the toy script and returns what was sent.
func runRecorded(t *testing.T, args ...string) (*recorded, report.Report, string) {
	t.Helper()
	m, err := script.Read("testdata/toy.script")
	if err != nil {
		t.Fatal(err)
	}
	dir, r := copyOf(t, "testdata/toy"), &recorded{Model: m}
	var errs strings.Builder
	if code := toyHost(r).program(t.Context(), append([]string{"--target", filepath.Join(dir, "price.toy")}, args...), io.Discard, &errs); code != exitDone {
		t.Fatalf("exit %d: %s", code, errs.String())
	}
	return r, reportOf(t, dir), errs.String()
}

// withPhases writes the built-in workspace with another text in place of one.
func workspaceWith(t *testing.T, old, with string) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.CopyFS(dir, builtIn); err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{"etui.yaml", "workflows/unittest.yaml"} {
		text, err := os.ReadFile(filepath.Join(dir, file))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, file), []byte(strings.ReplaceAll(string(text), old, with)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// TestTokensOfDefinitions measures what the toolsets of the phases leave out of the requests
// that are really sent, against the same run with all tools in every phase.
func TestTokensOfDefinitions(t *testing.T) {
	t.Parallel()
	full := workspaceWith(t, "    skill: ", "    skill: full # ")
	phases, r, _ := runRecorded(t)
	all, whole, _ := runRecorded(t, "--workspace", full)
	if len(phases.tokens) != len(all.tokens) || !slices.Equal(phasesOf(r), phasesOf(whole)) {
		t.Fatalf("the runs differ: %v, %v", phasesOf(r), phasesOf(whole))
	}
	// By requests: with the two tools of etui's own that every request has.
	sent, would, own := 0, 0, 0
	for i := range phases.tokens {
		sent, would = sent+phases.tokens[i], would+all.tokens[i]
		if len(all.requests[i]) != len(work.Tools(&work.Work{}))+2 {
			t.Errorf("request %d has not all tools: %v", i, all.requests[i])
		}
	}
	for _, p := range r.Phases {
		if p.Tools != 4 {
			t.Errorf("the phase %s has %d tools", p.Name, p.Tools)
		}
	}
	if share := 100 * float64(would-sent) / float64(would); share < 60 {
		t.Errorf("the requests had %d tokens of definitions instead of %d: -%.0f %%", sent, would, share)
	}
	// By toolsets, as the tools of the project are counted alone.
	w, err := openWorkspace("")
	if err != nil {
		t.Fatal(err)
	}
	cost := map[string]int{}
	for _, tl := range work.Tools(&work.Work{}) {
		raw, _ := json.Marshal(tl.Definition())
		cost[tl.Definition().Name] = chat.Tokens(string(raw))
		own += cost[tl.Definition().Name]
	}
	for _, s := range w.skills[:4] {
		n := 0
		for _, name := range s.Tools {
			n += cost[strings.TrimSuffix(name, "Tool")]
		}
		share := 100 * float64(own-n) / float64(own)
		t.Logf("%-12s %4d of %d tokens of definitions: -%.0f %%", s.Name, n, own, share)
		if n == 0 || share < 60 {
			t.Errorf("the toolset %s costs %d of %d tokens: -%.0f %%", s.Name, n, own, share)
		}
	}
	t.Logf("%d requests had %d tokens of definitions instead of %d: -%.0f %%", len(phases.tokens), sent, would, 100*float64(would-sent)/float64(would))
}

// TestKilled kills the program in every phase, while a call runs or just after it, and goes on
// each time. The run ends as if nothing had happened.
func TestKilled(t *testing.T) {
	t.Parallel()
	dir, killed := copyOf(t, "testdata/toy"), map[string]bool{}
	args := []string{"--target", filepath.Join(dir, "price.toy"), "--script", "testdata/toy.script", "--json"}
	for range 20 {
		phase, ended := runAndKill(t, args, killed)
		if ended {
			break
		}
		killed[phase] = true
		args = []string{"--target", filepath.Join(dir, "price.toy"), "--resume", "--json"}
	}
	for _, phase := range []string{"analysis", "generation", "verification", "repair"} {
		if !killed[phase] {
			t.Errorf("the program was never killed in the phase %s", phase)
		}
	}
	if r := reportOf(t, dir); r.Outcome != "done" || !slices.Equal(phasesOf(r), allPhases) || r.After.Branch != 80 || r.Rounds != 11 || r.Phases[0].ToolTokens == 0 {
		t.Errorf("the run was not as it would have been: %+v", r)
	}
}

// interrupting is a writer that interrupts a run when it says something.
type interrupting struct {
	strings.Builder
	at     string
	cancel func()
}

func (w *interrupting) Write(p []byte) (int, error) {
	if strings.Contains(string(p), w.at) {
		w.cancel()
	}
	return w.Builder.Write(p)
}

// TestInterrupted interrupts the program as Ctrl-C does, and goes on.
func TestInterrupted(t *testing.T) {
	t.Parallel()
	dir := copyOf(t, "testdata/toy")
	args := []string{"--target", filepath.Join(dir, "price.toy"), "--script", "testdata/toy.script"}
	for _, at := range []string{"→ FileSystem", "→ MavenExecutor", "→ TestReport"} {
		ctx, cancel := context.WithCancel(t.Context())
		errs := &interrupting{at: at, cancel: cancel}
		if code := toyHost(nil).program(ctx, args, io.Discard, errs); code != exitFailed || !strings.Contains(errs.String(), "--resume goes on with it") {
			t.Fatalf("exit %d: %s", code, errs.String())
		}
		cancel()
		args = []string{"--project", dir, "--resume"}
	}
	var errs strings.Builder
	if code := toyHost(nil).program(t.Context(), args, io.Discard, &errs); code != exitDone {
		t.Fatalf("exit %d: %s", code, errs.String())
	}
	// A call that was cancelled has failed, so the phases may be others.
	if r := reportOf(t, dir); r.Outcome != "done" || r.After.Branch != 80 || r.Score != 75 {
		t.Errorf("the report: %+v", r)
	}
}

// runAndKill runs the program until it calls a tool in a phase in which it was not killed yet,
// and kills it there. Ended reports that it came to its end before.
func runAndKill(t *testing.T, args []string, killed map[string]bool) (phase string, ended bool) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c := exec.Command(self, args...)
	c.Env = append(os.Environ(), asProgram+"=1")
	var errs strings.Builder
	c.Stderr = &errs
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	phase = "analysis" // a run says when it enters another one
	for lines := bufio.NewScanner(out); lines.Scan(); {
		var e struct {
			Phase *struct{ Phase string }
			Call  *struct{ Name string }
		}
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
			t.Fatalf("%s: %v", lines.Text(), err)
		}
		if e.Phase != nil {
			phase = e.Phase.Phase
		}
		if e.Call != nil && !killed[phase] {
			if err := c.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			_, _ = io.Copy(io.Discard, out)
			if err := c.Wait(); err == nil {
				return phase, true // it was faster
			}
			return phase, false
		}
	}
	if err := c.Wait(); err != nil {
		t.Fatalf("%v: %s", err, errs.String())
	}
	return phase, true
}

// TestMissingTool has a toolset with a tool that does not exist: its phase has all tools, says
// so, and the work goes on.
func TestMissingTool(t *testing.T) {
	t.Parallel()
	m, r, says := runRecorded(t, "--workspace", workspaceWith(t, "TestReportTool, CodeAnalyzerTool", "TestReportTool, GradleExecutorTool"))
	if !strings.Contains(says, "GradleExecutor") || !strings.Contains(says, "warning:") || !strings.Contains(says, "the phase has all tools") {
		t.Errorf("there is no warning: %s", says)
	}
	for i, p := range r.Phases {
		if want := map[bool]int{true: 15, false: 4}[p.Name == "repair"]; p.Tools != want {
			t.Errorf("phase %d, %s, has %d tools, want %d", i, p.Name, p.Tools, want)
		}
	}
	if !slices.Equal(phasesOf(r), allPhases) || !slices.Contains(m.requests[5], "MutationChecker") {
		t.Errorf("the run went another way: %v, %v", phasesOf(r), m.requests[5])
	}
}

// TestHopeless has a model that repeats the same wrong test. The run ends by the limits, and the report
// says what is wrong.
func TestHopeless(t *testing.T) {
	t.Parallel()
	dir := copyOf(t, "testdata/toy")
	var errs strings.Builder
	code := toyHost(hopeless{}).program(t.Context(), []string{"--target", filepath.Join(dir, "price.toy")}, io.Discard, &errs)
	r := reportOf(t, dir)
	if code != exitLimit || r.Outcome != "limit" || r.Reason == "" || len(r.Failing) != 1 || r.After.Branch != 20 || len(r.Phases) < 10 || len(r.Phases) > 20 {
		t.Errorf("exit %d: %s\n%+v", code, errs.String(), r)
	}
	if !strings.Contains(errs.String(), "1 of 1 tests fail") {
		t.Errorf("the end is not honest: %s", errs.String())
	}
}

// hopeless is a model that answers by the phase it is in, always the same.
type hopeless struct{}

func (hopeless) Info() model.Info { return model.Info{Name: "hopeless"} }

func (hopeless) Stream(_ context.Context, req model.Request) iter.Seq2[model.Event, error] {
	call := func(name, args string) chat.Call {
		return chat.Call{ID: fmt.Sprintf("%s-%d", name, len(req.Messages)), Name: name, Arguments: json.RawMessage(args)}
	}
	has := func(name string) bool {
		return slices.ContainsFunc(req.Tools, func(d tool.Definition) bool { return d.Name == name })
	}
	var calls []chat.Call
	switch {
	case has("MavenExecutor"):
		calls = []chat.Call{call("MavenExecutor", `{}`)}
	case has("SyntaxChecker"):
		calls = []chat.Call{call("FileSystem", `{"action":"write","path":"price0.toytest","content":"wrong cheap\n"}`), call("SyntaxChecker", `{}`)}
	default:
		calls = []chat.Call{call("CodeAnalyzer", `{}`), call("finish_phase", `{"summary":"done"}`)}
	}
	return func(yield func(model.Event, error) bool) {
		for i := range calls {
			if !yield(model.Event{Call: &calls[i]}, nil) {
				return
			}
		}
		yield(model.Event{Stop: model.ToolCalls}, nil)
	}
}

// TestModel asks a model on a server, as etui.yaml names one. It sees each tool of its phase,
// and what the tools gave.
func TestModel(t *testing.T) {
	t.Parallel()
	played, err := script.Read("testdata/toy.script")
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(http.HandlerFunc(func(out http.ResponseWriter, r *http.Request) {
		var req struct {
			Model    string
			Messages []struct{ Role string }
			Tools    []struct{ Function struct{ Name string } }
		}
		if err := json.NewDecoder(r.Body).Decode(&req); err != nil || r.Header.Get("Authorization") != "Bearer a-key" || req.Model != "small" {
			t.Errorf("the request: %v, %+v", err, req)
		}
		n := 0
		for _, m := range req.Messages {
			if m.Role == "assistant" {
				n++
			}
		}
		var calls []map[string]any
		for i, c := range played.Script().Answers[n].Calls {
			arguments := string(c.Arguments)
			if arguments == "" {
				arguments = "{}"
			}
			calls = append(calls, map[string]any{"index": i, "id": fmt.Sprintf("call-%d-%d", n, i), "type": "function", "function": map[string]any{"name": c.Name, "arguments": arguments}})
		}
		chunk, _ := json.Marshal(map[string]any{"choices": []any{map[string]any{"index": 0, "delta": map[string]any{"role": "assistant", "tool_calls": calls}, "finish_reason": "tool_calls"}}, "usage": map[string]int{"prompt_tokens": 1000, "completion_tokens": 50}})
		out.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprintf(out, "data: %s\n\ndata: [DONE]\n\n", chunk)
	}))
	defer server.Close()
	t.Run("run", func(t *testing.T) {
		workspace := workspaceWith(t, "    api_key: ${OPENAI_API_KEY}", "    base_url: "+server.URL+"/v1\n    api_key: a-key")
		file := filepath.Join(workspace, "etui.yaml")
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		before, after, _ := strings.Cut(string(text), "  - name: anthropic")
		_, after, _ = strings.Cut(after, "  - name: openai")
		if err := os.WriteFile(file, []byte(before+"  - name: openai"+strings.Replace(after, "gpt-5.4-mini", "small", 1)), 0o600); err != nil {
			t.Fatal(err)
		}
		dir := copyOf(t, "testdata/toy")
		var errs strings.Builder
		if code := toyHost(nil).program(t.Context(), []string{"--target", filepath.Join(dir, "price.toy"), "--workspace", workspace}, io.Discard, &errs); code != exitDone {
			t.Fatalf("exit %d: %s", code, errs.String())
		}
		if r := reportOf(t, dir); r.Outcome != "done" || r.Scripted || r.Tokens < 11*1050 || r.Cost == 0 || !slices.Equal(phasesOf(r), allPhases) {
			t.Errorf("the report: %+v", r)
		}
	})
}

// TestOnePhase runs a phase alone, as with --skill.
func TestOnePhase(t *testing.T) {
	t.Parallel()
	dir := copyOf(t, "testdata/toy")
	var errs strings.Builder
	var out strings.Builder
	code := toyHost(nil).program(t.Context(), []string{"--target", filepath.Join(dir, "price.toy"), "--script", "testdata/toy.script", "--skill", "analysis"}, &out, &errs)
	if !strings.Contains(out.String(), "five conditions") || !strings.Contains(errs.String(), "No tests ran") {
		t.Errorf("it says %s%s", out.String(), errs.String())
	}
	if r := reportOf(t, dir); code != exitDone || r.Outcome != "done" || !slices.Equal(phasesOf(r), []string{"analysis"}) || len(r.Tests) != 0 || r.Rounds != 2 {
		t.Errorf("exit %d: %s\n%+v", code, errs.String(), r)
	}
}

// TestProject takes each source file of a project that has not reached the goal.
func TestProject(t *testing.T) {
	t.Parallel()
	dir := copyOf(t, "testdata/toy")
	for range 2 { // the second time there is nothing to do
		var errs strings.Builder
		if code := toyHost(nil).program(t.Context(), []string{"--project", dir, "--script", "testdata/toy.script"}, io.Discard, &errs); code != exitDone {
			t.Fatalf("exit %d: %s", code, errs.String())
		}
	}
	if files, _ := filepath.Glob(filepath.Join(dir, ".unittest", "runs", "*", "report.json")); len(files) != 1 {
		t.Errorf("there are %d reports, want 1", len(files))
	}
}

// TestUsage calls the program wrongly. Each message says what is wrong.
func TestUsage(t *testing.T) {
	t.Parallel()
	dir := copyOf(t, "testdata/toy")
	price := filepath.Join(dir, "price.toy")
	for _, c := range []struct{ args, want string }{
		{"", "--target"},
		{"--target " + filepath.Join(dir, "none.toy"), "there is no file"},
		{"--target " + filepath.Join(dir, "toy.mod"), "no source file that can have tests; the languages are toy"},
		{"--target " + price + " --skill analyse --script testdata/toy.script", `there is no skill "analyse"; the workspace has analysis, generation`},
		{"--target " + price + " --goal 120", "--goal"},
		{"--project " + dir + " --resume", "there is no run to resume"},
		{"--target " + price + " --script testdata/none.script", "none.script"},
		{"--nonsense", "nonsense"},
		{price, "argument too much"},
	} {
		var errs strings.Builder
		if code := toyHost(nil).program(t.Context(), strings.Fields(c.args), io.Discard, &errs); code != exitUsage || !strings.Contains(errs.String(), c.want) {
			t.Errorf("%s: exit %d: %s", c.args, code, errs.String())
		}
	}
}

// TestWorkspaceMistakes shows where a mistake is.
func TestWorkspaceMistakes(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ old, with, want string }{
		{"results.Coverage.data.branch < double", "results.Coverage.data.branch < dubble", "unittest.yaml:"},
		{"instructions: |", "instruction: |", "instruction"},
		{"to: verification", "to: verificaton", "verificaton"},
	} {
		var errs strings.Builder
		dir := workspaceWith(t, c.old, c.with)
		code := toyHost(nil).program(t.Context(), []string{"--target", filepath.Join(copyOf(t, "testdata/toy"), "price.toy"), "--workspace", dir, "--script", "testdata/toy.script"}, io.Discard, &errs)
		if code != exitUsage || !strings.Contains(errs.String(), c.want) {
			t.Errorf("%s: exit %d: %s", c.with, code, errs.String())
		}
	}
}

// TestSamples works on the samples with real compilers and real coverage, as their scripts say.
func TestSamples(t *testing.T) {
	samples := []struct{ name, target, mutants string }{
		{"go", "rate/rate.go", "2"}, {"java", "src/parking/Tariff.java", "4"}, {"maven", "src/main/java/com/example/semver/Version.java", "2"},
	}
	for _, sample := range samples {
		t.Run(sample.name, func(t *testing.T) {
			t.Parallel()
			dir := copyOf(t, "samples/"+sample.name)
			target := filepath.Join(dir, sample.target)
			before, err := os.ReadFile(target)
			if err != nil {
				t.Fatal(err)
			}
			var errs strings.Builder
			code := host{languages: languages()}.program(t.Context(), []string{"--target", target, "--script", "samples/" + sample.name + ".script", "--max-mutants", sample.mutants}, io.Discard, &errs)
			if code != exitDone {
				t.Fatalf("exit %d: %s", code, errs.String())
			}
			r := reportOf(t, dir)
			if !slices.Equal(phasesOf(r), allPhases) || r.After.Branch < 80 || r.Before.Branch != 0 || r.Score != 100 || r.Uncompiled != 1 || len(r.Runs) != 4 || r.Runs[0].Failed != 1 {
				t.Errorf("the report: %+v", r)
			}
			if after, err := os.ReadFile(target); err != nil || string(after) != string(before) {
				t.Errorf("the target has changed: %v", err)
			}
		})
	}
}

// TestGoHopeless has a target that is wrong. The agent may not change it, and says so.
func TestGoHopeless(t *testing.T) {
	t.Parallel()
	dir := copyOf(t, "samples/go")
	var out, errs strings.Builder
	code := host{languages: languages()}.program(t.Context(), []string{"--target", filepath.Join(dir, "rate", "rate.go"), "--script", "samples/go-hopeless.script", "--json"}, &out, &errs)
	if code != exitFailed || errs.Len() > 0 {
		t.Fatalf("exit %d: %s", code, errs.String())
	}
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	var last struct{ Report report.Report }
	if err := json.Unmarshal([]byte(lines[len(lines)-1]), &last); err != nil || !strings.HasPrefix(lines[0], `{"run":`) {
		t.Fatalf("%v: %s", err, out.String())
	}
	if r := last.Report; r.Outcome != "failed" || !strings.Contains(r.Reason, "mistake in rate.go") || len(r.Failing) != 1 || r.Failing[0].Name != "TestParseWeightOfNothing" {
		t.Errorf("the report: %+v", r)
	}
	if !strings.Contains(out.String(), "rate/rate.go is no file of tests") {
		t.Error("the target could be changed")
	}
}
