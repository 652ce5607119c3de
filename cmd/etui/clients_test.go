package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// said is an answer of the scripted model.
type said struct {
	text  string
	calls []asked
}

type asked struct {
	name string
	args map[string]any
}

var person = map[string]any{"name": "Ann", "age": 30}

// scripts are what the model of each name says, one answer after the other; the conversation tells how
// many it has given.
var scripts = map[string][]said{
	"plain": {{text: "Hello from the script."}},
	"weather": {
		{calls: []asked{{"weather", map[string]any{"city": "Paris"}}}},
		{text: "It is sunny in Paris."},
		{text: "You are welcome."},
	},
	"parallel": {
		{text: "Looking.", calls: []asked{{"weather", map[string]any{"city": "Paris"}}, {"weather", map[string]any{"city": "Berlin"}}}},
		{text: "Both are sunny."},
	},
	"json": {{text: `{"name": "Ann", "age": 30}`}},
	// Tools are named after types by these.
	"Person":        {{calls: []asked{{"Person", person}}}},
	"PartialPerson": {{calls: []asked{{"PartialPerson", person}}}},
	"final_result":  {{calls: []asked{{"final_result", person}}}},
	// These two read code and fields from texts.
	"smolagents-code": {{text: "Thought: I look.\n<code>\nfinal_answer(weather(\"Paris\"))\n</code>"}},
	"smolagents-tools": {
		{calls: []asked{{"weather", map[string]any{"city": "Paris"}}}},
		{calls: []asked{{"final_answer", map[string]any{"answer": "It is sunny."}}}},
	},
	"dspy":      {{text: "[[ ## answer ## ]]\nHello from the script.\n\n[[ ## completed ## ]]"}},
	"dspy-json": {{text: `{"answer": "yes", "score": 30}`}},
	"codex": {
		{calls: []asked{{"exec_command", map[string]any{"cmd": "cat note.txt"}}}},
		{calls: []asked{{"exec_command", map[string]any{"cmd": "sed -i s/wrold/world/ note.txt"}}}},
		{calls: []asked{{"exec_command", map[string]any{"cmd": "wc -c note.txt > size.txt"}}}},
		{text: "The note is mended."},
	},
	"claude": {
		{calls: []asked{{"Read", map[string]any{"file_path": "FOLDER/note.txt"}}}},
		{calls: []asked{{"Edit", map[string]any{"file_path": "FOLDER/note.txt", "old_string": "wrold", "new_string": "world"}}}},
		{calls: []asked{{"Bash", map[string]any{"command": "wc -c note.txt > size.txt", "description": "count"}}}},
		{text: "The note is mended."},
	},
	"opencode": {
		{calls: []asked{{"read", map[string]any{"filePath": "FOLDER/note.txt"}}}},
		{calls: []asked{{"edit", map[string]any{"filePath": "FOLDER/note.txt", "oldString": "wrold", "newString": "world"}}}},
		{calls: []asked{{"bash", map[string]any{"command": "wc -c note.txt > size.txt", "description": "count"}}}},
		{text: "The note is mended."},
	},
	"picture": nil, "slow": nil, "long": nil, "busy": nil, "dspy-react": nil,
}

type offered struct{ Function struct{ Name string } }

// scriptedModel is a server with OpenAI's API.
type scriptedModel struct {
	folder  string // in place of FOLDER
	mu      sync.Mutex
	aborted int // answers that nobody read to their end, since it was last asked
}

