// Package turn runs one message to one reply: select, ask, call, repeat.
//
// A turn is what its stored steps say. Everything that becomes part of the
// conversation leaves the turn as a [Step] before the next step begins, and
// [Runner.Run] goes on from whatever the steps of a session tell: see [PhaseOf]. So a
// turn outlives the process that began it, and nothing that was finished runs twice.
//
// A [Runner] is safe for concurrent use, but the turns of one session must run
// one after the other; package engine sees to that. A turn holds one catalog
// from its selection to its last call: a tool that was replaced meanwhile is called as
// it was. A tool that was removed, or is hidden from the caller now, is not called
// any more.
package turn

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"iter"
	"log/slog"
	"math"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/etui-run/etui/audit"
	"github.com/etui-run/etui/catalog"
	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/chooser"
	"github.com/etui-run/etui/clienttool"
	"github.com/etui-run/etui/identity"
	"github.com/etui-run/etui/internal/panics"
	"github.com/etui-run/etui/model"
	"github.com/etui-run/etui/phrase"
	"github.com/etui-run/etui/prompt"
	"github.com/etui-run/etui/rank"
	"github.com/etui-run/etui/rules"
	"github.com/etui-run/etui/secret"
	"github.com/etui-run/etui/selection"
	"github.com/etui-run/etui/session"
	"github.com/etui-run/etui/tool"
	"github.com/etui-run/etui/turn/internal/desk"
	"github.com/etui-run/etui/turn/internal/offered"
	"github.com/etui-run/etui/turn/internal/repeat"
	"github.com/etui-run/etui/workflow"
)

// Config says how turns run. Zero values have sensible limits.
type Config struct {
	// MaxSteps is how often a turn asks the model; 0 means 16. A turn that
	// reaches it ends with a reply that says so.
	MaxSteps int
	// CallTimeout is how long a call may take whose tool has no Timeout of its own; 0
	// means a minute. A call that takes longer fails, and the model reads that.
	CallTimeout time.Duration
	// Parallel is how many read-only calls run at once; 0 means 8.
	Parallel int
	// MaxResult is how many bytes of a result the model reads; 0 means 32 KiB. Of a
	// longer one it reads the beginning, the end, and how much is missing.
	MaxResult int
	// MaxSkill is how many bytes of a skill's instructions, or of a file beside them,
	// the model reads; 0 means 64 KiB. The rest is cut, and the text says so.
	MaxSkill int
	// Summarizer writes the summaries of what a conversation has become too long to
	// send; nil means the model that answers. Without a language model, and for
	// conversations that nobody stores, a summary is an extract.
	Summarizer model.Model
	// Decide judges each call before it runs, on the tool that the call reaches by
	// whatever name, with arguments that fit the tool's schema. Any answer but allow
	// refuses the call. Decide may wait for as long as CallTimeout, before the
	// call's own time begins, and must be safe for concurrent use. Nil allows every call, and so does the Decide method of a nil
	// [rules.Rules].
	Decide func(ctx context.Context, a rules.Attempt) rules.Decision
	// Approvals makes a call that Decide answers with ask wait for an answer, as long
	// as that takes: the turn ends for now. Without it such a call is refused.
	Approvals bool
	// Expire is how long a call waits for an answer; 0 means as long as it takes. The host
	// answers for the people then.
	Expire time.Duration
	// Granted returns why a call that Decide answers with ask may run all the same: a
	// lasting approval of a tool, whose definition has a hash, for a caller. Nil means that
	// there are none.
	Granted func(ctx context.Context, caller chat.Facts, tool, hash string) (reason string, ok bool)
	// Audit records each decision about a call, with the arguments. It must return at
	// once and be safe for concurrent use. Nil records nothing.
	Audit func(d audit.Decision, args json.RawMessage)
	// Secrets are redacted from what tools return before the model, the user or a store sees it.
	// The words of a model are streamed unchanged: it never saw a secret. Nil knows none.
	Secrets *secret.Set
	// Chooser decides which tools and skills come first when the recommender's rules
	// are unsure; nil leaves it to the rules.
	Chooser *chooser.Chooser
	// Models are the models that phases of workflows may name.
	Models map[string]model.Model
	// Embedder returns the meaning of questions as vectors; nil ranks by words alone.
	Embedder Embedder
	// Tracer makes a span of each call that runs; nil makes none.
	Tracer trace.Tracer
	// Log receives operational messages; nil discards them.
	Log *slog.Logger
}

