package turn

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/etui-run/etui/audit"
	"github.com/etui-run/etui/catalog"
	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/prompt"
	"github.com/etui-run/etui/rules"
	"github.com/etui-run/etui/secret"
	"github.com/etui-run/etui/selection"
	"github.com/etui-run/etui/session"
	"github.com/etui-run/etui/tool"
	"github.com/etui-run/etui/turn/internal/arguments"
)

// Every call passes here, however it is made: first admit finds the tool that it
// reaches and checks that this caller may use it; then, just before it runs, allow
// checks its arguments and asks the policy. Every decision is recorded.

// The stages at which a call is refused, beside those of the selection.
const (
	StageUnknown   = "unknown"   // there is no such tool or skill
	StageArguments = "arguments" // they do not fit the tool's schema
	StagePolicy    = "policy"    // the policy does not allow it
)

// current returns the facts about the caller while a catalog is in effect, and whether
// they differ from f.
func (in Input) current(now *catalog.Catalog, f chat.Facts) (_ chat.Facts, changed bool) {
	if in.Current == nil {
		return f, false
	}
	c := in.Current(now)
	changed = c.User != f.User || !slices.Equal(c.Roles, f.Roles) || !slices.Equal(c.Groups, f.Groups) || !maps.Equal(c.Attrs, f.Attrs)
	f.User, f.Sender, f.Roles, f.Groups, f.Attrs = c.User, c.Sender, c.Roles, c.Groups, c.Attrs
	return f, changed
}

// bounds returns the bounds of a turn, with what is known of the person now.
func (in Input) bounds(now chat.Facts) []selection.Bound {
	list := slices.Clone(in.Bounds)
	for i := range list {
		if list[i].Past {
			continue
		}
		f := &list[i].Facts
		f.User, f.Sender, f.Roles, f.Groups, f.Attrs = now.User, now.Sender, now.Roles, now.Groups, now.Attrs
	}
	return list
}

// moment is one state of tools, rules and people. A call is judged by one of them, so that
// it never passes the new rules of one kind and the old ones of another.
type moment struct {
	*selection.Selector
	request selection.Request // the turn's, with the facts of the moment
	changed bool              // since the turn began
}

func (t *run) now() moment {
	m := moment{Selector: t.Runner.selector(), request: t.selected.Request}
	m.request.Facts, m.changed = t.in.current(m.Catalog(), m.request.Facts)
	m.request.Bounds = t.in.bounds(m.request.Facts)
	m.changed = m.changed || m.Catalog() != t.selector.Catalog()
	return m
}

// admit judges a call by the catalog with which the turn began, by removals since, and
// by what the caller has lost since. A nil entry means that there is no such tool.
func (t *run) admit(now moment, name string) (*catalog.Entry, selection.Stage) {
	entry, stage := t.selector.Admit(t.selected.Request, name)
	if entry == nil || !stage.Usable() || !now.changed {
		return entry, stage
	}
	if newer, judged := now.Admit(now.request, name); newer == nil || judged == selection.Enabled || judged == selection.Visibility {
		return newer, judged
	}
	return entry, stage
}

// allow judges a call that is about to run. The error tells the model why it may not.
func (t *run) allow(ctx context.Context, e *catalog.Entry, args json.RawMessage, said *session.Answer) error {
	record := t.record(e)
	if err := fits(e, args); err != nil { // the policy does not see a call that cannot run
		record.Stage, record.Reason = StageArguments, err.Error()
		t.decided(record, args)
		return err
	}
	return t.judge(ctx, rules.Attempt{Entry: e, Arguments: args}, record, said)
}

// fits returns how arguments violate a tool's schema.
func fits(e *catalog.Entry, args json.RawMessage) error {
	schema, err := e.Schema()
	if err != nil {
		return fmt.Errorf("the parameters of tool %s are %w", e.Definition.Name, err)
	}
	if err := schema.Validate(args); err != nil {
		return err
	}
	return schema.Misnamed(args)
}

// allowSkill judges the activation of a skill, or the reading of one of its files.
func (t *run) allowSkill(name, file string) error {
	return t.judge(t.ctx, rules.Attempt{Skill: name, Arguments: fileArguments(file)}, audit.Decision{Skill: name}, nil)
}

// fileArguments returns the arguments for reading a skill's file; an empty name means
// its instructions.
func fileArguments(file string) json.RawMessage {
	args, _ := json.Marshal(map[string]string{"file": file}) // never fails for strings
	return args
}

