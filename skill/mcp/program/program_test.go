package program_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/etui-run/etui/skill/mcp/program"
)

// TestUnpinned: these commands fetch whatever version is newest.
func TestUnpinned(t *testing.T) {
	for command, unpinned := range map[string]bool{
		"npx -y some-server": true, "npx -y @some/server@latest /srv": true, "npx some-server@^1.2.0": true, "npx -y some-server@1": true, "npx -p some-server some": true, "npx --package=some-server@next some": true,
		"uvx some-server": true, "uvx --from git+https://git.example/some some": true, "bunx some-server": true, "pnpm dlx some-server": true, "npm exec -y some-server": true, "uv tool run some": true, "pipx run some": true,
		"docker run -i --rm -e KEY example/server": true, "docker run -i example/server:latest": true, "go run example.org/server@latest": true,
		"npx -y some-server@1.2.3": false, "npx -y @some/server@2026.8.31 /srv": false, "npx --registry https://r.example some@1.2.3-rc.1": false, "uvx some-server==1.2.3": false, "uvx some-server@0.4.1": false,
		"docker run -i example/server@sha256:0123": false, "npm start": false, "uv run server.py": false, "npx ./server": false, "node server.js": false, "go run ./server": false, "/srv/server --latest": false,
		"uvx --from git+https://git.example/some@0123456789abcdef0123456789abcdef01234567 some": false,
	} {
		if got := program.UnpinnedPackage(strings.Fields(command)); (got != "") != unpinned {
			t.Errorf("%s: %q", command, got)
		}
	}
}

// TestSourceNeedsYes: pip and uv would build these whatever they are told about wheels, which runs
// programs of the package.
func TestSourceNeedsYes(t *testing.T) {
	t.Parallel()
	for _, spec := range []string{"git+https://x.example/y", "./folder", "https://x.example/y-1.0.tar.gz", "y @ git+https://x.example/y", "/srv/y.zip"} {
		for _, command := range [][]string{{"uvx", "--from", spec, "y"}, {"uvx", "--with", spec, "z"}, {"pipx", "run", "--spec", spec, "y"}} {
			installer := program.Installer{State: t.TempDir()}
			if _, err := installer.Install(t.Context(), "py", command); err == nil || !strings.Contains(err.Error(), "nobody agreed to that") {
				t.Errorf("%v: %v", command, err)
			}
		}
	}
}

// TestHosts: these packages can be installed, and come from these hosts.
func TestHosts(t *testing.T) {
	for command, want := range map[string]string{
		"npx -y some-server": "registry.npmjs.org", "bunx some-server": "registry.npmjs.org",
		"uvx some-server": "pypi.org files.pythonhosted.org", "pipx run some": "pypi.org files.pythonhosted.org",
		"docker run -i example/server": "", "go run example.org/server@latest": "", "node server.js": "", "npm start": "",
	} {
		hosts, ok := program.Hosts(strings.Fields(command))
		if got := strings.Join(hosts, " "); got != want || ok != (want != "") {
			t.Errorf("%s: %q, %v", command, got, ok)
		}
	}
}

// TestIdentify: a program is its code, and not the data beside it.
func TestIdentify(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("package.json", `{"version":"1.0.0"}`)
	write("server.js", "one")
	before := program.Identify([]string{"node", "server.js"}, dir)
	if !strings.HasPrefix(before, dir+" (sha256:") {
		t.Fatal(before)
	}
	write("data.db", "data")
	if now := program.Identify([]string{"node", "--require", "x", "server.js", "more"}, dir); now != before {
		t.Errorf("%s, it was %s", now, before)
	}
	write("helper.js", "two")
	if now := program.Identify([]string{"node", "server.js"}, dir); now == before {
		t.Error("other code is the same program")
	}
	if got := program.Identify([]string{"npx", "-y", "some-server"}, dir); got != "" {
		t.Errorf("what npx fetches is %s", got)
	}
}
