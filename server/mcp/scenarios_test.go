package mcp_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/etui-run/etui/catalog"
	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/engine"
	"github.com/etui-run/etui/internal/leftout"
	"github.com/etui-run/etui/model/fake"
	"github.com/etui-run/etui/server"
	"github.com/etui-run/etui/tool"
)

// TestScenarios runs the protocol's own tests of servers, in all its versions, against an agent that
// has the tools that they ask for. testdata/expected.yml says which fail and why.
func TestScenarios(t *testing.T) {
	t.Parallel()
	const folder, suite = "../../skill/mcp/testdata/conformance", "node_modules/@modelcontextprotocol/conformance/dist/index.js"
	if _, err := os.Stat(filepath.Join(folder, suite)); err != nil {
		leftout.Without(t, "the conformance suite of MCP")
	}
	version, err := exec.Command("node", "-p", "process.versions.node.split('.')[0]").Output()
	if err != nil {
		t.Fatal(err)
	}
	if major, err := strconv.Atoi(strings.TrimSpace(string(version))); err != nil || major < 20 {
		t.Skip(leftout.Line("Node.js 20, for the conformance suite of MCP"))
	}
	r := catalog.NewRegistry(nil)
	says := func(name string, result chat.Result, err error) tool.Tool {
		return tool.Func(tool.Definition{Name: name, Description: name, Risk: tool.Read}, func(context.Context, struct{}) (chat.Result, error) {
			return result, err
		})
	}
	picture := chat.File{MediaType: "image/png", Data: []byte("\x89PNG")}
	page := chat.File{Name: "example.txt", MediaType: "text/plain", Data: []byte("This is an embedded resource content.")}
	if err := r.Register(
		says("test_simple_text", chat.Result{Text: "This is a simple text response for testing."}, nil),
		says("test_image_content", chat.Result{Images: []chat.File{picture}}, nil),
		says("test_audio_content", chat.Result{View: &chat.View{Files: []chat.File{{Name: "a.wav", MediaType: "audio/wav", Data: []byte("RIFF")}}}}, nil),
		says("test_embedded_resource", chat.Result{View: &chat.View{Files: []chat.File{page}}}, nil),
		says("test_multiple_content_types", chat.Result{Text: "Multiple content types test:", Images: []chat.File{picture}, View: &chat.View{Files: []chat.File{page}}}, nil),
		says("test_error_handling", chat.Result{}, errors.New("This tool intentionally returns an error for testing")),
		tool.Func(tool.Definition{Name: "test_tool_with_progress", Description: "progress", Risk: tool.Read}, func(ctx context.Context, _ struct{}) (string, error) {
			for n := range 3 {
				tool.Report(ctx, tool.Progress{Text: "working", Done: float64(50 * n), Total: 100})
			}
			return "done", nil
		}),
	); err != nil {
		t.Fatal(err)
	}
	if _, err := r.SetSkills(catalog.Skill{Name: "sailing", Description: "Plan a trip", Guide: book{}}); err != nil {
		t.Fatal(err)
	}
	e, err := engine.New(engine.Config{Registry: r, Agents: []engine.Agent{{Name: "main", Model: fake.New()}}})
	if err != nil {
		t.Fatal(err)
	}
	web := httptest.NewServer(server.New(e, server.Config{}))
	t.Cleanup(web.Close)
	t.Cleanup(http.DefaultClient.CloseIdleConnections)
	all, err := os.ReadFile("testdata/expected.yml")
	if err != nil {
		t.Fatal(err)
	}
	now, _, found := strings.Cut(string(all), "  # In the versions that know sessions only")
	if !found {
		t.Fatal("testdata/expected.yml has no part for the versions with sessions")
	}
	for _, version := range []string{"", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"} {
		t.Run(version, func(t *testing.T) {
			failures, expected := string(all), filepath.Join(t.TempDir(), "expected.yml")
			if version == "2026-07-28" {
				failures = now
			}
			if err := os.WriteFile(expected, []byte(failures), 0o600); err != nil {
				t.Fatal(err)
			}
			c := exec.Command("node", "--import", "./register.mjs", suite, "server", "--url", web.URL+"/mcp?tools=list",
				"--suite", "all", "--timeout", "60000", "--expected-failures", expected)
			if version != "" {
				c.Args = append(c.Args, "--spec-version", version)
			}
			c.Dir = folder
			if out, err := c.CombinedOutput(); err != nil {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
}
