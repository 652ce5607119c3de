// Package turn runs one message to one reply: select, ask, call, repeat.
//
// A [Runner] is safe for concurrent use, but the turns of one session must run
// one after the other; package gateway sees to that. A turn holds one catalog
// from its selection to its last call: what has been replaced meanwhile is called as
// it was. What has been taken away, or is hidden from the caller now, is not called
// any more. Everything that becomes part of the
// conversation leaves the turn as an event before the next step begins, so that
// whoever stores it loses nothing that was done.
package turn

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/etui-run/etui/audit"
	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/model"
	"github.com/etui-run/etui/prompt"
	"github.com/etui-run/etui/rules"
	"github.com/etui-run/etui/secret"
	"github.com/etui-run/etui/selection"
	"github.com/etui-run/etui/session"
	"github.com/etui-run/etui/tool"
)

// Config says how turns run. Zero values have sensible limits.
type Config struct {
	// MaxSteps is how often a turn asks the model; 0 means 16. A turn that
	// reaches it ends with a reply that says so.
	MaxSteps int
	// CallTimeout is how long one call may take; 0 means a minute. A call that
	// takes longer is a failed result for the model.
	CallTimeout time.Duration
	// Parallel is how many read-only calls run at once; 0 means 8.
	Parallel int
	// MaxResult is how many bytes of a result the model reads; 0 means 32 KiB.
	// Of a longer one it reads the beginning and the end, and is told.
	MaxResult int
	// MaxSkill is how many bytes of a skill's instructions, or of a file beside them,
	// the model reads; 0 means 64 KiB. The rest is cut, and the model is told.
	MaxSkill int
	// Decide is asked before a call runs: about the tool that it reaches, by whatever
	// name, with arguments that fit the tool's schema. Unless the answer is to allow
	// it, the call is refused. It may wait, within CallTimeout, and must be safe for
	// concurrent use. Nil allows every call; so does a nil [rules.Rules], whose
	// method it may be.
	Decide func(ctx context.Context, c rules.Attempt) rules.Decision
	// Audit takes each decision about a call, with the arguments; it must not wait,
	// and must be safe for concurrent use. Nil records nothing.
	Audit func(d audit.Decision, args json.RawMessage)
	// Secrets are hidden in what tools give, before the model, the user or a store
	// gets it. What a model says is streamed as it is: it knows no secret that was
	// not told to it. Nil knows none.
	Secrets *secret.Known
	// Chooser is asked which tools and skills come first when the recommender's
	// rules are unsure; nil means that they decide.
	Chooser *Chooser
	// Embedder gives the meaning of questions; nil means that words alone count.
	Embedder Embedder
	// Log takes what operators want to know; nil discards.
	Log *slog.Logger
}

// Embedder gives the vector of a question, or nil when it has none in time.
// Again says that nobody is to be asked: only what is known counts.
type Embedder interface {
	Vector(ctx context.Context, text string, again bool) []float32
}

// Runner runs turns for one agent.
type Runner struct {
	model    model.Model
	selector func() *selection.Selector
	prompt   *prompt.Builder
	config   Config
	broken   breaks
	clean    [prompt.Custom + 1]atomic.Pointer[cleaned] // by strategy: the last system prompt
}

