package engine

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/etui-run/etui/audit"
	"github.com/etui-run/etui/internal/nearest"
	"github.com/etui-run/etui/skill"
	"github.com/etui-run/etui/tool"
)

// SkillAdmin is what operators see of skills and change of them. The zero value
// has no skills.
type SkillAdmin struct {
	// Table holds the skills; nil means that there are none.
	Table *skill.Table
	// Decide changes what is decided about a skill, by somebody and for a reason.
	Decide func(name, by, why string, change func(*skill.Decision)) error
	// Decision returns what is decided about a skill, and Trouble why decisions
	// cannot be read now.
	Decision func(name string) skill.Decision
	Trouble  func() error
	// Reload reads the skills again, and returns a report that can be marshalled
	// as JSON.
	Reload func(ctx context.Context, by, why string) (any, error)
	// Calls counts what skills did, and keeps it.
	Calls *audit.Recorder
	// Server tells how it goes with a skill that brings tools of its own; nil for
	// others. Approve lets tools of it be used that it held back: none means all.
	Server  func(s skill.Skill) any
	Approve func(s skill.Skill, tools ...string) error
}

// AdminHandler serves what only operators of this machine may see and do:
//
//	GET    /admin/skills                 every skill, and the files that give none: SkillList
//	GET    /admin/skills/{name}          one skill: SkillStatus
//	POST   /admin/skills/reload          read the files again: a report
//	POST   /admin/skills/{name}/enable   a Request in, the SkillStatus out; so are the next ones
//	POST   /admin/skills/{name}/disable
//	POST   /admin/skills/{name}/use      with "version": the only one in force; empty: the highest
//	POST   /admin/skills/{name}/approve  with "tools": what was held back of them; empty: all
//	DELETE /admin/skills/{name}          do not take it from where it comes from now
//	GET    /admin/skills/{name}/calls    what it did: ?user= ?outcome= ?limit=
//	GET    /admin/calls                  what all did
//	GET    /admin/audit                  which calls were allowed and refused: ?tool= ?user= ?denied= ?limit=
//
// A request is refused unless it arrived at a loopback address, by a name for it,
// and without a proxy; and unless it has the key, when there is one.
func (g *Gateway) AdminHandler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /admin/skills", g.adminSkills)
	mux.HandleFunc("GET /admin/skills/{name}", g.adminSkill)
	mux.HandleFunc("POST /admin/skills/reload", g.adminReload)
	mux.HandleFunc("POST /admin/skills/{name}/{change}", g.adminChange)
	mux.HandleFunc("DELETE /admin/skills/{name}", g.adminChange)
	mux.HandleFunc("GET /admin/skills/{name}/calls", g.adminCalls)
	mux.HandleFunc("GET /admin/calls", g.adminCalls)
	mux.HandleFunc("GET /admin/audit", g.adminAudit)
	return g.guard(localOnly(mux))
}

// forwarding are the headers by which proxies say for whom they ask.
var forwarding = []string{"Forwarded", "X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto", "X-Forwarded-Port", "X-Real-Ip", "X-Envoy-External-Address", "Cf-Connecting-Ip", "True-Client-Ip", "Via"}

// localOnly refuses what did not come from this machine straight away.
func localOnly(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		address, _ := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
		proxied := slices.ContainsFunc(forwarding, func(name string) bool { return len(r.Header.Values(name)) > 0 })
		if proxied || address == nil || !loopback(address.String()) || !loopback(r.Host) {
			problem(w, http.StatusForbidden, "the admin API answers only programs on its own machine, at a loopback address and without a proxy")
			return
		}
		next.ServeHTTP(w, r)
	})
}

