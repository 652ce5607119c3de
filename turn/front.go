package turn

import (
	"context"
	"fmt"
	"hash/fnv"
	"log/slog"
	"slices"
	"sync/atomic"
	"time"

	"github.com/etui-run/etui/catalog"
	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/selection"
	"github.com/etui-run/etui/session"
)

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
	t := &run{Runner: r, ctx: ctx, in: in, selector: r.selector()}
	question := t.open()
	return question, t.state
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

// account counts and logs a cache break, if there is a cause and a cache.
func (t *run) account(cause Break) {
	if cause == "" || t.model.Info().CacheLife == 0 {
		return
	}
	t.broken[slices.Index(Breaks(), cause)].Add(1)
	t.done.CacheBreaks = append(t.done.CacheBreaks, cause)
	level := slog.LevelInfo
	if cause == NewSession {
		level = slog.LevelDebug
	}
	t.config.Log.Log(t.ctx, level, "prompt cache broken", "cause", string(cause), "mode", string(t.selected.Mode), "session", t.in.Session.Key)
}

// touch records when the model was last asked.
func (t *run) touch() {
	if !t.in.Facts.Time.IsZero() {
		t.state.Front.Used = t.in.Facts.Time.Add(time.Since(t.begun)).Round(time.Second)
	}
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
