package clientconfig_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/etui-run/etui/cmd/internal/clientconfig"
)

func TestInstall(t *testing.T) {
	for _, c := range []struct{ client, file, before, want, fails string }{
		{"claude-code", ".claude.json", "", "{\n  \"mcpServers\": {\n    \"etui\": {\n      \"type\": \"stdio\",\n      \"command\": \"/bin/etui\",\n      \"args\": [\n        \"mcp\",\n        \"serve\"\n      ]\n    }\n  }\n}\n", ""},
		{"cursor", ".cursor/mcp.json", "{\n  // mine\n  \"mcpServers\": {\n    \"a\": {\"command\": \"b\"}, // keep\n  },\n}\n",
			"{\n  // mine\n  \"mcpServers\": {\n    \"a\": {\"command\": \"b\"}, // keep\n    \"etui\": {\n      \"command\": \"/bin/etui\",\n      \"args\": [\n        \"mcp\",\n        \"serve\"\n      ]\n    }\n  },\n}\n", ""},
		{"vscode", ".config/Code/User/mcp.json", `{"servers":{"etui":{"command":"old"}},"inputs":[]}`,
			"{\"servers\":{\"etui\":{\n      \"type\": \"stdio\",\n      \"command\": \"/bin/etui\",\n      \"args\": [\n        \"mcp\",\n        \"serve\"\n      ]\n    }},\"inputs\":[]}", ""},
		{"codex", ".codex/config.toml", "model = \"x\" # mine\n", "model = \"x\" # mine\n\n[mcp_servers.etui]\nargs = [\"mcp\", \"serve\"]\ncommand = \"/bin/etui\"\n", ""},
		{"codex", ".codex/config.toml", "[mcp_servers.etui]\ncommand = \"old\"\n", "", "remove [mcp_servers.etui]"},
		{"claude-desktop", ".config/Claude/claude_desktop_config.json", `{"mcpServers":`, "", "claude_desktop_config.json"},
		{"claude-desktop", ".config/Claude/claude_desktop_config.json", `{"mcpServers":[]}`, "", "claude_desktop_config.json"},
		{"opencode", ".config/opencode/opencode.jsonc", "{}", "{\n  \"mcp\": {\n    \"etui\": {\n      \"command\": [\n        \"/bin/etui\",\n        \"mcp\",\n        \"serve\"\n      ],\n      \"enabled\": true,\n      \"type\": \"local\"\n    }\n  }\n}", ""},
		{"claud-code", "", "", "", "claude-code"},
	} {
		home := t.TempDir()
		t.Setenv("XDG_CONFIG_HOME", "")
		t.Setenv("CODEX_HOME", "")
		file := filepath.Join(home, c.file)
		if c.before != "" {
			if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(file, []byte(c.before), 0o640); err != nil {
				t.Fatal(err)
			}
		}
		f := clientconfig.Folders{Home: home, Config: filepath.Join(home, ".config"), Workspace: filepath.Join(home, "work")}
		change, err := f.Install(c.client, "etui", []string{"/bin/etui", "mcp", "serve"})
		if c.fails != "" {
			if err == nil || !strings.Contains(err.Error(), c.fails) {
				t.Errorf("%s %q: %v, want %q", c.client, c.before, err, c.fails)
			}
			continue
		}
		if err == nil {
			err = change.Write()
		}
		if err != nil {
			t.Errorf("%s: %v", c.client, err)
			continue
		}
		got, err := os.ReadFile(file)
		if err != nil || string(got) != c.want {
			t.Errorf("%s: %v\n%s\nwant\n%s", c.client, err, got, c.want)
		}
		if kept, err := os.ReadFile(file + ".before-etui"); c.before != "" && (err != nil || string(kept) != c.before) {
			t.Errorf("%s: the backup is %q, %v", c.client, kept, err)
		}
		if !strings.Contains(change.Diff, "+") {
			t.Errorf("%s: the change is %q", c.client, change.Diff)
		}
		if again, err := f.Install(c.client, "etui", []string{"/bin/etui", "mcp", "serve"}); c.client != "codex" && (err != nil || again.Diff != "") {
			t.Errorf("%s again: %q, %v", c.client, again.Diff, err)
		}
	}
}

