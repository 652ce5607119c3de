// Command doors measures what the protocols of the API cost in the whole program, and prints the table
// of docs/benchmarks.md. It counts the processor time of etui's process and not the clock, so other
// work on the machine changes little:
//
//	go run ./cmd/bench/doors -etui bin/etui
//
// The model and two MCP servers with 1,000 tools run in this process.
package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

func main() {
	log.SetFlags(0)
	etui := flag.String("etui", "bin/etui", "the program")
	turns := flag.Int("turns", 500, "turns, or calls, of which a round has so many")
	rounds := flag.Int("rounds", 5, "rounds, whose median is taken")
	streams := flag.Int("streams", 1000, "streams that are open at once")
	flag.Parse()
	if err := run(os.Stdout, *etui, *turns, *rounds, *streams); err != nil {
		log.Fatal("doors: ", err)
	}
}

func run(out io.Writer, program string, turns, rounds, streams int) error {
	slow := &slowModel{begun: make(chan struct{}, streams)}
	models := httptest.NewServer(slow)
	defer models.Close()
	// etui takes 512 tools of a server at most.
	half := map[string]*mcp.Server{"/0": manyTools(0), "/1": manyTools(500)}
	tools := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(r *http.Request) *mcp.Server { return half[r.URL.Path] }, &mcp.StreamableHTTPOptions{Stateless: true}))
	defer tools.Close()
	p, err := start(program, models.URL, tools.URL)
	if err != nil {
		return err
	}
	defer p.stop()
	table := &table{p: p, turns: turns, rounds: rounds}
	fmt.Fprint(out, "| what | target | measured |\n|---|---|---|\n")

	ask := `"stream":true,"messages":[{"role":"user","content":"hello"}]`
	doors := []request{
		{"/v1/chat/completions", `{"model":"plain",` + ask + `}`},
		{"/v1/responses", `{"model":"plain","stream":true,"store":false,"input":[{"role":"user","content":"hello"}]}`},
		{"/v1/messages", `{"model":"plain","max_tokens":1000,` + ask + `}`},
		{"/v1/chat/completions", `{"model":"plain",` + ask + `,"tools":[` + clientTools(200) + `]}`},
	}
	cost, err := table.measure(doors...)
	if err != nil {
		return err
	}
	spread := 100 * (float64(slices.Max(cost[:3]))/float64(slices.Min(cost[:3])) - 1)
	fmt.Fprintf(out, "| a streamed turn over chat completions | - | %s |\n| the same over Responses | - | %s |\n| the same over Messages | - | %s |\n", milli(cost[0]), milli(cost[1]), milli(cost[2]))
	fmt.Fprintf(out, "| the dearest of the three above the cheapest | ≤ 15 %% | %.0f %% |\n", spread)
	fmt.Fprintf(out, "| 200 tools of the client, above the turn without | ≤ 1 ms | %s |\n", milli(cost[3]-cost[0]))

	if err := p.toolsReady(); err != nil {
		return err
	}
	const head = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":`
	find := `{"queries":["weather of the ship in region 501"]}`
	if cost, err = table.measure(
		request{"/mcp/plain", head + `"find_tools","arguments":` + find + `}}`},
		request{"/mcp/plain", head + `"call_tool","arguments":{"name":"mcp__bench1__tool_501","arguments":{}}}}`},
	); err != nil {
		return err
	}
	fmt.Fprintf(out, "| find_tools over MCP among 1,000 tools, all that it takes | ≤ 2 ms | %s |\n", milli(cost[0]))
	fmt.Fprintf(out, "| a call of an MCP server through etui's /mcp: all that etui adds to a direct one | ≤ 2 ms | %s |\n", milli(cost[1]))

	fresh, err := start(program, models.URL, "")
	if err != nil {
		return err
	}
	defer fresh.stop()
	memory, err := fresh.open(slow, streams)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(out, "| resident memory with %d open streams, each of a person of its own | ≤ 150 MiB | %.0f MiB |\n", streams, memory)
	return err
}

func milli(d time.Duration) string { return fmt.Sprintf("%.2f ms", float64(d)/1e6) }

type request struct{ path, body string }

// table measures requests.
type table struct {
	p             *process
	turns, rounds int
}

