// Benchtable measures etui and rewrites docs/benchmarks.md: `make bench`. The
// public sets are not part of the repository: SETS names the folder that holds them.
// Without SETS their table stays as it is. See docs/ranking.md.
package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"
)

func main() {
	log.SetFlags(0)
	flag.Usage = func() {
		fmt.Fprintln(os.Stderr, "usage: make bench\nIt measures etui for some minutes and rewrites docs/benchmarks.md; SETS names the folder of the public sets.")
	}
	flag.Parse()
	var b strings.Builder
	fmt.Fprintf(&b, "<!-- Made by `make bench`. -->\n# Benchmarks\n\n%s, %d cores, %s. The figures are medians on a shared machine: compare rows rather than digits. `make bench` writes this page.\n\n", runtime.Version(), runtime.NumCPU(), cpu())
	ranking(&b)
	questions(&b)
	conversations(&b)
	phases(&b)
	processes(&b)
	requests(&b)
	doors(&b)
	functions(&b)
	keep(&b, "## The last change of the ranking\n")
	if err := os.WriteFile("docs/benchmarks.md", []byte(b.String()), 0o644); err != nil {
		log.Fatal(err)
	}
	fmt.Print(b.String())
}

func cpu() string {
	raw, _ := os.ReadFile("/proc/cpuinfo")
	if m := regexp.MustCompile(`model name\s*: (.*)`).FindSubmatch(raw); m != nil {
		return string(m[1])
	}
	return runtime.GOARCH
}

// reached holds what an experimental ranking without a model or log reached on each set:
// recall@5, nDCG@5 and complete@10. bm25 is BM25's recall@5.
var reached = []struct {
	set               string
	bm25              string
	recall, ndcg, c10 float64
}{
	{"apibank", "54.1", 80.9, 67.6, 87.6}, {"bfcl-live", "85.2", 89.2, 77.8, 93.2}, {"metatool", "47.4", 62.8, 55.2, 68.0},
	{"metatool-multi", "38.1", 67.4, 59.3, 55.6}, {"sealtools", "87.0", 87.1, 87.4, 85.4}, {"skills", "45.4", 60, 59, 39},
	{"toolbench", "47.9", 73.6, 68.9, 68.8}, {"toollens", "30.8", 35.2, 34.2, 17.0}, {"toolret-apibank", "59.6", 64.3, 57.5, 50.0},
	{"toolret-apigen", "81.0", 82.7, 77.1, 85.0}, {"toolret-gorilla-huggingface", "23.1", 35.5, 25.9, 45.5},
	{"ultratool-en", "59.4", 72.8, 65.9, 70.3}, {"ultratool-zh", "71.3", 77.3, 72.0, 74.6},
}

// ranking measures the public sets if SETS names their folder.
func ranking(b *strings.Builder) {
	const head = "## The ranking on public sets\n"
	sets := os.Getenv("SETS")
	if sets == "" {
		keep(b, head)
		b.WriteString("\n")
		log.Print("SETS is not set: the table of the public sets stays as it is")
		return
	}
	b.WriteString(head + "\n`SETS=folder make bench` runs `etui eval` on each set, with the same configuration for all; figures are percentages. *BM25* uses k1 = 1.2 and b = 0.75 over all texts of a\ntool. *research* is an experimental ranking without a model or log, tuned on these sets. [docs/ranking.md](ranking.md) says where the sets come from.\n\n| set | tools | questions | BM25 R@5 | research R@5 · nDCG@5 · C@10 | etui R@5 · nDCG@5 · C@10 |\n|---|---|---|---|---|---|\n")
	var mean [6]float64
	row := func(name, bm25, tools, queries string, want, got [3]float64, format string) {
		fmt.Fprintf(b, "| %s | %s | %s | %s | %.1f · %.1f · %.1f | "+format+" |\n", name, tools, queries, bm25, want[0], want[1], want[2], got[0], got[1], got[2])
	}
	for _, r := range reached {
		tools, queries, got := evaluate(filepath.Join(sets, r.set), "")
		want := [3]float64{r.recall, r.ndcg, r.c10}
		for i := range 3 {
			mean[i] += want[i] / float64(len(reached))
			mean[3+i] += got[i] / float64(len(reached))
		}
		row(r.set, r.bm25, strconv.Itoa(tools), strconv.Itoa(queries), want, got, "%.1f · %.1f · %.1f")
	}
	row("**mean of the 13**", "56.2", "", "", [3]float64(mean[:3]), [3]float64(mean[3:]), "**%.1f · %.1f · %.1f**")
	tools, queries, got := evaluate(filepath.Join(sets, "ultratool-en"), filepath.Join(sets, "ultratool-zh", "queries.jsonl"))
	row("asked in Chinese, tools in English (ultratool)", "2.7", strconv.Itoa(tools), strconv.Itoa(queries), [3]float64{63.4, 54.7, 59.3}, got, "%.1f · %.1f · %.1f")
	tools, queries, got = evaluate(filepath.Join(sets, "ultratool-zh"), filepath.Join(sets, "ultratool-en", "queries.jsonl"))
	fmt.Fprintf(b, "| asked in English, tools in Chinese (ultratool) | %d | %d | - | - | %.1f · %.1f · %.1f |\n\n", tools, queries, got[0], got[1], got[2])
}