func loopback(address string) bool {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		host = strings.Trim(address, "[]")
	}
	ip := net.ParseIP(host)
	return strings.EqualFold(host, "localhost") || ip != nil && ip.IsLoopback()
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
	// Source is the file that it came from, and Since when it came to be as it is.
	Source string    `json:"source,omitempty"`
	Since  time.Time `json:"since"`
	// Shadows are skills of the same name that are not in force because of this
	// one.
	Shadows []Shadow `json:"shadows,omitempty"`
	// Error is why the newest form of the source could not be used; this is then
	// the last good one.
	Error    string   `json:"error,omitempty"`
	Unmet    []string `json:"unmet,omitempty"`
	Warnings []string `json:"warnings,omitempty"`
	Groups   []string `json:"groups,omitempty"`
	Tools    []string `json:"tools,omitempty"`
	// Server says how it goes with a skill that brings tools of its own.
	Server   any             `json:"server,omitempty"`
	Decision *skill.Decision `json:"decision,omitempty"`
	Counters audit.Counters  `json:"counters"`
}

// Shadow is a skill that is not in force because of another one of its name.
type Shadow struct {
	Version string      `json:"version,omitempty"`
	Scope   skill.Scope `json:"scope"`
	Source  string      `json:"source,omitempty"`
	Error   string      `json:"error,omitempty"`
}

// SkillList is what there is of skills.
type SkillList struct {
	Skills []SkillStatus `json:"skills"`
	// Failed are the files that give no skill.
	Failed []FailedFile `json:"failed"`
	// Trouble is why decisions about skills cannot be read now.
	Trouble string `json:"trouble,omitempty"`
	// DroppedCalls is how many calls are missing in the history.
	DroppedCalls int `json:"dropped_calls,omitempty"`
}

// FailedFile is a file that gives no skill, and why.
type FailedFile struct {
	Source string `json:"source"`
	Error  string `json:"error"`
}

// Request asks for a change of a skill.
type Request struct {
	// By is who asks, and Reason why; both are logged and kept.
	By     string `json:"by,omitempty"`
	Reason string `json:"reason,omitempty"`
	// Version is the one that use puts in force.
	Version string `json:"version,omitempty"`
	// Tools are those that approve lets through.
	Tools []string `json:"tools,omitempty"`
}

func (g *Gateway) skillStatus(e *skill.Entry) SkillStatus {
	s := SkillStatus{
		Name: e.Name(), Description: e.Skill.Description(), Kind: skill.KindOf(e.Skill), Provider: e.Details.Provider,
		Risk: e.Details.Risk, State: e.State, Why: e.Why, Version: e.Details.Version, Scope: e.Scope, Source: e.Source, Since: e.Since,
		Unmet: e.Details.Unmet, Warnings: e.Details.Warnings, Groups: e.Details.Groups, Tools: e.Details.Tools,
	}
	if s.Risk == "" {
		s.Risk = tool.Write
	}
	if e.Err != nil {
		s.Error = e.Err.Error()
	}
	for _, other := range e.Shadows {
		shadow := Shadow{Version: other.Details.Version, Scope: other.Scope, Source: other.Source}
		if other.Err != nil {
			shadow.Error = other.Err.Error()
		}
		s.Shadows = append(s.Shadows, shadow)
	}
	admin := g.config.Skills
	if admin.Server != nil {
		s.Server = admin.Server(e.Skill)
	}
	if admin.Decision != nil {
		if d := admin.Decision(e.Name()); !d.IsZero() {
			s.Decision = &d
		}
	}
	if admin.Calls != nil {
		s.Counters = admin.Calls.Counters(e.Name())
	}
	return s
}

// snapshot is what the skills are now.
func (g *Gateway) snapshot() *skill.Snapshot {
	if g.config.Skills.Table == nil {
		return skill.NewTable(nil).Snapshot()
	}
	return g.config.Skills.Table.Snapshot()
}

