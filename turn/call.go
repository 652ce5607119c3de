package turn

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/etui-run/etui/audit"
	"github.com/etui-run/etui/catalog"
	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/internal/nearjson"
	"github.com/etui-run/etui/internal/panics"
	"github.com/etui-run/etui/selection"
	"github.com/etui-run/etui/selection/meta"
	"github.com/etui-run/etui/session"
	"github.com/etui-run/etui/tool"
	"github.com/etui-run/etui/turn/internal/desk"
	"github.com/etui-run/etui/turn/internal/repeat"
	"github.com/etui-run/etui/workflow"
)

// calls makes the calls of a turn's rounds and stores their results.
type calls struct {
	conv  *conversation
	front *front
	flow  *flow
	meta  metaTools
	desk  *desk.Desk
	round *round              // the calls in progress; nil when the model's answer comes next
	found map[string][]string // by tool: the queries of the turn's searches that found it
	shown int                 // bytes of the pictures of results
	given int                 // bytes of the files of results
}

// round is the calls of one answer of the model.
type round struct {
	answer chat.Message
	stored bool   // the answer is, because some call must not run twice
	jobs   []*job // those without a stored result
}

// job is a call with the tool that it reaches.
type job struct {
	call   chat.Call      // as the model wrote it
	key    string         // of the call, in every process that runs the turn
	broken bool           // the process ended while the call may have run
	awaits *session.Await // what it waits for; nil if for nothing
	entry  *catalog.Entry
	meta   func(args json.RawMessage) chat.Result // instead of an entry
	alone  bool                                   // nothing may run beside it
	whole  bool                                   // the result has a limit of its own
	args   json.RawMessage
	result chat.Result         // set when done
	err    error               // why it failed, where more than the result is known
	found  map[string][]string // of a search: the queries that found each tool
}

// intend begins the round of an answer's calls. It stores the answer before the first
// call runs, unless all calls may run twice.
func (c *calls) intend(answer chat.Message) {
	c.conv.state.Turn.Once, c.conv.state.Turn.Marked = nil, nil
	safe := true
	repairing, done := context.WithTimeout(c.conv.ctx, maxRepairing)
	defer done()
	for i := range answer.Calls {
		if answer.Calls[i].Client {
			answer.Calls[i].ID = c.conv.in.Client.NewID()
			answer.Calls[i].Arguments = nearjson.Valid(repairing, answer.Calls[i].Arguments)
			continue
		}
		// Some models leave IDs out, and some number each answer anew, but a result must
		// find its call.
		if id := answer.Calls[i].ID; id == "" || c.conv.used(id) || usedBefore(answer.Calls[:i], id) {
			answer.Calls[i].ID = c.conv.newID(answer.Calls, i)
		}
		answer.Calls[i].Arguments = nearjson.Valid(repairing, answer.Calls[i].Arguments)
		replay := repeats(c.front.selector.Catalog(), answer.Calls[i])
		safe = safe && replay == tool.Safe
		if replay == tool.Never {
			c.conv.state.Turn.Once = append(c.conv.state.Turn.Once, answer.Calls[i].ID)
		}
	}
	c.round = &round{answer: answer, jobs: c.jobs(answer.Calls)}
	if !safe {
		c.keepIntent()
	}
}

// jobs makes the jobs of a round's calls, but for those of the client's tools. A call's key is the
// turn's ID and the call's position in the turn.
func (c *calls) jobs(calls []chat.Call) []*job {
	jobs := make([]*job, 0, len(calls))
	for i, call := range calls {
		if !call.Client {
			jobs = append(jobs, &job{call: call, key: fmt.Sprintf("%s-%d", c.conv.state.Turn.ID, c.conv.called+i+1)})
		}
	}
	c.conv.called += len(calls)
	return jobs
}

// repeats returns how a call may be repeated. A call that reaches no tool runs nothing
// and is safe.
func repeats(tools *catalog.Catalog, c chat.Call) tool.Replay {
	if e, ok := tools.Get(reached(c)); ok {
		return e.Definition.Repeats()
	}
	return tool.Safe
}

// keepIntent stores the round's answer before its calls have results.
func (c *calls) keepIntent() {
	if !c.round.stored {
		c.round.stored = true
		c.conv.remember(c.round.answer)
	}
}

