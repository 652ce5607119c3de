// Package admin lets operators see and change the skills of a running gateway, and
// read what was called. The package decides nothing about who may do so: package
// server answers operators of its own machine only.
package admin

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/etui-run/etui/audit"
	"github.com/etui-run/etui/internal/nearest"
	"github.com/etui-run/etui/server/wire"
	"github.com/etui-run/etui/skill"
	"github.com/etui-run/etui/tool"
)

// Config is what operators see and change. The zero value has no skills; a change
// whose function is nil is refused.
type Config struct {
	// Table holds the skills.
	Table *skill.Table
	// Decide changes what is decided about a skill, and records by whom and why.
	Decide func(name, by, why string, change func(*skill.Decision)) error
	// Decision returns what is decided about a skill, and Trouble why decisions
	// cannot be read now.
	Decision func(name string) skill.Decision
	Trouble  func() error
	// Reload reads the skills again and returns a report that marshals as JSON.
	Reload func(ctx context.Context, by, why string) (any, error)
	// Calls counts and keeps what skills did.
	Calls *audit.Recorder
	// Server returns the state of a skill that brings tools of its own; nil for
	// other skills. Approve releases tools that such a skill holds back, or all of
	// them, and returns which.
	Server  func(s skill.Skill) any
	Approve func(s skill.Skill, all bool, tools ...string) ([]string, error)
	// Warn returns what is odd about a skill now, beside the warnings in its details;
	// nil means nothing.
	Warn func(*skill.Entry) []error
	// Registry finds and installs packages of skills; nil means that none can be installed.
	Registry Registry
	// Log receives what operators should know; nil discards.
	Log *slog.Logger
}

// API has a handler for each request.
type API struct{ config Config }