// measure returns the processor time that a request of each kind takes: the median of rounds in which
// all kinds come in turn.
func (t *table) measure(kinds ...request) ([]time.Duration, error) {
	all := make([][]time.Duration, len(kinds))
	for round := range t.rounds + 1 {
		for i, k := range kinds {
			before, err := t.p.cpu()
			if err != nil {
				return nil, err
			}
			for range t.turns {
				if err := t.p.post(k); err != nil {
					return nil, err
				}
			}
			after, err := t.p.cpu()
			if err != nil {
				return nil, err
			}
			if round > 0 { // the first warms up
				all[i] = append(all[i], (after-before)/time.Duration(t.turns))
			}
		}
	}
	medians := make([]time.Duration, len(kinds))
	for i, list := range all {
		slices.Sort(list)
		medians[i] = list[len(list)/2]
	}
	return medians, nil
}

// clientTools are definitions as long as those of coding agents.
func clientTools(n int) string {
	list := make([]string, n)
	for i := range list {
		list[i] = fmt.Sprintf(`{"type":"function","function":{"name":"client_%d","description":"Reads part %d of a document on the user's machine, and returns its text with the numbers of its lines.","parameters":{"type":"object","properties":{"path":{"type":"string","description":"the file"},"from":{"type":"integer"},"limit":{"type":"integer"},"mode":{"type":"string","enum":["text","hex"]}},"required":["path"]}}}`, i, i)
	}
	return strings.Join(list, ",")
}

// manyTools is an MCP server with 500 tools.
func manyTools(first int) *mcp.Server {
	s := mcp.NewServer(&mcp.Implementation{Name: "bench", Version: "1"}, &mcp.ServerOptions{PageSize: 1000})
	for i := first; i < first+500; i++ {
		s.AddTool(&mcp.Tool{
			Name: fmt.Sprintf("tool_%d", i), InputSchema: json.RawMessage(`{"type":"object"}`),
			Description: fmt.Sprintf("Read the %s of the %s in region %d",
				[]string{"price", "weather", "owner", "size"}[i%4], []string{"house", "ship", "mill"}[i%3], i),
		}, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "fine"}}}, nil
		})
	}
	return s
}

// slowModel has OpenAI's API. Its model slow begins an answer and never ends it.
type slowModel struct{ begun chan struct{} }

func (s *slowModel) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	w.Header().Set("Content-Type", "text/event-stream")
	if bytes.Contains(body, []byte(`"model":"slow"`)) {
		fmt.Fprint(w, `data: {"choices":[{"index":0,"delta":{"content":"I begin"}}]}`+"\n\n")
		_ = http.NewResponseController(w).Flush()
		s.begun <- struct{}{}
		<-r.Context().Done()
		return
	}
	for range 20 {
		fmt.Fprint(w, `data: {"choices":[{"index":0,"delta":{"content":"word "}}]}`+"\n\n")
	}
	fmt.Fprint(w, `data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`+"\n\ndata: [DONE]\n\n")
}

// process is a gateway.
type process struct {
	cmd *exec.Cmd
	dir string
	url string
}

// start starts a gateway; without tools it has its own alone.
func start(program, models, tools string) (*process, error) {
	dir, err := os.MkdirTemp("", "doors")
	if err != nil {
		return nil, err
	}
	config := fmt.Sprintf(`listen: 127.0.0.1:0
log: {level: error}
limits: {turns: 8000}
skills: {local: ["127.0.0.1:*"]}
models:
  - {name: plain, provider: openai, model: plain, base_url: %q, api_key: none}
  - {name: slow, provider: openai, model: slow, base_url: %q, api_key: none}
agents: [{name: plain, model: plain}, {name: slow, model: slow}]
`, models+"/v1", models+"/v1")
	err = errors.Join(os.WriteFile(filepath.Join(dir, "etui.yaml"), []byte(config), 0o600),
		os.Mkdir(filepath.Join(dir, "skills"), 0o700))
	for i := range 2 {
		if tools == "" {
			break
		}
		skill := fmt.Sprintf("name: bench%d\ndescription: Many tools.\nprovider: mcp\nendpoint: %s/%d\nrisk_level: read\n", i, tools, i)
		err = errors.Join(err, os.WriteFile(filepath.Join(dir, fmt.Sprintf("skills/bench%d.yaml", i)), []byte(skill),
			0o600))
	}
	if err != nil {
		return nil, err
	}
	binary, err := filepath.Abs(program)
	if err != nil {
		return nil, err
	}
	p := &process{cmd: exec.Command(binary, "serve", "-w", dir), dir: dir}
	p.cmd.Env = append(os.Environ(), "HOME="+dir, "XDG_STATE_HOME="+dir, "ETUI_TRUST="+dir)
	p.cmd.Stderr = os.Stderr
	lines, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	for scan := bufio.NewScanner(lines); p.url == "" && scan.Scan(); {
		p.url = regexp.MustCompile(`http://\S+`).FindString(scan.Text())
	}
	go func() { _, _ = io.Copy(io.Discard, lines) }() // it ends with the process
	if p.url == "" {
		return nil, errors.Join(errors.New("etui did not start"), p.cmd.Wait())
	}
	return p, nil
}

