package clientconfig_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v4"

	"github.com/etui-run/etui/cmd/internal/clientconfig"
)

// TestRead: each client's format becomes the same kind of file, without keys and passwords.
func TestRead(t *testing.T) {
	t.Setenv("SET", "value")
	t.Setenv("UNSET", "")
	dir := t.TempDir()
	for name, text := range map[string]string{"srv/package.json": "{}", "srv/dist/index.js": "", "data/x": "", "own.env": "# names\nexport A_TOKEN=verysecret\nB=2\n"} {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct{ name, file, text, want, variables, problem string }{
		{"Claude", ".mcp.json", `{"mcpServers":{"a":{"command":"npx","args":["-y","pkg"],"env":{"API_KEY":"sk-verysecret12345","LEVEL":"debug","MAX_TOKENS":4096,"USE_AUTH":true}}}}`,
			"command: [npx, -y, pkg]\nenv:\n  API_KEY: ${API_KEY}\n  LEVEL: debug\n  MAX_TOKENS: '4096'\n  USE_AUTH: 'true'\n", "API_KEY", ""},
		{"references and defaults", ".mcp.json", `{"mcpServers":{"a":{"command":"x","args":["${UNSET:-one}","--token","${UNSET}"],"env":{"B":"${SET:-two}","C":"$SET"}}}}`,
			"command: [x, '{env:UNSET}', --token, '{env:UNSET}']\nenv:\n  B: ${SET:-two}\n  C: ${SET}\n  UNSET: ${UNSET}\n", "SET UNSET", ""},
		{"defaults", ".mcp.json", `{"mcpServers":{"a":{"command":"${RUN:-x}","args":["${WHERE:-DIR/data}","--level=${LEVEL:-info}"],"env":{"B":"${OTHER:-two}","KEY":"${THE_KEY:-verysecret}","E":"${EMPTY:-}"}}}}`,
			"command: [x, '{env:WHERE}', '--level={env:LEVEL}']\nenv:\n  B: ${OTHER:-two}\n  E: ${EMPTY:-}\n  KEY: ${THE_KEY}\n  LEVEL: ${LEVEL:-info}\n  WHERE: ${WHERE:-DIR/data}\nread: [DIR/data]\n", "THE_KEY", ""},
		{"defaults of a service", ".mcp.json", `{"mcpServers":{"a":{"url":"${BASE:-https://x.example}/mcp?r=${REGION:-eu}","headers":{"X-R":"${REGION:-eu}"}}}}`,
			"endpoint: https://x.example/mcp?r=${REGION:-eu}\nheaders:\n  X-R: ${REGION:-eu}\n", "", ""},
		{"a header's key", ".mcp.json", `{"mcpServers":{"a":{"type":"http","url":"https://x.example/mcp","headers":{"Authorization":"Bearer verysecret","X-Region":"eu","Other":"${env:UNSET}"}}}}`,
			"endpoint: https://x.example/mcp\nheaders:\n  Authorization: Bearer ${A_AUTHORIZATION}\n  Other: ${UNSET}\n  X-Region: eu\n", "A_AUTHORIZATION UNSET", ""},
		{"keys in arguments", ".mcp.json", `{"mcpServers":{"a":{"command":"x","args":["--api-key","verysecret","--a-token=verysecret","postgres://me:verysecret@h/db","--header","X-Key: ghp_verysecret00001111"]}}}`,
			"command: [x, --api-key, '{env:A_API_KEY}', '--a-token={env:A_TOKEN}', '{env:A_URL}',\n  --header, 'X-Key: {env:A_X_KEY}']\nenv:\n  A_API_KEY: ${A_API_KEY}\n  A_TOKEN: ${A_TOKEN}\n  A_URL: ${A_URL}\n  A_X_KEY: ${A_X_KEY}\n",
			"A_API_KEY A_TOKEN A_URL A_X_KEY", ""},
		{"comments, commas and a BOM", "mcp.json", "\ufeff{ // why\n\"inputs\":[{\"id\":\"the-key\"}], /* more */ \"servers\":{\"a\":{\"command\":\"x\",\"env\":{\"K\":\"${input:the-key}\"},},}}",
			"command: [x]\nenv:\n  K: ${A_THE_KEY}\n", "A_THE_KEY", ""},
		{"settings of VS Code", "settings.json", `{"editor.fontSize":12,"mcp":{"servers":{"a":{"command":"node","args":["${workspaceFolder}/srv/dist/index.js"],"envFile":"${workspaceFolder}/own.env"}}}}`,
			"command: [node, DIR/srv/dist/index.js]\nenv:\n  A_TOKEN: ${A_TOKEN}\n  B: ${B}\nread: [DIR/srv]\n", "A_TOKEN B", ""},
		{"OpenCode", "opencode.jsonc", `{"mcp":{"a":{"type":"local","command":["bun","x","pkg"],"environment":{"K":"{env:SET}"},"timeout":5000}}}`,
			"command: [bun, x, pkg]\nenv:\n  K: ${SET}\n", "SET", ""},
		{"OpenCode 2", "opencode.json", `{"mcp":{"servers":{"a":{"type":"remote","url":"https://x.example/mcp","headers":{"Authorization":"Bearer {env:SET}"}}}}}`,
			"endpoint: https://x.example/mcp\nheaders:\n  Authorization: Bearer ${SET}\n", "SET", ""},
		{"Codex", "config.toml", "model = \"m\"\n[mcp_servers.a]\ncommand = \"uvx\"\nargs = [\"pkg\"]\nenv_vars = [\"ONE\", {name = \"TWO\"}]\nenabled_tools = [\"t\"]\n[mcp_servers.a.env]\nMODE = \"fast\"\n",
			"command: [uvx, pkg]\nenv:\n  MODE: fast\n  ONE: ${ONE}\n  TWO: ${TWO}\ninclude: [t]\n", "ONE TWO", ""},
		{"Codex, a service", "config.toml", "[mcp_servers.a]\nurl = \"https://x.example/mcp\"\nbearer_token_env_var = \"TOK\"\nenv_http_headers = {\"X-K\" = \"HK\"}\nhttp_headers = {\"X-R\" = \"eu\"}\n",
			"endpoint: https://x.example/mcp\nheaders:\n  Authorization: Bearer ${TOK}\n  X-K: ${HK}\n  X-R: eu\n", "HK TOK", ""},
		{"a project of Claude Code", ".claude.json", `{"mcpServers":{"a":{"command":"user"}},"projects":{"DIR":{"mcpServers":{"a":{"command":"project"}}},"/other":{"mcpServers":{"b":{"command":"y"}}}}}`,
			"command: [project]\n", "", ""},
		{"mcp-remote", ".mcp.json", `{"mcpServers":{"a":{"command":"npx","args":["-y","mcp-remote@latest","https://x.example/sse","--header","Authorization: Bearer verysecret1"]}}}`,
			"endpoint: https://x.example/sse\nheaders:\n  Authorization: Bearer ${A_AUTHORIZATION}\n", "A_AUTHORIZATION", ""},
		{"a key for a container", ".mcp.json", `{"mcpServers":{"a":{"command":"docker","args":["run","-i","-e","TOKEN=verysecret","-e","MODE=x","image"]}}}`,
			"command: [docker, run, -i, -e, 'TOKEN={env:A_TOKEN}', -e, MODE=x, image]\nenv:\n  A_TOKEN: ${A_TOKEN}\n", "A_TOKEN", ""},
		{"Windows and a folder", ".mcp.json", `{"mcpServers":{"a":{"command":"cmd","args":["/c","npx","-y","pkg","data"]}}}`, "command: [npx, -y, pkg, data]\n", "", ""},
		{"a folder's path", ".mcp.json", `{"mcpServers":{"a":{"command":"/opt/homebrew/bin/npx","args":["-y","@s/pkg","./data"]}}}`, "command: [npx, -y, '@s/pkg', DIR/data]\nread: [DIR/data]\n", "", ""},
		{"a command in one text", ".mcp.json", `{"mcpServers":{"a":{"command":"npx -y pkg"}}}`, "command: [npx, -y, pkg]\n", "", ""},
		{"etui's own key", ".mcp.json", `{"mcpServers":{"a":{"command":"x","env":{"OPENAI_API_KEY":"sk-verysecret12345"}}}}`, "command: [x]\nenv:\n  OPENAI_API_KEY: ${A_OPENAI_API_KEY}\n", "A_OPENAI_API_KEY", ""},
		{"servers alone", "some.json", `{"a":{"command":"x"}}`, "command: [x]\n", "", ""},
		{"a key in a query", ".mcp.json", `{"mcpServers":{"a":{"url":"https://x.example/mcp?v=2&apiKey=verysecret&b=${SET}"}}}`, "endpoint: https://x.example/mcp?v=2&apiKey=${A_API_KEY}&b=${SET}\n", "A_API_KEY SET", ""},
		{"a key in a path", ".mcp.json", `{"mcpServers":{"a":{"url":"https://x.example/s/verysecret00001111x/mcp"}}}`, "endpoint: https://x.example/...\n", "", "its URL seems to hold a key"},
		{"off", ".mcp.json", `{"mcpServers":{"a":{"command":"x","disabled":true}}}`, "command: [x]\n", "", "it is switched off there"},
		{"off in Codex", "config.toml", "[mcp_servers.a]\ncommand = \"x\"\nenabled = false\n", "command: [x]\n", "", "it is switched off there"},
		{"nothing to run", ".mcp.json", `{"mcpServers":{"a":{"type":"stdio"}}}`, "", "", "it has neither a command nor a URL"},
		{"no object", ".mcp.json", `{"mcpServers":{"a":"x"}}`, "", "", "its entry is no object"},
	} {
		t.Run(c.name, func(t *testing.T) {
			file := filepath.Join(dir, c.file)
			if err := os.WriteFile(file, []byte(strings.ReplaceAll(c.text, "DIR", dir)), 0o600); err != nil {
				t.Fatal(err)
			}
			found, err := clientconfig.NewReader(clientconfig.Folders{Home: filepath.Join(dir, "home"), Config: filepath.Join(dir, "config"), Workspace: dir}).Read(file)
			if err != nil || len(found) != 1 {
				t.Fatal(found, err)
			}
			text, err := yaml.Dump(found[0].Server)
			if err != nil {
				t.Fatal(err)
			}
			want := "name: a\ndescription: The tools of the MCP server a.\nprovider: mcp\n" + strings.ReplaceAll(c.want, "DIR", dir)
			if string(text) != want {
				t.Errorf("got\n%s\nwant\n%s", text, want)
			}
			if got := strings.Join(found[0].Variables, " "); got != c.variables {
				t.Errorf("variables %s, want %s", got, c.variables)
			}
			if !strings.HasPrefix(found[0].Problem, c.problem) || (found[0].Problem == "") != (c.problem == "") {
				t.Errorf("problem %q, want %q", found[0].Problem, c.problem)
			}
			if strings.Contains(string(text)+strings.Join(found[0].Notes, " ")+found[0].Problem, "verysecret") {
				t.Errorf("a secret is left: %s", text)
			}
		})
	}
}

// TestNames: the name of a server becomes one that a skill may have.
func TestNames(t *testing.T) {
	file := filepath.Join(t.TempDir(), "mcp.json")
	if err := os.WriteFile(file, []byte(`{"mcpServers":{"Sequential Thinking":{"command":"x"},"io.github/me.srv":{"command":"x"},"__a__b":{"command":"x"},"日本":{"command":"x"}}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	found, err := clientconfig.NewReader(clientconfig.Folders{}).Read(file)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, f := range found {
		names = append(names, f.Server.Name)
	}
	if want := []string{"Sequential-Thinking", "a_b", "io-github-me-srv", "server"}; !slices.Equal(names, want) {
		t.Errorf("got %v, want %v", names, want)
	}
}

// TestTwoValues: two servers with different values of one variable get two variables.
func TestTwoValues(t *testing.T) {
	file := filepath.Join(t.TempDir(), "mcp.json")
	if err := os.WriteFile(file, []byte(`{"mcpServers":{"a":{"command":"x","env":{"TOKEN":"first-one"}},"b":{"command":"x","env":{"TOKEN":"second-one"}},"c":{"command":"x","env":{"TOKEN":"first-one"}}}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	found, err := clientconfig.NewReader(clientconfig.Folders{}).Read(file)
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []string{"TOKEN", "B_TOKEN", "TOKEN"} {
		if got := found[i].Server.Env["TOKEN"]; got != "${"+want+"}" {
			t.Errorf("%s: %s, want %s", found[i].Name, got, want)
		}
	}
}

// TestFind: files are found where the clients keep them.
func TestFind(t *testing.T) {
	t.Setenv("CODEX_HOME", "")
	t.Setenv("XDG_CONFIG_HOME", "")
	home, workspace := t.TempDir(), t.TempDir()
	want := []string{
		workspace + "/.mcp.json", workspace + "/.vscode/mcp.json", workspace + "/opencode.jsonc", home + "/.claude.json", home + "/.config/Claude/claude_desktop_config.json",
		home + "/.codex/config.toml", home + "/.cursor/mcp.json", home + "/.config/Code/User/mcp.json", home + "/.config/opencode/opencode.json",
	}
	for _, file := range want {
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte("{}"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var got []string
	for _, p := range (clientconfig.Folders{Home: home, Config: home + "/.config", Workspace: workspace}).Find() {
		got = append(got, p.File)
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}
