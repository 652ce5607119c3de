//go:build ignore

// Benchtable measures etui and rewrites docs/benchmarks.md: `make bench`.
package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
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
	var b strings.Builder
	fmt.Fprintf(&b, "<!-- Made by `make bench`. -->\n# Benchmarks\n\n%s, %d cores, %s. Medians; a shared machine, so compare rows rather than trust digits. `make bench` makes this page.\n\n", runtime.Version(), runtime.NumCPU(), cpu())
	questions(&b)
	processes(&b)
	requests(&b)
	functions(&b)
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

// questions asks the demo's own questions.
func questions(b *strings.Builder) {
	b.WriteString("## The demo's questions\n\n`go test -v -run Questions ./cmd/etui`: is a right tool among the eight that are sent, of 372? The demo's own questions were written before the\ntools' aliases, which were then written with them in view. The unseen ones are more roundabout, come from somebody who knew only the tools' names, and nothing was\nfitted to them.\n\n| questions | English | Chinese | right tool first | tool tokens saved |\n|---|---|---|---|---|\n")
	for _, set := range []struct{ test, says string }{{"TestDemoQuestions", "the demo's own (target: 95 %)"}, {"TestUnseenQuestions", "unseen"}} {
		out, err := exec.Command("go", "test", "-count=1", "-v", "-run", set.test, "./cmd/etui").CombinedOutput()
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
	env := append(os.Environ(), "HOME="+home, "XDG_STATE_HOME="+home, "ETUI_LISTEN=127.0.0.1:0", "OPENAI_API_KEY=", "OPENAI_BASE_URL=", "ANTHROPIC_API_KEY=")
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
			d, kb := start(command(c.args...), home)
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
func start(c *exec.Cmd, home string) (time.Duration, int) {
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
		c.Env = append(os.Environ(), "HOME="+home, "XDG_STATE_HOME="+home, "ETUI_LISTEN=127.0.0.1:0", "OPENAI_BASE_URL="+server.URL, "OPENAI_MODEL=bench")
		if out, err := c.CombinedOutput(); err != nil {
			log.Fatalf("%v: %s", args, out)
		}
	}
	b.WriteString("\n## Requests\n\nAs an OpenAI-compatible server gets them.\n\n| what | target | measured |\n|---|---|---|\n")
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
	fmt.Fprintf(b, "| six questions on six subjects: the least share of a request's bytes with which the next one begins | ≥ 97 %% | %.2f %% |\n", least)
}

// functions runs the Go benchmarks.
func functions(b *strings.Builder) {
	rows := []struct{ bench, says, target, pkg string }{
		{"BenchmarkSelect/tools=1000/filters=0", "Select, 1,000 tools", "≤ 50 µs", "./selection"},
		{"BenchmarkSelect/tools=1000/filters=100", "Select, 1,000 tools behind 100 filters", "< + 10 %", "./selection"},
		{"BenchmarkSelect/tools=10000/filters=0", "Select, 10,000 tools", "≤ 300 µs", "./selection"},
		{"BenchmarkSelect/tools=10000/filters=100", "Select, 10,000 tools behind 100 filters", "< + 10 %", "./selection"},
		{"BenchmarkSelect/tools=50000/filters=0", "Select, 50,000 tools", "≤ 1.5 ms", "./selection"},
		{"BenchmarkIndex10000", "indexing 10,000 tools", "≤ 100 ms", "./selection"},
		{"BenchmarkRegisterOneOf1000", "registering one tool among 1,000", "≤ 1 ms", "./catalog"},
		{"BenchmarkGroupsOf1000", "two groups of a catalog of 1,000", "-", "./catalog"},
		{"BenchmarkPrompt/full", "full prompt, nothing changed", "≤ 20 µs", "./prompt"},
		{"BenchmarkPrompt/lite", "lite prompt, nothing changed", "≤ 1 µs", "./prompt"},
		{"BenchmarkOfflineTurn", "a turn of the demo with the offline model: select, call over HTTP, store", "< 5 ms", "./cmd/etui"},
		{"BenchmarkTurn", "a turn with one call and a scripted model, nothing stored", "-", "./turn"},
		{"BenchmarkOpen", "opening the database", "-", "./internal/store/sqlite"},
		{"BenchmarkAppendTwo", "storing two messages", "-", "./internal/store/sqlite"},
	}
	out, err := exec.Command("go", "test", "-run", "^$", "-bench", ".", "-count=5", "-benchtime=200ms", "./selection", "./catalog", "./prompt", "./cmd/etui", "./turn", "./internal/store/sqlite").CombinedOutput()
	if err != nil {
		log.Fatalf("%s", out)
	}
	found := map[string][]time.Duration{}
	for _, m := range regexp.MustCompile(`(?m)^(Benchmark\S+?)(?:-\d+)?\s+\d+\s+([\d.]+) ns/op`).FindAllStringSubmatch(string(out), -1) {
		ns, _ := strconv.ParseFloat(m[2], 64)
		found[m[1]] = append(found[m[1]], time.Duration(ns))
	}
	b.WriteString("\n## Functions\n\n`go test -bench`, median of five.\n\n| what | target | measured |\n|---|---|---|\n")
	for _, r := range rows {
		if len(found[r.bench]) == 0 {
			names, _ := json.Marshal(found)
			log.Fatalf("%s did not run: %s", r.bench, names)
		}
		fmt.Fprintf(b, "| %s | %s | %s |\n", r.says, r.target, round(median(found[r.bench])))
	}
	memory := regexp.MustCompile(`(?m)^BenchmarkIndexMemory\S*.*?([\d.]+) MB`).FindStringSubmatch(string(out))
	if memory == nil {
		log.Fatalf("BenchmarkIndexMemory did not run: %s", out)
	}
	fmt.Fprintf(b, "| memory of an index of 50,000 tools | ≤ 120 MB | %s MB |\n", memory[1])
}

func round(d time.Duration) string {
	switch {
	case d < 10*time.Microsecond:
		return fmt.Sprintf("%.2f µs", float64(d)/1000)
	case d < 100*time.Microsecond:
		return fmt.Sprintf("%.1f µs", float64(d)/1000)
	case d < time.Millisecond:
		return fmt.Sprintf("%.0f µs", float64(d)/1000)
	}
	return fmt.Sprintf("%.1f ms", float64(d)/1e6)
}