// judge asks the policy and records its decision. Where the policy says ask, a person's
// answer decides, if there is one. What the caller lost since the call was admitted is
// refused, by the rules of the moment by which the policy decides.
func (t *run) judge(ctx context.Context, a rules.Attempt, record audit.Decision, answer *session.Answer) error {
	now := t.now()
	if err := t.stillAdmitted(now, a); err != nil {
		return err
	}
	d := t.decide(ctx, now, a)
	if d.Effect == rules.Ask && a.Entry != nil && answer == nil {
		if reason, ok := t.granted(ctx, now.request.Facts, record); ok {
			d.Effect, d.Reason = rules.Allow, reason
		}
	}
	asked := d.Effect == rules.Ask && a.Entry != nil && t.waits
	if asked {
		digest := digestOf(a.Arguments)
		// What the arguments mean may have changed since a person saw them: a link leads
		// elsewhere now, say. Then the person is asked again.
		if answer == nil || answer.Approved && answer.Lasts == session.Once && answer.Digest != "" && answer.Digest != digest {
			return &awaits{session.Await{Tool: record.Tool, Risk: record.Risk, Hash: record.Hash, Digest: digest, Arguments: audit.Arguments(t.config.Secrets, a.Arguments)}}
		}
		d.Effect, d.Reason = verdict(*answer)
		if d.Effect == rules.Allow && answer.Hash != "" && answer.Hash != record.Hash {
			d = rules.Decision{Effect: rules.Deny, Reason: "it has changed since it was approved; call it again, so that it is asked about again"}
		}
	}
	if d.Effect == rules.Allow && ctx.Err() != nil {
		d = rules.Decision{Effect: rules.Deny, Reason: "the call had ended when the decision came"}
	}
	record.Rule, record.Reason = d.Rule, d.Reason
	if record.Allowed = d.Effect == rules.Allow; !record.Allowed {
		record.Stage = StagePolicy
	}
	t.decided(record, a.Arguments)
	switch {
	case record.Allowed:
		return nil
	case asked:
		return fmt.Errorf("%s was not called: %s", record.Tool, d.Reason)
	}
	return &rules.Refused{Name: cmp.Or(record.Tool, "the skill "+record.Skill), Decision: d}
}

// digestOf tells arguments apart.
func digestOf(args json.RawMessage) string {
	sum := sha256.Sum256(args)
	return hex.EncodeToString(sum[:16])
}

// granted returns why a call that the policy asks about may run: an approval that counts
// for the session, or always.
func (t *run) granted(ctx context.Context, f chat.Facts, record audit.Decision) (string, bool) {
	for _, g := range t.state.Granted {
		if g.Tool == record.Tool && g.Hash == record.Hash && g.User == f.Record() {
			return "approved for this session by " + cmp.Or(g.By, "a guest"), true
		}
	}
	if t.config.Granted == nil {
		return "", false
	}
	return t.config.Granted(ctx, f, record.Tool, record.Hash)
}

// stillAdmitted returns why a tool or skill that was admitted no longer is.
func (t *run) stillAdmitted(now moment, a rules.Attempt) error {
	if a.Entry == nil {
		if _, ok := t.admitSkill(now, a.Skill); !ok {
			t.decided(audit.Decision{Skill: a.Skill, Stage: StageUnknown}, a.Arguments)
			return errors.New(t.unknownSkill(a.Skill).Text)
		}
		return nil
	}
	name := a.Entry.Definition.Name
	if e, stage := t.admit(now, name); e == nil || !stage.Usable() {
		t.refused(now, name, e, stage, a.Arguments)
		return errors.New(t.nameless(name).Text)
	}
	return nil
}

// decide asks the policy of a moment, which may be a program's own code, about an attempt
// of the turn's caller. A policy that panics refuses.
func (t *run) decide(ctx context.Context, now moment, a rules.Attempt) (d rules.Decision) {
	if t.config.Decide == nil {
		return rules.Decision{Effect: rules.Allow, Reason: "there is no policy"}
	}
	defer func() {
		if p := recover(); p != nil {
			t.panicked("deciding on a call", p)
			d = rules.Decision{Reason: fmt.Sprintf("the policy panicked: %v", p)}
		}
	}()
	a.Facts, a.Catalog, a.Now = now.request.Facts, t.selector.Catalog(), now.Catalog()
	d = t.config.Decide(ctx, a)
	for _, b := range now.request.Bounds { // the strictest answer counts
		a.Facts = b.Facts
		if other := t.config.Decide(ctx, a); d.Effect == rules.Allow && other.Effect != rules.Allow || d.Effect == rules.Ask && other.Effect != rules.Allow && other.Effect != rules.Ask {
			d = other
		}
	}
	return d
}