// New returns a runner that asks m. The selector is taken anew for each turn,
// so that a turn sees the catalog as it is when it begins.
func New(m model.Model, selector func() *selection.Selector, p *prompt.Builder, cfg Config) *Runner {
	if cfg.MaxSteps == 0 {
		cfg.MaxSteps = 16
	}
	if cfg.CallTimeout == 0 {
		cfg.CallTimeout = time.Minute
	}
	if cfg.Parallel == 0 {
		cfg.Parallel = 8
	}
	if cfg.MaxResult == 0 {
		cfg.MaxResult = 32 << 10
	}
	if cfg.MaxSkill == 0 {
		cfg.MaxSkill = 64 << 10
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	return &Runner{model: m, selector: selector, prompt: p, config: cfg}
}

// Input is one message, with everything that its turn may know.
type Input struct {
	// Session is the conversation so far.
	Session session.Session
	// Facts are about the caller. Facts.Skill, when empty, is taken from the
	// session.
	Facts chat.Facts
	// Text is the message.
	Text string
	// Note is what the host says with it, or in its place: that a call which went
	// on has finished.
	Note string
	// Groups are those whose tools the agent has; empty means all.
	Groups string
	// Options choose the strategy, and the tools and skills that are let in.
	Options prompt.Options
	// Limit and Budget override the selection's when above zero, Mode when not
	// empty.
	Limit, Budget int
	Mode          selection.Mode
	// Again says that the message was begun or answered before: then nobody is asked
	// anything, and only what was found out before counts.
	Again bool
	// Late takes the outcome of a call that goes on after its turn; nil means
	// that tools must finish before they return. It may be called at any time,
	// from any goroutine.
	Late func(call chat.Call, result chat.Result)

	kept []chat.Message // of the session, as far as it is still sent
	cold Break          // why the provider has nothing of it; empty when it has
}

// Event is something that happened in a turn. Exactly one field is set.
type Event struct {
	// Selection is what the turn works with; it comes first.
	Selection *selection.Selection
	// Text continues the reply, or what the model says before a call.
	Text string
	// Call is about to run.
	Call *chat.Call
	// Progress is how far a running call has come.
	Progress *Progress
	// Result is what a call gave.
	Result *chat.Result
	// Step is what has become part of the conversation: to be stored before the
	// turn goes on.
	Step *Step
	// Done ends the turn.
	Done *Done
}

// Progress is how far a running call has come.
type Progress struct {
	CallID string `json:"call_id"`
	tool.Progress
}

// Step is a piece of the conversation that is complete: the question, a reply,
// or a round of calls with all their results.
type Step struct {
	State    session.State
	Messages []chat.Message
}

// Done tells how a turn ended.
type Done struct {
	// Reply is the answer to the user.
	Reply string `json:"reply"`
	// Stop says why the model's last answer ended.
	Stop model.Stop `json:"stop"`
	// Usage adds up what the provider counted.
	Usage model.Tokens `json:"usage"`
	// Steps is how often the model was asked, Calls how many calls ran.
	Steps int `json:"steps"`
	Calls int `json:"calls"`
	// CacheBreaks are the causes for which the provider's prompt cache could not be
	// used in the turn; none when it could.
	CacheBreaks []Break `json:"cache_breaks,omitempty"`
	// Used are the tools that the calls reached, in the order of the calls.
	Used []Used `json:"used,omitempty"`
}

// Used is a tool that a call reached, by whatever name the model called it.
type Used struct {
	Tool string `json:"tool"`
	// Failed says that the call did not do what it was asked to.
	Failed bool `json:"failed,omitempty"`
}

// Select makes the selection of a turn without running it.
func (r *Runner) Select(ctx context.Context, in Input) *selection.Selection {
	return r.choose(ctx, r.selector(), r.know(in))
}

// choose selects. When the recommender is unsure, the chooser is asked first.
func (r *Runner) choose(ctx context.Context, s *selection.Selector, in Input) *selection.Selection {
	req := r.request(s, in)
	req.Vector = r.vector(ctx, in.Text, in.Again)
	sel := s.Select(req)
	if r.config.Chooser == nil {
		return sel
	}
	candidates := sel.Unsure()
	if len(candidates) == 0 {
		return sel
	}
	req.Preferred, req.Advice = r.config.Chooser.choose(ctx, in.Text, candidates, in.Again)
	return s.Select(req)
}

func (r *Runner) vector(ctx context.Context, text string, again bool) []float32 {
	if r.config.Embedder == nil {
		return nil
	}
	return r.config.Embedder.Vector(ctx, text, again)
}

func (r *Runner) request(s *selection.Selector, in Input) selection.Request {
	in.Facts.Skill = in.skill()
	info := r.model.Info()
	req := selection.Request{
		Facts: in.Facts, Query: in.Text, History: in.Session.Messages, Groups: in.Groups,
		Include: in.Options.IncludeTools, Exclude: in.Options.ExcludeTools,
		IncludeSkills: in.Options.IncludeSkills, ExcludeSkills: in.Options.ExcludeSkills,
		Limit: in.Limit, Budget: in.Budget, Window: info.Window,
		Mode: in.Mode, Native: info.Deferral, Uncached: info.CacheLife == 0,
		Began: selection.Mode(in.Session.Front.Mode), Declared: in.Session.Declared, Announced: announced(in.kept),
		Cold: in.cold != "", Called: called(in.kept), SkillList: in.Session.SkillList,
	}
	if s.Recommends() {
		req.Used = uses(in.Session.Messages)
	}
	return req
}

// Run runs a turn and yields what happens. The last event is Done, unless an
// error, yielded with a zero Event, came first: then the model failed or ctx
// ended, and what was yielded as Step stands. A tool's failure is not an error:
// the model is told. When the caller stops ranging, the model and the running
// calls are cancelled.
func (r *Runner) Run(ctx context.Context, in Input) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		t := r.begin(ctx, in, yield)
		for t.running() {
			answer, ok := t.ask()
			if !ok {
				return
			}
			if len(answer.Calls) == 0 {
				t.finish(answer)
				return
			}
			if !t.call(answer) {
				return
			}
		}
		t.giveUp()
	}
}