// Embedder returns the vector of a question, or nil when it has none in time. With
// again set it makes no request and uses only what it has cached.
type Embedder interface {
	Vector(ctx context.Context, text string, again bool) []float32
}

// Runner runs turns for one agent.
type Runner struct {
	model    model.Model
	selector func() *selection.Selector
	prompt   *prompt.Builder
	config   Config
	broken   *breaks
	offers   *offered.Chooser
	others   sync.Map                                     // of *Runner, by the models that phases name
	learned  atomic.Int64                                 // the model's window, as the provider stated it; 0 when it did not
	clean    [prompt.Custom + 1]atomic.Pointer[cleanText] // by strategy: the last system prompt
}

// New returns a runner that asks m. It gets a selector for each turn, so that a turn
// works with the catalog of its beginning.
func New(m model.Model, selector func() *selection.Selector, p *prompt.Builder, cfg Config) *Runner {
	cfg.MaxSteps = cmp.Or(cfg.MaxSteps, 16)
	cfg.CallTimeout = cmp.Or(cfg.CallTimeout, time.Minute)
	cfg.Parallel = cmp.Or(cfg.Parallel, 8)
	cfg.MaxResult = cmp.Or(cfg.MaxResult, 32<<10)
	cfg.MaxSkill = cmp.Or(cfg.MaxSkill, 64<<10)
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	return &Runner{model: m, selector: selector, prompt: p, config: cfg, broken: &breaks{}, offers: offered.New()}
}

// Input is one message and everything that its turn may use.
type Input struct {
	// Session is the conversation so far.
	Session session.Session
	// Earlier are messages of other conversations, whose calls count as made before those of Session.
	Earlier []chat.Message
	// Facts are about the caller. Facts.Skill, when empty, is taken from the
	// session.
	Facts chat.Facts
	// Current returns what is known of the caller while a catalog is in effect: User,
	// Roles, Groups and Attrs, in place of those in Facts. A call must be allowed by what
	// was current when the turn began and by what is current when it is made. Nil means
	// that nothing changes.
	Current func(now *catalog.Catalog) chat.Facts
	// Text is the message.
	Text string
	// Files are the pictures of the message, with their bytes.
	Files []chat.File
	// File returns the bytes of an earlier message's picture by its SHA256; nil means
	// that there are none. A picture whose bytes it cannot return is described in words.
	File func(ctx context.Context, sha256 string) ([]byte, error)
	// Outcome, instead of a text, is the result of a call that went on after its turn.
	Outcome *Outcome
	// Answers, instead of a text, are what people say about the calls that await
	// approval.
	Answers []session.Answer
	// Request is the host's own record of the message, from which it can build this
	// Input again. It is stored with the turn. An Input without text, outcome and
	// answers resumes the session's open turn.
	Request json.RawMessage
	// Left says that the open turn was left in order, and not because its process ended: that
	// it is resumed does not count.
	Left bool
	// Crashed says that a process ended unexpectedly while it worked on the message, so that this
	// turn looks for the call that ends it: calls run one by one, and each is stored first.
	Crashed bool
	// Item is the ID of the message in the host's inbox; 0 means none. It is stored with
	// the turn.
	Item int64
	// Unstored marks a conversation whose steps nobody stores. No call can wait there, unless the host
	// stores the conversation then, which Aside says.
	Unstored, Aside bool
	// Groups limits the agent to tools of these groups, as in "file,shell"; empty means
	// all.
	Groups string
	// Bounds are further callers, each of whom must be able to use a tool or skill, too, and
	// is asked by the policy in their place: those in whose names a sub-agent works. The
	// person is the same for all: see Current.
	Bounds []selection.Bound
	// MaxSteps, above zero, bounds the turn instead of the [Config]; MaxTokens, above zero, is
	// how many tokens it may use, as the provider counts them, with the turns before it that took
	// up results of sub-agents. A turn that reaches one
	// of them ends with a reply that says so.
	MaxSteps, MaxTokens int
	// Client are the tools of the client that brought the message. While a workflow runs, the
	// model does not see them. Results are those of the calls that the turn has handed to the
	// client and that wait for them.
	Client  clienttool.Offer
	Results []chat.Result
	// Plan is the workflow that the session's Flow runs; nil when none runs.
	Plan *workflow.Plan
	// Unasked makes a tool's question to the user fail: nobody would read it.
	Unasked bool
	// Options choose the strategy and limit the tools and skills.
	Options prompt.Options
	// Limit and Budget override the selection's when above zero, Mode when not
	// empty.
	Limit, Budget int
	Mode          selection.Mode
	// Settings are how the model's answers are to be.
	Settings model.Settings
	// Again marks a message that was begun or answered before. Its selection makes no
	// requests and uses only what is cached.
	Again bool
	// Steer returns what the sender wrote since the turn began, to be taken into it. It is
	// called between two rounds. Nil means that nothing is taken in.
	Steer func() []Interjection
	// Late receives the outcome of a call that goes on after its turn. It may be called
	// at any time, from any goroutine. Nil makes tools finish before they return, and so
	// does a workflow that runs.
	Late func(call chat.Call, result chat.Result)

	kept    []chat.Message // of the session: what is still sent
	stored  []chat.Message // the same, as the store has it
	dropped []chat.Message // what is not sent any more since the last turn
	cut     int            // how many more messages of the session are not sent since the last turn
	cold    Break          // why the provider's cache has nothing of it; empty when it has
}

