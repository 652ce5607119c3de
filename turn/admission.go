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
	"github.com/etui-run/etui/internal/nearest"
	"github.com/etui-run/etui/internal/nearjson"
	"github.com/etui-run/etui/rules"
	"github.com/etui-run/etui/selection"
	"github.com/etui-run/etui/selection/meta"
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

// people tells who the caller and the bounds of a turn are.
type people struct {
	current func(now *catalog.Catalog) chat.Facts // nil when nothing changes
	bounds  []selection.Bound
}

func (in *Input) people() people { return people{in.Current, in.Bounds} }

// at returns the facts about the caller and the bounds while a catalog is in effect, and
// whether the facts differ from f.
func (p people) at(c *catalog.Catalog, f chat.Facts) (_ chat.Facts, bounds []selection.Bound, changed bool) {
	update := func(f *chat.Facts, now chat.Facts) {
		f.User, f.Sender, f.Roles, f.Groups, f.Attrs = now.User, now.Sender, now.Roles, now.Groups, now.Attrs
	}
	if p.current != nil {
		now := p.current(c)
		changed = now.User != f.User || !slices.Equal(now.Roles, f.Roles) ||
			!slices.Equal(now.Groups, f.Groups) || !maps.Equal(now.Attrs, f.Attrs)
		update(&f, now)
	}
	bounds = slices.Clone(p.bounds)
	for i := range bounds {
		if !bounds[i].Past {
			update(&bounds[i].Facts, f)
		}
	}
	return f, bounds, changed
}

// gate decides who may call which tools and skills, as the turn is at one point. A call that
// goes on keeps its gate, whatever becomes of the turn meanwhile.
type gate struct {
	config   *Config
	latest   func() *selection.Selector // with the tools and rules of the moment
	people   people
	session  session.Key
	selector *selection.Selector // of the turn
	selected *selection.Selection
	approved []session.Grant // for the session
	waits    bool            // calls may wait for approval
}

// moment is one state of tools, rules and people. A call is judged by one of them, so that
// it never passes the new rules of one kind and the old ones of another.
type moment struct {
	*selection.Selector
	request selection.Request // the turn's, with the facts of the moment
	changed bool              // since the turn began
}

// now is the moment of a call.
func (g *gate) now() moment {
	m := moment{Selector: g.latest(), request: g.selected.Request}
	m.request.Facts, m.request.Bounds, m.changed = g.people.at(m.Catalog(), m.request.Facts)
	m.changed = m.changed || m.Catalog() != g.selector.Catalog()
	return m
}

// admit judges a call by the catalog with which the turn began, by removals since, and
// by what the caller has lost since. A nil entry means that there is no such tool.
func (g *gate) admit(now moment, name string) (*catalog.Entry, selection.Stage) {
	entry, stage := g.selector.Admit(g.selected.Request, name)
	if entry == nil || !stage.Usable() || !now.changed {
		return entry, stage
	}
	newer, judged := now.Admit(now.request, name)
	if newer == nil || judged == selection.Enabled || judged == selection.Visibility {
		return newer, judged
	}
	return entry, stage
}

// admitSkill finds a skill that the caller may take up, in the turn's catalog and in that
// of a moment.
func (g *gate) admitSkill(now moment, name string) (catalog.Skill, bool) {
	skill, ok := g.selector.AdmitSkill(g.selected.Request, name)
	if ok && now.changed {
		_, ok = now.AdmitSkill(now.request, name)
	}
	return skill, ok
}

// maxSkillNames bounds the names listed for a model that asks for an unknown skill.
const maxSkillNames = 50

// unknownSkill is the result for a skill that does not exist or that this caller may not use.
func (g *gate) unknownSkill(name string) chat.Result {
	skills := []string{catalog.Full}
	for skill := range g.selected.OfferedSkills() {
		if skill != name {
			skills = append(skills, skill)
		}
	}
	slices.Sort(skills)
	list := strings.Join(skills[:min(len(skills), maxSkillNames)], ", ")
	if more := len(skills) - maxSkillNames; more > 0 {
		list += fmt.Sprintf(" and %d more", more)
	}
	hint := cmp.Or(nearest.Hint(name, slices.Values(skills)), ".")
	return tool.Failure("there is no skill %q%s The skills are: %s.", name, hint, list)
}

