// Package audit is the history of what skills did: who used which one, when, with
// what arguments and how it went, and how often and how fast. It keeps as well which
// calls of tools were let through or refused, and why.
//
// Arguments are kept without what looks like a secret, and short. Nothing here
// keeps a caller waiting: what cannot be written soon enough is dropped, and
// counted.
package audit

import (
	"context"
	"time"
)

// OK is the outcome of a call that went well. Others name the kind of failure.
const OK = "ok"

// Call is one use of a skill.
type Call struct {
	Time     time.Time `json:"time"`
	Skill    string    `json:"skill"`
	Version  string    `json:"version,omitempty"`
	Provider string    `json:"provider,omitempty"`
	// Tool is what was called; empty for a reading of instructions.
	Tool string `json:"tool,omitempty"`
	// Agent, Channel, User and Session say for whom.
	Agent   string `json:"agent,omitempty"`
	Channel string `json:"channel,omitempty"`
	User    string `json:"user,omitempty"`
	Session string `json:"session,omitempty"`
	// Arguments are those of the call: at most 2 KiB of JSON in which secrets are
	// hidden and long texts, lists and objects are cut.
	Arguments string `json:"arguments,omitempty"`
	// Outcome is OK or the kind of failure; Error says in words what failed.
	Outcome string `json:"outcome"`
	Error   string `json:"error,omitempty"`
	// Took is how long it was, in milliseconds.
	Took float64 `json:"took_ms"`
}

// Filter chooses calls; its empty fields choose all.
type Filter struct {
	Skill, User, Outcome string
	// Limit is how many calls are wanted, the newest ones; 0 means 100.
	Limit int
}

// Log keeps calls. It drops the oldest ones itself, see its implementation for
// its bounds, and is safe for concurrent use.
type Log interface {
	// Add keeps calls.
	Add(ctx context.Context, calls ...Call) error
	// List returns calls, newest first.
	List(ctx context.Context, f Filter) ([]Call, error)
}
