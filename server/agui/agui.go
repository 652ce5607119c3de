// Package agui serves agents to pages and programs that show them by the AG-UI protocol: a run in, a
// stream of events out, with the text as it comes, calls of tools with their results, and calls of the
// page's own tools, which are handed to it. The types are those of the protocol's Go SDK.
//
// A thread of the protocol is a conversation that etui keeps for its sender: of the messages of a run,
// only those after the last answer are read.
package agui

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/ag-ui-protocol/ag-ui/sdks/community/go/pkg/core/events"
	"github.com/ag-ui-protocol/ag-ui/sdks/community/go/pkg/core/types"

	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/clienttool"
	"github.com/etui-run/etui/engine"
	"github.com/etui-run/etui/server/wire"
	"github.com/etui-run/etui/turn"
)

// Path is the address below which the agents are, by name.
const Path = "/agui"

// Server is the handler of the protocol. It is safe for concurrent use.
type Server struct {
	engine *engine.Engine
	on     bool
}

// New returns a server of an engine's agents, which refuses all requests unless it is on.
func New(e *engine.Engine, on bool) *Server { return &Server{e, on} }

// ServeHTTP implements [http.Handler]: {agent} in the path.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !s.on {
		wire.RefuseField(w, http.StatusNotFound, wire.NoRoute, "", "AG-UI is off; api.agui in etui.yaml switches it on")
		return
	}
	raw, ok := wire.ReadRaw(w, r)
	if !ok {
		return
	}
	var in types.RunAgentInput
	if err := json.Unmarshal(raw, &in); err != nil {
		wire.Refuse(w, http.StatusBadRequest, "the request is not the input of a run: "+err.Error())
		return
	}
	m, err := messageOf(r, in)
	if err == nil {
		_, err = s.engine.Agents().Get(m.Agent)
	}
	if err != nil {
		wire.Fail(w, err)
		return
	}
	out := newWriter(w, in.ThreadID, in.RunID)
	defer out.stream.Close()
	wire.Run(r, s.engine, m, out)
}

func invalid(format string, args ...any) error {
	return fmt.Errorf("%w: "+format, append([]any{engine.ErrInvalid}, args...)...)
}

// messageOf turns a run into a message of the engine.
func messageOf(r *http.Request, in types.RunAgentInput) (m engine.Message, err error) {
	m.Agent = r.PathValue("agent")
	if in.ThreadID == "" || in.RunID == "" {
		return m, invalid("threadId and runId are needed")
	}
	if len(in.Resume) > 0 {
		return m, invalid("resume: people answer calls that wait by POST /api/approvals/{id}, or where they are asked")
	}
	for i, t := range in.Tools {
		parameters, err := json.Marshal(t.Parameters)
		if err != nil {
			return m, invalid("tools[%d]: %v", i, err)
		}
		if t.Parameters == nil {
			parameters = nil
		}
		m.Offer.Tools = append(m.Offer.Tools,
			clienttool.Tool{Name: t.Name, Description: t.Description, Parameters: parameters})
	}
	if err := m.Offer.Check(); err != nil {
		return m, invalid("tools: %v", err)
	}
	if err := wire.Sender(r, &m); err != nil {
		return m, err
	}
	m.Session = "agui-" + in.ThreadID
	instructions := []string{}
	for _, c := range in.Context {
		instructions = append(instructions, c.Description+": "+c.Value)
	}
	history, made := []chat.Message{}, map[string]string{}
	for i, said := range in.Messages {
		one, err := messageIn(said, made)
		switch {
		case err != nil:
			return m, invalid("messages[%d]: %v", i, err)
		case one == nil:
		case one.Role == system:
			instructions = append(instructions, one.Text)
		default:
			history = append(history, *one)
		}
	}
	m.Instructions = strings.TrimSpace(strings.Join(instructions, "\n"))
	return m, wire.Complete(&m, history)
}

// system is the role of instructions, which are no message of the conversation.
const system chat.Role = "system"

// messageIn reads a message; nil if it is none of the conversation. Made are the names of the calls so
// far, by their IDs.
func messageIn(said types.Message, made map[string]string) (*chat.Message, error) {
	text, _ := said.ContentString()
	switch said.Role {
	case types.RoleSystem, types.RoleDeveloper:
		return &chat.Message{Role: system, Text: text}, nil
	case types.RoleUser:
		if parts, ok := said.ContentInputContents(); ok {
			text, files, err := content(parts)
			return &chat.Message{Role: chat.User, Text: text, Files: files}, err
		}
		return &chat.Message{Role: chat.User, Text: text}, nil
	case types.RoleAssistant:
		for _, c := range said.ToolCalls {
			made[c.ID] = c.Function.Name
		}
		return &chat.Message{Role: chat.Assistant, Text: text}, nil
	case types.RoleTool:
		name, known := made[said.ToolCallID]
		if !known {
			return nil, fmt.Errorf("no assistant's message before it has the call %q", said.ToolCallID)
		}
		result := &chat.Result{CallID: said.ToolCallID, Name: name, Text: text, Failed: said.Error != ""}
		if result.Failed && text == "" {
			result.Text = said.Error
		}
		return &chat.Message{Role: chat.Tool, Result: result}, nil
	case types.RoleActivity, types.RoleReasoning:
		return nil, nil //nolint:nilnil // pages show them, models do not read them
	}
	return nil, fmt.Errorf("role %q is not supported", said.Role)
}

