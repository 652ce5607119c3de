package mcp

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/etui-run/etui/approval"
	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/engine"
	"github.com/etui-run/etui/message"
	"github.com/etui-run/etui/server/wire"
	"github.com/etui-run/etui/session"
	"github.com/etui-run/etui/turn"
)

// This file lets a call wait for a person whose client cannot ask one. The result says what waits and how
// to decide, and the same call, made again, goes on with the decision, once. What waits is a session of its
// own of the sender, which is listed, swept and erased as any other.

const (
	// maxWaiting is how many calls of a sender wait at most.
	maxWaiting = 20
	// waitsPrefix begins the names of the sessions.
	waitsPrefix = "mcp-"
	// directCall is the ID of a call in its session.
	directCall = "call"
)

// await makes a call, or says that it waits.
func (s *Server) await(ctx context.Context, c caller, in callToolArguments) *mcp.CallToolResult {
	sender := c.Message
	if sender.User == "" && sender.As == "" && !sender.Trusted { // it cannot be told from others
		return answer(s.engine.Call(ctx, sender, in.Name, in.Arguments))
	}
	result, err := s.engine.Call(turn.Decide(ctx, nil), sender, in.Name, in.Arguments)
	var needs *turn.Awaits
	if !errors.As(err, &needs) {
		return answer(result, err)
	}
	sender.Session = waitsPrefix + message.Hash([]string{sender.Session, needs.Tool, needs.Digest})[:24]
	who, err := s.engine.Agents().Whoami(sender)
	if err != nil {
		return answer(chat.Result{}, err)
	}
	kept, err := s.engine.Store().Load(ctx, who.Session, 1)
	if err != nil {
		return answer(chat.Result{}, fmt.Errorf("loading what waits: %w: %w", engine.ErrStore, err))
	}
	for _, a := range kept.Awaits {
		switch {
		case a.Apart == nil || !a.Apart.Direct:
		case a.For == session.Approval:
			return s.says(c, sender.Session, a)
		case a.For == session.Again:
			if err := s.engine.Sessions().Delete(ctx, who.Session); err != nil { // only one call has the decision
				return answer(chat.Result{}, err)
			}
			said := *a.Apart.Given
			if said.Approved && !a.Until.IsZero() && s.engine.Now().After(a.Until) {
				said = session.Answer{Reason: "the approval has expired"}
			}
			said.Hash, said.Digest = a.Hash, a.Digest
			return answer(s.engine.Call(turn.Decide(ctx, &said), c.Message, in.Name, in.Arguments))
		}
	}
	a, err := s.waits(ctx, sender, who.Session, needs.Await, in)
	if err != nil {
		return answer(chat.Result{}, err)
	}
	return s.says(c, sender.Session, a)
}

// waits keeps a call until somebody has decided.
func (s *Server) waits(
	ctx context.Context, sender engine.Message, key session.Key, a session.Await, in callToolArguments,
) (session.Await, error) {
	f, err := s.engine.Agents().Caller(sender)
	if err != nil {
		return a, err
	}
	list, err := s.engine.Approvals().List(ctx)
	if err != nil {
		return a, fmt.Errorf("reading what waits: %w: %w", engine.ErrStore, err)
	}
	theirs := 0
	for _, other := range list {
		if other.User == f.Record() && strings.Contains(string(other.Session), waitsPrefix) {
			theirs++
		}
	}
	if theirs >= maxWaiting {
		return a, fmt.Errorf("%w: %d calls wait for an approval already", engine.ErrBusy, theirs)
	}
	m, err := s.engine.Agents().Identify(message.New(sender))
	if err != nil {
		return a, err
	}
	a.Call, a.For, a.User, a.ID = directCall, session.Approval, f.Record(), strings.ToLower(rand.Text()[:turn.IDLength])
	a.Language = sender.Language
	a.Apart = &session.ApartCall{
		Call: chat.Call{ID: directCall, Name: in.Name, Arguments: in.Arguments}, Request: m.Stored(), Direct: true,
	}
	err = s.engine.Store().Append(ctx, key, session.State{Awaits: []session.Await{a}}, chat.Message{
		Role: chat.User, Note: fmt.Sprintf("[a client of MCP calls %s, which needs an approval]", a.Tool),
		User:    f.Sender,
		Channel: f.Channel, Time: s.engine.Now(),
	})
	if err != nil {
		err = fmt.Errorf("storing what waits: %w: %w", engine.ErrStore, err)
	}
	return a, err
}

// says returns the result of a call that waits.
func (s *Server) says(c caller, name string, a session.Await) *mcp.CallToolResult {
	x, how := wire.Extend(c.Message, name, c.forOthers, []session.Await{a})
	out := refuse(approval.Text([]session.Await{a}) + how)
	out.StructuredContent = map[string]any{"etui": x}
	return out
}