func (g *Gateway) adminSkills(w http.ResponseWriter, _ *http.Request) {
	now, admin := g.snapshot(), g.config.Skills
	list := SkillList{Skills: []SkillStatus{}, Failed: []FailedFile{}}
	for _, e := range now.All() {
		list.Skills = append(list.Skills, g.skillStatus(e))
	}
	for source, err := range now.Failed() {
		list.Failed = append(list.Failed, FailedFile{source, err.Error()})
	}
	slices.SortFunc(list.Failed, func(a, b FailedFile) int { return strings.Compare(a.Source, b.Source) })
	if admin.Trouble != nil {
		if err := admin.Trouble(); err != nil {
			list.Trouble = err.Error()
		}
	}
	if admin.Calls != nil {
		list.DroppedCalls = admin.Calls.Dropped()
	}
	reply(w, http.StatusOK, list)
}

// entry finds the skill that a request names, or answers that there is none.
func (g *Gateway) entry(w http.ResponseWriter, r *http.Request) (*skill.Entry, bool) {
	now, name := g.snapshot(), r.PathValue("name")
	e, ok := now.Get(name)
	if !ok {
		problem(w, http.StatusNotFound, fmt.Sprintf("there is no skill %q%s", name, nearest.Hint(name, func(yield func(string) bool) {
			for _, e := range now.All() {
				if !yield(e.Name()) {
					return
				}
			}
		})))
	}
	return e, ok
}

func (g *Gateway) adminSkill(w http.ResponseWriter, r *http.Request) {
	if e, ok := g.entry(w, r); ok {
		reply(w, http.StatusOK, g.skillStatus(e))
	}
}

// request reads what a change of skills says about itself.
func request(w http.ResponseWriter, r *http.Request) (Request, bool) {
	var change Request
	if r.ContentLength != 0 && !read(w, r, &change) {
		return change, false
	}
	if change.By == "" {
		change.By = "admin API"
	}
	return change, true
}

func (g *Gateway) adminReload(w http.ResponseWriter, r *http.Request) {
	change, ok := request(w, r)
	switch {
	case !ok:
	case g.config.Skills.Reload == nil:
		problem(w, http.StatusNotImplemented, "there are no files of skills here to read again")
	default:
		report, err := g.config.Skills.Reload(r.Context(), change.By, change.Reason)
		if err != nil {
			problem(w, http.StatusInternalServerError, err.Error())
			return
		}
		reply(w, http.StatusOK, report)
	}
}

// adminChange carries out a change of one skill.
func (g *Gateway) adminChange(w http.ResponseWriter, r *http.Request) {
	e, ok := g.entry(w, r)
	if !ok {
		return
	}
	change, ok := request(w, r)
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
			problem(w, http.StatusNotFound, err.Error())
			return
		}
		decide = func(d *skill.Decision) { d.Version = change.Version }
	case "": // DELETE
		decide = func(d *skill.Decision) { d.State, d.Removed = "", with(d.Removed, e.Source) }
	case "approve":
		g.approve(w, e, change)
		return
	default:
		problem(w, http.StatusNotFound, "a skill is changed by enable, disable, use or approve")
		return
	}
	g.decide(w, e.Name(), change, decide)
}

// with returns a copy of a list that has a text besides.
func with(list []string, text string) []string {
	if slices.Contains(list, text) {
		return list
	}
	return append(slices.Clone(list), text)
}

func (g *Gateway) decide(w http.ResponseWriter, name string, change Request, decide func(*skill.Decision)) {
	if g.config.Skills.Decide == nil {
		problem(w, http.StatusNotImplemented, "skills cannot be changed here")
		return
	}
	if err := g.config.Skills.Decide(name, change.By, change.Reason, decide); err != nil {
		problem(w, http.StatusInternalServerError, err.Error())
		return
	}
	now := SkillStatus{Name: name, State: skill.Removed}
	if e, ok := g.snapshot().Get(name); ok {
		now = g.skillStatus(e)
	}
	reply(w, http.StatusOK, now)
}

