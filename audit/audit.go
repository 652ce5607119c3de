// Package audit keeps the history of what skills did: who used which one, when, with
// which arguments, how it went and how long it took. It also keeps which calls of
// tools were allowed or refused, and why.
//
// Arguments are stored short, and without anything that looks like a secret; so is every other
// text. Records that cannot be written soon enough are dropped, counted and reported, first those
// of the user who makes most of them. A decision that is [Decision.Weighty] is never dropped: it
// waits for room, and if the log cannot store it, it goes to the program's log.
package audit

import (
	"context"
	"time"
)

// OK is the outcome of a call that succeeded. Others name the kind of failure.
const OK = "ok"

// Record is one call of a skill that has ended.
type Record struct {
	Time     time.Time `json:"time"`
	Skill    string    `json:"skill"`
	Version  string    `json:"version,omitempty"`
	Provider string    `json:"provider,omitempty"`
	// Tool is what was called; empty when instructions were read.
	Tool string `json:"tool,omitempty"`
	// Agent, Channel, User and Session identify the caller.
	Agent   string `json:"agent,omitempty"`
	Channel string `json:"channel,omitempty"`
	User    string `json:"user,omitempty"`
	Session string `json:"session,omitempty"`
	// Arguments are at most 2 KiB of JSON in which secrets are hidden and long texts,
	// lists and objects are cut.
	Arguments string `json:"arguments,omitempty"`
	// Outcome is OK or the kind of failure; Error describes it.
	Outcome string `json:"outcome"`
	Error   string `json:"error,omitempty"`
	// Took is the duration in milliseconds.
	Took float64 `json:"took_ms"`
}

// Filter chooses records; its empty fields match all.
type Filter struct {
	Skill, User, Outcome string
	// Limit bounds the result to the newest ones; 0 means 100.
	Limit int
}

// Log stores records and decisions in one chain, see [Entry]. It drops the oldest ones
// itself - the implementation documents its bounds - and is safe for concurrent use.
type Log interface {
	Add(ctx context.Context, records ...Record) error
	// List returns records, newest first; a limit of 0 means all.
	List(ctx context.Context, f Filter) ([]Record, error)
	AddDecisions(ctx context.Context, decisions ...Decision) error
	// Decisions returns decisions, newest first; a limit of 0 means all.
	Decisions(ctx context.Context, f DecisionFilter) ([]Decision, error)
	// Erase deletes the records of a user. Of their decisions it keeps what an audit
	// needs: see [Decision.Anonymous]. It returns how many of each there were.
	Erase(ctx context.Context, user string) (records, decisions int, err error)
	// Verify looks at every entry. Kept is a head that was kept elsewhere; nil means none.
	Verify(ctx context.Context, kept *Head) (Verdict, error)
}
