// Package acp lets editors talk to an agent of a gateway by the Agent Client Protocol. A session of
// the protocol is a stored conversation of the agent, so it can be taken up again.
package acp

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"

	acp "github.com/coder/acp-go-sdk"

	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/cmd/internal/client"
	"github.com/etui-run/etui/internal/printable"
	"github.com/etui-run/etui/internal/terminal"
	"github.com/etui-run/etui/phrase"
	"github.com/etui-run/etui/server/api"
	"github.com/etui-run/etui/session"
	"github.com/etui-run/etui/turn"
	"github.com/etui-run/etui/workflow"
)

// prefix begins the names of the conversations of editors.
const prefix = "editor-"

// maxQuestions is how many calls of one message a person is asked about. Then the turn waits.
const maxQuestions = 100

// maxLoaded is how many messages of a conversation an editor is told when it takes it up.
const maxLoaded = 200

// Serve speaks to an editor on standard input and output until the editor has gone. Who has the
// agent, and whose the messages are.
func Serve(ctx context.Context, console *terminal.Console, c *client.Client, who api.Message, version string) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	a := &agent{client: c, who: who, version: version, ctx: ctx}
	in := newGate(console.In, a.arrived)
	a.editor = acp.NewAgentSideConnection(a, console.Out, in)
	a.editor.SetLogger(slog.New(slog.DiscardHandler))
	close(in.open)
	select {
	case <-a.editor.Done():
	case <-ctx.Done():
	}
	stop()
	a.turns.Wait()
	return nil
}

// agent is one side of the protocol. Its methods are safe for concurrent use.
type agent struct {
	client  *client.Client
	who     api.Message
	version string
	editor  *acp.AgentSideConnection
	ctx     context.Context //nolint:containedctx // of the connection

	turns   sync.WaitGroup
	mu      sync.Mutex
	prompts []*prompt // those that have arrived and not ended, in their order
}

var _ acp.AgentLoader = (*agent)(nil)

// Initialize implements [acp.Agent].
func (a *agent) Initialize(context.Context, acp.InitializeRequest) (acp.InitializeResponse, error) {
	return acp.InitializeResponse{
		ProtocolVersion: acp.ProtocolVersionNumber,
		AgentInfo:       &acp.Implementation{Name: "etui", Title: acp.Ptr("etui"), Version: cmp.Or(a.version, "dev")},
		AgentCapabilities: acp.AgentCapabilities{
			LoadSession: true, PromptCapabilities: acp.PromptCapabilities{Image: true, EmbeddedContext: true},
		},
		AuthMethods: []acp.AuthMethod{},
	}, nil
}

// Authenticate implements [acp.Agent]: the key of the command counts.
func (a *agent) Authenticate(context.Context, acp.AuthenticateRequest) (acp.AuthenticateResponse, error) {
	return acp.AuthenticateResponse{}, nil
}

// NewSession implements [acp.Agent]. The folder and the MCP servers of the editor are not used: an
// agent has the workspace and the tools of its gateway.
func (a *agent) NewSession(context.Context, acp.NewSessionRequest) (acp.NewSessionResponse, error) {
	return acp.NewSessionResponse{SessionId: acp.SessionId(prefix + strings.ToLower(rand.Text()[:12]))}, nil
}

// LoadSession implements [acp.AgentLoader].
func (a *agent) LoadSession(ctx context.Context, r acp.LoadSessionRequest) (acp.LoadSessionResponse, error) {
	key, err := a.find(ctx, r.SessionId)
	if err != nil {
		return acp.LoadSessionResponse{}, err
	}
	var messages []chat.Message
	for m, err := range a.client.Messages(ctx, key) {
		if err != nil {
			return acp.LoadSessionResponse{}, failure(err)
		}
		messages = append(messages, m)
	}
	for _, m := range messages[max(0, len(messages)-maxLoaded):] {
		update := acp.UpdateAgentMessageText
		if m.Role == chat.User {
			update = acp.UpdateUserMessageText
		}
		if m.Text == "" || m.Role != chat.User && m.Role != chat.Assistant {
			continue
		}
		if err := a.tell(ctx, r.SessionId, update(m.Text)); err != nil {
			return acp.LoadSessionResponse{}, err
		}
	}
	return acp.LoadSessionResponse{}, nil
}

