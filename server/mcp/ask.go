package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/etui-run/etui/approval"
	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/engine"
	"github.com/etui-run/etui/message"
	"github.com/etui-run/etui/session"
	"github.com/etui-run/etui/tool"
	"github.com/etui-run/etui/turn"
)

// This file asks the person at the client, by elicitation: whether a call may run that needs an approval,
// and what a tool wants to know. Nothing waits in etui: the client makes the call again with the answer.

// withInput is the first version of the protocol in which a call can be made again with an answer.
const withInput = "2026-07-28"

// asked is the one thing that a result asks for, and the fields of its forms.
const (
	asked    = "answer"
	approve  = "approve"
	answered = "text"
)

// state is what the client brings back with an answer. A client could say anything here, as it could in the
// answer: so the policy is asked again, and the rules for approvals decide whether its person may approve.
type state struct {
	// Resume is that of the tool's question, if the last thing asked was one, and Text the answer to it.
	Resume string `json:"resume,omitempty"`
	Text   string `json:"text,omitempty"`
	Given  bool   `json:"given,omitempty"`
	// Digest is that of the arguments which a person approves.
	Digest   string `json:"digest,omitempty"`
	Approved bool   `json:"approved,omitempty"`
	// Approves says that the last thing asked was an approval.
	Approves bool `json:"approves,omitempty"`
}

// elicits reports whether a client can ask its person and make the call again.
func elicits(r *mcp.CallToolRequest) bool {
	p := r.Session.InitializeParams()
	if p == nil || p.ProtocolVersion < withInput || p.Capabilities == nil {
		return false
	}
	e := p.Capabilities.Elicitation
	return e != nil && (e.Form != nil || e.URL == nil)
}

// ask makes a call whose client can ask its person.
func (s *Server) ask(
	ctx context.Context, r *mcp.CallToolRequest, sender engine.Message, in callToolArguments, host tool.Host,
) (*mcp.CallToolResult, error) {
	var st state
	if r.Params.RequestState != "" && json.Unmarshal([]byte(r.Params.RequestState), &st) != nil {
		return nil, invalid("requestState is not from this server")
	}
	said, _ := r.Params.InputResponses[asked].(*mcp.ElicitResult)
	switch {
	case said == nil:
		st = state{}
	case st.Approves:
		yes, _ := said.Content[approve].(bool)
		if st.Approved = said.Action == "accept" && yes; !st.Approved {
			return refuse(in.Name + " was not called: the person did not approve it"), nil
		}
	default:
		st.Text, _ = said.Content[answered].(string)
		st.Given = said.Action == "accept"
	}
	if st.Resume != "" {
		host.Reply = &tool.Reply{Resume: st.Resume, Text: st.Text, Given: st.Given}
	}
	ctx = tool.WithHost(ctx, host)
	result, err := s.engine.Call(turn.Decide(ctx, nil), sender, in.Name, in.Arguments)
	var waits *turn.Awaits
	var question *tool.Question
	if errors.As(err, &waits) {
		if err := s.may(ctx, sender, waits.Await); err != nil {
			return refuse(fmt.Sprintf("%s needs an approval: %v", in.Name, err)), nil
		}
		if !st.Approved || st.Digest != waits.Digest {
			st.Digest, st.Approved, st.Approves = waits.Digest, false, true
			return input(st, fmt.Sprintf("%s needs an approval, risk %s. May it run?\n%s",
				tool.Label(waits.Tool, waits.Original), waits.Risk, waits.Arguments),
				approve, map[string]any{"type": "boolean", "title": "Approve"})
		}
		decision := &session.Answer{Approved: true, Digest: st.Digest, By: waits.User}
		result, err = s.engine.Call(turn.Decide(ctx, decision), sender, in.Name, in.Arguments)
	}
	if errors.As(err, &question) {
		st.Resume, st.Approves = question.Resume, false
		field := map[string]any{"type": "string", "title": "Answer"}
		if len(question.Choices) > 0 {
			field["enum"] = question.Choices
		}
		return input(st, question.Text, answered, field)
	}
	return answer(result, err), nil
}

// may returns why the sender may not decide on a call that it makes.
func (s *Server) may(ctx context.Context, sender engine.Message, a session.Await) error {
	m, err := s.engine.Agents().Identify(message.New(sender))
	if err != nil {
		return err
	}
	f, err := s.engine.Agents().Caller(sender)
	if err != nil {
		return err
	}
	of, err := s.engine.Agents().Get(m.Agent)
	if err != nil {
		return err
	}
	key := s.engine.Agents().Key(of, m)
	a.User = f.Record()
	return s.engine.Answers().May(ctx, key, m, approval.Approval{Await: a, Session: key})
}

// input is a result that asks the person for one field.
func input(st state, text, field string, schema map[string]any) (*mcp.CallToolResult, error) {
	raw, err := json.Marshal(st)
	if err != nil {
		return answer(chat.Result{}, err), nil
	}
	return &mcp.CallToolResult{
		InputRequests: mcp.InputRequestMap{asked: &mcp.ElicitParams{
			Mode: "form", Message: text,
			RequestedSchema: map[string]any{"type": "object", "properties": map[string]any{field: schema},
				"required": []string{field}},
		}},
		RequestState: string(raw),
	}, nil
}