// run is one turn under way.
type run struct {
	*Runner
	ctx      context.Context //nolint:containedctx // a run lives as long as the call of Run that made it
	in       Input
	yield    func(Event, error) bool
	selector *selection.Selector
	selected *selection.Selection
	state    session.State
	prompt   prompt.Prompt
	done     Done
	stopped  bool
	begun    time.Time
	shown    int // bytes of pictures
}

// begin selects, builds the prompt and yields both.
func (r *Runner) begin(ctx context.Context, in Input, yield func(Event, error) bool) *run {
	t := &run{Runner: r, ctx: tool.WithHost(ctx, tool.Host{Facts: in.Facts}), in: in, yield: yield, selector: r.selector(), begun: time.Now()}
	question := t.open()
	t.logHidden()
	if err := t.prompts(in.Session.Messages, question); err != nil {
		t.fail(err)
		return t
	}
	question.Why = t.why()
	t.account(broke(t.in.cold, in.Session.State, t.state))
	t.emit(Event{Selection: t.selected})
	t.emit(Event{Step: &Step{t.state, []chat.Message{question}}})
	return t
}

// open selects, and makes the state and the message that the turn begins with.
func (t *run) open() chat.Message {
	t.in = t.know(t.in)
	t.selected = t.choose(t.ctx, t.selector, t.in)
	t.state = t.advance(t.in, t.selected)
	question := prompt.NewMessage(t.in.Text, t.withInstructions(t.note()), t.selected.Request.Facts, t.selected.Announced, t.in.Options)
	question.Note = t.config.Secrets.Redactor().Text(question.Note) // of what servers and skills say of their tools
	t.state.Front.First = first(t.in, question)
	return question
}

// prompts builds the prompt, with the directory and the skills as the state has
// them.
func (t *run) prompts(history []chat.Message, question chat.Message) (err error) {
	opts := t.in.Options
	opts.Directory, opts.SkillList = t.state.Directory, &t.selected.SkillList
	t.prompt, err = t.Runner.prompt.BuildMessagesWithOptions(t.selector.Catalog(), history, question, opts)
	t.prompt.System = t.cleanSystem(opts.Strategy, t.prompt.System)
	t.state.Front.System = hash(t.prompt.System)
	return err
}

// running reports whether the turn may ask the model once more.
func (t *run) running() bool { return !t.stopped && t.done.Steps < t.config.MaxSteps }

// emit yields an event, and reports whether the turn goes on.
func (t *run) emit(e Event) bool {
	if !t.stopped && !t.yield(e, nil) {
		t.stopped = true
	}
	return !t.stopped
}