// run runs the round's calls and stores their results: neighbouring read-only calls in
// parallel, all others one by one and in order. It reports whether the turn goes on.
func (c *calls) run() bool {
	var results []chat.Message // not stored yet
	for rest := c.round.jobs; len(rest) > 0 && !c.conv.suspended(); {
		if c.conv.stopped || c.conv.ctx.Err() != nil {
			for _, j := range rest {
				results = append(results, answer(j.call, tool.Failure(notRun)))
			}
			break
		}
		batch := c.next(rest)
		rest = rest[len(batch):]
		if c.conv.careful() && batch[0].entry != nil && !batch[0].result.Failed {
			c.mark(batch)
		}
		c.runAll(batch)
		if c.conv.suspended() {
			break // what the batch did counts as unknown
		}
		for _, j := range batch {
			if j.awaits == nil {
				results = append(results, c.result(j))
			}
		}
		if slices.ContainsFunc(batch, func(j *job) bool { return j.awaits != nil }) {
			c.await(batch, results)
			return false
		}
		if c.round.stored && !c.conv.stopped {
			c.conv.remember(results...)
			results = nil
		}
	}
	if c.conv.suspended() {
		c.conv.fail(context.Cause(c.conv.ctx))
		return false
	}
	if handed := c.handed(); len(handed) > 0 {
		if !c.conv.stopped && c.conv.ctx.Err() == nil {
			c.handOver(handed, results)
			return false
		}
		for _, call := range handed {
			results = append(results, answer(call, tool.Failure(notRun)))
		}
	}
	if !c.round.stored {
		results = append([]chat.Message{c.round.answer}, results...)
	}
	c.round = nil
	if len(results) > 0 && !c.conv.remember(results...) || c.conv.stopped {
		return false
	}
	if err := c.conv.ctx.Err(); err != nil {
		c.conv.fail(err)
		return false
	}
	return true
}

// answer is the message that answers a call.
func answer(c chat.Call, r chat.Result) chat.Message {
	r.CallID, r.Name = c.ID, c.Name
	return chat.Message{Role: chat.Tool, Result: &r}
}

// next returns the jobs at the beginning of rest that run together.
func (c *calls) next(rest []*job) []*job {
	n, most := 1, c.conv.config.Parallel
	if c.conv.careful() {
		most = 1
	}
	for c.resolve(rest[0]); n < len(rest) && n < most && rest[n-1].together(); n++ {
		if c.resolve(rest[n]); !rest[n].together() {
			break
		}
	}
	return rest[:n]
}

// result makes the result of a job a message, and counts it.
func (c *calls) result(j *job) chat.Message {
	c.limitImages(&j.result)
	c.limitFiles(&j.result)
	c.conv.done.Calls++
	if j.entry != nil {
		name := j.entry.Definition.Name
		if c.conv.flows() {
			workflow.Observe(c.conv.state.Flow, name, j.result)
		}
		c.conv.done.Used = append(c.conv.done.Used,
			ToolUse{Tool: name, Failed: j.result.Failed, Version: j.entry.Hash(), Searches: c.found[name]})
	}
	for name, queries := range j.found {
		if c.found == nil {
			c.found = map[string][]string{}
		}
		c.found[name] = append(c.found[name], queries...)
	}
	if j.result.Pending {
		a := session.Await{Call: j.call.ID, Tool: reached(j.call), User: c.conv.in.Facts.Record(), For: session.Outcome}
		if j.result.Session != "" {
			a.For, a.Session = session.SubAgent, session.Key(j.result.Session)
			c.conv.state.Spawned++
		}
		c.conv.state.Awaits = append(c.conv.state.Awaits, a)
	}
	return chat.Message{Role: chat.Tool, Result: &j.result}
}

// used reports whether a call of the conversation has the ID.
func (c *conversation) used(id string) bool {
	return slices.ContainsFunc(c.state.Awaits, func(a session.Await) bool { return a.Call == id }) ||
		slices.ContainsFunc(c.sent, func(m chat.Message) bool { return usedBefore(m.Calls, id) })
}

// newID makes an ID that no call of the conversation has.
func (c *conversation) newID(calls []chat.Call, i int) string {
	for n := len(c.sent); ; n++ {
		if id := fmt.Sprintf("call_%d_%d", n, i+1); !c.used(id) && !usedBefore(calls, id) {
			return id
		}
	}
}

func usedBefore(calls []chat.Call, id string) bool {
	return slices.ContainsFunc(calls, func(c chat.Call) bool { return c.ID == id })
}

// together reports whether the job may run beside others: it only reads, and may run
// again after a crash. The others run one by one, so that at most one of them has an
// unknown outcome.
func (j *job) together() bool {
	return !j.alone && (j.entry == nil || j.entry.Definition.Risk == tool.Read && j.entry.Definition.Repeats() == tool.Safe)
}

