package acp_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"

	sdk "github.com/coder/acp-go-sdk"

	"github.com/etui-run/etui/catalog"
	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/cmd/etui/internal/acp"
	"github.com/etui-run/etui/cmd/internal/client"
	"github.com/etui-run/etui/engine"
	"github.com/etui-run/etui/internal/terminal"
	"github.com/etui-run/etui/model/fake"
	"github.com/etui-run/etui/rules"
	"github.com/etui-run/etui/server"
	"github.com/etui-run/etui/server/api"
	"github.com/etui-run/etui/tool"
	"github.com/etui-run/etui/turn"
)

// editor is the client of the protocol. It answers questions with the option that it is told.
type editor struct {
	sdk.Client
	choose sdk.PermissionOptionId

	mu    sync.Mutex
	heard []string
	asked []string
}

func (e *editor) SessionUpdate(_ context.Context, n sdk.SessionNotification) error {
	raw, err := json.Marshal(n.Update)
	e.mu.Lock()
	defer e.mu.Unlock()
	e.heard = append(e.heard, string(raw))
	return err
}

func (e *editor) RequestPermission(_ context.Context, r sdk.RequestPermissionRequest) (sdk.RequestPermissionResponse, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.asked = append(e.asked, *r.ToolCall.Title)
	if e.choose == "" {
		return sdk.RequestPermissionResponse{Outcome: sdk.NewRequestPermissionOutcomeCancelled()}, nil
	}
	return sdk.RequestPermissionResponse{Outcome: sdk.NewRequestPermissionOutcomeSelected(e.choose)}, nil
}

// said returns what the editor has heard since the last time.
func (e *editor) said() string {
	e.mu.Lock()
	defer e.mu.Unlock()
	all := strings.Join(e.heard, "\n")
	e.heard = nil
	return all
}

