package mcp_test

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/etui-run/etui/sandbox"
	"github.com/etui-run/etui/skill"
	"github.com/etui-run/etui/skill/mcp"
	"github.com/etui-run/etui/skill/mcp/program"
)

// registryServer is a server of npm or PyPI that make test-mcp installs and tries, in mode strong
// and without a network.
type registryServer struct {
	command string // as a person would write it, with the version
	build   bool   // programs of its packages run
	// SHARE in the arguments is a folder that it may write, with a few files.
	tool, args, want string
	// without says why no tool is called: what the machine of the test does not have.
	without string
}

const npx, uvx = "npx -y ", "uvx "

var registryServers = []registryServer{
	{command: npx + "@modelcontextprotocol/server-everything@2026.8.31", tool: "get-sum", args: `{"a":1,"b":2}`, want: "3"},
	{command: npx + "@modelcontextprotocol/server-filesystem@2026.8.31 SHARE", tool: "read_text_file", args: `{"path":"SHARE/note.txt"}`, want: "hello"},
	{command: npx + "@modelcontextprotocol/server-memory@2026.8.31", tool: "read_graph", args: `{}`, want: "entities"},
	{command: npx + "@modelcontextprotocol/server-sequential-thinking@2026.8.31", tool: "sequentialthinking", args: `{"thought":"one","nextThoughtNeeded":false,"thoughtNumber":1,"totalThoughts":1}`, want: "thoughtHistoryLength"},
	{command: npx + "@modelcontextprotocol/server-budget-allocator@2.0.3 --stdio", tool: "get-budget-data", args: `{}`, want: "udget"},
	{command: npx + "@modelcontextprotocol/server-system-monitor@2.0.3 --stdio", tool: "get-system-info", args: `{}`, want: "cpu"},
	{command: npx + "@modelcontextprotocol/server-map@2.0.3 --stdio", tool: "show-map", args: `{}`, want: "globe"},
	{command: npx + "@modelcontextprotocol/server-scenario-modeler@2.0.3 --stdio", tool: "get-scenario-data", args: `{}`, want: "emplate"},
	{command: npx + "@modelcontextprotocol/server-threejs@2.0.3 --stdio", tool: "learn_threejs", args: `{}`, want: "hree"},
	{command: npx + "@modelcontextprotocol/server-sheet-music@2.0.3 --stdio", tool: "play-sheet-music", args: `{}`, want: "arsed"},
	{command: npx + "@modelcontextprotocol/server-shadertoy@2.0.3 --stdio", tool: "render-shadertoy", args: `{}`, want: "endered"},
	{command: npx + "@modelcontextprotocol/server-pdf@2.0.4 --stdio", tool: "list_pdfs", args: `{}`, want: "PDF"},
	{command: npx + "@modelcontextprotocol/server-github@2025.4.8", without: "an account at GitHub"},
	{command: npx + "@eslint/mcp@0.3.13", tool: "lint-files", args: `{"filePaths":["SHARE/code.js"]}`, want: "eslint"},
	{command: npx + "@cyanheads/git-mcp-server@2.15.3", tool: "git_wrapup_instructions", args: `{"acknowledgement":"yes"}`, want: "ommit"},
	{command: npx + "mcp-server-commands@0.5.0", tool: "run_command", args: `{"command":"echo hello"}`, want: "hello"},
	{command: npx + "mcp-hello-world@1.1.2", tool: "add", args: `{"a":20,"b":22}`, want: "42"},
	{command: npx + "howtocook-mcp@0.2.2", tool: "mcp_howtocook_whatToEat", args: `{"peopleCount":2}`, want: "菜"},
	{command: npx + "@negokaz/excel-mcp-server@0.12.0", without: "a workbook"},
	{command: npx + "@sylphx/pdf-reader-mcp@2.4.0", tool: "read_pdf", args: `{"sources":[{"path":"SHARE/missing.pdf"}]}`, want: "missing.pdf"},
	{command: npx + "mcp-server-code-runner@0.1.8", tool: "run-code", args: `{"code":"console.log(6*7)","languageId":"javascript"}`, want: "42"},
	{command: npx + "drawio-mcp-server@2.3.0", without: "a browser with draw.io"},
	{command: npx + "@knip/mcp@0.0.36", without: "a project"},
	{command: npx + "n8n-mcp@2.87.0", tool: "tools_documentation", args: `{}`, want: "n8n"},
	{command: npx + "typescript-mcp@0.0.14", tool: "list_tools", args: `{}`, want: "rename"},
	{command: npx + "@playwright/mcp@0.0.83", without: "a browser"},
	{command: npx + "chrome-devtools-mcp@1.11.0", without: "a browser"},
	{command: npx + "@mobilenext/mobile-mcp@1.0.4", without: "a telephone"},
	{command: npx + "@notionhq/notion-mcp-server@2.5.2", without: "an account at Notion"},
	{command: npx + "@upstash/context7-mcp@4.1.1", without: "the network"},
	{command: npx + "@antv/mcp-server-chart@0.9.10", without: "the network"},
	{command: npx + "mcp-server-sqlite-npx@0.8.0 {state}/data.db", build: true, tool: "list_tables", args: `{}`, want: "["},
	{command: uvx + "mcp-server-time@2026.10.19", tool: "convert_time", args: `{"source_timezone":"Europe/Berlin","time":"12:00","target_timezone":"Asia/Tokyo"}`, want: "Tokyo"},
	{command: uvx + "mcp-server-git@2026.10.19", tool: "git_status", args: `{"repo_path":"SHARE"}`, want: "note.txt"},
	{command: uvx + "--with mcp<2 mcp-server-sqlite@2025.4.25 --db-path {state}/data.db", tool: "create_table", args: `{"query":"create table notes (text text)"}`, want: "created"},
	{command: uvx + "mcp-server-calculator@0.2.1", tool: "calculate", args: `{"expression":"6*7"}`, want: "42"},
	{command: uvx + "mcp-server-fetch@2026.10.24", without: "the network"},
}

