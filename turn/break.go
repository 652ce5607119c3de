package turn

import (
	"log/slog"
	"slices"
	"sync/atomic"

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
func (f *front) account(cause Break) {
	c := f.conv
	if cause == "" || f.runner.model.Info().CacheLife == 0 {
		return
	}
	f.runner.broken[slices.Index(Breaks(), cause)].Add(1)
	c.done.CacheBreaks = append(c.done.CacheBreaks, cause)
	level := slog.LevelInfo
	if cause == NewSession {
		level = slog.LevelDebug
	}
	c.config.Log.Log(c.ctx, level, "prompt cache broken",
		"cause", string(cause), "mode", string(f.selected.Mode), "session", c.in.Session.Key)
}