// find returns the conversation into which a prompt with an ID would write, and no other whose key has
// the ID, too.
func (a *agent) find(ctx context.Context, id acp.SessionId) (session.Key, error) {
	if strings.HasPrefix(string(id), prefix) {
		sender := a.who
		sender.Session = string(id)
		var who api.Whoami
		if err := a.client.Do(ctx, http.MethodPost, "/api/whoami", sender, &who); err != nil {
			return "", failure(err)
		}
		found, err := a.client.FindSessions(ctx, string(who.Session))
		if err != nil {
			return "", failure(err)
		}
		if len(found) > 0 && found[0].Key == who.Session {
			return who.Session, nil
		}
	}
	return "", acp.NewInvalidParams(map[string]string{"sessionId": "there is no conversation " + string(id)})
}

// Cancel implements [acp.Agent]: the prompts were cancelled when it arrived.
func (a *agent) Cancel(context.Context, acp.CancelNotification) error { return nil }

// Prompt implements [acp.Agent]: it runs a turn, and asks the person about calls that wait.
func (a *agent) Prompt(_ context.Context, r acp.PromptRequest) (acp.PromptResponse, error) {
	if !strings.HasPrefix(string(r.SessionId), prefix) {
		return acp.PromptResponse{}, acp.NewInvalidParams(map[string]string{"sessionId": "it comes from session/new"})
	}
	m := a.who
	m.Session, m.StopWithConnection = string(r.SessionId), true
	if err := read(&m, r.Prompt); err != nil {
		return acp.PromptResponse{}, acp.NewInvalidParams(map[string]string{"prompt": err.Error()})
	}
	ctx, end := a.begin(r)
	defer end()
	a.turns.Add(1)
	defer a.turns.Done()
	begun := map[string]bool{} // the calls that the editor shows
	for range maxQuestions {
		done, err := a.follow(ctx, r.SessionId, m, begun)
		switch {
		case ctx.Err() != nil || done.Stopped:
			return acp.PromptResponse{StopReason: acp.StopReasonCancelled}, nil
		case err != nil:
			return acp.PromptResponse{}, failure(err)
		}
		i := slices.IndexFunc(done.Awaits, func(w session.Await) bool { return w.For == session.Approval && !w.Theirs })
		if i < 0 {
			break
		}
		answer, ok, err := a.ask(ctx, r.SessionId, done.Awaits[i])
		switch {
		case ctx.Err() != nil:
			return acp.PromptResponse{StopReason: acp.StopReasonCancelled}, nil
		case err != nil:
			return acp.PromptResponse{}, err
		case !ok: // it goes on waiting, and the reply says how to answer later
			return acp.PromptResponse{StopReason: acp.StopReasonEndTurn},
				a.tell(ctx, r.SessionId, acp.UpdateAgentMessageText(done.Reply))
		}
		m = a.who
		m.Session, m.StopWithConnection, m.Answers = string(r.SessionId), true, []session.Answer{answer}
	}
	return acp.PromptResponse{StopReason: acp.StopReasonEndTurn}, nil
}

// read makes a message of what a person wrote and added.
func read(m *api.Message, blocks []acp.ContentBlock) error {
	var text strings.Builder
	for _, b := range blocks {
		switch {
		case b.Text != nil:
			text.WriteString(b.Text.Text)
		case b.ResourceLink != nil:
			fmt.Fprintf(&text, "\n[%s](%s)\n", b.ResourceLink.Name, b.ResourceLink.Uri)
		case b.Resource != nil && b.Resource.Resource.TextResourceContents != nil:
			r := b.Resource.Resource.TextResourceContents
			fmt.Fprintf(&text, "\n%s:\n```\n%s\n```\n", r.Uri, r.Text)
		case b.Image != nil:
			data, err := base64.StdEncoding.DecodeString(b.Image.Data)
			if err != nil {
				return fmt.Errorf("a picture is not base64: %w", err)
			}
			m.Files = append(m.Files, chat.File{MediaType: b.Image.MimeType, Data: data})
		default:
			return errors.New("only text, pictures and files of text are taken")
		}
	}
	m.Text = strings.TrimSpace(text.String())
	return nil
}