// open connects an editor to an agent whose model plays steps.
func open(t *testing.T, e *editor, steps ...fake.Step) *sdk.ClientSideConnection {
	t.Helper()
	r := catalog.NewRegistry(nil)
	type in struct {
		Text string `json:"text"`
	}
	for name, risk := range map[string]tool.Risk{"look": tool.Read, "wipe": tool.Destructive} {
		if err := r.Register(tool.Func(tool.Definition{Name: name, Description: name, Risk: risk}, func(_ context.Context, in in) (string, error) {
			return name + " of " + in.Text, nil
		})); err != nil {
			t.Fatal(err)
		}
	}
	policy, err := rules.Compile(rules.Policy, []rules.Rule{{Name: "careful", Ask: []string{"wipe"}}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	gateway, err := engine.New(engine.Config{
		Registry: r, Agents: []engine.Agent{{Name: "main", Model: fake.New(steps...)}}, Turn: turn.Config{Approvals: true, Decide: policy.Decide},
	})
	if err != nil {
		t.Fatal(err)
	}
	toAgent, fromAgent := serve(t, gateway)
	c := sdk.NewClientSideConnection(e, toAgent, fromAgent)
	if got, err := c.Initialize(t.Context(), sdk.InitializeRequest{ProtocolVersion: sdk.ProtocolVersionNumber}); err != nil || !got.AgentCapabilities.LoadSession {
		t.Fatalf("%+v, %v", got, err)
	}
	return c
}

// serve serves an agent of a gateway until the test ends.
func serve(t *testing.T, gateway *engine.Engine) (toAgent io.Writer, fromAgent io.Reader) {
	t.Helper()
	fromEditor, in := io.Pipe()
	out, toEditor := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		ended <- acp.Serve(t.Context(), &terminal.Console{In: fromEditor, Out: toEditor, Err: io.Discard},
			client.Local(server.New(gateway, server.Config{}), ""), api.Message{Message: engine.Message{Channel: "cli"}}, "1")
		_ = toEditor.Close()
	}()
	t.Cleanup(func() {
		_ = in.Close()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return in, out
}

func begin(t *testing.T, c *sdk.ClientSideConnection) sdk.SessionId {
	t.Helper()
	s, err := c.NewSession(t.Context(), sdk.NewSessionRequest{Cwd: "/", McpServers: []sdk.McpServer{}})
	if err != nil {
		t.Fatal(err)
	}
	return s.SessionId
}

func TestPrompt(t *testing.T) {
	e := &editor{}
	c := open(t, e, fake.Step{Calls: []chat.Call{fake.Call("1", "look", `{"text":"this"}`)}}, fake.Step{Text: "Seen."}, fake.Step{Text: "Again."})
	id := begin(t, c)
	got, err := c.Prompt(t.Context(), sdk.PromptRequest{SessionId: id, Prompt: []sdk.ContentBlock{sdk.TextBlock("look at this"), sdk.ResourceLinkBlock("a.go", "file:///a.go")}})
	if err != nil || got.StopReason != sdk.StopReasonEndTurn {
		t.Fatalf("%+v, %v", got, err)
	}
	said := e.said()
	for _, want := range []string{`"toolCallId":"1"`, `look {\"text\":\"this\"}`, `"status":"completed"`, "look of this", `"text":"Seen."`} {
		if !strings.Contains(said, want) {
			t.Errorf("the editor heard no %s in %s", want, said)
		}
	}
	if _, err := c.Prompt(t.Context(), sdk.PromptRequest{SessionId: id, Prompt: []sdk.ContentBlock{sdk.TextBlock("more")}}); err != nil {
		t.Fatal(err)
	}
	e.said()
	if _, err := c.LoadSession(t.Context(), sdk.LoadSessionRequest{SessionId: id, Cwd: "/", McpServers: []sdk.McpServer{}}); err != nil {
		t.Fatal(err)
	}
	said = e.said()
	for _, want := range []string{"look at this", "Seen.", "more", "Again."} {
		if !strings.Contains(said, want) {
			t.Errorf("the conversation that is taken up lacks %q: %s", want, said)
		}
	}
	for _, wrong := range []sdk.SessionId{"agent:main:main", "editor-unknown", "editor-", id[:len(id)-1]} {
		if _, err := c.LoadSession(t.Context(), sdk.LoadSessionRequest{SessionId: wrong, Cwd: "/", McpServers: []sdk.McpServer{}}); err == nil {
			t.Errorf("%s is taken up", wrong)
		}
	}
	if _, err := c.Prompt(t.Context(), sdk.PromptRequest{SessionId: "main", Prompt: []sdk.ContentBlock{sdk.TextBlock("x")}}); err == nil {
		t.Error("an editor writes into another conversation")
	}
}

func TestPermission(t *testing.T) {
	for choose, want := range map[sdk.PermissionOptionId]string{"once": "wipe of it", "session": "wipe of it", "reject": "declined", "": "needs an approval"} {
		e := &editor{choose: choose}
		c := open(t, e, fake.Step{Calls: []chat.Call{fake.Call("1", "wipe", `{"text":"it"}`)}}, fake.Step{Text: "Done."})
		got, err := c.Prompt(t.Context(), sdk.PromptRequest{SessionId: begin(t, c), Prompt: []sdk.ContentBlock{sdk.TextBlock("wipe it")}})
		if err != nil || got.StopReason != sdk.StopReasonEndTurn {
			t.Errorf("%q: %+v, %v", choose, got, err)
		}
		said := e.said()
		if len(e.asked) != 1 || !strings.Contains(e.asked[0], `wipe {"text":"it"}`) {
			t.Errorf("%q: the questions are %q", choose, e.asked)
		}
		if ran := strings.Contains(said, "wipe of it"); ran != (want == "wipe of it") || !strings.Contains(said, want) {
			t.Errorf("%q: %s", choose, said)
		}
	}
}

// TestCancelAtOnce: a cancel that comes with its prompt in one piece ends the prompt, and not the next.
func TestCancelAtOnce(t *testing.T) {
	const rounds = 50
	steps := make([]fake.Step, 2*rounds)
	for i := range steps {
		steps[i] = fake.Step{Wait: make(chan struct{})}
	}
	gateway, err := engine.New(engine.Config{Registry: catalog.NewRegistry(nil), Agents: []engine.Agent{{Name: "main", Model: fake.New(steps...)}}})
	if err != nil {
		t.Fatal(err)
	}
	toAgent, fromAgent := serve(t, gateway)
	answers := json.NewDecoder(fromAgent)
	for i := range rounds {
		id := fmt.Sprintf("editor-%d", i)
		cancel := fmt.Sprintf(`{"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":%q}}`, id)
		lines := ""
		for n, text := range []string{"first", "second"} {
			lines += fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"session/prompt","params":{"sessionId":%q,"prompt":[{"type":"text","text":%q}]}}`, 2*i+n, id, text) + "\n"
			if n == 0 {
				lines += cancel + "\n"
			}
		}
		if _, err := io.WriteString(toAgent, lines); err != nil {
			t.Fatal(err)
		}
		for n := range 2 {
			var got struct {
				ID     int `json:"id"`
				Result struct {
					Reason string `json:"stopReason"`
				} `json:"result"`
			}
			if err := answers.Decode(&got); err != nil || got.ID != 2*i+n || got.Result.Reason != "cancelled" {
				t.Fatalf("round %d: %+v, %v", i, got, err)
			}
			if n == 0 {
				if _, err := io.WriteString(toAgent, cancel+"\n"); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
}