// refused records a call of a tool that does not exist, when e is nil, or that the
// caller may not use.
func (t *run) refused(now moment, name string, e *catalog.Entry, stage selection.Stage, args json.RawMessage) {
	record := audit.Decision{Tool: name, Stage: StageUnknown}
	if e != nil {
		record = t.record(e)
		record.Stage, record.Reason = stage.String(), t.reason(now, e, stage)
	}
	t.decided(record, args)
}

// reason tells operators why a caller may not use a tool.
func (t *run) reason(now moment, e *catalog.Entry, stage selection.Stage) string {
	facts := &now.request.Facts
	if stage != selection.Visibility {
		return ""
	}
	if !e.On(facts.Channel) {
		return "exists only on " + strings.Join(e.Definition.Channels, ", ")
	}
	if visible, _ := e.Visible(facts); !visible {
		return "its filter hides it"
	}
	c := t.selector.Catalog()
	if same, _ := c.Get(e.Definition.Name); same != e {
		c = now.Catalog() // it was removed since
	}
	if same, _ := c.Get(e.Definition.Name); same != e {
		return "it was replaced"
	}
	return c.WhyDenied(facts, e)
}

// record returns a decision about a tool that is still open.
func (t *run) record(e *catalog.Entry) audit.Decision {
	sum := sha256.Sum256(e.JSON)
	return audit.Decision{Tool: e.Definition.Name, Source: e.Definition.Source, Version: e.Definition.Version, Risk: string(e.Definition.Risk), Hash: hex.EncodeToString(sum[:8])}
}

// decided records and logs a decision. Calls that the caller may not make are warnings.
func (t *run) decided(d audit.Decision, args json.RawMessage) {
	f := t.selected.Request.Facts
	d.Time, d.Agent, d.Channel, d.Chat, d.User, d.Session = time.Now(), f.Agent, f.Channel, f.Chat, f.Record(), string(t.in.Session.Key)
	if t.config.Audit != nil {
		t.config.Audit(d, args)
	}
	level := slog.LevelWarn
	if d.Allowed || d.Stage == StageUnknown || d.Stage == StageArguments { // mistakes of models are common
		level = slog.LevelDebug
	}
	t.config.Log.Log(t.ctx, level, "call judged", "allowed", d.Allowed, "tool", cmp.Or(d.Tool, d.Skill), "stage", d.Stage, "reason", d.Reason, "user", d.User, "channel", d.Channel, "session", d.Session)
}

// Judgement tells operators what would happen to a call of a tool by a caller.
type Judgement struct {
	Tool string `json:"tool"`
	// Effect is allow, ask or deny.
	Effect rules.Effect `json:"effect"`
	// Stage is where the call would be refused: unknown, one of the selection's
	// stages, arguments, or policy. It is empty when the call would run.
	Stage string `json:"stage,omitempty"`
	// Rule is the policy rule that decides; Reason explains the effect.
	Rule   string `json:"rule,omitempty"`
	Reason string `json:"reason,omitempty"`
	// Depends means that no arguments were given and that some could change the effect.
	Depends bool `json:"depends,omitempty"`
	// Command is what the shell command among the arguments would do, if there is one.
	Command *rules.Command `json:"command,omitempty"`
}

// Judge predicts calls of tools in a turn of in, as far as their arguments do not
// matter. It runs and records nothing.
func (r *Runner) Judge(ctx context.Context, in Input, names ...string) []Judgement {
	t := r.direct(ctx, in)
	var list []Judgement
	for _, name := range slices.Compact(slices.Sorted(slices.Values(names))) {
		list = append(list, t.foresee(name, nil))
	}
	return list
}

// JudgeCall predicts a call in a turn of in: of a tool, a skill, or one of the
// selection's own tools. It runs and records nothing.
func (r *Runner) JudgeCall(ctx context.Context, in Input, name string, args json.RawMessage) Judgement {
	if name == selection.CallTool {
		var err error
		if name, args, err = target(args); err != nil {
			return Judgement{Tool: selection.CallTool, Effect: rules.Deny, Stage: StageArguments, Reason: err.Error()}
		}
	}
	if args == nil {
		args = json.RawMessage("{}")
	}
	return r.direct(ctx, in).foresee(name, args)
}