func (p *process) stop() {
	_ = p.cmd.Process.Signal(syscall.SIGTERM)
	_ = p.cmd.Wait()
	_ = os.RemoveAll(p.dir)
}

// cpu returns the time that the processors have worked for the process.
func (p *process) cpu() (time.Duration, error) {
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.cmd.Process.Pid))
	if err != nil {
		return 0, err
	}
	fields := strings.Fields(string(raw[bytes.LastIndexByte(raw, ')'):]))
	user, err := strconv.Atoi(fields[12])
	system, err2 := strconv.Atoi(fields[13])
	return time.Duration(user+system) * 10 * time.Millisecond, errors.Join(err, err2) // a tick is 10 ms
}

func (p *process) post(r request) error {
	res, err := http.Post(p.url+r.path, "application/json", strings.NewReader(r.body))
	if err != nil {
		return err
	}
	text, err := io.ReadAll(res.Body)
	_ = res.Body.Close()
	if err == nil && (res.StatusCode != http.StatusOK || bytes.Contains(text, []byte(`"isError":true`))) {
		err = fmt.Errorf("%s: %s %s", r.path, res.Status, text)
	}
	return err
}

// toolsReady waits until etui has the tools of the MCP server.
func (p *process) toolsReady() error {
	last := ""
	for range 300 {
		res, err := http.Get(p.url + "/readyz")
		if err != nil {
			return err
		}
		raw, err := io.ReadAll(res.Body)
		_ = res.Body.Close()
		if err != nil {
			return err
		}
		var health struct{ Tools int }
		if json.Unmarshal(raw, &health) == nil && health.Tools >= 1000 {
			return nil
		}
		last = string(raw)
		time.Sleep(100 * time.Millisecond)
	}
	return fmt.Errorf("etui does not have the tools of the MCP server: %s", last)
}

// open opens streams, and returns the resident memory in MiB while they are open.
func (p *process) open(slow *slowModel, n int) (float64, error) {
	ctx, cancel := context.WithCancel(context.Background())
	var all sync.WaitGroup
	defer all.Wait()
	defer cancel()
	client := &http.Client{Transport: &http.Transport{}}
	var failed atomic.Pointer[error]
	for i := range n {
		all.Go(func() {
			r, err := http.NewRequestWithContext(ctx, http.MethodPost, p.url+"/v1/chat/completions",
				strings.NewReader(`{"model":"slow","stream":true,"messages":[{"role":"user","content":"hello"}]}`))
			if err != nil {
				failed.Store(&err)
				return
			}
			r.Header.Set("X-Etui-User", fmt.Sprint("person", i))
			res, err := client.Do(r)
			if err != nil {
				failed.Store(&err)
				return
			}
			defer res.Body.Close()
			if res.StatusCode != http.StatusOK {
				err = fmt.Errorf("a stream: %s", res.Status)
				failed.Store(&err)
				return
			}
			_, _ = io.Copy(io.Discard, res.Body) // until it is cancelled
		})
		select {
		case <-slow.begun:
		case <-time.After(30 * time.Second):
			if err := failed.Load(); err != nil {
				return 0, *err
			}
			return 0, errors.New("the streams did not begin within 30 s")
		}
	}
	time.Sleep(5 * time.Second) // until all have been written, and etui has come to rest
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.cmd.Process.Pid))
	if err != nil {
		return 0, err
	}
	m := regexp.MustCompile(`VmRSS:\s+(\d+) kB`).FindSubmatch(status)
	if m == nil {
		return 0, errors.New("the system does not say how much memory a process has")
	}
	kb, err := strconv.Atoi(string(m[1]))
	return float64(kb) / 1024, err
}
