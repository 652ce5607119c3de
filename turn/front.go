package turn

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"log/slog"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/etui-run/etui/catalog"
	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/model"
	"github.com/etui-run/etui/rules"
	"github.com/etui-run/etui/selection"
	"github.com/etui-run/etui/session"
	"github.com/etui-run/etui/tool"
)

// front is what the requests of a turn begin with: the selected tools and the system prompt.
// With the conversation it is all that is sent to the model.
type front struct {
	conv     *conversation
	runner   *Runner // of the model that is asked
	selector *selection.Selector
	selected *selection.Selection
	system   string
	attached int // bytes of the pictures of messages
}

// Break is why the provider's prompt cache could not be used: the beginning of the
// request changed, or the cache has expired.
type Break string

// The causes.
const (
	NewSession        Break = "new_session"
	ModelSwitch       Break = "model_switch"
	Idle              Break = "idle"       // longer than the provider keeps its cache
	Compaction        Break = "compaction" // the oldest messages were dropped
	SkillSwitch       Break = "skill_switch"
	PhaseSwitch       Break = "phase_switch"  // the same, by a workflow
	GroupsChange      Break = "groups_change" // the agent has other tools
	ModeChange        Break = "mode_change"
	StrategyChange    Break = "strategy_change"
	Revocation        Break = "revocation" // a declared tool may not be used any more
	ToolsAppended     Break = "tools_appended"
	DefinitionChanged Break = "definition_changed" // that of a declared tool
	PromptChanged     Break = "prompt_changed"     // memory, skills, instructions
)

// Breaks lists the causes. When several come together, the first one counts.
func Breaks() []Break {
	return []Break{NewSession, ModelSwitch, Idle, Compaction, SkillSwitch, PhaseSwitch, GroupsChange, ModeChange, StrategyChange, Revocation, ToolsAppended, DefinitionChanged, PromptChanged}
}

// breaks counts cache breaks by their place in Breaks.
type breaks [13]atomic.Int64

// CacheBreaks returns how often the turns of r broke the prompt cache, by cause.
// Causes that did not occur are left out; a model without a prompt cache has none.
func (r *Runner) CacheBreaks() map[Break]int64 {
	counts := map[Break]int64{}
	for i, cause := range Breaks() {
		if n := r.broken[i].Load(); n > 0 {
			counts[cause] = n
		}
	}
	return counts
}

// cold returns why the provider has nothing of the session in its cache, or nothing
// worth keeping; empty when it has. When it is cold, the session's front may be
// rebuilt.
func (r *Runner) cold(in Input) Break {
	front, info := in.Session.Front, r.model.Info()
	switch {
	case front.Mode == "":
		return NewSession
	case front.Model != info.Name:
		return ModelSwitch
	case info.CacheLife > 0 && !front.Used.IsZero() && in.Facts.Time.Sub(front.Used) > info.CacheLife:
		return Idle
	case front.First != "" && (len(in.kept) == 0 || front.First != said(in.kept[0])):
		return Compaction
	case front.Skill != in.skill() && in.Session.Flow.Runs():
		return PhaseSwitch
	case front.Skill != in.skill():
		return SkillSwitch
	case front.Groups != in.Groups:
		return GroupsChange
	}
	return ""
}

// skill is the active skill.
func (in Input) skill() string {
	switch {
	case in.Facts.Skill != "":
		return in.Facts.Skill
	case in.Session.Skill != "":
		return in.Session.Skill
	}
	return catalog.Full
}