func (t *run) fail(err error) {
	if !t.stopped {
		t.stopped = true
		t.yield(Event{}, t.config.Secrets.Redactor().Error(err))
	}
}

// ask asks the model and yields its words as they come.
func (t *run) ask() (answer chat.Message, ok bool) {
	t.done.Steps++
	answer.Role = chat.Assistant
	for e, err := range t.model.Stream(t.ctx, t.question()) {
		if err != nil {
			t.fail(err)
			return answer, false
		}
		if e.Text != "" {
			answer.Text += e.Text
			if !t.emit(Event{Text: e.Text}) {
				return answer, false
			}
		}
		if e.Call != nil {
			answer.Calls = append(answer.Calls, *e.Call)
		}
		if e.Usage != nil {
			t.done.Usage.Add(*e.Usage)
		}
		if e.Stop != "" {
			t.done.Stop = e.Stop
		}
	}
	return answer, true
}

// question is what the model is asked in this step.
func (t *run) question() model.Request {
	req := model.Request{System: t.prompt.System, Messages: t.prompt.Messages}
	for _, e := range t.selected.Declared {
		req.Tools = append(req.Tools, e.Definition)
	}
	for _, e := range t.selected.Deferred {
		req.Deferred = append(req.Deferred, e.Definition)
	}
	for _, m := range t.selected.Ranked {
		if m.Score == 0 {
			continue // nothing in the message speaks for it, only that it was used lately
		}
		req.Ranked = append(req.Ranked, m.Definition.Name)
	}
	return req
}

// remember makes messages part of the conversation.
func (t *run) remember(messages ...chat.Message) bool {
	t.prompt.Messages = append(t.prompt.Messages, messages...)
	t.touch()
	return t.emit(Event{Step: &Step{t.state, withoutImages(messages)}})
}

func (t *run) finish(answer chat.Message) {
	t.done.Reply = answer.Text
	if t.remember(answer) {
		t.emit(Event{Done: &t.done})
	}
}

// giveUp ends a turn that has asked the model as often as it may.
func (t *run) giveUp() {
	if t.stopped {
		return
	}
	text := fmt.Sprintf("I stopped after %d steps without coming to an end.", t.done.Steps)
	t.config.Log.WarnContext(t.ctx, "turn reached its limit of steps", "session", t.in.Session.Key, "steps", t.done.Steps)
	t.emit(Event{Text: text})
	t.finish(chat.Message{Role: chat.Assistant, Text: text})
}

// why sums the selection up, for operators: to be stored with the question.
func (t *run) why() json.RawMessage {
	raw, err := json.Marshal(t.selected.Compact())
	if err != nil { // it holds names and numbers only
		t.config.Log.ErrorContext(t.ctx, "the selection is not stored", "error", err, "session", t.in.Session.Key)
		return nil
	}
	t.config.Log.DebugContext(t.ctx, "tools selected", "selection", string(raw), "session", t.in.Session.Key)
	return raw
}

// maxLogged is how many rules and filters that failed a turn logs. All are counted.
const maxLogged = 5

// logHidden tells operators what this caller was not shown, and why.
func (t *run) logHidden() {
	failed := t.selected.Failed()
	for _, err := range failed[:min(len(failed), maxLogged)] {
		t.config.Log.ErrorContext(t.ctx, "visibility could not be judged, the tools are hidden", "error", err, "session", t.in.Session.Key)
	}
	if more := len(failed) - maxLogged; more > 0 {
		t.config.Log.ErrorContext(t.ctx, "more rules or filters failed", "more", more, "session", t.in.Session.Key)
	}
	if !t.config.Log.Enabled(t.ctx, slog.LevelDebug) {
		return
	}
	for _, v := range t.selected.Explain().Tools {
		if !v.Stage.Usable() {
			t.config.Log.DebugContext(t.ctx, "tool hidden", "tool", v.Tool, "stage", v.Stage.String(), "reason", v.Reason, "user", t.in.Facts.User, "channel", t.in.Facts.Channel)
		}
	}
}