// New returns the API of skills.
func New(cfg Config) *API {
	if cfg.Table == nil {
		cfg.Table = skill.NewTable(nil)
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	return &API{cfg}
}

// SkillStatus is a skill as operators see it.
type SkillStatus struct {
	Name        string `json:"name"`
	Description string `json:"description"`
	// Kind is what it brings: callable, instructions, toolset or server.
	Kind     string      `json:"kind"`
	Provider string      `json:"provider,omitempty"`
	Risk     tool.Risk   `json:"risk"`
	State    skill.State `json:"state"`
	// Why says why it is not enabled.
	Why     string      `json:"why,omitempty"`
	Version string      `json:"version,omitempty"`
	Scope   skill.Scope `json:"scope"`
	// Source is the file that it comes from, and Since the time of its last change.
	Source string    `json:"source,omitempty"`
	Since  time.Time `json:"since"`
	// Shadows are skills of the same name that this one keeps out of effect.
	Shadows []Shadow `json:"shadows,omitempty"`
	// Error is why the latest version of the source cannot be used; then the last good
	// one is in effect.
	Error string `json:"error,omitempty"`
	// ErrorKind is the kind of Error: see [ErrorKind].
	ErrorKind string   `json:"error_kind,omitempty"`
	Unmet     []string `json:"unmet,omitempty"`
	Warnings  []string `json:"warnings,omitempty"`
	Groups    []string `json:"groups,omitempty"`
	Tools     []string `json:"tools,omitempty"`
	// Allowed are the calls that its allowed-tools list.
	Allowed []string `json:"allowed,omitempty"`
	// Server is the state of a skill that brings tools of its own.
	Server   any             `json:"server,omitempty"`
	Decision *skill.Decision `json:"decision,omitempty"`
	Counters audit.Counters  `json:"counters"`
}

// Shadow is a skill that another one of the same name keeps out of effect.
type Shadow struct {
	Version string      `json:"version,omitempty"`
	Scope   skill.Scope `json:"scope"`
	Source  string      `json:"source,omitempty"`
	Error   string      `json:"error,omitempty"`
	// ErrorKind is the kind of Error: see [ErrorKind].
	ErrorKind string `json:"error_kind,omitempty"`
}

// SkillList lists the skills.
type SkillList struct {
	Skills []SkillStatus `json:"skills"`
	// Failed are the files from which no skill could be read.
	Failed []FailedFile `json:"failed"`
	// Trouble is why decisions about skills cannot be read now.
	Trouble string `json:"trouble,omitempty"`
	// DroppedCalls is how many calls are missing from the history.
	DroppedCalls int `json:"dropped_calls,omitempty"`
}

// FailedFile is a file from which no skill could be read, and why.
type FailedFile struct {
	Source string `json:"source"`
	Error  string `json:"error"`
	// ErrorKind is the kind of Error: see [ErrorKind].
	ErrorKind string `json:"error_kind"`
}

// ErrorKind names the kind of an error of a skill's file: unreadable if the system does
// not let etui read it, one of [skill.Kind], or else invalid, for a mistake in it.
func ErrorKind(err error) string {
	var unread *fs.PathError
	switch kind := skill.Kind(err); {
	case err == nil:
		return ""
	case kind != "":
		return kind
	case errors.As(err, &unread):
		return "unreadable"
	}
	return "invalid"
}

// Change asks for a change of a skill.
type Change struct {
	// By says who makes the change, and Reason why; both are logged and kept.
	By     string `json:"by,omitempty"`
	Reason string `json:"reason,omitempty"`
	// Version is the version that use puts into effect; empty means the highest.
	Version string `json:"version,omitempty"`
	// Tools are the tools that approve releases. All releases all that are held back;
	// one of the two is needed.
	Tools []string `json:"tools,omitempty"`
	All   bool     `json:"all,omitempty"`
}

// Approval is a skill after some of its tools were approved.
type Approval struct {
	SkillStatus
	// Approved are the tools that are in use from now on.
	Approved []string `json:"approved"`
}

func (a *API) status(e *skill.Entry) SkillStatus {
	s := SkillStatus{
		Name: e.Name(), Description: e.Skill.Description(), Kind: skill.KindOf(e.Skill), Provider: e.Details.Provider,
		Risk: e.Details.Risk, State: e.State, Why: e.Why, Version: e.Details.Version, Scope: e.Scope, Source: e.Source,
		Since: e.Since,
		Unmet: e.Details.Unmet, Warnings: e.Details.Warnings, Groups: e.Details.Groups, Tools: e.Details.Tools,
		Allowed: e.Details.Allowed,
	}
	if s.Risk == "" {
		s.Risk = tool.Write
	}
	if e.Err != nil {
		s.Error, s.ErrorKind = e.Err.Error(), ErrorKind(e.Err)
	}
	for _, other := range e.Shadows {
		shadow := Shadow{Version: other.Details.Version, Scope: other.Scope, Source: other.Source}
		if other.Err != nil {
			shadow.Error, shadow.ErrorKind = other.Err.Error(), ErrorKind(other.Err)
		}
		s.Shadows = append(s.Shadows, shadow)
	}
	c := a.config
	if c.Warn != nil {
		for _, err := range c.Warn(e) {
			s.Warnings = append(slices.Clip(s.Warnings), err.Error())
		}
	}
	if c.Server != nil {
		s.Server = c.Server(e.Skill)
	}
	if c.Decision != nil {
		if d := c.Decision(e.Name()); !d.IsZero() {
			s.Decision = &d
		}
	}
	if c.Calls != nil {
		s.Counters = c.Calls.Counters(e.Name())
	}
	return s
}

// List answers with the [SkillList].
func (a *API) List(w http.ResponseWriter, r *http.Request) {
	if _, ok := wire.Query(w, r); !ok {
		return
	}
	now, c := a.config.Table.Snapshot(), a.config
	list := SkillList{Skills: []SkillStatus{}, Failed: []FailedFile{}}
	for _, e := range now.All() {
		list.Skills = append(list.Skills, a.status(e))
	}
	for source, err := range now.Failed() {
		list.Failed = append(list.Failed, FailedFile{source, err.Error(), ErrorKind(err)})
	}
	slices.SortFunc(list.Failed, func(x, y FailedFile) int { return strings.Compare(x.Source, y.Source) })
	if c.Trouble != nil {
		if err := c.Trouble(); err != nil {
			list.Trouble = err.Error()
		}
	}
	if c.Calls != nil {
		list.DroppedCalls = c.Calls.Dropped()
	}
	wire.Reply(w, http.StatusOK, list)
}

// entry finds the skill that a request names. If there is none, it answers so.
func (a *API) entry(w http.ResponseWriter, r *http.Request) (*skill.Entry, bool) {
	now, name := a.config.Table.Snapshot(), r.PathValue("name")
	e, ok := now.Get(name)
	if !ok {
		wire.Refuse(w, http.StatusNotFound,
			fmt.Sprintf("there is no skill %q%s", name, nearest.Hint(name, func(yield func(string) bool) {
				for _, e := range now.All() {
					if !yield(e.Name()) {
						return
					}
				}
			})))
	}
	return e, ok
}

// Show answers with the [SkillStatus] of the skill {name}.
func (a *API) Show(w http.ResponseWriter, r *http.Request) {
	if _, ok := wire.Query(w, r); !ok {
		return
	}
	if e, ok := a.entry(w, r); ok {
		wire.Reply(w, http.StatusOK, a.status(e))
	}
}

// request reads a [Change].
func request(w http.ResponseWriter, r *http.Request) (Change, bool) {
	var change Change
	if _, ok := wire.Query(w, r); !ok || r.ContentLength != 0 && !wire.Read(w, r, &change) {
		return change, false
	}
	if c := wire.CallerOf(r); c.Role != "" || change.By == "" { // a person who signed in has that name only
		change.By = cmp.Or(c.Key, "admin API")
	}
	return change, true
}

// Reload reads the skills again and answers with a report.
func (a *API) Reload(w http.ResponseWriter, r *http.Request) {
	change, ok := request(w, r)
	switch {
	case !ok:
	case a.config.Reload == nil:
		wire.Refuse(w, http.StatusNotImplemented, "there are no skill files to reload here")
	default:
		report, err := a.config.Reload(r.Context(), change.By, change.Reason)
		wire.Answer(w, report, err)
	}
}

// Change carries out the {change} of the skill {name} - enable, disable, use or
// approve, and removal when there is none - as a [Change] says. It answers with the
// [SkillStatus] after that, or with an [Approval].
func (a *API) Change(w http.ResponseWriter, r *http.Request) {
	change, ok := request(w, r)
	if !ok {
		return
	}
	e, ok := a.entry(w, r)
	if !ok {
		return
	}
	var decide func(*skill.Decision)
	switch r.PathValue("change") {
	case "enable":
		decide = func(d *skill.Decision) { d.State, d.Removed = skill.Enabled, nil }
	case "disable":
		decide = func(d *skill.Decision) { d.State = skill.Disabled }
	case "use":
		if err := hasVersion(e, change.Version); err != nil {
			wire.Refuse(w, http.StatusNotFound, err.Error())
			return
		}
		decide = func(d *skill.Decision) { d.Version = change.Version }
	case "": // DELETE
		decide = func(d *skill.Decision) {
			if d.State = ""; !slices.Contains(d.Removed, e.Source) {
				d.Removed = append(slices.Clone(d.Removed), e.Source)
			}
		}
	case "approve":
		a.approve(w, e, change)
		return
	default:
		wire.Refuse(w, http.StatusNotFound, "a skill is changed by enable, disable, use or approve")
		return
	}
	a.decide(w, e.Name(), change, decide)
}

func (a *API) decide(w http.ResponseWriter, name string, change Change, decide func(*skill.Decision)) {
	if a.config.Decide == nil {
		wire.Refuse(w, http.StatusNotImplemented, "skills cannot be changed here")
		return
	}
	if err := a.config.Decide(name, change.By, change.Reason, decide); err != nil {
		wire.Fail(w, err)
		return
	}
	now := SkillStatus{Name: name, State: skill.Removed}
	if e, ok := a.config.Table.Snapshot().Get(name); ok {
		now = a.status(e)
	}
	wire.Reply(w, http.StatusOK, now)
}

func (a *API) approve(w http.ResponseWriter, e *skill.Entry, change Change) {
	if a.config.Approve == nil {
		wire.Refuse(w, http.StatusNotImplemented, "there is nothing to approve here")
		return
	}
	if (len(change.Tools) > 0) == change.All {
		wire.Refuse(w, http.StatusBadRequest, `say which tools to approve: {"tools": ["NAME"]}, or {"all": true}`)
		return
	}
	approved, err := a.config.Approve(e.Skill, change.All, change.Tools...)
	if err != nil {
		wire.Refuse(w, http.StatusBadRequest, err.Error())
		return
	}
	a.config.Log.Info("tools approved", "skill", e.Name(), "tools", approved, "by", change.By, "why", change.Reason)
	wire.Reply(w, http.StatusOK, Approval{a.status(e), approved})
}

// hasVersion returns an error that names the versions of a skill when the wanted
// one is not among them.
func hasVersion(e *skill.Entry, version string) error {
	have := []string{e.Details.Version}
	for _, other := range e.Shadows {
		have = append(have, other.Details.Version)
	}
	if version == "" || slices.Contains(have, version) {
		return nil
	}
	if have = slices.DeleteFunc(have, func(v string) bool { return v == "" }); len(have) == 0 {
		return fmt.Errorf("skill %q has no versions", e.Name())
	}
	return fmt.Errorf("skill %q has no version %q; it has %s", e.Name(), version, strings.Join(have, ", "))
}

// Calls answers with what the skill {name} did, or all skills: a list of
// [audit.Record].
func (a *API) Calls(w http.ResponseWriter, r *http.Request) {
	q, ok := wire.Query(w, r, "user", "outcome", "limit")
	if !ok {
		return
	}
	limit, err := wire.Limit(q, "calls")
	if err != nil {
		wire.Refuse(w, http.StatusBadRequest, err.Error())
		return
	}
	known, outcome := []string{audit.OK, "invalid_params", "timeout", "unavailable", "failed", "cancelled"},
		q.Get("outcome")
	if outcome != "" && !slices.Contains(known, outcome) {
		wire.Refuse(w, http.StatusBadRequest,
			fmt.Sprintf("there is no outcome %q%s; there are %s", outcome, nearest.Hint(outcome, slices.Values(known)),
				strings.Join(known, ", ")))
		return
	}
	calls := []audit.Record{}
	if a.config.Calls != nil {
		calls, err = a.config.Calls.Calls(r.Context(),
			audit.Filter{Skill: r.PathValue("name"), User: q.Get("user"), Outcome: outcome, Limit: limit})
		if err != nil {
			wire.Fail(w, err)
			return
		}
	}
	if name := r.PathValue("name"); name != "" && len(calls) == 0 { // removed skills have a history, too
		if _, ok := a.entry(w, r); !ok {
			return
		}
	}
	wire.Reply(w, http.StatusOK, calls)
}

// Audit answers with which calls were allowed and refused: a list of
// [audit.Decision].
func (a *API) Audit(w http.ResponseWriter, r *http.Request) {
	q, ok := wire.Query(w, r, "tool", "user", "denied", "limit")
	if !ok {
		return
	}
	limit, err := wire.Limit(q, "calls")
	denied := false
	if err == nil {
		denied, err = wire.Flag(q, "denied")
	}
	if err != nil {
		wire.Refuse(w, http.StatusBadRequest, err.Error())
		return
	}
	decisions, err := a.config.Calls.Decisions(r.Context(),
		audit.DecisionFilter{Tool: q.Get("tool"), User: q.Get("user"), Denied: denied, Limit: limit})
	wire.Answer(w, decisions, err)
}

// Verify answers with whether the chain of the audit is unbroken: an [audit.Verdict].
func (a *API) Verify(w http.ResponseWriter, r *http.Request) {
	q, ok := wire.Query(w, r, "head")
	if !ok {
		return
	}
	var kept *audit.Head
	if text := q.Get("head"); text != "" {
		head, err := audit.ParseHead(text)
		if err != nil {
			wire.Refuse(w, http.StatusBadRequest, err.Error())
			return
		}
		kept = &head
	}
	v, err := a.config.Calls.Verify(r.Context(), kept)
	wire.Answer(w, v, err)
}