// keep writes a section as it is on the page: its measurement needs what is not here.
func keep(b *strings.Builder, head string) {
	page, _ := os.ReadFile("docs/benchmarks.md")
	_, old, _ := strings.Cut(string(page), head)
	old, _, _ = strings.Cut(old, "\n## ")
	b.WriteString(head + strings.TrimRight(old, "\n") + "\n")
}

// evaluate measures one set, and returns how many tools and questions it has,
// with recall@5, nDCG@5 and complete@10 in percent.
func evaluate(dir, queries string) (int, int, [3]float64) {
	out, err := exec.Command("bin/etui", "eval", dir, "--queries", queries, "--json").Output()
	if err != nil {
		log.Fatalf("evaluating %s: %v", dir, err)
	}
	var r struct {
		Tools, Queries int
		Recall         float64 `json:"recall@5"`
		NDCG           float64 `json:"ndcg@5"`
		Complete       float64 `json:"complete@10"`
	}
	if err := json.Unmarshal(out, &r); err != nil {
		log.Fatal(err)
	}
	return r.Tools, r.Queries, [3]float64{100 * r.Recall, 100 * r.NDCG, 100 * r.Complete}
}

// conversations replays those of the demo.
func conversations(b *strings.Builder) {
	out, err := exec.Command("bin/etui", "--demo", "replay", "--table").Output()
	if err != nil {
		log.Fatalf("replaying: %v", err)
	}
	fmt.Fprintf(b, "\n## The demo's conversations\n\n`etui --demo replay --table`: it replays 40 conversations with 265 turns, without a model. *all* declares every tool in every request. *naive* chooses\nagain for each turn, and so breaks the prompt cache. The others are etui's modes, see [docs/delivery.md](delivery.md). *recall* is the share of the needed tools that reached the\nmodel without a search; *with a search* adds those that one search found. The costs follow the providers' cache rules, include the rounds for searching, and use the prices in\n`lab/replay/bill.go`; [docs/replay.md](replay.md) explains the table. With a search, `auto` reaches as many tools as *all*; without one, *all* has the better recall.\n\n%s\n", strings.TrimSpace(string(out)))
}

// phases bills the unit-test agent of examples/unittest, whose tools change with its phases.
func phases(b *strings.Builder) {
	out, err := exec.Command("go", "run", "./cmd/bench/phases", "unittest").Output()
	if err != nil {
		log.Fatalf("billing the phases: %v", err)
	}
	b.WriteString(phasesText + strings.TrimSpace(string(out)) + "\n")
}

const phasesText = "\n## Work in phases\n\n`go run ./cmd/bench/phases unittest`: the [unit-test agent](../examples/unittest) on its Go sample, with fifteen tools in four toolsets of four. Its answers are scripted; its compiler,\ntests and coverage are real. The requests are billed by the providers' cache rules and list prices in `lab/replay/bill.go`. *full* declares all tools in every phase, *declare* each\nphase's tools anew, *announce* keeps the first front; *auto* is etui's choice. Of the tokens of definitions, two tools of etui's own are in every row. Declaring anew sends the fewest tokens and costs the\nmost; announcing costs the least. Switches: d declared, a announced.\n\n"