func (g *Gateway) approve(w http.ResponseWriter, e *skill.Entry, change Request) {
	if g.config.Skills.Approve == nil {
		problem(w, http.StatusNotImplemented, "there is nothing to approve here")
		return
	}
	if err := g.config.Skills.Approve(e.Skill, change.Tools...); err != nil {
		problem(w, http.StatusBadRequest, err.Error())
		return
	}
	g.config.Log.Info("skill approved", "skill", e.Name(), "tools", change.Tools, "by", change.By, "why", change.Reason)
	reply(w, http.StatusOK, g.skillStatus(e))
}

// hasVersion reports what versions there are when the wanted one is not among
// them.
func hasVersion(e *skill.Entry, version string) error {
	have := []string{e.Details.Version}
	for _, other := range e.Shadows {
		have = append(have, other.Details.Version)
	}
	if version == "" || slices.Contains(have, version) {
		return nil
	}
	if have = slices.DeleteFunc(have, func(v string) bool { return v == "" }); len(have) == 0 {
		return fmt.Errorf("skill %q says no version", e.Name())
	}
	return fmt.Errorf("skill %q has no version %q; it has %s", e.Name(), version, strings.Join(have, ", "))
}

func (g *Gateway) adminCalls(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	limit, err := limitOf(q)
	if err != nil {
		problem(w, http.StatusBadRequest, err.Error())
		return
	}
	if known := outcomes(); q.Get("outcome") != "" && !slices.Contains(known, q.Get("outcome")) {
		problem(w, http.StatusBadRequest, fmt.Sprintf("there is no outcome %q%s; there are %s", q.Get("outcome"), nearest.Hint(q.Get("outcome"), slices.Values(known)), strings.Join(known, ", ")))
		return
	}
	calls := []audit.Record{}
	if g.config.Skills.Calls != nil {
		calls, err = g.config.Skills.Calls.Calls(r.Context(), audit.Filter{Skill: r.PathValue("name"), User: q.Get("user"), Outcome: q.Get("outcome"), Limit: limit})
		if err != nil {
			problem(w, http.StatusInternalServerError, err.Error())
			return
		}
	}
	if name := r.PathValue("name"); name != "" && len(calls) == 0 { // skills that have gone have a history, too
		if _, ok := g.entry(w, r); !ok {
			return
		}
	}
	reply(w, http.StatusOK, calls)
}

// outcomes are those that a call of a skill can have.
func outcomes() []string {
	return []string{audit.OK, "invalid_params", "timeout", "unavailable", "failed", "cancelled"}
}

// limitOf is how many records a request wants; 0 when it does not say.
func limitOf(q url.Values) (int, error) {
	if q.Get("limit") == "" {
		return 0, nil
	}
	limit, err := strconv.Atoi(q.Get("limit"))
	if err != nil || limit < 0 {
		return 0, errors.New("limit must be a number of calls")
	}
	return limit, nil
}

func (g *Gateway) adminAudit(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	limit, err := limitOf(q)
	denied := false
	if text := q.Get("denied"); err == nil && text != "" {
		if denied, err = strconv.ParseBool(text); err != nil {
			err = errors.New("denied must be true or false")
		}
	}
	if err != nil {
		problem(w, http.StatusBadRequest, err.Error())
		return
	}
	decisions, err := g.config.Skills.Calls.Decisions(r.Context(), audit.DecisionFilter{Tool: q.Get("tool"), User: q.Get("user"), Denied: denied, Limit: limit})
	if err != nil {
		problem(w, http.StatusInternalServerError, err.Error())
		return
	}
	reply(w, http.StatusOK, decisions)
}

// noTool answers a call of what is no tool: a skill that may not be used is told
// apart from what is not there.
func (g *Gateway) noTool(w http.ResponseWriter, name, text string) {
	if g.config.Skills.Table != nil {
		if _, why := g.config.Skills.Table.Get(name); skill.Kind(why) == "disabled" {
			problem(w, skill.Status(why), why.Error())
			return
		}
	}
	problem(w, http.StatusNotFound, text)
}
