// Package a2a serves agents to other agents, by the Agent2Agent protocol in its version 0.3: an agent
// card says what an agent is for, and messages become tasks, sent whole or streamed. The protocol's own
// SDK reads and writes it; this package is what its methods do. The SDK's runner of tasks is not used: it
// keeps every task for ever, and shows it to everybody.
//
// A context of the protocol is a conversation that etui keeps for its sender, and a task the turn of one
// message. A task goes on when its client goes away, until it ends or is cancelled. The newest [MaxTasks]
// are known, in this process: after a restart the context goes on, and its old tasks are unknown.
package a2a

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"log/slog"
	"net/http"
	"slices"
	"time"

	"github.com/a2aproject/a2a-go/a2a"
	"github.com/a2aproject/a2a-go/a2asrv"

	"github.com/etui-run/etui/engine"
	"github.com/etui-run/etui/internal/panics"
	"github.com/etui-run/etui/server/wire"
)

// Path is the address below which the agents are, by name.
const Path = "/a2a"

// Config says which agents are offered.
type Config struct {
	// Agents are what the agents that are offered are for, by their names; none means that the protocol
	// is off.
	Agents map[string]string
	// URL is the address by which clients reach the server; empty means that of their request.
	URL string
	// Version is etui's own.
	Version string
	// Keyed reports whether clients need a key.
	Keyed func() bool
	// Log receives what operators should know.
	Log *slog.Logger
}

// Server has a handler for each route. It is safe for concurrent use.
type Server struct {
	engine   *engine.Engine
	config   Config
	protocol http.Handler
	tasks    tasks
}

var _ a2asrv.RequestHandler = (*Server)(nil)

// New returns a server of an engine's agents.
func New(e *engine.Engine, cfg Config) *Server {
	s := &Server{engine: e, config: cfg, tasks: tasks{known: map[a2a.TaskID]*task{}}}
	s.protocol = a2asrv.NewJSONRPCHandler(s)
	return s
}

// offered reports whether an agent is offered, and answers if it is not.
func (s *Server) offered(w http.ResponseWriter, agent string) bool {
	if _, ok := s.config.Agents[agent]; ok && slices.Contains(s.engine.Agents().Roster.Names(), agent) {
		return true
	}
	wire.RefuseField(w, http.StatusNotFound, wire.NoRoute, "",
		"no such agent is offered to other agents, see api.a2a in etui.yaml")
	return false
}

// First answers with the card of the first agent, at the address where clients look.
func (s *Server) First(w http.ResponseWriter, r *http.Request) {
	for _, name := range s.engine.Agents().Roster.Names() {
		if _, ok := s.config.Agents[name]; ok {
			s.card(w, r, name)
			return
		}
	}
	s.offered(w, "")
}

// Card answers with the card of an agent: {agent} in the path.
func (s *Server) Card(w http.ResponseWriter, r *http.Request) { s.card(w, r, r.PathValue("agent")) }

func (s *Server) card(w http.ResponseWriter, r *http.Request, agent string) {
	if !s.offered(w, agent) {
		return
	}
	says := cmp.Or(s.config.Agents[agent], agent)
	card := a2a.AgentCard{
		Name: agent, Description: says, Version: cmp.Or(s.config.Version, "dev"), ProtocolVersion: "0.3.0",
		URL:                cmp.Or(s.config.URL, "http://"+r.Host) + Path + "/" + agent,
		PreferredTransport: a2a.TransportProtocolJSONRPC,
		Capabilities:       a2a.AgentCapabilities{Streaming: true},
		DefaultInputModes:  []string{"text/plain", "image/png", "image/jpeg", "application/pdf", "application/json"},
		DefaultOutputModes: []string{"text/plain"},
		Skills:             []a2a.AgentSkill{{ID: agent, Name: agent, Description: says, Tags: []string{}}},
	}
	if s.config.Keyed() {
		card.SecuritySchemes = a2a.NamedSecuritySchemes{"key": a2a.HTTPAuthSecurityScheme{Scheme: "Bearer"}}
		card.Security = []a2a.SecurityRequirements{{"key": {}}}
	}
	wire.Reply(w, http.StatusOK, card)
}

// ServeHTTP implements [http.Handler] with the methods of the protocol, for one agent.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	agent := r.PathValue("agent")
	if !s.offered(w, agent) {
		return
	}
	body, ok := wire.ReadRaw(w, r)
	if !ok {
		return
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	w.Header().Set("Content-Type", "application/json")
	s.protocol.ServeHTTP(flushed{w, http.NewResponseController(w)},
		r.WithContext(context.WithValue(r.Context(), requestKey{}, r)))
}

