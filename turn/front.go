package turn

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"log/slog"
	"slices"

	"github.com/etui-run/etui/catalog"
	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/clienttool"
	"github.com/etui-run/etui/model"
	"github.com/etui-run/etui/prompt"
	"github.com/etui-run/etui/secret"
	"github.com/etui-run/etui/selection"
	"github.com/etui-run/etui/selection/meta"
	"github.com/etui-run/etui/session"
	"github.com/etui-run/etui/turn/internal/offered"
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
	desk     clienttool.Desk
	offered  offered.Choice
}

// owns reports whether a tool of etui has a name, whoever may use it.
func (f *front) owns(name string) bool {
	_, there := f.selector.Catalog().Get(name)
	return there || selection.Meta(name)
}

// called returns a call as the model made it with the tool that it means. Some models call the
// client's tools with call_tool, too.
func (f *front) called(c chat.Call) chat.Call {
	c = f.desk.FromModel(c)
	if c.Name != selection.CallTool || c.Client {
		return c
	}
	if name, args, err := meta.Target(c.Arguments); err == nil && f.desk.Has(name) && !f.owns(name) {
		c.Name, c.Arguments, c.Client = name, args, true
	}
	return c
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
	f.offered = f.runner.offers.Choose(&f.desk, f.selector, sel, in.Session.Offered, in.kept)
	f.conv.state.Offered = f.offered.Names()
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

// cleanText is a text with and without the secrets that were known.
type cleanText struct {
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
	c := &cleanText{text, secrets, secrets.Text(text)}
	r.clean[strategy].Store(c)
	return c.text
}

// rebuild makes the selection for in that of the turn and builds the system prompt anew. The
// messages stay as they are.
func (f *front) rebuild(in Input, sel *selection.Selection, cause Break) {
	c := f.conv
	before := c.state
	f.take(in, sel)
	if _, err := f.build(nil, chat.Message{Time: in.Facts.Time}); err != nil {
		c.config.Log.WarnContext(c.ctx, "the system prompt stays as it was", "error", err, "session", in.Session.Key)
	}
	f.account(broke(cause, before, c.state))
}

// size is how many bytes the declared tools and the system prompt have.
func (f *front) size() int {
	n := len(f.system) + f.desk.Size()
	for _, e := range f.selected.Declared {
		n += len(e.JSON)
	}
	return n
}

// question is what the model is asked in this step.
func (f *front) question() model.Request {
	req := model.Request{System: f.system, Messages: f.desk.Messages(f.conv.sent), Settings: f.conv.in.Settings, Language: f.conv.in.Facts.Language}
	declared, _, _ := f.offered.Add(f.selected.Declared, nil, nil)
	own := f.desk.Tools()
	req.Tools = slices.Grow(req.Tools, len(declared)+len(own))
	for _, e := range declared {
		req.Tools = append(req.Tools, f.desk.ToModel(e.Definition))
	}
	if len(own) > 0 {
		req.Tools = append(req.Tools, own...)
		req.Required, req.Only, req.Serial = f.desk.Required, f.desk.Only, f.desk.Serial
	}
	for _, e := range f.selected.Deferred {
		req.Deferred = append(req.Deferred, f.desk.ToModel(e.Definition))
	}
	req.Deferred = append(req.Deferred, f.desk.Deferred()...)
	for _, m := range f.selected.Ranked {
		if m.Score == 0 {
			continue // nothing in the message speaks for it, only that it was used lately
		}
		req.Ranked = append(req.Ranked, f.desk.Name(m.Definition.Name))
	}
	return req
}

// switchTo switches the session's toolset, for this turn and the following ones. It
// rebuilds the front at once: a switch breaks the cache in any case, and the next
// request of this turn needs the tools.
func (f *front) switchTo(name string) {
	c := f.conv
	in := c.in
	in.Session.State, in.Session.Messages = c.state, c.sent
	in.Session.Skill, in.Facts.Skill = name, name
	in.Again, in.kept, in.cold = true, c.sent, SkillSwitch
	f.rebuild(in, f.choose(in), SkillSwitch)
}

// skill is the active skill.
func (in *Input) skill() string { return cmp.Or(in.Facts.Skill, in.Session.Skill, catalog.Full) }

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

// first hashes the message that the request begins with.
func first(in Input, question chat.Message) string {
	if len(in.kept) > 0 {
		question = in.kept[0]
	}
	return said(question)
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
			if name := reached(c); !c.Client && !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	return names
}

// why sums the selection up, for operators: to be stored with the question.
func (f *front) why() json.RawMessage {
	c := f.conv
	raw, err := json.Marshal(f.selected.Compact())
	if err != nil { // it holds names and numbers only
		c.config.Log.ErrorContext(c.ctx, "the selection is not stored", "error", err, "session", c.in.Session.Key)
		return nil
	}
	c.config.Log.DebugContext(c.ctx, "tools selected", "selection", string(raw), "session", c.in.Session.Key)
	return raw
}

// maxLogged is how many rules and filters that failed a turn logs. All are counted.
const maxLogged = 5

// logHidden tells operators what this caller was not shown, and why.
func (f *front) logHidden() {
	c := f.conv
	if err := f.selected.Unranked(); err != nil {
		c.config.panicked(c.in.Session.Key, "ranking the tools for a message; it has pinned tools and search only", err)
	}
	failed := f.selected.Failed()
	for _, err := range failed[:min(len(failed), maxLogged)] {
		if p, ok := errors.AsType[*catalog.PanicError](err); ok {
			c.config.panicked(c.in.Session.Key, "filtering tools; this one is hidden: "+p.Tool, p)
			continue
		}
		c.config.Log.ErrorContext(c.ctx, "visibility could not be judged, the tools are hidden",
			"error", err, "session", c.in.Session.Key)
	}
	if more := len(failed) - maxLogged; more > 0 {
		c.config.Log.ErrorContext(c.ctx, "more rules or filters failed", "more", more, "session", c.in.Session.Key)
	}
	if !c.config.Log.Enabled(c.ctx, slog.LevelDebug) {
		return
	}
	for _, v := range f.selected.Explain().Tools {
		if !v.Stage.Usable() {
			c.config.Log.DebugContext(c.ctx, "tool hidden",
				"tool", v.Tool, "stage", v.Stage.String(), "reason", v.Reason, "user", c.in.Facts.User, "channel", c.in.Facts.Channel)
		}
	}
}
