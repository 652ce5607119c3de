package top

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"github.com/etui-run/etui/cmd/internal/client"
	"github.com/etui-run/etui/internal/terminal"
)

// gateway answers as a gateway with two turns that run, one at another process, one that waits, a parked message and an approval.
func gateway(w http.ResponseWriter, r *http.Request) {
	fmt.Fprint(w, map[string]string{
		"/api/status": `{"agents":[{"name":"main","models":[{"model":"openai/m","error":"refused\u001b[2J"}]}],"rules":[],"policy":[],"workflows":[],"runs":[]}`,
		"/metrics": `# HELP etui_turns_total Turns that ended.
etui_turns_total{agent="main",outcome="ok"} 18
etui_turns_total{agent="main",outcome="failed"} 2
etui_tokens_total{kind="input"} 123456
etui_turn_seconds_bucket{le="0.1"} 10
etui_turn_seconds_bucket{le="1"} 18
etui_turn_seconds_bucket{le="10"} 20
etui_turn_seconds_bucket{le="+Inf"} 20
etui_turn_seconds_count 20
etui_turns_running 1
etui_messages_waiting 1
`,
		"/admin/running": `[{"item":0,"session":"agent:side:peer:http:bob","agent":"side","user":"http:bob","began":"2026-05-04T11:59:59Z","calls":0,"input":0,"output":0},
			{"item":7,"session":"agent:main:session:s","agent":"main","user":"王芳","channel":"tele\u001b[2Jgram","began":"2026-05-04T11:59:51Z","tools":["get_days","list_teams"],"calls":2,"running":"list_teams","input":23400,"output":120}]`,
		"/admin/approvals": `{"waiting":[{"call":"c","tool":"delete_pod","for":"approval","id":"k3f9ab","risk":"destructive","user":"ann","arguments":"{\"pod\":\"a\u001b[2J` + strings.Repeat("x", 300) + `\"}","until":"2026-05-04T13:00:00Z","session":"agent:main:session:s"}],"lasting":[]}`,
		"/admin/inbox": `[{"id":9,"session":"agent:main:telegram:42","state":"parked","reason":"it was tried 3 times","accepted":"2026-05-01T12:00:00Z"},
			{"id":8,"session":"agent:main:session:s","user":"ann","state":"waiting","accepted":"2026-05-04T11:59:58Z","text":"second"},
			{"id":5,"session":"agent:main:session:z","user":"zoe","state":"waiting","process":"other-etui","agent":"main","channel":"web","accepted":"2026-05-04T11:59:58Z","text":"fifth"},
			{"id":7,"session":"agent:main:session:s","user":"王芳","state":"waiting","accepted":"2026-05-04T11:59:50Z","text":"我还剩几天年假？\nand a long text ` + strings.Repeat("y", 200) + `"}]`,
	}[r.URL.Path])
}

func reading(t *testing.T) Reading {
	t.Helper()
	r, err := Read(t.Context(), client.Local(http.HandlerFunc(gateway), ""), time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestPage: what runs and what waits fits the width of the terminal in each language, and holds nothing that
// steers it.
func TestPage(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		language      string
		width, height int
		want          []string
	}{
		{"", 80, 0, []string{"turns that run: 1", "k3f9ab delete_pod", "60 min", "runs", "10 s", "second", "3 d", "it was tried 3 times", "123k", "100 ms", "5.5 s", "openai/m failed", "main · tokens 23k / 120 · calls: 2 · list_teams runs", "http:bob", "side · tokens 0 / 0 · calls: 0\n", "web · main · at another process: other-etui"}},
		{"zh", 80, 0, []string{"等待决定", "运行中", "王芳", "我还剩几天年假？ and", "已搁置", "词元 23k / 120 · 调用：2 · 正在运行 list_teams"}},
		{"", 60, 0, []string{"k3f9ab delete_pod"}},
		{"", 80, 10, []string{"k3f9ab delete_pod", "and 8 more"}},
	} {
		text := page{language: c.language, width: c.width, height: c.height}.text(reading(t))
		for _, want := range c.want {
			if !strings.Contains(text, want) {
				t.Errorf("%q in %d columns lacks %q:\n%s", c.language, c.width, want, text)
			}
		}
		for line := range strings.Lines(text) {
			if line = strings.TrimSuffix(line, "\n"); ansi.StringWidth(line) > c.width || strings.Contains(line, "\x1b") || strings.Contains(line, "%!") {
				t.Errorf("%q in %d columns: %q", c.language, c.width, line)
			}
		}
		if n := strings.Count(text, "\n"); c.height > 0 && n > c.height {
			t.Errorf("%d lines, want at most %d:\n%s", n, c.height, text)
		}
	}
}

// TestShow: a script gets what a person sees, once.
func TestShow(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	if err := Show(t.Context(), &terminal.Console{Out: &out, JSON: true}, client.Local(http.HandlerFunc(gateway), ""), time.Second, false); err != nil {
		t.Fatal(err)
	}
	var r Reading
	if err := json.Unmarshal(out.Bytes(), &r); err != nil || r.Running != 1 || len(r.Turns) != 5 || r.Turns[0].State != Runs || r.Turns[2].State != Runs || r.Turns[2].Live.Calls != 2 || r.Turns[3].State != Waits ||
		r.Turns[4].State != Parked || len(r.Approvals) != 1 || r.Figures.Failed != 2 || r.Figures.Turns.Half == nil || *r.Figures.Turns.Half != 0.1 {
		t.Errorf("%v: %s", err, out.Bytes())
	}
	away := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusBadGateway) })
	if err := Show(t.Context(), &terminal.Console{Out: &out}, client.Local(away, ""), time.Second, true); err == nil || strings.Contains(err.Error(), "\n") {
		t.Errorf("a gateway that is away: %v", err)
	}
}

// TestWatch: the screen goes on with the last reading while the gateway is away, and q leaves.
func TestWatch(t *testing.T) {
	t.Parallel()
	first := reading(t)
	second := first
	second.Time = first.Time.Add(10 * time.Second)
	second.counted = metrics{"etui_turn_seconds_count": 25}
	w := &watch{page: page{width: 80, height: 24}, every: time.Second}
	w.Update(read{first, nil})
	w.Update(read{second, nil})
	w.Update(read{Reading{}, fmt.Errorf("the gateway does not answer")})
	text := w.View().Content
	for _, want := range []string{"last 10 s", "second", "etui: the gateway does not answer", "q quits"} {
		if !strings.Contains(text, want) {
			t.Errorf("the screen lacks %q:\n%s", want, text)
		}
	}
	if _, cmd := w.Update(tea.KeyPressMsg{Code: 'q', Text: "q"}); cmd == nil || cmd() != tea.Quit() {
		t.Error("q does not leave")
	}
}

// TestSince: a gateway that started anew counts from zero.
func TestSince(t *testing.T) {
	t.Parallel()
	earlier := metrics{"etui_turn_seconds_count": 20, "etui_tokens_total{kind=\"input\"}": 100}
	for _, c := range []struct {
		now  metrics
		want int
	}{
		{metrics{"etui_turn_seconds_count": 25, "etui_tokens_total{kind=\"input\"}": 150}, 50},
		{metrics{"etui_turn_seconds_count": 2, "etui_tokens_total{kind=\"input\"}": 30}, 30},
	} {
		if got := figures(c.now.since(earlier)).Tokens.Input; got != c.want {
			t.Errorf("%v: %d tokens, want %d", c.now, got, c.want)
		}
	}
}