// TestInstallRefuses: settings stay as they are where the result would not be what the person was shown, or
// not be what the client reads.
func TestInstallRefuses(t *testing.T) {
	const codex, cursor = ".codex/config.toml", ".cursor/mcp.json"
	for _, c := range []struct{ client, file, before, name, fails string }{
		{"codex", codex, "mcp_servers = { a = { command = \"x\" } }\n", "etui", "no table"},
		{"codex", codex, "mcp_servers = 7\n", "etui", "no table"},
		{"codex", codex, "", "x]\ncommand = \"other\"\n[y", "the name"},
		{"codex", codex, "", "my server", "the name"},
		{"codex", codex, "", "a.b", "the name"},
		{"cursor", cursor, `{"mcpServers":{"a":{"env":{}}}}`, "a/env", "the name"},
		{"cursor", cursor, `{"mcpServers":{}}`, "a~1b", "the name"},
		{"cursor", cursor, `{"mcpServers":{}}`, `a"},{"op":"remove","path":"/mcpServers`, "the name"},
		{"cursor", cursor, `{"mcpServers":{}}`, "", "the name"},
		{"cursor", cursor, `{"mcpServers":null}`, "etui", "mcpServers"},
		{"cursor", cursor, `{"mcpServers":{},"mcpServers":{}}`, "etui", "duplicate"},
	} {
		f, file := homeWith(t, c.file, c.before)
		_, err := f.Install(c.client, c.name, []string{"/bin/etui"})
		if err == nil || !strings.Contains(err.Error(), c.fails) {
			t.Errorf("%s %q: %v, want %q", c.before, c.name, err, c.fails)
		}
		if got, err := os.ReadFile(file); err != nil || string(got) != c.before {
			t.Errorf("%q became %q, %v", c.before, got, err)
		}
	}
}

// TestWriteMeanwhile: what a client wrote since the person was shown the change stays.
func TestWriteMeanwhile(t *testing.T) {
	for _, before := range []string{"{}", ""} {
		f, file := homeWith(t, ".cursor/mcp.json", before)
		if before == "" {
			if err := os.Remove(file); err != nil {
				t.Fatal(err)
			}
		}
		change, err := f.Install("cursor", "etui", []string{"/bin/etui"})
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(`{"new":1}`), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := change.Write(); err == nil || !strings.Contains(err.Error(), "meanwhile") {
			t.Errorf("%q: %v", before, err)
		}
		if got, err := os.ReadFile(file); err != nil || string(got) != `{"new":1}` {
			t.Errorf("%q: %q, %v", before, got, err)
		}
	}
}

// TestWriteOfAnother: root does not take the settings of a user away.
func TestWriteOfAnother(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root writes the files of others")
	}
	f, file := homeWith(t, ".cursor/mcp.json", "{}")
	if err := os.Chown(file, 4711, 4711); err != nil {
		t.Skip(err)
	}
	change, err := f.Install("cursor", "etui", []string{"/bin/etui"})
	if err == nil {
		err = change.Write()
	}
	if err == nil || !strings.Contains(err.Error(), "4711") {
		t.Error(err)
	}
}

func homeWith(t *testing.T, name, text string) (clientconfig.Folders, string) {
	t.Helper()
	home := t.TempDir()
	t.Setenv("XDG_CONFIG_HOME", "")
	t.Setenv("CODEX_HOME", "")
	file := filepath.Join(home, name)
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return clientconfig.Folders{Home: home, Config: filepath.Join(home, ".config"), Workspace: filepath.Join(home, "work")}, file
}