// doors measures the protocols of the API.
func doors(b *strings.Builder) {
	out, err := exec.Command("go", "run", "./cmd/bench/doors").Output()
	if err != nil {
		log.Fatalf("measuring the protocols: %v", err)
	}
	b.WriteString(doorsText + strings.TrimSpace(string(out)) + "\n")
}

const doorsText = "\n## Protocols\n\n`go run ./cmd/bench/doors`: processor time of the whole program, which other work on the machine changes little, with a model and MCP servers in another process. Each figure is the median of five rounds of 500\nrequests. A streamed answer has twenty pieces.\n\n"

// questions asks the demo's own questions.
func questions(b *strings.Builder) {
	b.WriteString("## The demo's questions\n\n`go test -v -run Questions ./cmd/internal/app`: is a right tool among the eight that are sent? The author of the tools' aliases knew the demo's own\nquestions. The unseen questions are less direct, and their author knew only the tools' names; no alias, example or weight was fitted to them.\n\n| questions | English | Chinese | right tool first | tool tokens saved |\n|---|---|---|---|---|\n")
	for _, set := range []struct{ test, says string }{{"TestDemoQuestions", "the demo's own (target: 95 %)"}, {"TestUnseenQuestions", "unseen"}} {
		out, err := exec.Command("go", "test", "-count=1", "-v", "-run", set.test, "./cmd/internal/app").CombinedOutput()
		if err != nil {
			log.Fatalf("%s", out)
		}
		share := map[string]string{}
		for _, m := range regexp.MustCompile(`(en|zh): right tool among 8 for (\d+ of \d+ \(.*?\))`).FindAllStringSubmatch(string(out), -1) {
			share[m[1]] = m[2]
		}
		m := regexp.MustCompile(`right tool first ([\d.]+ %), tokens saved ([\d.]+ %)`).FindStringSubmatch(string(out))
		if m == nil || len(share) != 2 {
			log.Fatalf("%s", out)
		}
		fmt.Fprintf(b, "| %s | %s | %s | %s | %s |\n", set.says, share["en"], share["zh"], m[1], m[2])
	}
}

// processes measures the whole program.
func processes(b *strings.Builder) {
	home, err := os.MkdirTemp("", "etui-bench")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(home)
	binary, err := filepath.Abs("bin/etui")
	if err != nil {
		log.Fatal(err)
	}
	env := append(os.Environ(), "HOME="+home, "XDG_STATE_HOME="+home, "ETUI_TRUST="+home, "ETUI_LISTEN=127.0.0.1:0", "OPENAI_API_KEY=", "OPENAI_BASE_URL=", "ANTHROPIC_API_KEY=")
	command := func(args ...string) *exec.Cmd {
		c := exec.Command(binary, args...)
		c.Env, c.Dir = env, home
		return c
	}
	b.WriteString("\n## The whole program\n\n| what | target | measured |\n|---|---|---|\n")
	var walls []time.Duration
	for range 21 {
		began := time.Now()
		if out, err := command("--demo", "select", "who is on call this week?").CombinedOutput(); err != nil {
			log.Fatalf("%s", out)
		}
		walls = append(walls, time.Since(began))
	}
	fmt.Fprintf(b, "| `etui --demo select`, cold, whole process | < 100 ms | %d ms |\n", median(walls).Milliseconds())
	for _, c := range []struct {
		args        []string
		ready, size string
	}{{[]string{"serve"}, "< 60 ms", "< 32 MB"}, {[]string{"demo"}, "-", "< 40 MB"}} {
		var ready []time.Duration
		var rss []int
		for i := range 9 {
			d, kb := start(command(c.args...))
			if i > 0 { // the first start makes the database
				ready, rss = append(ready, d), append(rss, kb)
			}
		}
		slices.Sort(rss)
		fmt.Fprintf(b, "| `etui %s`: from start to a first answer of /readyz | %s | %d ms |\n", c.args[0], c.ready, median(ready).Milliseconds())
		fmt.Fprintf(b, "| `etui %s`: resident memory, idle | %s | %.1f MB |\n", c.args[0], c.size, float64(rss[len(rss)/2])/1024)
	}
	if info, err := os.Stat(binary); err == nil {
		fmt.Fprintf(b, "| the binary | - | %.1f MB |\n", float64(info.Size())/1e6)
	}
}