func (s *scriptedModel) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "/aborted" {
		s.mu.Lock()
		defer s.mu.Unlock()
		fmt.Fprint(w, s.aborted)
		s.aborted = 0
		return
	}
	var req struct {
		Model    string
		Messages []struct {
			Role    string
			Content json.RawMessage
		}
		Tools  []offered
		Format struct{ Type string } `json:"response_format"`
	}
	if err := json.NewDecoder(r.Body).Decode(&req); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	answered, last := 0, ""
	for _, m := range req.Messages {
		if m.Role == "assistant" {
			answered++
		}
		last = string(m.Content)
	}
	answer := said{text: "(the script is over)"}
	if list := scripts[req.Model]; answered < len(list) {
		answer = list[answered]
	}
	for _, c := range answer.calls { // titles are asked for without tools
		if !slices.ContainsFunc(req.Tools, func(t offered) bool { return t.Function.Name == c.name }) {
			answer = said{text: "There is no tool " + c.name}
			break
		}
	}
	switch req.Model {
	case "picture":
		answer.text = fmt.Sprintf("pictures: %d", strings.Count(last, `"image_url":{`))
	case "json":
		switch {
		case slices.ContainsFunc(req.Tools, func(t offered) bool { return t.Function.Name == "json" }): // as Vercel's ai does where it does not know the model
			answer = said{calls: []asked{{"json", person}}}
		case req.Format.Type != "json_schema":
			answer.text = "no schema came with the request"
		}
	case "dspy-react": // each of its requests stands alone
		answer.text = "[[ ## next_thought ## ]]\nI know.\n\n[[ ## next_tool_name ## ]]\nfinish\n\n[[ ## next_tool_args ## ]]\n{}\n\n[[ ## completed ## ]]"
		if !strings.Contains(last, "trajectory") || !strings.Contains(last, "observation_0") {
			answer.text = "[[ ## next_thought ## ]]\nI look.\n\n[[ ## next_tool_name ## ]]\nweather\n\n[[ ## next_tool_args ## ]]\n{\"city\": \"Paris\"}\n\n[[ ## completed ## ]]"
		} else if strings.Contains(last, "observation_1") {
			answer.text = "[[ ## reasoning ## ]]\nI looked.\n\n[[ ## answer ## ]]\nIt is sunny.\n\n[[ ## completed ## ]]"
		}
	case "long":
		w.WriteHeader(http.StatusBadRequest)
		fmt.Fprint(w, `{"error":{"code":"context_length_exceeded","message":"This model's maximum context length is 10 tokens."}}`)
		return
	case "busy":
		w.WriteHeader(http.StatusTooManyRequests)
		fmt.Fprint(w, `{"error":{"code":"rate_limit_exceeded","message":"Rate limit reached"}}`)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	piece := func(delta map[string]any, reason any) {
		raw, _ := json.Marshal(map[string]any{
			"id": "c", "object": "chat.completion.chunk", "model": req.Model,
			"choices": []any{map[string]any{"index": 0, "delta": delta, "finish_reason": reason}},
			"usage":   map[string]int{"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15},
		})
		fmt.Fprintf(w, "data: %s\n\n", raw)
		_ = http.NewResponseController(w).Flush()
	}
	if req.Model == "slow" {
		piece(map[string]any{"content": "I begin"}, nil)
		<-r.Context().Done()
		s.mu.Lock()
		defer s.mu.Unlock()
		s.aborted++
		return
	}
	for word := range strings.SplitAfterSeq(answer.text, " ") {
		piece(map[string]any{"content": word}, nil)
	}
	reason := "stop"
	for i, c := range answer.calls {
		args, _ := json.Marshal(c.args)
		args = bytes.ReplaceAll(args, []byte("FOLDER"), []byte(s.folder))
		piece(map[string]any{"tool_calls": []any{map[string]any{
			"index": i, "id": fmt.Sprintf("call_%d_%d", answered, i), "type": "function",
			"function": map[string]any{"name": c.name, "arguments": string(args)},
		}}}, nil)
		reason = "tool_calls"
	}
	piece(map[string]any{}, reason)
	fmt.Fprint(w, "data: [DONE]\n\n")
}

// tried is a row of the table of docs/clients.md.
type tried struct {
	name, from, api string
	command         []string
}

const (
	chatAPI  = "chat completions"
	bothAPIs = "chat completions, responses"
	allAPIs  = "chat completions, responses, messages"
)

// clients are those that TestClients tries. The version of a package is in the lock of its kind.
var clients = []tried{
	{name: "openai", from: "python", api: bothAPIs, command: []string{"python", "openai_python.py"}},
	{name: "anthropic", from: "python", api: "messages", command: []string{"python", "anthropic_python.py"}},
	{name: "langgraph", from: "python", api: bothAPIs, command: []string{"python", "langgraph_python.py"}},
	{name: "openai-agents", from: "python", api: "responses", command: []string{"python", "openai_agents_python.py"}},
	{name: "pydantic-ai-slim", from: "python", api: bothAPIs, command: []string{"python", "pydantic_ai_python.py"}},
	{name: "instructor", from: "python", api: chatAPI, command: []string{"python", "instructor_python.py"}},
	{name: "llama-index-core", from: "llama-index", api: chatAPI, command: []string{"llama-index", "llama_index_python.py"}},
	{name: "smolagents", from: "python", api: chatAPI, command: []string{"python", "smolagents_python.py"}},
	{name: "autogen-agentchat", from: "python", api: chatAPI, command: []string{"python", "autogen_python.py"}},
	{name: "dspy", from: "python", api: chatAPI, command: []string{"python", "dspy_python.py"}},
	{name: "litellm", from: "python", api: "chat completions, messages", command: []string{"python", "litellm_python.py"}},
	{name: "litellm, its proxy", from: "python", api: chatAPI, command: []string{"python", "litellm_proxy.py"}},
	{name: "ai", from: "npm", api: allAPIs, command: []string{"node", "vercel_ai.mjs"}},
	{name: "@langchain/openai", from: "npm", api: bothAPIs, command: []string{"node", "langchain.mjs"}},
	{name: "mcp", from: "python", api: "MCP", command: []string{"python", "mcp_python.py"}},
	{name: "@modelcontextprotocol/sdk", from: "npm", api: "MCP", command: []string{"node", "mcp_typescript.mjs"}},
	{name: "@modelcontextprotocol/inspector", from: "npm", api: "MCP", command: []string{"node", "mcp_inspector.mjs"}},
	{name: "@ag-ui/client", from: "npm", api: "AG-UI", command: []string{"node", "agui.mjs"}},
	{name: "@openai/codex", from: "npm", api: "responses"},
	{name: "@anthropic-ai/claude-code", from: "npm", api: "messages"},
	{name: "opencode-ai", from: "npm", api: chatAPI},
}

// rows are the columns of the table.
var rows = []string{"plain", "stream", "tools", "parallel", "structured", "pictures", "abort", "errors", "task"}

// TestClients drives a gateway with clients that people use, each against a model that plays a script,
// and writes what it saw into the table of docs/clients.md. TEST_CLIENTS is the folder where
// tools/test-clients has installed them, and TEST_CLIENT, if set, a part of the names to try: the rows of
// others stay.
func TestClients(t *testing.T) {
	installed, part := os.Getenv("TEST_CLIENTS"), os.Getenv("TEST_CLIENT")
	if installed == "" {
		t.Skip("make test-clients runs this test")
	}
	scripted := &scriptedModel{folder: t.TempDir()}
	models := httptest.NewServer(scripted)
	t.Cleanup(models.Close)
	dir, config := t.TempDir(), "api: {agui: true}\nmodels:\n"
	for name := range scripts {
		config += fmt.Sprintf("  - {name: %s, provider: openai, model: %s, base_url: %q, api_key: none, retries: 0}\n", name, name, models.URL+"/v1")
	}
	config += "agents:\n"
	for name := range scripts {
		config += fmt.Sprintf("  - {name: %s, model: %s}\n", name, name)
	}
	for name, text := range map[string]string{"etui.yaml": config, "note.txt": "A short note.\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("ETUI_TRUST", dir)
	url := startGateway(t, "-w", dir, "serve")
	// Node resolves modules beside the script.
	work := t.TempDir()
	if err := os.CopyFS(work, os.DirFS("testdata/clients")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(installed, "npm/node_modules"), filepath.Join(work, "node_modules")); err != nil {
		t.Fatal(err)
	}
	const page = "../../docs/clients.md"
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	table := regexp.MustCompile(`(?ms)^\| client \| version \| over \|.*?\n\n`).FindString(string(text))
	if table == "" {
		t.Fatal("docs/clients.md has no table of clients")
	}
	old, now := map[string]string{}, ""
	for line := range strings.Lines(table) {
		if cells := strings.Split(line, "|"); len(cells) > 3 {
			old[strings.Trim(cells[1], " `")] = line
		}
	}
	for _, c := range clients {
		if part != "" && !strings.Contains(c.name, part) {
			now += old[c.name]
			continue
		}
		t.Run(c.name, func(t *testing.T) {
			outcomes := map[string]string{}
			if c.command != nil {
				outcomes = c.script(t, installed, work, url, models.URL)
			} else {
				outcomes["task"] = "no"
				if c.task(t, work, url, scripted.folder) {
					outcomes["task"] = "yes"
				}
			}
			now += fmt.Sprintf("| `%s` | %s | %s |", c.name, c.versionIn(t), c.api)
			for _, r := range rows {
				if outcomes[r] == "no" {
					t.Errorf("%s: no", r)
				}
				now += " " + outcomes[r] + " |"
			}
			now += "\n"
		})
	}
	head := "| client | version | over | " + strings.Join(rows, " | ") + " |\n" + strings.Repeat("|---", len(rows)+3) + "|\n"
	if err := os.WriteFile(page, []byte(strings.Replace(string(text), table, head+now+"\n", 1)), 0o644); err != nil {
		t.Fatal(err)
	}
}

// versionIn returns the version of a client as its lock has it.
func (c tried) versionIn(t *testing.T) string {
	name, _, _ := strings.Cut(c.name, ",")
	file, pattern := c.from+".txt", `(?m)^`+regexp.QuoteMeta(name)+`==(\S+)`
	if c.from == "npm" {
		file, pattern = "package.json", `"`+regexp.QuoteMeta(name)+`": "(.*?)"`
	}
	lock, err := os.ReadFile(filepath.Join("testdata/clients", file))
	if err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile(pattern).FindSubmatch(lock)
	if found == nil {
		t.Fatalf("%s has no version of %s", file, c.name)
	}
	return string(found[1])
}

// script runs a script of testdata/clients, and returns what became of the rows that it tried.
func (c tried) script(t *testing.T, installed, work, url, models string) map[string]string {
	program := c.command[0]
	if program != "node" {
		program = filepath.Join(installed, program, "bin/python")
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, c.command[1], url, models)
	cmd.Dir = work
	// None of them is to report, or to look anything up, elsewhere.
	cmd.Env = append(os.Environ(), "LITELLM_LOCAL_MODEL_COST_MAP=True", "LANGSMITH_TRACING=false", "DO_NOT_TRACK=1", "PYTHONWARNINGS=ignore", "OPENAI_API_KEY=none", "ANTHROPIC_API_KEY=none")
	var failures bytes.Buffer
	cmd.Stderr = &failures
	out, err := cmd.Output()
	outcomes := map[string]string{}
	for lines := bufio.NewScanner(bytes.NewReader(out)); lines.Scan(); {
		if name, outcome, ok := strings.Cut(lines.Text(), "\t"); ok && slices.Contains(rows, name) {
			outcomes[name] = outcome
		}
	}
	failed := slices.ContainsFunc(rows, func(r string) bool { return outcomes[r] == "no" })
	if err != nil || failed || len(outcomes) == 0 {
		t.Errorf("%v\n%s\n%s", err, out, failures.Bytes())
	}
	return outcomes
}

// task has a coding agent read a file, change it, and run a command in a folder.
func (c tried) task(t *testing.T, work, url, folder string) bool {
	for name, text := range map[string]string{
		"note.txt": "hello wrold\n",
		"opencode.json": fmt.Sprintf(`{"provider": {"etui": {"npm": "@ai-sdk/openai-compatible", "models": {"opencode": {}},
			"options": {"baseURL": %q, "apiKey": "none"}}}, "model": "etui/opencode", "small_model": "etui/plain", "autoupdate": false, "share": "disabled"}`, url+"/v1"),
	} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	_ = os.Remove(filepath.Join(folder, "size.txt")) // of the agent before
	const request = "Mend the spelling in note.txt, and write its size into size.txt."
	args := map[string][]string{
		"@openai/codex": {
			"codex", "exec", "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox", "-m", "codex",
			"-c", `model_provider="etui"`, "-c", `model_providers.etui.name="etui"`, "-c", fmt.Sprintf("model_providers.etui.base_url=%q", url+"/v1"),
			"-c", `model_providers.etui.wire_api="responses"`, request,
		},
		"@anthropic-ai/claude-code": {"claude", "-p", request, "--model", "claude", "--permission-mode", "acceptEdits", "--allowedTools", "Bash"},
		"opencode-ai":               {"opencode", "run", "-m", "etui/opencode", request},
	}[c.name]
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, filepath.Join(work, "node_modules/.bin", args[0]), args[1:]...)
	cmd.Dir = folder
	cmd.Env = append(os.Environ(), "PWD="+folder, "ANTHROPIC_BASE_URL="+url, "ANTHROPIC_API_KEY=none", "ANTHROPIC_SMALL_FAST_MODEL=plain",
		"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1", "OPENCODE_DISABLE_MODELS_FETCH=1", "OPENCODE_DISABLE_AUTOUPDATE=1")
	out, err := cmd.CombinedOutput()
	note, _ := os.ReadFile(filepath.Join(folder, "note.txt"))
	size, _ := os.ReadFile(filepath.Join(folder, "size.txt"))
	done := err == nil && string(note) == "hello world\n" && strings.HasPrefix(string(size), "12 ")
	if !done {
		t.Errorf("%v: note.txt has %q, size.txt %q\n%s", err, note, size, out)
	}
	return done
}