// follow sends a message and tells the editor what happens, until the turn ends or waits.
func (a *agent) follow(ctx context.Context, id acp.SessionId, m api.Message, begun map[string]bool) (done turn.End,
	err error) {
	streamed := false
	for e, err := range a.client.Chat(ctx, m) {
		if err != nil {
			return done, err
		}
		switch {
		case e.Error != "":
			return done, errors.New(e.Error)
		case e.Done != nil:
			done = *e.Done
			if !streamed && len(done.Awaits) == 0 && done.Reply != "" {
				err = a.tell(ctx, id, acp.UpdateAgentMessageText(done.Reply))
			}
		case e.Text != "":
			streamed = true
			err = a.tell(ctx, id, acp.UpdateAgentMessageText(e.Text))
		case e.Call != nil && begun[e.Call.ID]: // a turn that goes on begins with the calls that waited
			err = a.tell(ctx, id, acp.UpdateToolCall(acp.ToolCallId(e.Call.ID),
				acp.WithUpdateStatus(acp.ToolCallStatusInProgress)))
		case e.Call != nil:
			begun[e.Call.ID] = true
			err = a.tell(ctx, id, acp.StartToolCall(acp.ToolCallId(e.Call.ID), title(*e.Call),
				acp.WithStartKind(acp.ToolKindOther),
				acp.WithStartStatus(acp.ToolCallStatusInProgress), acp.WithStartRawInput(e.Call.Arguments)))
		case e.Progress != nil:
			err = a.tell(ctx, id, acp.UpdateToolCall(acp.ToolCallId(e.Progress.CallID),
				acp.WithUpdateContent(content(e.Progress.Text))))
		case e.Result != nil:
			status := acp.ToolCallStatusCompleted
			if e.Result.Failed {
				status = acp.ToolCallStatusFailed
			}
			err = a.tell(ctx, id, acp.UpdateToolCall(acp.ToolCallId(e.Result.CallID), acp.WithUpdateStatus(status),
				acp.WithUpdateContent(content(shown(*e.Result)))))
		case e.Phase != nil:
			err = a.tell(ctx, id, acp.UpdatePlan(plan(*e.Phase)...))
		}
		if err != nil {
			return done, err
		}
	}
	return done, nil
}

func (a *agent) tell(ctx context.Context, id acp.SessionId, update acp.SessionUpdate) error {
	return a.editor.SessionUpdate(ctx, acp.SessionNotification{SessionId: id, Update: update})
}

// maxTitle is how long the title of a call is at most, in columns.
const maxTitle = 100

func title(c chat.Call) string { return printable.Line(c.Name+" "+string(c.Arguments), maxTitle) }

func content(text string) []acp.ToolCallContent {
	return []acp.ToolCallContent{acp.ToolContent(acp.TextBlock(text))}
}

// shown is what a person reads of a result.
func shown(r chat.Result) string {
	if r.View != nil {
		return cmp.Or(r.View.Text, r.View.Error, r.Text)
	}
	return r.Text
}

// plan is how far a workflow has come.
func plan(p turn.PhaseEvent) (list []acp.PlanEntry) {
	entry := func(name string, status acp.PlanEntryStatus) {
		list = append(list, acp.PlanEntry{Content: name, Priority: acp.PlanEntryPriorityMedium, Status: status})
	}
	if p.From != "" {
		entry(p.From, acp.PlanEntryStatusCompleted)
	}
	status := acp.PlanEntryStatusInProgress
	if p.Outcome == string(workflow.Done) {
		status = acp.PlanEntryStatusCompleted
	}
	entry(p.Name, status)
	return list
}