// content reads the parts of a message of the user.
func content(parts []types.InputContent) (string, []chat.File, error) {
	var all []wire.Part
	for _, p := range parts {
		switch {
		case p.Type == types.InputContentTypeText:
			all = append(all, wire.Part{Text: p.Text})
		case p.Type == types.InputContentTypeBinary && p.Data != "":
			all = append(all, wire.Part{Name: p.Filename, MediaType: p.MimeType, Data: p.Data})
		case p.Source != nil && p.Source.Type == types.InputContentSourceTypeData:
			all = append(all, wire.Part{Name: p.Filename, MediaType: p.Source.MimeType, Data: p.Source.Value})
		default:
			return "", nil, fmt.Errorf("a part of type %q must have its data in it: etui fetches no address that a client names", p.Type)
		}
	}
	return wire.Parts(all)
}

// writer writes the events of a turn as those of the protocol.
type writer struct {
	w           http.ResponseWriter
	stream      *wire.Stream
	thread, run string
	message     string // the ID of the text that is under way; empty when none is
}

var _ wire.Writer = (*writer)(nil)

func newWriter(w http.ResponseWriter, thread, run string) *writer {
	begin := wire.Event("", written(events.NewRunStartedEvent(thread, run)))
	return &writer{w: w, thread: thread, run: run, stream: wire.NewStream(w, begin, ": keep-alive\n\n")}
}

func written(e events.Event) []byte {
	raw, _ := e.ToJSON() // texts and numbers
	return raw
}

func (o *writer) send(list ...events.Event) error {
	for _, e := range list {
		if err := o.stream.Event("", written(e)); err != nil {
			return err
		}
	}
	return nil
}

// Event implements [wire.Writer].
func (o *writer) Event(e turn.Event) error {
	switch {
	case e.Text != "":
		if o.message == "" {
			o.message = "msg_" + rand.Text()
			if err := o.send(events.NewTextMessageStartEvent(o.message, events.WithRole("assistant"))); err != nil {
				return err
			}
		}
		return o.send(events.NewTextMessageContentEvent(o.message, e.Text))
	case e.Call != nil:
		return o.call(*e.Call)
	case e.Result != nil && !e.Result.Pending:
		return errors.Join(o.endText(),
			o.send(events.NewToolCallResultEvent("msg_"+rand.Text(), e.Result.CallID, e.Result.Text)))
	case e.Done != nil:
		return o.end(e.Done)
	}
	return nil
}

func (o *writer) endText() error {
	id := o.message
	if o.message = ""; id == "" {
		return nil
	}
	return o.send(events.NewTextMessageEndEvent(id))
}

func (o *writer) call(c chat.Call) error {
	if err := o.endText(); err != nil {
		return err
	}
	return o.send(
		events.NewToolCallStartEvent(c.ID, c.Name), events.NewToolCallArgsEvent(c.ID, string(c.Arguments)),
		events.NewToolCallEndEvent(c.ID),
	)
}

// end writes the calls for the page, and how the run ends: calls that wait for a person interrupt it.
func (o *writer) end(done *turn.End) error {
	for _, c := range done.Handed {
		if err := o.call(c); err != nil {
			return err
		}
	}
	if err := o.endText(); err != nil {
		return err
	}
	var interrupts []types.Interrupt
	for _, a := range done.Awaits {
		interrupts = append(interrupts,
			types.Interrupt{ID: a.ID, Reason: "approval", Message: done.Reply, ToolCallID: a.Call})
	}
	if len(interrupts) > 0 {
		return o.send(events.NewRunFinishedEventWithOptions(o.thread, o.run, events.WithInterruptOutcome(interrupts)))
	}
	return o.send(events.NewRunFinishedEvent(o.thread, o.run))
}

// Fail implements [wire.Writer]: with a status as long as nothing was sent.
func (o *writer) Fail(err error) {
	o.stream.Close()
	if !o.stream.Begun() {
		wire.Fail(o.w, err)
		return
	}
	_, p := wire.ProblemFor(o.w, err)
	_ = o.send(events.NewRunErrorEvent(p.Error.Message, events.WithErrorCode(p.Error.Code),
		events.WithRunID(o.run))) // the client may have gone
}