// Event is something that happens in a turn. Exactly one field is set.
type Event struct {
	// Selection is the turn's selection; it comes first.
	Selection *selection.Selection
	// Text continues the reply, or what the model says before a call.
	Text string
	// Thought is that of [model.Event].
	Thought json.RawMessage
	// Call is about to run.
	Call *chat.Call
	// Await is a call for which the turn waits.
	Await *session.Await
	// Progress is how far a running call has come.
	Progress *Progress
	// Result is what a call gave.
	Result *chat.Result
	// Phase is how far a workflow has come. It comes when a phase begins, before each
	// question to the model, and when the run ends.
	Phase *PhaseEvent
	// Step has become part of the conversation. Store it before the next event is read.
	Step *Step
	// Done ends the turn.
	Done *End
}

// Progress is how far a running call has come.
type Progress struct {
	CallID string `json:"call_id"`
	tool.Progress
}

// Step is a piece of the conversation that is complete: the question, a reply, a
// round of calls with all their results, or, when a call of the round must not run
// twice, first the calls and then each result. A step without messages changes the
// state alone.
type Step struct {
	State    session.State
	Messages []chat.Message
	// Done or Failed is set in the last step: how the turn ends, or that it waits. The
	// same comes again as an event, or as an error, once the step is stored.
	Done   *End
	Failed error
	// Taken is the ID of the message in the host's inbox that the step takes into the
	// turn; 0 means none.
	Taken int64
}

// Interjection is a message that came while the turn of an earlier one ran, and is taken into
// that turn. Item is its ID in the host's inbox. Skill, when not nil, is the toolset that a
// person chose for all phases of the workflow that runs; empty gives each phase its own again.
type Interjection struct {
	Text  string
	Skill *string
	Item  int64
}

// End tells how a turn ended.
type End struct {
	// Reply is the answer to the user.
	Reply string `json:"reply"`
	// Stop says why the model's last answer ended.
	Stop model.Stop `json:"stop"`
	// Ended is the stop that ended it, see [model.Event].
	Ended string `json:"-"`
	// Usage adds up the tokens that the provider counted.
	Usage model.Tokens `json:"usage"`
	// Logprobs is what it says of each token of the last answer, see [model.Event].
	Logprobs []json.RawMessage `json:"-"`
	// Awaits are the calls that await approval. The turn is still open then and has no
	// reply yet.
	Awaits []session.Await `json:"awaits,omitempty"`
	// Handed are calls of the client's tools, for whose results the turn waits. It is still open
	// then, and Reply is what the model said before them.
	Handed []chat.Call `json:"handed,omitempty"`
	// State and StateOf are those of the message that made the Handed calls, see [chat.Message.State].
	State   json.RawMessage `json:"-"`
	StateOf string          `json:"-"`
	// Stopped reports that a person ended the turn; Reply says what was done before.
	Stopped bool `json:"stopped,omitempty"`
	// Taken reports that the message was taken into the turn of an earlier one, whose
	// reply answers both.
	Taken bool `json:"taken,omitempty"`
	// Steps is how often the model was asked, Calls how many calls ran, and Empty how many answers said
	// nothing.
	Steps int `json:"steps"`
	Calls int `json:"calls"`
	Empty int `json:"empty,omitempty"`
	// CacheBreaks are the reasons why the provider's prompt cache could not be used;
	// none when it could.
	CacheBreaks []Break `json:"cache_breaks,omitempty"`
	// Used are the tools that the calls reached, in the order of the calls.
	Used []ToolUse `json:"used,omitempty"`
	// Flow is the run of a workflow in the session, as the turn left it, without its
	// evidence; nil when there is none.
	Flow *session.Flow `json:"flow,omitempty"`
	// Skill is the toolset that is active at the end, unless it is hidden from the caller, and Tokens what its tools cost in
	// the turn's last request, and what that saved.
	Skill  string           `json:"skill"`
	Tokens selection.Tokens `json:"tokens"`
}