// runAll runs jobs in parallel and yields their events from this goroutine.
func (c *calls) runAll(jobs []*job) {
	for _, j := range jobs {
		c.conv.emit(Event{Call: &j.call})
	}
	// Progress that comes faster than it is read is dropped.
	progress := make(chan Progress, 16)
	finished := make(chan *job, len(jobs))
	slow := time.NewTimer(markAfter)
	defer slow.Stop()
	exec := c.executor()
	defer func() { c.conv.charge(c.desk.TakeUsage(), c.front.runner.model.Info().Price) }()
	for _, j := range jobs {
		if j.meta != nil { // it changes the turn
			slow.Stop()
		}
		go func() {
			defer func() {
				if p := recover(); p != nil {
					c.conv.config.panicked(c.conv.in.Session.Key, "calling "+j.call.Name, p)
					j.result = tool.Failure("%s failed unexpectedly", j.call.Name)
					j.result.CallID, j.result.Name = j.call.ID, j.call.Name
				}
				finished <- j
			}()
			exec.do(c.conv.ctx, j, progress)
		}()
	}
	for running := len(jobs); running > 0; {
		select {
		case p := <-progress:
			c.conv.emit(Event{Progress: &p})
		case <-slow.C:
			c.markSlow(jobs)
		case j := <-finished:
			// Progress that was reported before the end comes before the result.
			for reported := len(progress); reported > 0; reported-- {
				p := <-progress
				c.conv.emit(Event{Progress: &p})
			}
			if j.awaits == nil {
				c.conv.emit(Event{Result: &j.result})
			}
			running--
		}
	}
}

// resolve finds the tool that a call reaches and decides whether the caller may use it,
// whatever the model was shown. A job without an entry already has its result or is one
// of the selection's own tools. Call it just before the job runs, because an earlier
// call may have switched the skill.
func (c *calls) resolve(j *job) {
	*j = job{call: j.call, key: j.key, broken: j.broken, args: j.call.Arguments}
	name := j.call.Name
	if name == selection.CallTool {
		var err error
		if name, j.args, err = meta.Target(j.call.Arguments); err != nil {
			d := audit.Decision{Tool: selection.CallTool, Stage: StageArguments, Reason: err.Error()}
			c.front.gate().record(c.conv.ctx, d, j.call.Arguments)
			j.result = tool.Failure("%v", err)
			return
		}
	}
	if c.again(j, name) {
		return
	}
	switch name {
	case selection.FindTools:
		j.meta = func(args json.RawMessage) (r chat.Result) {
			r, j.found = c.meta.find(args)
			return r
		}
		return
	case selection.DescribeTool:
		j.meta = c.meta.describe
		return
	case selection.UseSkill:
		j.meta, j.alone, j.whole = c.meta.useSkill, true, true
		return
	case selection.FinishPhase:
		j.meta, j.alone = c.flow.finishPhase, true
		return
	}
	g := c.front.gate()
	now := g.now()
	entry, stage := g.admit(now, name)
	if j.broken && (entry == nil || !stage.Usable()) {
		j.result = c.unknown(j.call)
		return
	}
	if entry == nil {
		if skill, ok := g.admitSkill(now, name); ok { // models do call skills like tools
			j.alone, j.whole = true, true
			j.meta = func(args json.RawMessage) chat.Result { return c.meta.takeUp(skill, skillAsked(args).File) }
			return
		}
	}
	if entry == nil && decisionOn(c.conv.state.Turn.Answers, j.call.ID) != nil {
		j.result = tool.Failure("%s was not called: it was removed while the call waited for an answer", name)
		g.record(c.conv.ctx, audit.Decision{Tool: name, Stage: StageUnknown, Reason: j.result.Text}, j.args)
		return
	}
	if entry == nil || !stage.Usable() {
		// The model learns nothing about hidden tools; the operator does.
		g.recordRefusal(c.conv.ctx, now, name, entry, stage, j.args)
		j.result = c.refuse(name, entry, stage)
		return
	}
	j.entry = entry
	switch {
	case j.broken && (entry.Definition.Repeats() == tool.Never || slices.Contains(c.conv.state.Turn.Once, j.call.ID)):
		j.result = c.unknown(j.call)
	case c.endedBy(j):
		j.result = ended(j.call)
		c.conv.config.Log.WarnContext(c.conv.ctx, "the program ended while a call ran; it is not run again",
			"tool", entry.Definition.Name, "user", c.conv.in.Facts.User, "session", c.conv.in.Session.Key)
	}
}

// again refuses a call that the turn has made often enough.
func (c *calls) again(j *job, name string) bool {
	if j.broken || name == selection.FinishPhase || name == selection.UseSkill {
		return false
	}
	why := repeat.Refuse(c.conv.own, j.call, func(name string) bool {
		e, ok := c.front.selector.Catalog().Get(name)
		return !ok || e.Definition.Risk == tool.Read
	})
	if why != "" {
		j.result = tool.Failure("%s", why)
	}
	return why != ""
}