// nameless is the result for a tool that does not exist or that this caller may not
// use. Both read the same. Models also call skills like tools and misspell them, so the
// hint includes skills.
func (g *gate) nameless(name string) chat.Result {
	return tool.Failure("there is no tool %q%s", name, nearest.Hint(name, g.callable()))
}

// callable yields the names of the tools and skills that this turn may call.
func (g *gate) callable() func(yield func(string) bool) {
	return func(yield func(string) bool) {
		for e := range g.selector.Catalog().All() {
			if g.selected.Stage(e).Usable() && !yield(e.Definition.Name) {
				return
			}
		}
		g.selected.OfferedSkills()(yield)
	}
}

// allow judges a call that is about to run. The error tells the model why it may not.
func (g *gate) allow(ctx context.Context, e *catalog.Entry, args json.RawMessage, said *session.Answer) error {
	record := recordOf(e)
	if err := fits(e, args); err != nil { // the policy does not see a call that cannot run
		record.Stage, record.Reason = StageArguments, err.Error()
		g.record(ctx, record, args)
		return err
	}
	return g.judge(ctx, rules.Attempt{Entry: e, Arguments: args}, record, said)
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
	return schema.CheckNames(args)
}

// allowSkill judges the activation of a skill, or the reading of one of its files.
func (g *gate) allowSkill(ctx context.Context, name, file string) error {
	return g.judge(ctx, rules.Attempt{Skill: name, Arguments: fileArguments(file)}, audit.Decision{Skill: name}, nil)
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
func (g *gate) judge(ctx context.Context, a rules.Attempt, record audit.Decision, answer *session.Answer) error {
	now := g.now()
	if err := g.stillAdmitted(ctx, now, a); err != nil {
		return err
	}
	d := g.decide(ctx, now, a)
	if d.Effect == rules.Ask && a.Entry != nil && answer == nil {
		if reason, ok := g.granted(ctx, now.request.Facts, record); ok {
			d.Effect, d.Reason = rules.Allow, reason
		}
	}
	asked := d.Effect == rules.Ask && a.Entry != nil && g.waits
	if asked {
		digest := digestOf(a.Arguments)
		// The meaning of the arguments may have changed since a person saw them: a link leads
		// elsewhere now, say. Then the person is asked again.
		if answer == nil || answer.Approved && answer.Lasts == session.Once && answer.Digest != "" && answer.Digest != digest {
			return &Awaits{session.Await{
				Tool: record.Tool, Original: a.Entry.Definition.Original, Risk: record.Risk, Hash: record.Hash, Digest: digest,
				Arguments: audit.Arguments(g.config.Secrets, a.Arguments),
			}}
		}
		d.Effect, d.Reason = verdict(*answer)
		if d.Effect == rules.Allow && answer.Hash != "" && answer.Hash != record.Hash {
			d = rules.Decision{Effect: rules.Deny, Reason: "it has changed since it was approved; call it again, so that it is asked about again"}
		}
	}
	if d.Effect == rules.Allow && !asked && answer != nil && !answer.Approved { // the policy asks no more, but a person has declined
		d.Effect, d.Reason = verdict(*answer)
	}
	if d.Effect == rules.Allow && ctx.Err() != nil {
		d = rules.Decision{Effect: rules.Deny, Reason: "the call had ended when the decision came"}
	}
	record.Rule, record.Reason = d.Rule, d.Reason
	if record.Allowed = d.Effect == rules.Allow; !record.Allowed {
		record.Stage = StagePolicy
	}
	g.record(ctx, record, a.Arguments)
	switch {
	case record.Allowed:
		return nil
	case asked:
		return fmt.Errorf("%s was not called: %s", record.Tool, d.Reason)
	}
	return &rules.Refusal{Name: cmp.Or(record.Tool, "the skill "+record.Skill), Decision: d}
}

// digestOf tells arguments apart.
func digestOf(args json.RawMessage) string {
	sum := sha256.Sum256(args)
	return hex.EncodeToString(sum[:16])
}

// granted returns why a call that the policy asks about may run: an approval that counts
// for the session, or always.
func (g *gate) granted(ctx context.Context, f chat.Facts, record audit.Decision) (string, bool) {
	for _, a := range g.approved {
		if a.Tool == record.Tool && a.Hash == record.Hash && a.User == f.Record() {
			return "approved for this session by " + cmp.Or(a.By, "a guest"), true
		}
	}
	if g.config.Granted == nil {
		return "", false
	}
	return g.config.Granted(ctx, f, record.Tool, record.Hash)
}

// stillAdmitted returns why a tool or skill that was admitted no longer is.
func (g *gate) stillAdmitted(ctx context.Context, now moment, a rules.Attempt) error {
	if a.Entry == nil {
		if _, ok := g.admitSkill(now, a.Skill); !ok {
			g.record(ctx, audit.Decision{Skill: a.Skill, Stage: StageUnknown}, a.Arguments)
			return errors.New(g.unknownSkill(a.Skill).Text)
		}
		return nil
	}
	name := a.Entry.Definition.Name
	if e, stage := g.admit(now, name); e == nil || !stage.Usable() {
		g.recordRefusal(ctx, now, name, e, stage, a.Arguments)
		return errors.New(g.nameless(name).Text)
	}
	return nil
}

// decide asks the policy of a moment, which may be a program's own code, about an attempt
// of the turn's caller. A policy that panics refuses.
func (g *gate) decide(ctx context.Context, now moment, a rules.Attempt) (d rules.Decision) {
	if g.config.Decide == nil {
		return rules.Decision{Effect: rules.Allow, Reason: "there is no policy"}
	}
	defer func() {
		if p := recover(); p != nil {
			g.config.panicked(g.session, "deciding on a call", p)
			d = rules.Decision{Reason: fmt.Sprintf("the policy panicked: %v", p)}
		}
	}()
	a.Facts, a.Catalog, a.Now = now.request.Facts, g.selector.Catalog(), now.Catalog()
	d = g.config.Decide(ctx, a)
	for _, b := range now.request.Bounds { // the strictest answer counts
		a.Facts = b.Facts
		if other := g.config.Decide(ctx, a); stricter(other.Effect, d.Effect) {
			d = other
		}
	}
	return d
}

// stricter reports whether the effect a is stricter than b.
func stricter(a, b rules.Effect) bool {
	return b == rules.Allow && a != rules.Allow || b == rules.Ask && a != rules.Allow && a != rules.Ask
}

// recordRefusal records a call of a tool that does not exist, when e is nil, or that the
// caller may not use.
func (g *gate) recordRefusal(ctx context.Context, now moment, name string, e *catalog.Entry,
	stage selection.Stage, args json.RawMessage) {
	record := audit.Decision{Tool: name, Stage: StageUnknown}
	if e != nil {
		record = recordOf(e)
		record.Stage, record.Reason = stage.String(), g.reason(now, e, stage)
	}
	g.record(ctx, record, args)
}

// reason tells operators why a caller may not use a tool.
func (g *gate) reason(now moment, e *catalog.Entry, stage selection.Stage) string {
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
	c := g.selector.Catalog()
	if same, _ := c.Get(e.Definition.Name); same != e {
		c = now.Catalog() // it was removed since
	}
	if same, _ := c.Get(e.Definition.Name); same != e {
		return "it was replaced"
	}
	return c.WhyDenied(facts, e)
}

// recordOf returns a decision about a tool that is still open.
func recordOf(e *catalog.Entry) audit.Decision {
	sum := sha256.Sum256(e.JSON)
	d := e.Definition
	return audit.Decision{
		Tool: d.Name, Source: d.Source, Version: d.Version, Risk: string(d.Risk), Hash: hex.EncodeToString(sum[:8]),
	}
}

// record records and logs a decision. Calls that the caller may not make are warnings.
func (g *gate) record(ctx context.Context, d audit.Decision, args json.RawMessage) {
	f := g.selected.Request.Facts
	d.Time, d.Agent, d.Channel, d.Chat = time.Now(), f.Agent, f.Channel, f.Chat
	d.User, d.Session = f.Record(), string(g.session)
	if g.config.Audit != nil {
		g.config.Audit(d, args)
	}
	level := slog.LevelWarn
	if d.Allowed || d.Stage == StageUnknown || d.Stage == StageArguments { // mistakes of models are common
		level = slog.LevelDebug
	}
	g.config.Log.Log(ctx, level, "call judged", "allowed", d.Allowed, "tool", cmp.Or(d.Tool, d.Skill),
		"stage", d.Stage, "reason", d.Reason, "user", d.User, "channel", d.Channel, "session", d.Session)
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
	g := r.direct(ctx, in).front.gate()
	var list []Judgement
	for _, name := range slices.Compact(slices.Sorted(slices.Values(names))) {
		list = append(list, g.foresee(ctx, name, nil))
	}
	return list
}

// JudgeCall predicts a call in a turn of in: of a tool, a skill, or one of the
// selection's own tools. It runs and records nothing.
func (r *Runner) JudgeCall(ctx context.Context, in Input, name string, args json.RawMessage) Judgement {
	if name == selection.CallTool {
		var err error
		if name, args, err = meta.Target(args); err != nil {
			return Judgement{Tool: selection.CallTool, Effect: rules.Deny, Stage: StageArguments, Reason: err.Error()}
		}
	}
	if args == nil {
		args = json.RawMessage("{}")
	}
	g := r.direct(ctx, in).front.gate()
	return g.foresee(ctx, name, args)
}

// foresee judges a call without making it. Nil arguments are unknown.
func (g *gate) foresee(ctx context.Context, name string, args json.RawMessage) Judgement {
	switch {
	case name == selection.FindTools || name == selection.DescribeTool:
		return Judgement{Tool: name, Effect: rules.Allow, Reason: "it describes what the caller may use, and runs nothing"}
	case args == nil && (name == selection.CallTool || name == selection.UseSkill):
		return Judgement{Tool: name, Effect: rules.Allow, Reason: "the tool or skill that it names is judged", Depends: true}
	case name == selection.UseSkill:
		return g.foreseeSkill(ctx, skillAsked(args).Name, args)
	}
	now := g.now()
	e, stage := g.admit(now, name)
	if e == nil { // a skill may be called like a tool
		return g.foreseeSkill(ctx, name, args)
	}
	return g.foreseeTool(ctx, now, e, stage, args)
}

// foreseeSkill judges the activation of a skill, or the reading of one of its files.
func (g *gate) foreseeSkill(ctx context.Context, name string, args json.RawMessage) Judgement {
	now := g.now()
	if _, ok := g.admitSkill(now, name); !ok {
		return Judgement{Tool: name, Effect: rules.Deny, Stage: StageUnknown}
	}
	if args != nil {
		args = fileArguments(skillAsked(args).File)
	}
	return foreseen(name, g.decide(ctx, now, rules.Attempt{Skill: name, Arguments: args}))
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
func (g *gate) foreseeTool(
	ctx context.Context, now moment, e *catalog.Entry, stage selection.Stage, args json.RawMessage,
) Judgement {
	name := e.Definition.Name
	refused := Judgement{Tool: name, Effect: rules.Deny}
	if !stage.Usable() {
		refused.Stage, refused.Reason = stage.String(), g.reason(now, e, stage)
		return refused
	}
	if args != nil {
		var err error
		if args, err = nearjson.Object(args); err == nil {
			args = g.fitting(ctx, e, args)
			err = fits(e, args)
		}
		if err != nil {
			refused.Stage, refused.Reason = StageArguments, err.Error()
			return refused
		}
	}
	j := foreseen(name, g.decide(ctx, now, rules.Attempt{Entry: e, Arguments: args}))
	j.Command = rules.CommandOf(args)
	return j
}

// fitting returns the arguments as the tool will get them, which is what the rules judge.
func (g *gate) fitting(ctx context.Context, e *catalog.Entry, args json.RawMessage) json.RawMessage {
	host := tool.Host{Facts: g.selected.Request.Facts}
	return e.Normalize(tool.WithHost(ctx, host), arguments.Fit(e, args))
}