// compatibility is the page with the table of the servers.
const compatibility = "../../docs/compatibility.md"

var serverTable = regexp.MustCompile(`(?s)(<!-- servers: make test-mcp writes this table -->\n)(.*?)(<!-- end -->)`)

// TestCompatibilityPage: the page names the servers that make test-mcp tries, in these versions.
func TestCompatibilityPage(t *testing.T) {
	page, err := os.ReadFile(compatibility)
	if err != nil {
		t.Fatal(err)
	}
	table := serverTable.FindStringSubmatch(string(page))
	if table == nil {
		t.Fatal("there is no table")
	}
	rows, want := slices.Sorted(maps.Keys(rowsOf(table[2]))), []string{}
	for _, s := range registryServers {
		want = append(want, strings.Join(s.packageAndVersion(), " "))
	}
	slices.Sort(want)
	if !slices.Equal(rows, want) {
		t.Errorf("the page has\n%s\nwant\n%s\nmake test-mcp writes it", strings.Join(rows, "\n"), strings.Join(want, "\n"))
	}
}

// rowsOf returns the rows of a table by the server and its version.
func rowsOf(table string) map[string]string {
	rows := map[string]string{}
	for line := range strings.Lines(table) {
		if cells := strings.Split(line, "|"); len(cells) > 3 && strings.Contains(cells[1], "`") {
			rows[strings.Trim(cells[1], " `")+" "+strings.TrimSpace(cells[2])] = line
		}
	}
	return rows
}

func (s registryServer) packageAndVersion() []string {
	_, spec, _ := strings.Cut(s.command, cmp.Or(s.with(), " "))
	spec = strings.Fields(strings.TrimPrefix(strings.TrimSpace(spec), "-y "))[0]
	at := strings.LastIndex(spec, "@")
	return []string{spec[:at], spec[at+1:]}
}

// with returns the option that adds another package.
func (s registryServer) with() string { return regexp.MustCompile(`--with \S+`).FindString(s.command) }