// flushed lets the SDK flush what the server's own writers wrap.
type flushed struct {
	http.ResponseWriter
	flush *http.ResponseController
}

// Flush implements [http.Flusher].
func (f flushed) Flush() { _ = f.flush.Flush() } // the next write fails, too

type requestKey struct{}

// sender returns a message of whoever sends a request, in a context.
func sender(ctx context.Context, contextID string) (m engine.Message, err error) {
	r, ok := ctx.Value(requestKey{}).(*http.Request)
	if !ok {
		return m, a2a.ErrInternalError
	}
	m.Agent = r.PathValue("agent")
	if err := wire.Sender(r, &m); err != nil {
		return m, invalid(err)
	}
	m.Session = "a2a-" + contextID
	return m, nil
}

func invalid(err error) error { return fmt.Errorf("%w: %w", a2a.ErrInvalidParams, err) }

// OnSendMessage implements [a2asrv.RequestHandler].
func (s *Server) OnSendMessage(ctx context.Context, params *a2a.MessageSendParams) (a2a.SendMessageResult, error) {
	t, err := s.begin(ctx, params)
	if err != nil {
		return nil, err
	}
	waits := params.Config == nil || params.Config.Blocking == nil || *params.Config.Blocking
	for waits {
		now, changed := t.look(0)
		if now.ended() {
			break
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	return s.shown(ctx, t), nil
}

// OnSendMessageStream implements [a2asrv.RequestHandler].
func (s *Server) OnSendMessageStream(ctx context.Context, params *a2a.MessageSendParams) iter.Seq2[a2a.Event, error] {
	return s.stream(ctx, func() (*task, error) { return s.begin(ctx, params) })
}

// OnResubscribeToTask implements [a2asrv.RequestHandler].
func (s *Server) OnResubscribeToTask(ctx context.Context, params *a2a.TaskIDParams) iter.Seq2[a2a.Event, error] {
	return s.stream(ctx, func() (*task, error) { return s.mine(ctx, params.ID) })
}

func (s *Server) stream(ctx context.Context, find func() (*task, error)) iter.Seq2[a2a.Event, error] {
	return func(yield func(a2a.Event, error) bool) {
		t, err := find()
		if err != nil {
			yield(nil, err)
			return
		}
		s.follow(ctx, t, yield)
	}
}

// keepAlive is how long a stream is silent at most.
const keepAlive = 10 * time.Second

// follow yields a task, its text as it comes, and how it ends.
func (s *Server) follow(ctx context.Context, t *task, yield func(a2a.Event, error) bool) {
	first, _ := t.look(0)
	if !yield(first.task(t), nil) {
		return
	}
	at, begun := 0, false
	for {
		now, changed := t.look(at)
		if now.text != "" {
			piece := a2a.NewArtifactUpdateEvent(t, t.artifact, a2a.TextPart{Text: now.text})
			piece.Append, piece.LastChunk = begun, now.ended()
			if !yield(piece, nil) {
				return
			}
			at, begun = at+len(now.text), true
		}
		if now.ended() {
			yield(now.status(t), nil)
			return
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return
		case <-time.After(keepAlive):
			if !yield(now.status(t), nil) {
				return
			}
		}
	}
}

// begin takes a message up as a task.
func (s *Server) begin(ctx context.Context, params *a2a.MessageSendParams) (*task, error) {
	if params == nil || params.Message == nil {
		return nil, invalid(errors.New("the message is missing"))
	}
	if params.Config != nil && params.Config.PushConfig != nil {
		return nil, a2a.ErrPushNotificationNotSupported
	}
	said := params.Message
	contextID, id := said.ContextID, said.TaskID
	if id != "" {
		before, err := s.mine(ctx, id)
		if err != nil {
			return nil, err
		}
		if now, _ := before.look(0); now.state != a2a.TaskStateInputRequired {
			return nil, invalid(fmt.Errorf("the task is %s: leave taskId out, the contextId goes on with its conversation", now.state))
		}
		if contextID != "" && contextID != before.context {
			return nil, invalid(errors.New("the task belongs to another context"))
		}
		contextID = before.context
	}
	if contextID == "" {
		contextID = a2a.NewContextID()
	}
	m, err := sender(ctx, contextID)
	if err == nil {
		err = read(said, &m)
	}
	if err != nil {
		return nil, err
	}
	who, err := s.engine.Agents().Whoami(m)
	if err != nil {
		return nil, invalid(err)
	}
	t := newTask(cmp.Or(id, a2a.NewTaskID()), contextID, who.Session)
	if !s.tasks.add(t) {
		return nil, fmt.Errorf("%w: too many tasks are running; try again in a moment", a2a.ErrServerError)
	}
	run, cancel := context.WithCancel(context.WithoutCancel(ctx))
	t.cancel = cancel
	go func() {
		defer panics.Log(s.engine.Log(), "running a task")
		s.run(run, t, m)
	}()
	return t, nil
}

// mine returns a task of whoever sends a request.
func (s *Server) mine(ctx context.Context, id a2a.TaskID) (*task, error) {
	t := s.tasks.get(id)
	if t == nil {
		return nil, a2a.ErrTaskNotFound
	}
	m, err := sender(ctx, t.context)
	if err != nil {
		return nil, err
	}
	if who, err := s.engine.Agents().Whoami(m); err != nil || who.Session != t.session {
		return nil, a2a.ErrTaskNotFound // of somebody else
	}
	return t, nil
}

// OnGetTask implements [a2asrv.RequestHandler].
func (s *Server) OnGetTask(ctx context.Context, query *a2a.TaskQueryParams) (*a2a.Task, error) {
	t, err := s.mine(ctx, query.ID)
	if err != nil {
		return nil, err
	}
	return s.shown(ctx, t), nil
}

// OnCancelTask implements [a2asrv.RequestHandler].
func (s *Server) OnCancelTask(ctx context.Context, params *a2a.TaskIDParams) (*a2a.Task, error) {
	t, err := s.mine(ctx, params.ID)
	if err != nil {
		return nil, err
	}
	switch now, _ := t.look(0); now.state {
	case a2a.TaskStateInputRequired: // its turn has no process that could be cancelled
		if _, err := s.engine.Sessions().Stop(ctx, t.session); err != nil {
			_, p := wire.ProblemOf(err)
			return nil, fmt.Errorf("%w: %s", a2a.ErrInternalError, p.Error.Message)
		}
		t.end(a2a.TaskStateCanceled, "")
	case a2a.TaskStateWorking:
		t.cancelled.Store(true)
		t.cancel()
		select {
		case <-t.over:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	default:
		return nil, a2a.ErrTaskNotCancelable
	}
	return s.shown(ctx, t), nil
}

// OnGetTaskPushConfig implements [a2asrv.RequestHandler].
func (s *Server) OnGetTaskPushConfig(context.Context, *a2a.GetTaskPushConfigParams) (*a2a.TaskPushConfig, error) {
	return nil, a2a.ErrPushNotificationNotSupported
}

// OnListTaskPushConfig implements [a2asrv.RequestHandler].
func (s *Server) OnListTaskPushConfig(context.Context, *a2a.ListTaskPushConfigParams) ([]*a2a.TaskPushConfig, error) {
	return nil, a2a.ErrPushNotificationNotSupported
}

// OnSetTaskPushConfig implements [a2asrv.RequestHandler].
func (s *Server) OnSetTaskPushConfig(context.Context, *a2a.TaskPushConfig) (*a2a.TaskPushConfig, error) {
	return nil, a2a.ErrPushNotificationNotSupported
}

// OnDeleteTaskPushConfig implements [a2asrv.RequestHandler].
func (s *Server) OnDeleteTaskPushConfig(context.Context, *a2a.DeleteTaskPushConfigParams) error {
	return a2a.ErrPushNotificationNotSupported
}

// OnGetExtendedAgentCard implements [a2asrv.RequestHandler].
func (s *Server) OnGetExtendedAgentCard(context.Context) (*a2a.AgentCard, error) {
	return nil, a2a.ErrAuthenticatedExtendedCardNotConfigured
}

// read completes a message with the parts of one of the protocol.
func read(said *a2a.Message, m *engine.Message) error {
	var parts []wire.Part
	for i, p := range said.Parts {
		switch p := p.(type) {
		case a2a.TextPart:
			parts = append(parts, wire.Part{Text: p.Text})
		case a2a.DataPart:
			raw, err := json.Marshal(p.Data)
			if err != nil {
				return invalid(err)
			}
			parts = append(parts, wire.Part{Text: string(raw)})
		case a2a.FilePart:
			file, ok := p.File.(a2a.FileBytes)
			if !ok {
				return fmt.Errorf("%w: parts[%d]: send the bytes of the file: etui fetches no address that a client names", a2a.ErrUnsupportedContentType, i)
			}
			parts = append(parts, wire.Part{Name: file.Name, MediaType: file.MimeType, Data: file.Bytes})
		}
	}
	var err error
	if m.Text, m.Files, err = wire.Parts(parts); err != nil {
		return invalid(err)
	}
	return nil
}