// ToolUse is a tool that a call reached, by whatever name the model called it.
type ToolUse struct {
	Tool string `json:"tool"`
	// Failed reports that the call did not do its work.
	Failed bool `json:"failed,omitempty"`
	// Version is the hash of its definition, see [catalog.Registration.Hash].
	Version string `json:"-"`
	// Searches are the queries of the turn that found it before the call.
	Searches []string `json:"-"`
}

// Select makes the selection of a turn without running it.
func (r *Runner) Select(ctx context.Context, in Input) *selection.Selection {
	t := r.newRun(ctx, in, ignore)
	t.flow.takePhase()
	return t.front.choose(t.front.runner.know(t.conv.in))
}

// Replay returns the message of a turn and the state after it without running the turn.
// Clients that send the whole conversation with every request need it.
func (r *Runner) Replay(ctx context.Context, in Input) (chat.Message, session.State) {
	t := r.newRun(ctx, in, ignore)
	question := t.open()
	return question, t.conv.state
}

// choose selects. When the recommender is unsure, the chooser is asked first.
func (r *Runner) choose(ctx context.Context, s *selection.Selector, in Input) *selection.Selection {
	req := r.request(s, in)
	req.Vector = r.vector(ctx, rank.Divide(in.Text).Request, in.Again)
	sel := s.Select(req)
	if r.config.Chooser == nil {
		return sel
	}
	candidates := sel.Unsure()
	if len(candidates) == 0 {
		return sel
	}
	req.Preferred, req.Advice = r.config.Chooser.Choose(ctx, in.Text, candidates, in.Again)
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
	facts, bounds, _ := in.people().at(s.Catalog(), in.Facts)
	info := r.model.Info()
	req := selection.Request{
		Bounds: bounds, Facts: facts, Query: in.Text, History: in.Session.Messages, Groups: in.Groups,
		Include: in.Options.IncludeTools, Exclude: in.Options.ExcludeTools,
		IncludeSkills: in.Options.IncludeSkills, ExcludeSkills: in.Options.ExcludeSkills,
		Limit: in.Limit, Budget: in.Budget, Window: r.window(),
		Mode: in.Mode, Native: info.Deferral, Uncached: info.CacheLife == 0,
		Began: selection.Mode(in.Session.Front.Mode), Declared: in.Session.Declared, Announced: announced(in.kept),
		Cold: in.cold != "", Called: called(in.kept), SkillList: in.Session.SkillList,
		Phase: in.Session.Flow.Place(), Held: in.Session.Front.Held && in.cold == "",
	}
	req.Used = append(uses(in.Earlier), uses(in.Session.Messages)...)
	return req
}

// Run runs a turn, or resumes the open one of a session, and yields what happens. The
// last event is Done. If the model fails or ctx ends, an error comes instead, with a
// zero Event, and the turn ends with the steps that it yielded. A failing tool is not
// an error: the model reads the failure as a result. When the caller stops ranging, Run
// cancels the model and the running calls, and the turn stays open.
func (r *Runner) Run(ctx context.Context, in Input) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		t := r.begin(ctx, &in, yield)
		for t.running() {
			if t.calls.round == nil {
				if !t.flow.proceed() {
					return
				}
				answer, ok := t.ask()
				if !ok {
					return
				}
				if len(answer.Calls) == 0 && t.conv.flows() {
					if !t.flow.reply(answer) || !t.steer() {
						return
					}
					continue
				}
				if len(answer.Calls) == 0 {
					t.conv.finish(answer)
					return
				}
				t.calls.intend(answer)
			}
			if !t.calls.run() || !t.steer() {
				return
			}
		}
		t.giveUp()
	}
}