// What a person can choose.
const (
	once   acp.PermissionOptionId = "once"
	always acp.PermissionOptionId = "session"
	reject acp.PermissionOptionId = "reject"
)

// ask asks the person about a call that waits. Without an answer the call goes on waiting, and ok is
// false.
func (a *agent) ask(ctx context.Context, id acp.SessionId, w session.Await) (answer session.Answer, ok bool,
	err error) {
	call := acp.ToolCallUpdate{ToolCallId: acp.ToolCallId(w.Call),
		Title: acp.Ptr(printable.Line(w.Tool+" "+w.Arguments, maxTitle)), Status: acp.Ptr(acp.ToolCallStatusPending)}
	if json.Valid([]byte(w.Arguments)) {
		call.RawInput = json.RawMessage(w.Arguments)
	}
	options := []acp.PermissionOption{
		{OptionId: once, Kind: acp.PermissionOptionKindAllowOnce, Name: phrase.Word(a.client.Language, "Allow once")},
		{OptionId: always, Kind: acp.PermissionOptionKindAllowAlways,
			Name: phrase.Word(a.client.Language, "Allow in this conversation")},
		{OptionId: reject, Kind: acp.PermissionOptionKindRejectOnce, Name: phrase.Word(a.client.Language, "Reject")},
	}
	if w.Question != "" {
		call.Title = acp.Ptr(w.Question)
		options = nil
		for i, choice := range w.Choices {
			options = append(options, acp.PermissionOption{OptionId: acp.PermissionOptionId(fmt.Sprint(i)),
				Kind: acp.PermissionOptionKindAllowOnce, Name: choice})
		}
		if len(options) == 0 { // the next message is the answer
			return answer, false, nil
		}
	}
	said, err := a.editor.RequestPermission(ctx,
		acp.RequestPermissionRequest{SessionId: id, ToolCall: call, Options: options})
	if err != nil || said.Outcome.Selected == nil {
		return answer, false, err
	}
	answer = session.Answer{Call: w.Call, ID: w.ID}
	chosen := said.Outcome.Selected.OptionId
	i := slices.IndexFunc(options, func(o acp.PermissionOption) bool { return o.OptionId == chosen })
	switch {
	case i < 0:
		return answer, false, nil
	case w.Question != "":
		answer.Approved, answer.Text = true, w.Choices[i]
	case chosen == always:
		answer.Approved, answer.Lasts = true, session.ForSession
	default:
		answer.Approved = chosen == once
	}
	return answer, true, nil
}

// failure is an error in the protocol's form.
func failure(err error) error {
	return &acp.RequestError{Code: -32603, Message: printable.OneLine(err.Error())}
}

func none(method string) error { return acp.NewMethodNotFound(method) }

// CloseSession implements [acp.Agent].
func (a *agent) CloseSession(context.Context, acp.CloseSessionRequest) (acp.CloseSessionResponse, error) {
	return acp.CloseSessionResponse{}, none(acp.AgentMethodSessionClose)
}

// ListSessions implements [acp.Agent].
func (a *agent) ListSessions(context.Context, acp.ListSessionsRequest) (acp.ListSessionsResponse, error) {
	return acp.ListSessionsResponse{}, none(acp.AgentMethodSessionList)
}

// ResumeSession implements [acp.Agent].
func (a *agent) ResumeSession(context.Context, acp.ResumeSessionRequest) (acp.ResumeSessionResponse, error) {
	return acp.ResumeSessionResponse{}, none(acp.AgentMethodSessionResume)
}

// SetSessionConfigOption implements [acp.Agent].
func (a *agent) SetSessionConfigOption(context.Context,
	acp.SetSessionConfigOptionRequest) (acp.SetSessionConfigOptionResponse, error) {
	return acp.SetSessionConfigOptionResponse{}, none(acp.AgentMethodSessionSetConfigOption)
}

// SetSessionMode implements [acp.Agent].
func (a *agent) SetSessionMode(context.Context, acp.SetSessionModeRequest) (acp.SetSessionModeResponse, error) {
	return acp.SetSessionModeResponse{}, none(acp.AgentMethodSessionSetMode)
}