// advance returns the session's state after a selection.
func (r *Runner) advance(in Input, sel *selection.Selection) session.State {
	state := in.Session.Clone()
	state.Declared = make([]string, len(sel.Declared))
	for i, e := range sel.Declared {
		state.Declared[i] = e.Definition.Name
	}
	state.Directory = r.stored(state.Directory, sel.Directory(state.Directory))
	if len(sel.Request.IncludeSkills) == 0 { // otherwise the list belongs to this request alone
		state.SkillList = r.stored(state.SkillList, sel.SkillList)
	}
	state.Front = session.Front{
		Mode: string(sel.Mode), Model: r.model.Info().Name, Strategy: in.Options.Strategy.String(), Skill: in.skill(), Groups: in.Groups,
		Tools: definitions(sel.Declared), First: state.Front.First, Used: in.Facts.Time, Held: sel.Request.Held,
	}
	return state
}

// stored returns a text of the system prompt without secrets, as the session keeps it.
// Most texts do not change from turn to turn.
func (r *Runner) stored(before, now string) string {
	if now == before {
		return before
	}
	return r.config.Secrets.Redactor().Text(now)
}

// Replay returns the message of a turn and the state after it without running the turn.
// Clients that send the whole conversation with every request need it.
func (r *Runner) Replay(ctx context.Context, in Input) (chat.Message, session.State) {
	t := r.newRun(ctx, in, ignore)
	question := t.open()
	return question, t.conv.state
}

// first hashes the message that the request begins with.
func first(in Input, question chat.Message) string {
	if len(in.kept) > 0 {
		question = in.kept[0]
	}
	return said(question)
}

// broke compares the beginnings of the last request and the next one and returns why
// the cache breaks. Cold is the answer of [Runner.cold].
func broke(cold Break, before, after session.State) Break {
	b, a := before.Front, after.Front
	same := b.Tools == a.Tools && (b.System == "" || b.System == a.System)
	left := func(from, of []string) bool {
		return slices.ContainsFunc(from, func(name string) bool { return !slices.Contains(of, name) })
	}
	switch {
	case cold != "" && (cold != SkillSwitch && cold != PhaseSwitch && cold != GroupsChange || !same):
		return cold
	case same:
		return ""
	case b.Mode != a.Mode:
		return ModeChange
	case b.Strategy != a.Strategy:
		return StrategyChange
	case left(before.Declared, after.Declared):
		return Revocation
	case left(after.Declared, before.Declared):
		return ToolsAppended
	case b.Tools != a.Tools:
		return DefinitionChanged
	}
	return PromptChanged
}

func said(m chat.Message) string { return hash(string(m.Role), m.Note, m.Text) }

func definitions(entries []*catalog.Entry) string {
	parts := make([]string, len(entries))
	for i, e := range entries {
		parts[i] = string(e.JSON)
	}
	return hash(parts...)
}

// hash returns a short hash that is the same in every process. It is not cryptographic.
func hash(parts ...string) string {
	h := fnv.New64a()
	for _, p := range parts {
		_, _ = h.Write([]byte(p)) // never fails
		_, _ = h.Write([]byte{0})
	}
	return fmt.Sprintf("%016x", h.Sum64())
}

// announced returns the names of the tools that the notes of messages describe.
func announced(messages []chat.Message) []string {
	var names []string
	for _, m := range messages {
		names = append(names, m.Tools...)
	}
	return names
}

