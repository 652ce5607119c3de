package audit

import (
	"context"
	"encoding/json"
	"time"
)

// Decision is one call that was allowed or refused, however it was made.
type Decision struct {
	Time time.Time `json:"time"`
	// Agent, Channel, Chat, User and Session identify the caller.
	Agent   string `json:"agent,omitempty"`
	Channel string `json:"channel,omitempty"`
	Chat    string `json:"chat,omitempty"`
	User    string `json:"user,omitempty"`
	Session string `json:"session,omitempty"`
	// Tool is the tool that the call reached, or the name in the call when no tool has
	// it. Skill is set instead when a skill was to be activated.
	Tool  string `json:"tool,omitempty"`
	Skill string `json:"skill,omitempty"`
	// Source and Version are those of the tool. Hash distinguishes versions of its
	// definition: it is the beginning of the SHA-256 of the JSON that models read.
	Source  string `json:"source,omitempty"`
	Version string `json:"version,omitempty"`
	Hash    string `json:"hash,omitempty"`
	// Arguments are as in [Record].
	Arguments string `json:"arguments,omitempty"`
	Allowed   bool   `json:"allowed"`
	// Stage is where the call was refused: unknown, one of the selection's stages,
	// arguments or policy. It is empty when the call was allowed.
	Stage string `json:"stage,omitempty"`
	// Rule is the rule that decided, with its place; Reason explains the decision.
	Rule   string `json:"rule,omitempty"`
	Reason string `json:"reason,omitempty"`
}

// DecisionFilter chooses decisions; its empty fields match all.
type DecisionFilter struct {
	Tool, User string
	// Denied leaves out allowed calls.
	Denied bool
	// Limit bounds the result to the newest ones; 0 means 100.
	Limit int
}

// Decide records a decision with the arguments of its call. Like [Recorder.Record] it
// never blocks. Without a log it does nothing.
func (r *Recorder) Decide(d Decision, args json.RawMessage) {
	if r == nil || r.log == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.enqueue(&raw{decision: &d, args: args})
}

// Decisions returns stored decisions, newest first.
func (r *Recorder) Decisions(ctx context.Context, f DecisionFilter) ([]Decision, error) {
	if r == nil || r.log == nil {
		return []Decision{}, nil
	}
	if f.Limit <= 0 {
		f.Limit = 100
	}
	return r.log.Decisions(ctx, f)
}