// foresee judges a call without making it. Nil arguments are unknown.
func (t *run) foresee(name string, args json.RawMessage) Judgement {
	switch {
	case name == selection.FindTools || name == selection.DescribeTool:
		return Judgement{Tool: name, Effect: rules.Allow, Reason: "it describes what the caller may use, and runs nothing"}
	case args == nil && (name == selection.CallTool || name == selection.UseSkill):
		return Judgement{Tool: name, Effect: rules.Allow, Reason: "the tool or skill that it names is judged", Depends: true}
	case name == selection.UseSkill:
		return t.foreseeSkill(skillAsked(args).Name, args)
	}
	now := t.now()
	e, stage := t.admit(now, name)
	if e == nil { // a skill may be called like a tool
		return t.foreseeSkill(name, args)
	}
	return t.foreseeTool(now, e, stage, args)
}

// foreseeSkill judges the activation of a skill, or the reading of one of its files.
func (t *run) foreseeSkill(name string, args json.RawMessage) Judgement {
	now := t.now()
	if _, ok := t.admitSkill(now, name); !ok {
		return Judgement{Tool: name, Effect: rules.Deny, Stage: StageUnknown}
	}
	if args != nil {
		args = fileArguments(skillAsked(args).File)
	}
	return foreseen(name, t.decide(t.ctx, now, rules.Attempt{Skill: name, Arguments: args}))
}

// foreseen returns the judgement of a call on which the policy decides d.
func foreseen(name string, d rules.Decision) Judgement {
	j := Judgement{Tool: name, Effect: d.Effect, Rule: d.Rule, Reason: d.Reason, Depends: d.Depends}
	if d.Effect != rules.Allow {
		j.Stage = StagePolicy
	}
	return j
}

// foreseeTool judges a call of a tool that was admitted or refused at a stage.
func (t *run) foreseeTool(now moment, e *catalog.Entry, stage selection.Stage, args json.RawMessage) Judgement {
	name := e.Definition.Name
	refused := Judgement{Tool: name, Effect: rules.Deny}
	if !stage.Usable() {
		refused.Stage, refused.Reason = stage.String(), t.reason(now, e, stage)
		return refused
	}
	if args != nil {
		var err error
		if args, err = arguments.Repair(args); err == nil {
			args = t.fitting(e, args)
			err = fits(e, args)
		}
		if err != nil {
			refused.Stage, refused.Reason = StageArguments, err.Error()
			return refused
		}
	}
	j := foreseen(name, t.decide(t.ctx, now, rules.Attempt{Entry: e, Arguments: args}))
	j.Command = rules.CommandOf(args)
	return j
}

// hide removes the secrets from a result, and data that is no JSON, which could not be
// stored. Every result passes here before anybody reads or stores it.
func (t *run) hide(r chat.Result) chat.Result {
	secrets := t.config.Secrets.Redactor()
	r.Text = secrets.Text(r.Text)
	if r.View == nil {
		return r
	}
	view := *r.View
	view.Text, view.Error, view.Data = secrets.Text(view.Text), secrets.Text(view.Error), secrets.JSON(view.Data)
	if len(view.Data) > 0 && !json.Valid(view.Data) {
		t.config.Log.ErrorContext(t.ctx, "a tool gave data that is no JSON; it is left out", "tool", r.Name, "session", t.in.Session.Key)
		view.Data = nil
	}
	view.Files = slices.Clone(view.Files)
	for i := range view.Files {
		f := &view.Files[i]
		f.Name = secrets.Text(f.Name)
		if data := string(f.Data); len(data) > 0 {
			if clean := secrets.Text(data); clean != data {
				f.Data = []byte(clean)
			}
		}
	}
	r.View = &view
	return r
}

// cleaned is a text with and without the secrets that were known.
type cleaned struct {
	from    string
	secrets secret.Redactor
	text    string
}

// cleanSystem removes the secrets from a system prompt, which contains the memory, the
// agent's files and the client's instructions. It caches the last one, because most
// turns have the same and it is long.
func (r *Runner) cleanSystem(strategy prompt.Strategy, text string) string {
	secrets := r.config.Secrets.Redactor()
	if last := r.clean[strategy].Load(); last != nil && last.secrets == secrets && last.from == text {
		return last.text
	}
	c := &cleaned{text, secrets, secrets.Text(text)}
	r.clean[strategy].Store(c)
	return c.text
}

// fitting returns the arguments as the tool will get them, which is what the rules judge.
func (t *run) fitting(e *catalog.Entry, args json.RawMessage) json.RawMessage {
	return e.Normalize(tool.WithHost(t.ctx, tool.Host{Facts: t.selected.Request.Facts}), arguments.Fit(e, args))
}