// TestRegistryServers installs the servers as etui mcp add does, starts each, and calls a tool. It
// needs the registries, and writes what it saw into the page. TEST_MCP=1 runs all, another value those
// whose command contains it; the rows of others stay.
func TestRegistryServers(t *testing.T) {
	which := os.Getenv("TEST_MCP")
	if which == "" {
		t.Skip("make test-mcp runs this test")
	}
	page, err := os.ReadFile(compatibility)
	if err != nil {
		t.Fatal(err)
	}
	table := serverTable.FindStringSubmatch(string(page))
	if table == nil {
		t.Fatal("the page has no table")
	}
	var mu sync.Mutex
	rows := rowsOf(table[2])
	t.Run("servers", func(t *testing.T) {
		for _, s := range registryServers {
			if which != "1" && !strings.Contains(s.command, which) {
				continue
			}
			t.Run(s.packageAndVersion()[0], func(t *testing.T) {
				t.Parallel()
				row := fmt.Sprintf("| `%s` | %s | | | | fails | |\n", s.packageAndVersion()[0], s.packageAndVersion()[1])
				defer func() {
					mu.Lock()
					defer mu.Unlock()
					rows[strings.Join(s.packageAndVersion(), " ")] = row
				}()
				row = s.try(t)
			})
		}
	})
	text := "| server | version | from | tools | refused, held back | called | what was needed |\n|---|---|---|---|---|---|---|\n"
	for _, name := range slices.Sorted(maps.Keys(rows)) {
		if slices.ContainsFunc(registryServers, func(s registryServer) bool { return strings.Join(s.packageAndVersion(), " ") == name }) {
			text += rows[name]
		}
	}
	text = strings.Replace(string(page), table[2], text, 1)
	if err := os.WriteFile(compatibility, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// try installs and tries a server, and returns its row of the table.
func (s registryServer) try(t *testing.T) string {
	share, state := t.TempDir(), t.TempDir()
	for name, text := range map[string]string{"note.txt": "hello\n", "code.js": "var a = 1;\n", "eslint.config.js": "module.exports = [{rules: {\"no-unused-vars\": \"error\"}}];\n"} {
		if err := os.WriteFile(filepath.Join(share, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if out, err := exec.Command("git", "init", "-q", share).CombinedOutput(); err != nil {
		t.Fatalf("git: %s %v", out, err)
	}
	walls, err := sandbox.New(sandbox.Config{Mode: sandbox.Strong})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = walls.Close() })
	needed := s.with()
	installer := program.Installer{State: state, Sandbox: walls, Agree: func([]program.Script, []string) bool {
		if s.build {
			needed = "its native module was built in the sandbox"
		}
		return s.build
	}}
	p, err := installer.Install(t.Context(), "tried", strings.Fields(strings.ReplaceAll(s.command, "SHARE", share)))
	if err != nil {
		t.Fatal(err)
	}
	r := start(t, mcp.Config{Sandbox: walls, State: state}, skill.Config{
		Name: "tried", Command: p.Command, Read: p.Read, Write: []string{share}, Timeout: skill.MaxTimeout,
		Env: map[string]skill.Secret{"MEMORY_FILE_PATH": "{state}/memory.jsonl"},
	})
	st := r.until("connected", func(st mcp.Status) bool { return st.Phase == mcp.Connected })
	for _, f := range st.Refused {
		t.Logf("%s is refused: %s", f.Tool, f.Why)
	}
	for _, h := range st.Held {
		t.Logf("%s is held back: %s", h.Tool, h.Why)
	}
	if len(p.Unbuilt) > 0 {
		needed = "programs of packages were not run, and not needed"
	}
	called := "`" + s.tool + "`"
	switch s.tool {
	case "":
		called = "no: it needs " + s.without
	default:
		got, err := r.call("mcp__tried__"+s.tool, strings.ReplaceAll(s.args, "SHARE", share))
		switch {
		case err != nil:
			t.Fatalf("%s: %v; there are %v", s.tool, err, st.Tools)
		case !strings.Contains(got.Text, s.want):
			t.Errorf("%s: %q does not contain %q", s.tool, got.Text, s.want)
		}
	}
	aside := fmt.Sprintf("%d, %d", len(st.Refused), len(st.Held))
	if aside == "0, 0" {
		aside = "none"
	}
	return fmt.Sprintf("| `%s` | %s | %s | %d | %s | %s | %s |\n", p.Name, p.Version, p.Registry, len(st.Tools), aside, called, needed)
}