// refuse is the result for a tool that may not be called. If only the active skill
// excludes the tool, the result says how to get to it.
func (c *calls) refuse(name string, entry *catalog.Entry, stage selection.Stage) chat.Result {
	if c.conv.flows() && entry != nil && stage == selection.Toolset {
		return tool.Failure("%q is not among the tools of the phase %s; %s ends the phase when its work is done",
			name, c.conv.state.Flow.Phase, selection.FinishPhase)
	}
	if active := c.front.selected.ActiveSkill(); entry != nil && stage == selection.Toolset && active != "" {
		return tool.Failure("%q is not among the tools of the active skill %s; %s with the name %s takes up all tools", name, active, selection.UseSkill, catalog.Full)
	}
	return c.front.gate().nameless(name)
}

// executor returns what runs calls that begin now. While a workflow runs, no call may go on
// after the turn: its conditions judge what calls did, and a run is one turn.
func (c *calls) executor() *executor {
	x := &executor{
		config: c.conv.config, gate: c.front.gate(), answers: c.conv.state.Turn.Answers, user: c.conv.in.Facts.User,
		asks: c.conv.waits && !c.conv.in.Unasked, maxResult: c.front.runner.maxResult(), desk: c.desk,
	}
	if !c.conv.flows() {
		x.late = c.conv.in.Late
	}
	return x
}

// ErrNoTool means that this caller has no such tool.
var ErrNoTool = errors.New("there is no such tool")

// maxReports is how many reports of a call's progress wait to be heard. More are dropped.
const maxReports = 16

// Call runs one call without a model, with the same checks as in the turn of in. A
// tool's failure is a result, and so is a call of use_skill, because there is no turn
// to change. The host of ctx hears of its progress. The error is [ErrNoTool], the tool's own,
// or its question if ctx has a host that asks: the answer is the reply of the host of the next call.
func (r *Runner) Call(ctx context.Context, in Input, name string, args json.RawMessage) (chat.Result, error) {
	reply, asks := tool.Asks(ctx)
	t := r.direct(ctx, in)
	decision, decides := ctx.Value(decisionKey{}).(*session.Answer)
	t.conv.waits = decides && r.config.Approvals
	j := &job{call: chat.Call{ID: "call", Name: name, Arguments: args}}
	switch t.calls.resolve(j); {
	case j.entry == nil && j.result.Failed:
		return j.result, fmt.Errorf("%w: %s", ErrNoTool, name)
	case j.alone:
		j.result = tool.Failure("%s works within a turn only: it changes the conversation", selection.UseSkill)
	}
	x := t.calls.executor()
	if x.asks = asks; reply != nil {
		x.answers = []session.Answer{{Call: j.call.ID, Question: "?", Resume: reply.Resume, Text: reply.Text, Approved: reply.Given}}
	}
	if decision != nil {
		said := *decision
		said.Call = j.call.ID
		x.answers = append(x.answers, said)
	}
	progress, heard := r.hear(ctx)
	x.do(t.conv.ctx, j, progress)
	heard()
	if j.awaits != nil && j.awaits.Question == "" {
		if r.config.Expire > 0 {
			j.awaits.Until = time.Now().Add(r.config.Expire).Round(time.Second)
		}
		return j.result, &Awaits{*j.awaits}
	}
	if j.awaits != nil {
		return j.result, &tool.Question{Text: j.awaits.Question, Choices: j.awaits.Choices, Resume: j.awaits.Resume}
	}
	return j.result, j.err
}

type decisionKey struct{}

// Decide returns a context in which [Runner.Call] fails with [Awaits] where a call needs an approval, and
// follows a person's decision on it; nil if there is none yet.
func Decide(ctx context.Context, said *session.Answer) context.Context {
	return context.WithValue(ctx, decisionKey{}, said)
}

// hear hands reports of progress to the host of ctx until heard is called, which waits for the last.
func (r *Runner) hear(ctx context.Context) (progress chan Progress, heard func()) {
	progress, done := make(chan Progress, maxReports), make(chan struct{})
	var hearing sync.WaitGroup
	hearing.Go(func() {
		defer panics.Log(r.config.Log, "hearing of a call's progress")
		for ended := false; !ended || len(progress) > 0; {
			select {
			case p := <-progress:
				tool.Report(ctx, p.Progress)
			case <-done:
				ended = true
			}
		}
	})
	return progress, func() { close(done); hearing.Wait() }
}

// direct selects for a call that comes from no model.
func (r *Runner) direct(ctx context.Context, in Input) *run {
	t := r.newRun(tool.WithHost(ctx, tool.Host{Facts: in.Facts}), in, ignore)
	t.front.selected = t.front.selector.Select(r.request(t.front.selector, in))
	return t
}

// maxRepairing is how long the arguments of one answer's calls are repaired. The rest are
// given back to the model.
const maxRepairing = 2 * time.Second
