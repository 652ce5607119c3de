// Package prompt builds what a model reads in a turn: the system prompt and the
// messages.
//
// The system prompt contains nothing that changes from turn to turn: no clock, no counts, nothing
// in random order. Anything that changes, such as the time or the tools that a question needs, goes
// into a note on its message ([NewMessage]). The note is stored with the message, so that every
// later request begins with the same bytes.
package prompt

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/etui-run/etui/catalog"
	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/internal/recent"
	"github.com/etui-run/etui/memory"
	"github.com/etui-run/etui/selection"
)

// Strategy is how much context a turn gets.
type Strategy int

// The strategies.
const (
	// Full includes identity, memory, skills, runtime facts and history.
	Full Strategy = iota
	// Lite includes identity and history: fast, for simple questions.
	Lite
	// Custom includes what its [Options] say.
	Custom
)

var strategies = [...]string{Full: "full", Lite: "lite", Custom: "custom"}

func (s Strategy) String() string { return strategies[s] }

// ParseStrategy reads a strategy's name; the empty name is Full.
func ParseStrategy(name string) (Strategy, error) {
	if name == "" {
		return Full, nil
	}
	if i := slices.Index(strategies[:], name); i >= 0 {
		return Strategy(i), nil
	}
	return Full, fmt.Errorf("unknown strategy %q: it is full, lite or custom", name)
}

// Options choose what goes into a prompt. The zero value is Full.
type Options struct {
	Strategy Strategy
	// IncludeSkills, when not empty, names the only skills that are listed;
	// ExcludeSkills names skills that are not. They apply to any strategy but Lite.
	IncludeSkills, ExcludeSkills []string
	// SkillList, when not nil, replaces the list of skills, see
	// selection.Selection.SkillList. It applies to any strategy but Lite.
	SkillList *string
	// IncludeTools and ExcludeTools do the same for tools, under any strategy.
	// Selection applies them, not the prompt.
	IncludeTools, ExcludeTools []string
	// Instructions are the client's own, after those of the agent unless the client leads.
	Instructions string
	// Directory lists the usable tools, see selection.Directory. It applies to any
	// strategy but Lite.
	Directory string
	// Remember is the owner of the memory that is read, see package memory; empty reads
	// what is for everybody.
	Remember string
	// IncludeMemory and IncludeRuntime add the memory and the runtime facts
	// under Custom.
	IncludeMemory, IncludeRuntime bool
	// Summary tells what was said before the history. It becomes part of the first
	// message, under any strategy.
	Summary string
	// DateOnly leaves the time of day out of the runtime facts, for conversations whose
	// earlier messages are rebuilt with every request.
	DateOnly bool
}

func (o Options) memory() bool { return o.Strategy == Full || o.Strategy == Custom && o.IncludeMemory }
func (o Options) runtime() bool {
	return o.Strategy == Full || o.Strategy == Custom && o.IncludeRuntime
}

// equal reports whether two options give the same system prompt.
func (o Options) equal(p Options) bool {
	return o.Strategy == p.Strategy && o.IncludeMemory == p.IncludeMemory && o.Instructions == p.Instructions &&
		o.Directory == p.Directory &&
		slices.Equal(o.IncludeSkills, p.IncludeSkills) && slices.Equal(o.ExcludeSkills, p.ExcludeSkills) &&
		equal(o.SkillList, p.SkillList)
}

func equal(a, b *string) bool { return a == b || a != nil && b != nil && *a == *b }

// Config configures a [Builder]. The zero value builds prompts without memory for a
// general assistant.
type Config struct {
	// Instructions say who the agent is and how it works; empty means a general
	// assistant.
	Instructions string
	// ClientLeads puts the client's instructions first. They replace those for a general assistant.
	ClientLeads bool
	// ToolFree leaves out the rules for the use of tools, for a model that gets none.
	ToolFree bool
	// Memory is what the agent remembers between conversations; nil means nothing.
	Memory *memory.Store
	// HistoryTokens is about how many tokens of a conversation are sent; 0 means
	// 24,000. Older messages are left out, half of this at a time, see
	// [Builder.Begin].
	HistoryTokens int
}

// Builder builds prompts for one agent. It is safe for concurrent use.
type Builder struct {
	config Config
	lite   string
	cached *recent.Cache[whose, *system] // the last one built for each
}

// whose says for what a system prompt is built.
type whose struct {
	strategy Strategy
	owner    string
}

// maxCached is how many system prompts a builder keeps.
const maxCached = 64

// system is a system prompt and what it was built from.
type system struct {
	options Options
	memory  *memory.Memory
	skills  []catalog.Skill
	text    string
}

// Prompt is what a model reads in a turn.
type Prompt struct {
	System   string
	Messages []chat.Message
}

const general = "You are a helpful assistant."

const rules = `Use a tool whenever it can give the answer, and never make up what a tool would say. If a tool fails, say so. Answer briefly, in the user's language.`

// New returns a builder.
func New(cfg Config) *Builder {
	if cfg.Instructions == "" {
		cfg.Instructions = general
	}
	if cfg.HistoryTokens == 0 {
		cfg.HistoryTokens = 24_000
	}
	lite := strings.TrimSpace(cfg.Instructions)
	if !cfg.ToolFree {
		lite += "\n" + rules
	}
	return &Builder{config: cfg, cached: recent.New[whose, *system](maxCached), lite: lite}
}