// run is a turn in progress. Each of its parts knows those before it, and none after it.
type run struct {
	conv  *conversation
	front *front
	flow  *flow
	calls *calls
}

// ignore takes the events of a turn that is not run.
func ignore(Event, error) bool { return true }

// newRun returns a turn that has selected nothing yet.
func (r *Runner) newRun(ctx context.Context, in Input, yield func(Event, error) bool) *run {
	c := &conversation{config: &r.config, ctx: ctx, in: in, was: in.Session.State, yield: yield, begun: time.Now()}
	f := &front{conv: c, runner: r, selector: r.selector()}
	if !c.flows() {
		f.desk = clienttool.NewDesk(in.Client, f.owns)
	}
	w := &flow{conv: c, front: f, agent: r}
	return &run{conv: c, front: f, flow: w, calls: &calls{conv: c, front: f, flow: w, meta: metaTools{c, f}, desk: desk.New(r.model)}}
}

// begin selects, builds the prompt and yields both.
func (r *Runner) begin(ctx context.Context, in *Input, yield func(Event, error) bool) *run {
	t := r.newRun(tool.WithHost(ctx, tool.Host{Facts: in.Facts}), *in, yield)
	c, f := t.conv, t.front
	c.waits = r.config.Approvals && (!in.Unstored || in.Aside)
	t.flow.takePhase()
	if in.resumes() {
		t.resume()
		return t
	}
	left := t.settle()
	question := t.open()
	if c.stopped {
		return t
	}
	c.state.Turn = session.Turn{ID: rand.Text(), Request: in.Request, Item: in.Item}
	f.logHidden()
	sent, err := f.build(c.in.kept, question)
	if err != nil {
		c.fail(err)
		return t
	}
	c.sent = sent
	f.show()
	question.Why = f.why()
	f.account(broke(c.in.cold, in.Session.State, c.state))
	c.emit(Event{Selection: f.selected})
	c.state.Sent = len(c.in.stored) - len(left)
	c.next.Messages, c.own = append(left, question), []chat.Message{question}
	c.opened = true
	// Others look for a session, an approval that is void, and a workflow.
	if c.in.Outcome != nil && c.in.Outcome.Waited {
		t.calls.takeUp(c.in.Outcome.Call)
	} else if len(c.in.stored) == 0 || len(left) > 0 || c.flows() {
		c.store()
	}
	return t
}

// open selects, and makes the state and the message that the turn begins with.
func (t *run) open() chat.Message {
	c, f := t.conv, t.front
	c.in = f.runner.know(c.in)
	c.before = c.in.stored
	f.summarize()
	f.take(c.in, f.choose(c.in))
	_, announced, named := f.offered.Add(nil, f.selected.Announced, f.selected.Named)
	note := f.withInstructions(f.note())
	question := prompt.NewMessage(c.in.Text, note, f.selected.Request.Facts, announced, named, c.in.Options)
	question.Note = below(question.Note, t.flow.phaseNote())
	question.Files = c.in.Files
	if c.in.Outcome != nil && c.in.Outcome.System {
		question.Channel = identity.System
	} else {
		c.state.Spawned, c.state.Tokens = 0, 0
	}
	question.Note = c.config.Secrets.Redactor().Text(question.Note) // of what servers and skills say of their tools
	c.state.Front.First = first(c.in, question)
	return question
}

// running reports whether the turn has calls to run, or may ask the model once more.
func (t *run) running() bool {
	return !t.conv.stopped && (t.calls.round != nil || t.conv.done.Steps < t.maxSteps() && !t.conv.spent() && !t.stuck())
}

// stuck reports whether the model repeats itself outside a workflow, which has its own limits.
func (t *run) stuck() bool { return !t.conv.flows() && repeat.Stuck(t.conv.own) }

func (t *run) maxSteps() int {
	c := t.conv
	if c.in.MaxSteps <= 0 && c.flows() {
		return math.MaxInt // the workflow has limits of its own
	}
	return cmp.Or(max(c.in.MaxSteps, 0), c.config.MaxSteps)
}

// maxShrinks is how often a request is tried again with less when it is too long. Once
// will do where the provider states the window.
const maxShrinks = 4

