package audit

import (
	"context"
	"encoding/json"
	"time"
)

// Decision is the record of one call that was let through or refused, whoever
// asked for it and in whatever way.
type Decision struct {
	Time time.Time `json:"time"`
	// Agent, Channel, Chat, User and Session say for whom.
	Agent   string `json:"agent,omitempty"`
	Channel string `json:"channel,omitempty"`
	Chat    string `json:"chat,omitempty"`
	User    string `json:"user,omitempty"`
	Session string `json:"session,omitempty"`
	// Tool is the tool that the call reached, or asked for when there is none of
	// that name. Skill is the skill that was to be taken up instead.
	Tool  string `json:"tool,omitempty"`
	Skill string `json:"skill,omitempty"`
	// Source and Version are those of the tool, and Hash tells forms of its
	// definition apart: the beginning of the SHA-256 of what models are told.
	Source  string `json:"source,omitempty"`
	Version string `json:"version,omitempty"`
	Hash    string `json:"hash,omitempty"`
	// Arguments are kept as those of a [Call] are.
	Arguments string `json:"arguments,omitempty"`
	Allowed   bool   `json:"allowed"`
	// Stage is where the call was refused: unknown, one of the selection's stages,
	// arguments or policy. It is empty where it was allowed.
	Stage string `json:"stage,omitempty"`
	// Rule is the rule that decided, with its place, and Reason says why.
	Rule   string `json:"rule,omitempty"`
	Reason string `json:"reason,omitempty"`
}

// DecisionFilter chooses decisions; its empty fields choose all.
type DecisionFilter struct {
	Tool, User string
	// Denied leaves out what was allowed.
	Denied bool
	// Limit is how many are wanted, the newest ones; 0 means 100.
	Limit int
}

// DecisionLog is a [Log] that keeps decisions, too.
type DecisionLog interface {
	Log
	// AddDecisions keeps decisions.
	AddDecisions(ctx context.Context, decisions ...Decision) error
	// Decisions returns decisions, newest first.
	Decisions(ctx context.Context, f DecisionFilter) ([]Decision, error)
}

// Decide takes a decision with the arguments of its call. Like [Recorder.Record] it
// never waits. It keeps nothing when the log keeps no decisions, or r is nil.
func (r *Recorder) Decide(d Decision, args json.RawMessage) {
	if r == nil || r.decisions == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.enqueue(&raw{decision: &d, args: args})
}

// Decisions returns what is kept, newest first.
func (r *Recorder) Decisions(ctx context.Context, f DecisionFilter) ([]Decision, error) {
	if r == nil || r.decisions == nil {
		return []Decision{}, nil
	}
	if f.Limit <= 0 {
		f.Limit = 100
	}
	return r.decisions.Decisions(ctx, f)
}
