package audit

import (
	"context"
	"encoding/json"
	"slices"
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
	// Risk is that of the tool: read, write or destructive. It is empty where the call
	// reached none, and in decisions of earlier versions.
	Risk string `json:"risk,omitempty"`
	// Arguments are as in [Record].
	Arguments string `json:"arguments,omitempty"`
	Allowed   bool   `json:"allowed"`
	// Kind is OK for an allowed call. For a refused one it is not_found, disabled,
	// hidden, invalid_params or denied, by Stage. For what becomes of a request for an approval
	// it is that Stage. [Recorder] sets it.
	Kind string `json:"kind"`
	// Stage is where the call was refused: unknown, one of the selection's stages,
	// arguments or policy. It is empty when the call was allowed. Of a request for an approval it
	// is asked, approved, declined, expired, withdrawn or superseded.
	Stage string `json:"stage,omitempty"`
	// Rule is the rule that decided, with its place; Reason explains the decision.
	Rule   string `json:"rule,omitempty"`
	Reason string `json:"reason,omitempty"`
}

// kind returns the kind of a decision. Hidden is whatever exists and is enabled, but may
// not be used by this caller, in this agent or with this skill or request.
func (d Decision) kind() string {
	switch {
	case d.OfApproval():
		return d.Stage
	case d.Allowed:
		return OK
	case d.Stage == "unknown":
		return "not_found"
	case d.Stage == "enabled":
		return "disabled"
	case d.Stage == "arguments":
		return "invalid_params"
	case d.Stage == "policy":
		return "denied"
	}
	return "hidden"
}

// OfApproval reports whether the decision is a step of a request for an approval.
func (d Decision) OfApproval() bool {
	return slices.Contains([]string{"asked", "unreached", "approved", "declined", "expired", "withdrawn", "superseded"},
		d.Stage)
}

// The classes of decisions. A log bounds each by itself, so that many of one class do not
// push out those of another.
const (
	ClassAllowed     = "allowed"
	ClassDestructive = "destructive" // allowed calls of destructive tools
	ClassDenied      = "denied"      // by the policy
	ClassRefused     = "refused"     // for another reason: there is no such tool, for this caller
	ClassApproval    = "approval"    // steps of requests for an approval
)

// Class returns the class of the decision.
func (d Decision) Class() string {
	switch {
	case d.OfApproval():
		return ClassApproval
	case d.Allowed && d.Risk == "destructive":
		return ClassDestructive
	case d.Allowed:
		return ClassAllowed
	case d.Stage == "policy":
		return ClassDenied
	}
	return ClassRefused
}

// Weighty reports whether the decision must not be lost under load: a rule decided, or the
// call of a destructive tool may run.
func (d Decision) Weighty() bool {
	return d.Rule != "" || slices.Contains([]string{ClassDestructive, ClassDenied, ClassApproval}, d.Class())
}

// Anonymous returns the decision without the caller and what they wrote: when which tool
// was called, through which agent and channel, and which rule allowed or refused it.
func (d Decision) Anonymous() Decision {
	d.User, d.Chat, d.Session, d.Arguments, d.Reason = "", "", "", "", ""
	return d
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
// does not block, but for a weighty decision while 2,048 records wait to be written: then
// it waits for room, at most ten seconds. Without a log it does nothing.
func (r *Recorder) Decide(d Decision, args json.RawMessage) {
	if r == nil || r.log == nil {
		return
	}
	d.Kind = d.kind()
	r.enqueue(&raw{decision: &d, args: args})
}

// Keep stores a decision before it returns. Without a log it does nothing.
func (r *Recorder) Keep(ctx context.Context, d Decision, args json.RawMessage) error {
	if r == nil || r.log == nil {
		return nil
	}
	d.Kind = d.kind()
	r.clean(&raw{decision: &d, args: args})
	return r.log.AddDecisions(ctx, d)
}

// Decisions returns stored decisions, newest first.
func (r *Recorder) Decisions(ctx context.Context, f DecisionFilter) ([]Decision, error) {
	if r == nil || r.log == nil {
		return []Decision{}, nil
	}
	if f.Limit <= 0 {
		f.Limit = 100
	}
	decisions, err := r.log.Decisions(ctx, f)
	for i := range decisions { // those of earlier versions have none
		decisions[i].Kind = decisions[i].kind()
	}
	return decisions, err
}

// erasure asks for what is stored of a user to be erased.
type erasure struct {
	user string
	done chan erasedCount
}

type erasedCount struct {
	records, decisions int
	err                error
}

// Erase erases what is stored of a person under some names, as [Log.Erase] does, and what waits
// to be written. [Recorder.Run] must be running. Without a log there is nothing.
func (r *Recorder) Erase(ctx context.Context, names []string) (map[string]int, error) {
	count := map[string]int{"calls": 0, "decisions": 0}
	if r == nil || r.log == nil {
		return count, nil
	}
	for _, name := range names {
		e := erasure{name, make(chan erasedCount, 1)}
		select {
		case r.erasures <- e:
		case <-ctx.Done():
			return count, ctx.Err()
		}
		done := <-e.done // within maxWriting
		count["calls"], count["decisions"] = count["calls"]+done.records, count["decisions"]+done.decisions
		if done.err != nil {
			return count, done.err
		}
	}
	return count, nil
}

// erase writes what is queued, of which some may be the user's, and erases.
func (r *Recorder) erase(user string) (e erasedCount) {
	r.flush()
	ctx, cancel := context.WithTimeout(context.Background(), maxWriting)
	defer cancel()
	e.records, e.decisions, e.err = r.log.Erase(ctx, user)
	return e
}