// ask asks the model and yields its words as they come.
func (t *run) ask() (answer chat.Message, ok bool) {
	c := t.conv
	c.done.Steps++
	t.front.fit()
	defer t.flow.answered()
	answer, err := t.listen()
	for n := 0; n < maxShrinks && err != nil && answer.Text == "" && t.front.shrink(err); n++ {
		answer, err = t.listen()
	}
	for tries := 1; err == nil && silent(answer) && !c.stopped && c.ctx.Err() == nil; tries++ {
		c.config.Log.WarnContext(c.ctx, "the model gave an empty answer", "stop", c.done.Stop, "tries", tries, "session", c.in.Session.Key)
		c.done.Empty++
		if tries == 2 {
			answer.Text = model.Silence(c.done.Stop, chat.Chinese(c.in.Text))
			c.emit(Event{Text: answer.Text})
			break
		}
		answer, err = t.listen()
	}
	switch {
	case err != nil && c.halted():
		c.halt(answer.Text)
	case err != nil:
		c.fail(err)
	case c.stopped:
	case c.suspended(): // the answer may be cut off
		c.fail(context.Cause(c.ctx))
	default:
		return answer, true
	}
	return answer, false
}

// silent reports whether an answer says nothing and calls nothing.
func silent(answer chat.Message) bool {
	return strings.TrimSpace(answer.Text) == "" && len(answer.Calls) == 0
}

// listen reads an answer of the model to its end, unless the caller stops ranging.
func (t *run) listen() (answer chat.Message, err error) {
	c := t.conv
	answer.Role = chat.Assistant
	began := time.Now()
	for e, err := range t.front.runner.model.Stream(c.ctx, t.front.question()) {
		if err != nil {
			return answer, err
		}
		if e.Text != "" {
			answer.Text += e.Text
			if !c.emit(Event{Text: e.Text}) {
				return answer, nil
			}
		}
		if len(e.Thought) > 0 && !c.emit(Event{Thought: e.Thought}) {
			return answer, nil
		}
		if e.Call != nil {
			answer.Calls = append(answer.Calls, t.front.called(*e.Call))
		}
		if e.Usage != nil {
			info := t.front.runner.model.Info()
			c.charge(*e.Usage, info.Price)
			answer.Spent = model.ExpenseOf(info, *e.Usage, c.done.CacheBreaks, began)
		}
		if e.Stop != "" {
			c.done.Ended = e.Ended
			c.done.Stop, c.done.Logprobs, answer.State, answer.StateOf = e.Stop, e.Logprobs, e.State, e.StateOf
		}
	}
	return answer, nil
}

// steer takes in what the sender wrote during the round. It reports whether the turn goes
// on.
func (t *run) steer() bool {
	c := t.conv
	if c.in.Steer == nil {
		return true
	}
	for _, said := range c.in.Steer() {
		c.next.Taken = said.Item
		if said.Skill != nil {
			if !t.flow.choose(*said.Skill) {
				return false
			}
			c.next.Taken = 0
			continue
		}
		m := prompt.NewMessage(said.Text, "The user wrote this while you worked.",
			t.front.selected.Request.Facts, nil, nil, c.in.Options)
		m.Time = time.Now()
		c.state.Turn.Steps, c.state.Turn.Calls = c.done.Steps, c.called
		if !c.remember(m) {
			return false
		}
		c.next.Taken = 0
	}
	return true
}

// giveUp ends a turn that has asked the model as often as it may.
func (t *run) giveUp() {
	c := t.conv
	if c.stopped {
		return
	}
	text := phrase.In(c.in.Facts.Language, "I stopped after %d steps without coming to an end.", c.done.Steps)
	if t.stuck() {
		text = repeat.Reply(chat.Chinese(c.in.Text))
	} else if c.spent() {
		text = phrase.In(c.in.Facts.Language, "I stopped without coming to an end: I used %d tokens, and may use %d.",
			c.state.Tokens, c.in.MaxTokens)
	}
	c.config.Log.WarnContext(c.ctx, "turn reached its limit",
		"session", c.in.Session.Key, "steps", c.done.Steps, "tokens", c.state.Tokens)
	c.emit(Event{Text: text})
	c.finish(chat.Message{Role: chat.Assistant, Text: text})
}

// panicked logs what was recovered, as a failure of a session's turn.
func (c *Config) panicked(key session.Key, doing string, p any) {
	if e, ok := p.(*catalog.PanicError); ok {
		p = &panics.Error{Value: e.Value, Stack: e.Stack}
	}
	_ = panics.Report(c.Log.With("session", key), doing, p) // it is logged
}