// called returns the names of the tools that messages call, each once, in order.
func called(messages []chat.Message) []string {
	var names []string
	for _, m := range messages {
		for _, c := range m.Calls {
			if name := reached(c); !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	return names
}

// gate returns the gate for calls that are made now.
func (f *front) gate() *gate {
	c := f.conv
	return &gate{
		config: c.config, latest: f.runner.selector, people: c.in.people(), session: c.in.Session.Key,
		selector: f.selector, selected: f.selected, approved: c.state.Granted, waits: c.waits,
	}
}

// choose returns a selection for in, which is not yet that of the turn.
func (f *front) choose(in Input) *selection.Selection {
	return f.runner.choose(f.conv.ctx, f.selector, in)
}

// take makes the selection for in that of the turn.
func (f *front) take(in Input, sel *selection.Selection) {
	f.selected = sel
	f.conv.state = f.runner.advance(in, sel)
	f.conv.done.Skill, f.conv.done.Tokens = sel.ActiveSkill(), sel.Tokens()
}

// build builds the system prompt, with the directory and the skills as the state has them,
// and returns the messages to send. If it fails, the system prompt stays as it was.
func (f *front) build(history []chat.Message, question chat.Message) ([]chat.Message, error) {
	opts, state := f.conv.in.Options, &f.conv.state
	opts.Directory, opts.SkillList, opts.Summary = state.Directory, &f.selected.SkillList, state.Summary
	built, err := f.runner.prompt.BuildMessagesWithOptions(f.selector.Catalog(), history, question, opts)
	if err == nil {
		f.system = f.runner.cleanSystem(opts.Strategy, built.System)
	}
	state.Front.System, state.Front.Size = hash(f.system), f.size()
	return built.Messages, err
}

// rebuild makes the selection for in that of the turn and builds the system prompt anew. The
// messages stay as they are.
func (f *front) rebuild(in Input, sel *selection.Selection, cause Break) {
	before := f.conv.state
	f.take(in, sel)
	if _, err := f.build(nil, chat.Message{Time: in.Facts.Time}); err != nil {
		f.conv.config.Log.WarnContext(f.conv.ctx, "the system prompt stays as it was", "error", err, "session", in.Session.Key)
	}
	f.account(broke(cause, before, f.conv.state))
}

// size is how many bytes the declared tools and the system prompt have.
func (f *front) size() int {
	n := len(f.system)
	for _, e := range f.selected.Declared {
		n += len(e.JSON)
	}
	return n
}

// account counts and logs a cache break, if there is a cause and a cache.
func (f *front) account(cause Break) {
	if cause == "" || f.runner.model.Info().CacheLife == 0 {
		return
	}
	f.runner.broken[slices.Index(Breaks(), cause)].Add(1)
	f.conv.done.CacheBreaks = append(f.conv.done.CacheBreaks, cause)
	level := slog.LevelInfo
	if cause == NewSession {
		level = slog.LevelDebug
	}
	f.conv.config.Log.Log(f.conv.ctx, level, "prompt cache broken", "cause", string(cause), "mode", string(f.selected.Mode), "session", f.conv.in.Session.Key)
}

// question is what the model is asked in this step.
func (f *front) question() model.Request {
	req := model.Request{System: f.system, Messages: f.conv.sent, Settings: f.conv.in.Settings}
	for _, e := range f.selected.Declared {
		req.Tools = append(req.Tools, e.Definition)
	}
	for _, e := range f.selected.Deferred {
		req.Deferred = append(req.Deferred, e.Definition)
	}
	for _, m := range f.selected.Ranked {
		if m.Score == 0 {
			continue // nothing in the message speaks for it, only that it was used lately
		}
		req.Ranked = append(req.Ranked, m.Definition.Name)
	}
	return req
}

// switchTo switches the session's toolset, for this turn and the following ones. It
// rebuilds the front at once: a switch breaks the cache in any case, and the next
// request of this turn needs the tools.
func (f *front) switchTo(name string) {
	in := f.conv.in
	in.Session.State, in.Session.Messages = f.conv.state, f.conv.sent
	in.Session.Skill, in.Facts.Skill = name, name
	in.Again, in.kept, in.cold = true, f.conv.sent, SkillSwitch
	f.rebuild(in, f.choose(in), SkillSwitch)
}

// withInstructions adds the active skill's instructions to a note unless the
// conversation already has them. That happens when a person chose the skill, or when
// the message with the instructions is no longer sent.
func (f *front) withInstructions(note string) string {
	name := f.selected.Request.Facts.Skill
	skill, _ := f.selector.Catalog().Skill(name)
	if skill.Guide == nil || slices.Contains(f.selected.HiddenSkills, name) {
		return note
	}
	g := f.gate()
	d := g.decide(f.conv.ctx, g.now(), rules.Attempt{Skill: name, Arguments: fileArguments("")})
	if d.Effect != rules.Allow {
		f.conv.config.Log.WarnContext(f.conv.ctx, "the active skill's instructions are refused", "skill", name, "reason", d.Reason, "session", f.conv.in.Session.Key)
		return note
	}
	text, err := f.read(skill, "")
	if err != nil {
		f.conv.config.Log.WarnContext(f.conv.ctx, "the active skill's instructions cannot be read", "skill", name, "error", err, "session", f.conv.in.Session.Key)
		return note
	}
	text = instructionsOf + name + ":\n" + text
	if told(f.conv.in.kept, text) {
		return note
	}
	return strings.TrimPrefix(note+"\nFollow "+text, "\n")
}

// once returns a text under a heading, or a pointer to it if the conversation already
// has it.
func (f *front) once(what, text string) string {
	text = what + ":\n" + text
	if told(f.conv.sent, text) {
		return what + ": unchanged, see above in this conversation."
	}
	return text
}

// read reads a file of a skill within the time limit of a call, cut to what the model
// may read.
func (f *front) read(skill catalog.Skill, file string) (string, error) {
	result, err := wait(f.conv.ctx, f.conv.config.CallTimeout, func(ctx context.Context) (chat.Result, error) {
		text, err := skill.Read(tool.WithHost(ctx, tool.Host{Facts: f.selected.Request.Facts}), file)
		return chat.Result{Text: text}, err
	})
	if p, ok := errors.AsType[*catalog.PanicError](err); ok {
		f.conv.config.panicked(f.conv.in.Session.Key, "reading the skill "+skill.Name, p)
	}
	return cut(f.conv.config.Secrets.Redactor().Text(result.Text), f.conv.config.MaxSkill), err
}

// why sums the selection up, for operators: to be stored with the question.
func (f *front) why() json.RawMessage {
	raw, err := json.Marshal(f.selected.Compact())
	if err != nil { // it holds names and numbers only
		f.conv.config.Log.ErrorContext(f.conv.ctx, "the selection is not stored", "error", err, "session", f.conv.in.Session.Key)
		return nil
	}
	f.conv.config.Log.DebugContext(f.conv.ctx, "tools selected", "selection", string(raw), "session", f.conv.in.Session.Key)
	return raw
}

// maxLogged is how many rules and filters that failed a turn logs. All are counted.
const maxLogged = 5

// logHidden tells operators what this caller was not shown, and why.
func (f *front) logHidden() {
	if err := f.selected.Unranked(); err != nil {
		f.conv.config.panicked(f.conv.in.Session.Key, "ranking the tools for a message; it has pinned tools and search only", err)
	}
	failed := f.selected.Failed()
	for _, err := range failed[:min(len(failed), maxLogged)] {
		if p, ok := errors.AsType[*catalog.PanicError](err); ok {
			f.conv.config.panicked(f.conv.in.Session.Key, "filtering tools; this one is hidden: "+p.Tool, p)
			continue
		}
		f.conv.config.Log.ErrorContext(f.conv.ctx, "visibility could not be judged, the tools are hidden", "error", err, "session", f.conv.in.Session.Key)
	}
	if more := len(failed) - maxLogged; more > 0 {
		f.conv.config.Log.ErrorContext(f.conv.ctx, "more rules or filters failed", "more", more, "session", f.conv.in.Session.Key)
	}
	if !f.conv.config.Log.Enabled(f.conv.ctx, slog.LevelDebug) {
		return
	}
	for _, v := range f.selected.Explain().Tools {
		if !v.Stage.Usable() {
			f.conv.config.Log.DebugContext(f.conv.ctx, "tool hidden", "tool", v.Tool, "stage", v.Stage.String(), "reason", v.Reason, "user", f.conv.in.Facts.User, "channel", f.conv.in.Facts.Channel)
		}
	}
}
