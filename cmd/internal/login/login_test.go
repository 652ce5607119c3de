package login_test

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/etui-run/etui/cmd/internal/login"
	"github.com/etui-run/etui/cmd/internal/trust"
	"github.com/etui-run/etui/cmd/internal/workdir"
	"github.com/etui-run/etui/internal/terminal"
	"github.com/etui-run/etui/skill/mcp/oauth/oauthtest"
)

// screen is where a command writes. It can be read meanwhile.
type screen struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (s *screen) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.Write(b)
}

func (s *screen) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String()
}

var link = regexp.MustCompile(`http\S+/authorize\S+`)

// link returns the link that is on the screen, as soon as it is there.
func (s *screen) link(t *testing.T) string {
	for range 2000 {
		if found := link.FindString(s.String()); found != "" {
			return found
		}
		time.Sleep(5 * time.Millisecond)
	}
	t.Fatal("no link: ", s.String())
	return ""
}

// place is a workspace with the MCP server tracker.
type place struct {
	t      *testing.T
	server *oauthtest.Server
	dir    string
	screen *screen
}

func newPlace(t *testing.T) *place {
	p := &place{t: t, server: oauthtest.New(), dir: t.TempDir(), screen: &screen{}}
	t.Cleanup(p.server.Close)
	for name, text := range map[string]string{
		"etui.yaml": "skills: {local: ['127.0.0.1:*']}\nsandbox: {mode: 'off'}\n",
		"skills/tracker.yaml": "name: tracker\ndescription: A tracker.\nprovider: mcp\nendpoint: " +
			p.server.URL + "/mcp\n",
		"skills/other.yaml":   "name: other\ndescription: Other tools.\ntools: [read_file]\n",
		"skills/bad.yaml":     "name: bad\ndescription: A tracker.\nprovider: mcp\nendpoint: nowhere\n",
		"skills/program.yaml": "name: program\ndescription: A tracker.\nprovider: mcp\ncommand: ['true']\n",
	} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(p.dir, name)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(p.dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return p
}

// run runs mcp login or mcp logout.
func (p *place) run(in io.Reader, args ...string) error {
	console := &terminal.Console{In: in, Out: p.screen, Err: p.screen}
	open := func(context.Context) (*workdir.Workspace, error) {
		return workdir.Open(p.dir, "", []string{"ETUI_STATE=" + filepath.Join(p.dir, "state"), "HOME=" + p.dir,
			trust.Variable + "=" + p.dir})
	}
	c := login.Command(console, open, "test")
	if args[0] == "logout" {
		c = login.OutCommand(console, open, "test")
	}
	c.SetArgs(args[1:])
	c.SilenceErrors, c.SilenceUsage = true, true
	return c.ExecuteContext(p.t.Context())
}

// TestLogin: the browser's answer, or what a person copies from there, ends the login.
func TestLogin(t *testing.T) {
	t.Parallel()
	for name, copies := range map[string]bool{"here": false, "elsewhere": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t)
			in, typed := io.Pipe()
			defer typed.Close()
			done := make(chan error)
			go func() { done <- p.run(in, "login", "tracker", "--no-browser") }()
			at := p.screen.link(t)
			if copies {
				resp, err := http.DefaultTransport.RoundTrip(must(http.NewRequest(http.MethodGet, at, nil)))
				if err != nil {
					t.Fatal(err)
				}
				_ = resp.Body.Close()
				_, _ = io.WriteString(typed, "what?\n"+resp.Header.Get("Location")+"\n")
			} else {
				for _, path := range []string{"/", "/callback", "/callback?state=wrong&code=x"} { // of other programs
					redirect := must(http.NewRequest(http.MethodGet, at, nil)).URL.Query().Get("redirect_uri")
					if resp, err := http.Get(strings.TrimSuffix(redirect, "/callback") + path); err != nil ||
						resp.StatusCode != http.StatusNotFound {
						t.Error(resp, err)
					} else {
						_ = resp.Body.Close()
					}
				}
				resp, err := http.Get(at)
				if err != nil {
					t.Fatal(err)
				}
				text, _ := io.ReadAll(resp.Body)
				_ = resp.Body.Close()
				if !strings.Contains(string(text), "Logged in") {
					t.Errorf("%s", text)
				}
			}
			if err := <-done; err != nil || !strings.Contains(p.screen.String(), "Logged in to tracker.\n") {
				t.Error(err, p.screen)
			}
			if err := p.run(strings.NewReader(""), "logout", "tracker"); err != nil ||
				!strings.HasSuffix(p.screen.String(), "Removed 1 login at tracker.\n") {
				t.Error(err, p.screen)
			}
		})
	}
}

func must(r *http.Request, _ error) *http.Request { return r }

// TestNoLogin: a name that is no server, and servers without a login.
func TestNoLogin(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	for name, says := range map[string]string{"none": "there is no MCP server none",
		"other": "other is no MCP server", "bad": "endpoint", "program": "nothing to log in to"} {
		if err := p.run(strings.NewReader(""), "login", name, "--no-browser"); err == nil ||
			!strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