// start runs a gateway until it is ready, and tells how long that took and how
// much memory it has when it is idle.
func start(c *exec.Cmd) (time.Duration, int) {
	out, err := c.StdoutPipe()
	if err != nil {
		log.Fatal(err)
	}
	c.Stderr = os.Stderr
	began := time.Now()
	if err := c.Start(); err != nil {
		log.Fatal(err)
	}
	url := ""
	for lines := bufio.NewScanner(out); url == "" && lines.Scan(); {
		url = regexp.MustCompile(`http://\S+`).FindString(lines.Text())
	}
	resp, err := http.Get(url + "/readyz")
	if err != nil {
		log.Fatal(err)
	}
	resp.Body.Close()
	took := time.Since(began)
	time.Sleep(time.Second)
	kb := 0
	raw, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", c.Process.Pid))
	if m := regexp.MustCompile(`VmRSS:\s+(\d+) kB`).FindSubmatch(raw); m != nil {
		kb, _ = strconv.Atoi(string(m[1]))
	}
	c.Process.Signal(os.Interrupt)
	c.Wait()
	return took, kb
}

func median(list []time.Duration) time.Duration {
	slices.Sort(list)
	return list[len(list)/2]
}

// requests records what an OpenAI-compatible server is sent.
func requests(b *strings.Builder) {
	home, err := os.MkdirTemp("", "etui-bench")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(home)
	var bodies [][]byte
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var body bytes.Buffer
		body.ReadFrom(r.Body)
		bodies = append(bodies, body.Bytes())
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprint(w, `data: {"choices":[{"index":0,"delta":{"content":"All right, here is a short answer."},"finish_reason":"stop"}]}`+"\n\ndata: [DONE]\n\n")
	}))
	defer server.Close()
	binary, _ := filepath.Abs("bin/etui")
	say := func(session string, args ...string) {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		c := exec.CommandContext(ctx, binary, append(args, "--session", session)...)
		c.Dir = home
		c.Env = append(os.Environ(), "HOME="+home, "XDG_STATE_HOME="+home, "ETUI_TRUST="+home, "ETUI_LISTEN=127.0.0.1:0", "OPENAI_BASE_URL="+server.URL, "OPENAI_MODEL=bench")
		if out, err := c.CombinedOutput(); err != nil {
			log.Fatalf("%v: %s", args, out)
		}
	}
	b.WriteString("\n## Requests\n\nThese are requests as an OpenAI-compatible server receives them.\n\n| what | target | measured |\n|---|---|---|\n")
	say("hi", "chat", "-m", "hi")
	fmt.Fprintf(b, "| a plain \"hi\" with defaults | ≤ 5 kB | %.1f kB |\n", float64(len(bodies[0]))/1000)
	bodies = nil
	say("hi", "--demo", "chat", "-m", "hi")
	fmt.Fprintf(b, "| a plain \"hi\" in the demo | - | %.1f kB |\n", float64(len(bodies[0]))/1000)
	bodies = nil
	for _, text := range []string{"show me the error logs of the checkout pod in namespace prod", "who is on call?", "给 Acme 开一张 1200 欧的发票", "what's on my calendar tomorrow", "book a room for 6 people", "which invoices are overdue?"} {
		say("conversation", "--demo", "chat", "-m", text)
	}
	least := 100.0
	for i := 1; i < len(bodies); i++ {
		n := 0
		for n < len(bodies[i-1]) && bodies[i-1][n] == bodies[i][n] {
			n++
		}
		least = min(least, 100*float64(n)/float64(len(bodies[i-1])))
	}
	fmt.Fprintf(b, "| six questions on six subjects: the smallest share of a request's bytes that the next request repeats at its beginning | ≥ 97 %% | %.2f %% |\n", least)
	least = 100
	for _, skill := range []string{"analysis", "generation", "verification", "repair"} {
		least = min(least, saved(binary, home, skill))
	}
	fmt.Fprintf(b, "| a toolset of four of fifteen tools, meta tools counted: the smallest share of the tool tokens that it saves | ≥ 60 %% | %.1f %% |\n", least)
}