// BuildMessages builds the full prompt of a turn: all of the history, then the
// message.
func (b *Builder) BuildMessages(c *catalog.Catalog, history []chat.Message, message chat.Message) (Prompt, error) {
	return b.BuildMessagesWithOptions(c, history, message, Options{})
}

// BuildMessagesWithOptions builds the prompt of a turn under a strategy. The error
// means that the memory could not be read.
func (b *Builder) BuildMessagesWithOptions(c *catalog.Catalog, history []chat.Message, message chat.Message,
	opts Options) (Prompt, error) {
	text, err := b.system(c, message.Time, opts)
	if err != nil {
		return Prompt{}, err
	}
	messages := append(b.History(history), message)
	if opts.Summary != "" {
		messages[0].Note = strings.TrimSuffix(summaryOf+opts.Summary+"\n\n"+messages[0].Note, "\n\n")
	}
	return Prompt{System: text, Messages: messages}, nil
}

// summaryOf is the heading of a summary.
const summaryOf = "[Summary of what was said before]\n"

// system returns the system prompt, from the cache while nothing it is built from has
// changed.
func (b *Builder) system(c *catalog.Catalog, now time.Time, opts Options) (string, error) {
	if opts.Strategy == Lite {
		return b.own(b.lite, opts), nil
	}
	var remembered *memory.Memory
	if b.config.Memory != nil && opts.memory() {
		var err error
		if remembered, err = b.config.Memory.Load(now, opts.Remember); err != nil {
			return "", err
		}
	}
	of := whose{opts.Strategy, opts.Remember}
	if last, ok := b.cached.Get(of); ok && last.memory == remembered && last.options.equal(opts) &&
		(opts.SkillList != nil || sameSkills(last.skills, c.Skills())) {
		return last.text, nil
	}
	if opts.SkillList != nil { // what the caller passed may change
		list := *opts.SkillList
		opts.SkillList = &list
	}
	opts.IncludeSkills, opts.ExcludeSkills = slices.Clone(opts.IncludeSkills), slices.Clone(opts.ExcludeSkills)
	next := &system{options: opts, memory: remembered}
	if opts.SkillList == nil {
		next.skills = c.Skills()
	}
	next.text = b.write(next)
	b.cached.Put(of, next)
	return next.text, nil
}

func sameSkills(a, b []catalog.Skill) bool {
	return slices.EqualFunc(a, b, func(x, y catalog.Skill) bool {
		return x.Name == y.Name && x.Description == y.Description && x.Manual == y.Manual
	})
}

// own adds the client's instructions to the agent's.
func (b *Builder) own(text string, opts Options) string {
	switch {
	case opts.Instructions == "":
		return text
	case b.config.ClientLeads:
		return opts.Instructions + "\n\n" + strings.TrimPrefix(text, general+"\n")
	}
	return text + "\n\n" + opts.Instructions
}

func (b *Builder) write(s *system) string {
	var text strings.Builder
	text.WriteString(b.own(b.lite, s.options))
	if m := s.memory; m != nil && m.Guide.Text != "" {
		text.WriteString("\n\n# " + m.Guide.File + " of the workspace\n" + strings.TrimSpace(m.Guide.Text))
	}
	if list := s.skillList(); list != "" {
		text.WriteString("\n\n# Skills\nWays of working that " + selection.UseSkill + " takes up:\n" + list)
	}
	if s.options.Directory != "" {
		text.WriteString("\n\n# Tools\nWhat find_tools finds, beside the tools that are listed:\n" +
			s.options.Directory)
	}
	if m := s.memory; m != nil {
		remembered(&text, "Memory", "Notes", m.Shared)
		remembered(&text, "What you remember of this conversation's people", "Your notes", m.Own)
	}
	return text.String()
}

func remembered(text *strings.Builder, all, notes string, p memory.Part) {
	if p.LongTerm != "" {
		text.WriteString("\n\n# " + all + "\n" + strings.TrimSpace(p.LongTerm))
	}
	for _, note := range p.Notes {
		text.WriteString("\n\n# " + notes + " of " + note.Day + "\n" + strings.TrimSpace(note.Text))
	}
}

func (s *system) skillList() string {
	if s.options.SkillList != nil {
		return *s.options.SkillList
	}
	return SkillsSummary(s.skills, s.options.IncludeSkills, s.options.ExcludeSkills)
}

// SkillsSummary lists skills in at most 1,500 tokens, see [selection.ListSkills], without
// those that only people activate. An empty include means all of them. It knows no caller:
// for one who may not see all skills, take selection.Selection.SkillList.
func SkillsSummary(skills []catalog.Skill, include, exclude []string) string {
	var list []*catalog.Skill
	for i := range skills {
		name := skills[i].Name
		if !skills[i].Manual && (len(include) == 0 || slices.Contains(include, name)) &&
			!slices.Contains(exclude, name) {
			list = append(list, &skills[i])
		}
	}
	return selection.ListSkills(list, summaryTokens)
}

const summaryTokens = 1500
