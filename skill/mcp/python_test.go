package mcp_test

import (
	"archive/zip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/etui-run/etui/sandbox"
	"github.com/etui-run/etui/skill"
	"github.com/etui-run/etui/skill/mcp"
	"github.com/etui-run/etui/skill/mcp/program"
)

// TestPythonPackage: a package of Python is installed in the state folder and runs in the sandbox,
// without a network. One that does not have the program leaves what was there before.
func TestPythonPackage(t *testing.T) {
	t.Parallel()
	if exec.Command("python3", "-c", "import ensurepip, venv").Run() != nil {
		t.Skip("left out: Python 3 with venv is not installed; make test names this test where it is left out")
	}
	walls, err := sandbox.New(sandbox.Config{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = walls.Close() })
	state, wheels := t.TempDir(), t.TempDir()
	installer := program.Installer{State: state, Sandbox: walls}
	p, err := installer.Install(t.Context(), "py", []string{"uvx", "--from", wheel(t, wheels, "1.2.3"), "Hello_Server", "--loud"})
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(append([]string{p.Registry, p.Name, p.Version}, p.Command...), " "); got != "PyPI hello-pkg 1.2.3 {package}/python/bin/python {package}/bin/hello-server --loud" {
		t.Errorf("installed %s", got)
	}
	if err := p.Keep(); err != nil {
		t.Fatal(err)
	}
	r := start(t, mcp.Config{Sandbox: walls, State: state}, skill.Config{Name: "py", Command: p.Command, Read: p.Read})
	r.until("connected", func(st mcp.Status) bool { return st.Phase == mcp.Connected })
	got, err := r.call("mcp__py__hello", `{}`)
	if err != nil || got.Text != "hello from 1.2.3, hello_server --loud" {
		t.Errorf("it says %q, %v", got.Text, err)
	}
	_, err = installer.Install(t.Context(), "py", []string{"uvx", "--from", wheel(t, wheels, "2.0"), "other"})
	if err == nil || !strings.Contains(err.Error(), "no package has a program other; there are hello_server") {
		t.Error(err)
	}
	if _, err := os.Stat(filepath.Join(state, "py", "package", "bin", "hello-server")); err != nil {
		t.Error(err)
	}
}

// wheel writes a package with a server of its own.
func wheel(t *testing.T, dir, version string) string {
	t.Helper()
	name := filepath.Join(dir, "hello_pkg-"+version+"-py3-none-any.whl")
	f, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z := zip.NewWriter(f)
	info := "hello_pkg-" + version + ".dist-info/"
	for _, file := range [][2]string{
		{"hello/__init__.py", ""},
		{"hello/main.py", `import json, os, sys
class App:
    @staticmethod
    def run():
        for line in sys.stdin:
            m = json.loads(line)
            r = {"initialize": {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": {"name": "hello", "version": "` + version + `"}},
                 "tools/list": {"tools": [{"name": "hello", "description": "Says hello.", "inputSchema": {"type": "object"}}]},
                 "tools/call": {"content": [{"type": "text", "text": "hello from ` + version + `, " + " ".join([os.path.basename(sys.argv[0])] + sys.argv[1:])}]}}.get(m["method"])
            if "id" in m:
                print(json.dumps({"jsonrpc": "2.0", "id": m["id"], **({"result": r} if r else {"error": {"code": -32601, "message": "no"}})}), flush=True)
app = App()
`},
		{info + "METADATA", "Metadata-Version: 2.1\nName: hello-pkg\nVersion: " + version + "\n"},
		{info + "WHEEL", "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n"},
		{info + "entry_points.txt", "[console_scripts]\nhello_server = hello.main:app.run\n\n[other]\nx = y\n"},
		{info + "RECORD", ""},
	} {
		w, err := z.Create(file[0])
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(file[1])); err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return name
}