// saved returns which share of tool tokens a toolset saves, in percent.
func saved(binary, home, skill string) float64 {
	c := exec.Command(binary, "select", "--json", "--skill", skill, "go on")
	c.Dir = "cmd/etui/testdata/fixtures/phases"
	c.Env = append(os.Environ(), "HOME="+home, "XDG_STATE_HOME="+home, "ETUI_TRUST="+home)
	out, err := c.Output()
	var x struct {
		Tokens struct {
			SavedPercent float64 `json:"saved_percent"`
		} `json:"tokens"`
	}
	if err == nil {
		err = json.Unmarshal(out, &x)
	}
	if err != nil {
		log.Fatalf("the skill %s: %v", skill, err)
	}
	return x.Tokens.SavedPercent
}

// functions runs the Go benchmarks.
func functions(b *strings.Builder) {
	rows := []struct{ bench, says, target, pkg string }{
		{"BenchmarkSelect/tools=1000/filters=0", "Select, 1,000 tools", "≤ 50 µs", "./selection"},
		{"BenchmarkSelect/tools=1000/filters=100", "Select, 1,000 tools behind 100 filters", "< + 10 %", "./selection"},
		{"BenchmarkSelect/tools=10000/filters=0", "Select, 10,000 tools", "≤ 300 µs", "./selection"},
		{"BenchmarkSelect/tools=10000/filters=100", "Select, 10,000 tools behind 100 filters", "< + 10 %", "./selection"},
		{"BenchmarkSelect/tools=50000/filters=0", "Select, 50,000 tools", "≤ 1.5 ms", "./selection"},
		{"BenchmarkSelectRules/tools=1000/rules=0", "Select, 1,000 tools, no rules", "≤ 50 µs", "./selection"},
		{"BenchmarkSelectRules/tools=1000/rules=100", "Select, 1,000 tools under 100 rules, a caller seen before", "< + 10 %", "./selection"},
		{"BenchmarkSelectRules/tools=1000/rules=100/new=user", "Select, 1,000 tools under 100 rules, a new caller each time", "≤ 50 µs", "./selection"},
		{"BenchmarkSelectRules/tools=10000/rules=100", "Select, 10,000 tools under 100 rules", "≤ 300 µs", "./selection"},
		{"BenchmarkSelectVotes", "Select, 1,000 tools, 5,000 past questions vote", "-", "./selection"},
		{"BenchmarkIndex10000", "indexing 10,000 tools", "≤ 100 ms", "./selection"},
		{"BenchmarkRegisterOneOf1000", "registering one tool among 1,000", "≤ 1 ms", "./catalog"},
		{"BenchmarkGroupsOf1000", "two groups of a catalog of 1,000", "-", "./catalog"},
		{"BenchmarkPrompt/full", "full prompt, nothing changed", "≤ 20 µs", "./prompt"},
		{"BenchmarkPrompt/lite", "lite prompt, nothing changed", "≤ 1 µs", "./prompt"},
		{"BenchmarkOfflineTurn", "a turn of the demo with the offline model: select, call over HTTP, store", "< 5 ms", "./cmd/internal/app"},
		{"BenchmarkTurn", "a turn with one call and a scripted model, nothing stored", "-", "./turn"},
		{"BenchmarkRegister/100", "registering one skill among 100", "≤ 1 ms", "./skill"},
		{"BenchmarkRegister/10000", "registering one skill among 10,000", "≤ 1 ms", "./skill"},
		{"BenchmarkList100", "listing 100 skills", "≤ 0.1 ms", "./skill"},
		{"BenchmarkGet", "looking one skill of 10,000 up", "-", "./skill"},
		{"BenchmarkLoad10000", "loading 10,000 YAML skills", "≤ 3 s", "./skill"},
		{"BenchmarkPublishOneOf10000", "one changed skill of 10,000: table, publisher, catalog", "≤ 50 ms", "./skill"},
		{"BenchmarkOneOf10000", "one changed tool of 10,000: catalog and index", "≤ 50 ms", "./selection"},
		{"BenchmarkCall/bare", "a POST over HTTP", "-", "./skill/http"},
		{"BenchmarkCall/skill", "the same as an http skill", "< + 0.3 ms", "./skill/http"},
		{"BenchmarkRun/off", "`sh -c true`, not isolated", "-", "./sandbox"},
		{"BenchmarkRun/landlock", "the same in sandbox mode landlock", "< + 10 ms", "./sandbox"},
		{"BenchmarkRun/strong", "the same in sandbox mode strong", "< + 10 ms", "./sandbox"},
		{"BenchmarkCall/bare", "a function", "-", "./cmd/internal/toolgen"},
		{"BenchmarkCall/generated", "the same as a generated tool", "< + 10 µs", "./cmd/internal/toolgen"},
		{"BenchmarkCall/func", "the same as a tool.Func", "-", "./cmd/internal/toolgen"},
		{"BenchmarkGenerate200", "`tools gen`, 200 tools", "≤ 2 s", "./cmd/internal/toolgen"},
		{"BenchmarkOpen", "opening the database", "-", "./store/sqlite"},
		{"BenchmarkAppendTwo", "storing two messages", "-", "./store/sqlite"},
	}
	args := []string{"test", "-run", "^$", "-bench", ".", "-count=5", "-benchtime=200ms", "-p=1"}
	for _, r := range rows {
		if !slices.Contains(args, r.pkg) {
			args = append(args, r.pkg)
		}
	}
	out, err := exec.Command("go", args...).CombinedOutput()
	if err != nil {
		log.Fatalf("%s", out)
	}
	found := map[string][]time.Duration{} // by package and name
	pkg := ""
	for _, m := range regexp.MustCompile(`(?m)^pkg: github.com/etui-run/etui(\S*)|^(Benchmark\S+?)(?:-\d+)?\s+\d+\s+([\d.]+) ns/op`).FindAllStringSubmatch(string(out), -1) {
		if m[2] == "" {
			pkg = "." + m[1]
			continue
		}
		ns, _ := strconv.ParseFloat(m[3], 64)
		found[pkg+" "+m[2]] = append(found[pkg+" "+m[2]], time.Duration(ns))
	}
	b.WriteString("\n## Functions\n\n`go test -bench`, median of five.\n\n| what | target | measured |\n|---|---|---|\n")
	for _, r := range rows {
		times := found[r.pkg+" "+r.bench]
		if len(times) == 0 {
			names, _ := json.Marshal(found)
			log.Fatalf("%s did not run: %s", r.bench, names)
		}
		fmt.Fprintf(b, "| %s | %s | %s |\n", r.says, r.target, round(median(times)))
	}
	memory := regexp.MustCompile(`(?m)^BenchmarkIndexMemory\S*.*?([\d.]+) MB`).FindStringSubmatch(string(out))
	if memory == nil {
		log.Fatalf("BenchmarkIndexMemory did not run: %s", out)
	}
	fmt.Fprintf(b, "| memory of an index of 50,000 tools | ≤ 120 MB | %s MB |\n", memory[1])
}

func round(d time.Duration) string {
	switch {
	case d < 100*time.Nanosecond:
		return fmt.Sprintf("%d ns", d)
	case d < 10*time.Microsecond:
		return fmt.Sprintf("%.2f µs", float64(d)/1000)
	case d < 100*time.Microsecond:
		return fmt.Sprintf("%.1f µs", float64(d)/1000)
	case d < time.Millisecond:
		return fmt.Sprintf("%.0f µs", float64(d)/1000)
	}
	return fmt.Sprintf("%.1f ms", float64(d)/1e6)
}
