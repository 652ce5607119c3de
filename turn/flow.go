package turn

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/etui-run/etui/catalog"
	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/internal/nearest"
	"github.com/etui-run/etui/model"
	"github.com/etui-run/etui/prompt"
	"github.com/etui-run/etui/rules"
	"github.com/etui-run/etui/selection"
	"github.com/etui-run/etui/selection/meta"
	"github.com/etui-run/etui/session"
	"github.com/etui-run/etui/tool"
	"github.com/etui-run/etui/turn/internal/arguments"
	"github.com/etui-run/etui/workflow"
)

// This file leads a turn through the phases of a workflow. All that decides lies in the
// session's Flow, which is stored with each step: whatever process goes on with the turn
// comes to the same phase.

// PhaseEvent is how far a workflow has come.
type PhaseEvent struct {
	Workflow string `json:"workflow"`
	// Name is the phase, and From the one before it, set when the phase begins; Why says
	// what led from there. At the end of the run, Outcome says how it ended.
	Name    string `json:"phase"`
	From    string `json:"from,omitempty"`
	Why     string `json:"why,omitempty"`
	Outcome string `json:"outcome,omitempty"`
	// Round and Tokens count in this visit of the phase, Visit counts the visits. Rounds,
	// AllTokens and Cost count in the run, and Unpriced the tokens of models without a known
	// price, which are not in Cost.
	Round     int     `json:"round"`
	Tokens    int     `json:"tokens"`
	Visit     int     `json:"visit"`
	Rounds    int     `json:"rounds"`
	AllTokens int     `json:"all_tokens"`
	Unpriced  int     `json:"unpriced,omitempty"`
	Cost      float64 `json:"cost,omitempty"`
	// Began is set in the event with which the phase begins. Then Skill is its toolset,
	// Model who answers, Warning what of the phase is not as its workflow says, such as
	// which tools it has instead of its own, and Switch what the switch cost.
	Began   bool            `json:"began,omitempty"`
	Skill   string          `json:"skill,omitempty"`
	Model   string          `json:"model,omitempty"`
	Warning string          `json:"warning,omitempty"`
	Switch  *session.Switch `json:"switch,omitempty"`
}

// flows reports whether a workflow runs in the session.
func (t *run) flows() bool { return t.in.Plan != nil && t.flow().Runs() }

// flow is the run of a workflow; before the turn has a state of its own, the session's.
func (t *run) flow() *session.Flow {
	if t.state.Flow != nil {
		return t.state.Flow
	}
	return t.in.Session.Flow
}

// below joins two parts of a note.
func below(a, b string) string { return strings.Trim(a+"\n"+b, "\n") }

// takePhase makes the toolset and the model of the session's phase those of the turn.
func (t *run) takePhase() {
	t.Runner, t.warning = t.agent, ""
	if !t.flows() {
		return
	}
	f := t.flow()
	ph, ok := t.in.Plan.Phase(f.Phase)
	if !ok {
		return // proceed ends the run
	}
	ph.Skill = cmp.Or(f.Skill, ph.Skill)
	skill, warning := t.toolset(ph)
	t.warning = warning
	t.in.Facts.Skill, t.in.Session.Skill = skill, skill
	if t.state.Flow != nil {
		t.state.Skill = skill
	}
	if script := t.in.Plan.Offline; script != nil && t.agent.model.Info().Offline {
		t.Runner = t.agent.asking(script)
	} else if m := t.config.Models[ph.Model]; m != nil {
		t.Runner = t.agent.with(ph.Model, m)
	} else if ph.Model != "" {
		t.warn("the model %s of the phase %s does not exist; the agent's model answers", ph.Model, ph.Name)
	}
	if t.warning != "" {
		t.config.Log.WarnContext(t.ctx, "a phase is not as its workflow says", "workflow", f.Workflow, "phase", f.Phase, "reason", t.warning, "session", t.in.Session.Key)
	}
}

func (t *run) warn(format string, args ...any) {
	t.warning = strings.TrimPrefix(t.warning+"; "+fmt.Sprintf(format, args...), "; ")
}

// toolset returns the skill whose tools a phase has: its own; full, with a warning, if that
// does not exist; or none, with a warning, if it exists and this caller cannot use it now.
func (t *run) toolset(ph workflow.Phase) (name, warning string) {
	if ph.Skill == "" || ph.Skill == catalog.Full {
		return catalog.Full, ""
	}
	c := t.selector.Catalog()
	skill, ok := c.Skill(ph.Skill)
	facts, bounds, _ := t.in.people().at(c, t.in.Facts)
	switch {
	case !ok && unavailable(c, ph.Skill), ok && t.selector.HidesSkill(facts, t.in.Groups, ph.Skill):
		// The caller reads this, and what is hidden from them has no name.
		return catalog.None, fmt.Sprintf("the skill of the phase %s cannot be used by this caller now; the phase has no tools", ph.Name)
	case !ok:
		var names []string
		for _, s := range c.Skills() {
			if !t.selector.HidesSkill(facts, t.in.Groups, s.Name) {
				names = append(names, s.Name)
			}
		}
		return catalog.Full, fmt.Sprintf("the phase %s names the skill %s, which does not exist%s; the phase has all tools", ph.Name, ph.Skill, nearest.Hint(ph.Skill, slices.Values(names)))
	}
	now := moment{Selector: t.selector, request: selection.Request{Facts: facts, Bounds: bounds}}
	d := t.gate().decide(t.ctx, now, rules.Attempt{Skill: ph.Skill, Arguments: fileArguments("")})
	if d.Effect != rules.Allow {
		return catalog.None, fmt.Sprintf("the policy does not let this caller take up the skill %s of the phase %s; the phase has no tools", ph.Skill, ph.Name)
	}
	members, unknown := c.Members(skill)
	missing := slices.DeleteFunc(slices.Clone(unknown), func(name string) bool { return unavailable(c, name) })
	switch {
	case len(missing) > 0:
		return catalog.Full, fmt.Sprintf("the skill %s of the phase %s names tools that do not exist: %s; the phase has all tools", ph.Skill, ph.Name, strings.Join(missing, ", "))
	case len(unknown) > 0 && len(members) == 0:
		return catalog.None, fmt.Sprintf("no tool of the skill %s of the phase %s is available now; the phase has no tools", ph.Skill, ph.Name)
	case len(unknown) > 0:
		return ph.Skill, fmt.Sprintf("the phase %s lacks tools that are not available now: %s", ph.Name, strings.Join(unknown, ", "))
	}
	return ph.Skill, ""
}

// unavailable reports whether something exists that nobody can use now: a skill that is
// disabled, say. Nobody can tell whether a tool of an MCP server exists while the server is
// away, so none of them counts as missing.
func unavailable(c *catalog.Catalog, name string) bool {
	return strings.HasPrefix(name, "mcp__") || slices.ContainsFunc(c.Unavailable(), func(u catalog.Unavailable) bool {
		return u.Name == name || u.Name == strings.TrimSuffix(name, "Tool")
	})
}

// with returns the runner that asks another model, by its name.
func (r *Runner) with(name string, m model.Model) *Runner {
	if other, ok := r.others.Load(name); ok {
		if other, ok := other.(*Runner); ok {
			return other
		}
	}
	now, _ := r.others.LoadOrStore(name, r.asking(m))
	kept, _ := now.(*Runner)
	return kept
}

// asking returns a runner like r that asks another model.
func (r *Runner) asking(m model.Model) *Runner {
	other := New(m, r.selector, r.prompt, r.config)
	other.broken = r.broken
	return other
}

// spend counts what an answer of the model has used, given what the turn had used before.
func (t *run) spend(before model.Tokens) {
	if !t.flows() {
		return
	}
	used, f := t.done.Usage, t.state.Flow
	used.Input, used.Output, used.CacheRead, used.CacheWrite = used.Input-before.Input, used.Output-before.Output, used.CacheRead-before.CacheRead, used.CacheWrite-before.CacheWrite
	f.Round++
	f.Rounds++
	f.Tokens += used.Input + used.Output
	f.AllTokens += used.Input + used.Output
	if price := t.model.Info().Price; price != (model.Price{}) {
		f.Cost += price.Of(used)
	} else {
		f.Unpriced += used.Input + used.Output
	}
}

// proceed decides, before the model is asked, whether the phase has ended by what happened
// in it, and begins the next one. It reports whether the model is to be asked.
func (t *run) proceed() bool {
	if !t.flows() {
		return true
	}
	f := t.state.Flow
	if _, there := t.in.Plan.Phase(f.Phase); f.Round > 0 || f.Leave != "" || !there {
		if to, why := t.nextPhase(); to != "" {
			return t.enter(to, why)
		}
	}
	if limit, all := t.in.Plan.Reached(f); limit != "" {
		return t.exhaust(limit, all)
	}
	return t.emit(Event{Phase: t.phase()})
}

// nextPhase is the phase that begins now; empty when the phase goes on.
func (t *run) nextPhase() (to, why string) {
	if f := t.state.Flow; f.Leave != "" {
		return f.Leave, f.Why
	}
	v := t.in.Plan.Judge(t.state.Flow, nil)
	return v.To, v.Why
}

// reply takes an answer without calls. It ends the turn if the run ends by it; otherwise it
// begins the next phase, or tells the model what the phase still needs. It reports whether
// the turn goes on.
func (t *run) reply(answer chat.Message) bool {
	f := t.state.Flow
	workflow.Replied(f, answer.Text)
	to, why := t.nextPhase()
	limit, all := t.in.Plan.Reached(f)
	switch {
	case to != "":
		return t.enter(to, why, answer)
	case limit != "":
		return t.exhaust(limit, all, answer)
	}
	open := t.in.Plan.Judge(f, nil).Open
	text := fmt.Sprintf("The phase %s goes on: nothing that ends it has happened.%s\nGo on with its work, or call %s when it is done.", f.Phase, listed(open), selection.FinishPhase)
	return t.say(text, answer)
}

func listed(lines []string) string {
	if len(lines) == 0 {
		return ""
	}
	return " It ends when one of these holds:\n- " + strings.Join(lines, "\n- ")
}

// say stores messages, and behind them one of the host to the model.
func (t *run) say(note string, before ...chat.Message) bool {
	return t.remember(append(before, t.hostSays(note, ""))...)
}

// hostSays makes a message of the host to the model.
func (t *run) hostSays(note, text string) chat.Message {
	t.state.Turn.Steps, t.state.Turn.Calls = t.done.Steps, t.called
	announced, named := t.selected.Announced, t.selected.Named
	if text == "" { // they were announced when the phase began
		announced, named = nil, nil
	}
	m := prompt.NewMessage(text, note, t.selected.Request.Facts, announced, named, t.in.Options)
	if text != "" {
		m.Why = t.why()
	}
	m.Note = t.config.Secrets.Redactor().Text(m.Note)
	return m
}

// finishPhase judges the model's word that the phase is done.
func (t *run) finishPhase(args json.RawMessage) chat.Result {
	raw, _ := arguments.Repair(args)
	in, _ := meta.ReadFinishPhase(raw)
	if !t.flows() {
		return tool.Failure("no workflow runs in this conversation")
	}
	f := t.state.Flow
	ph, _ := t.in.Plan.Phase(f.Phase)
	if in.Next != "" && !slices.ContainsFunc(ph.Next, func(n workflow.Next) bool { return n.To == in.Next }) {
		var names []string
		for _, n := range ph.Next {
			names = append(names, n.To)
		}
		return tool.Failure("the phase %s does not lead to %q%s It leads to %s.", f.Phase, in.Next, cmp.Or(nearest.Hint(in.Next, slices.Values(names)), "."), strings.Join(names, ", "))
	}
	summary := t.config.Secrets.Redactor().Text(in.Summary)
	v := t.in.Plan.Judge(f, &workflow.Finish{Next: in.Next, Summary: summary})
	if v.To == "" {
		return tool.Failure("The phase %s is not finished.%s", f.Phase, listed(v.Open))
	}
	f.Leave, f.Why = v.To, v.Why
	if summary != "" {
		workflow.Replied(f, summary)
	}
	return tool.Text(fmt.Sprintf("The phase %s is finished. Next: %s.", f.Phase, v.To))
}

// exhaust ends the visit because of a limit.
func (t *run) exhaust(limit string, all bool, before ...chat.Message) bool {
	ph, _ := t.in.Plan.Phase(t.state.Flow.Phase)
	if all || ph.Otherwise == "" {
		workflow.End(t.state.Flow, workflow.Limit, limit)
		return t.ended(before...)
	}
	return t.enter(ph.Otherwise, limit, before...)
}

// enter begins a phase, with one stored step, or ends the run. It reports whether the turn
// goes on.
func (t *run) enter(to, why string, before ...chat.Message) bool {
	f := t.state.Flow
	from := f.Phase
	t.in.Plan.Enter(f, to, why)
	if !f.Runs() {
		return t.ended(before...)
	}
	t.state.Turn.Resumed = 0 // there was progress
	return t.begins(from, fmt.Sprintf("The phase %s begins.", f.Phase), before...)
}

// begins gives the phase its tools and stores the step, in which the host tells the model.
func (t *run) begins(from, text string, before ...chat.Message) bool {
	t.prompt.Messages = append(t.prompt.Messages, before...)
	entered := t.switchPhase()
	t.prompt.Messages = t.prompt.Messages[:len(t.prompt.Messages)-len(before)]
	if !t.remember(append(before, t.hostSays(t.phaseNote(), text))...) {
		return false
	}
	e := t.phase()
	e.From, e.Why, e.Began, e.Switch = from, entered.Why, true, entered
	return t.emit(Event{Phase: e})
}

// chosen makes a person's choice of the toolset that of the phases, from now on.
func (t *run) chosen(skill string) bool {
	f := t.state.Flow
	why, text := "a person chose the skill "+skill, "A person chose the tools of the skill "+skill+"."
	if skill == "" {
		why, text = "a person gave each phase its own tools again", "The phase has its own tools again."
	}
	f.Skill = skill
	f.Add(session.Switch{From: f.Phase, To: f.Phase, Why: why})
	return t.begins(f.Phase, text)
}

// ended ends the turn together with the run. The last answer of the model is the reply, if
// the run ended by it.
func (t *run) ended(before ...chat.Message) bool {
	f := t.state.Flow
	t.emit(Event{Phase: t.phase()})
	var answer chat.Message
	switch n := len(before); {
	case n > 0 && (f.Outcome == workflow.Done || f.Outcome == workflow.Failed) && before[n-1].Text != "":
		answer = before[n-1]
	default:
		if n > 0 && !t.remember(before...) {
			return false
		}
		in := ""
		if f.Phase != "" {
			in = " in the phase " + f.Phase
		}
		text := fmt.Sprintf("The workflow %s ended%s: %s. %s", f.Workflow, in, f.Outcome, sentence(f.Reason))
		if f.Reply != "" && n == 0 {
			text = f.Reply + "\n\n" + text
		}
		answer = chat.Message{Role: chat.Assistant, Text: text}
		t.emit(Event{Text: text})
	}
	if f.Outcome == workflow.Limit {
		t.config.Log.WarnContext(t.ctx, "a workflow reached a limit", "workflow", f.Workflow, "phase", f.Phase, "reason", f.Reason, "session", t.in.Session.Key)
	}
	t.finish(answer)
	t.stopped = true
	return false
}

func sentence(text string) string {
	if text == "" {
		return ""
	}
	return strings.ToUpper(text[:1]) + text[1:] + "."
}

// leaveFlow gives the session its skill back when a run has ended, and drops what only the
// run needed.
func (t *run) leaveFlow() {
	f := t.state.Flow
	if f == nil || f.Outcome == "" || t.in.Plan == nil {
		return
	}
	t.state.Skill = f.Before
	f.Results, f.Earlier, f.Files, f.Before = nil, nil, nil, ""
}

// phase describes where the run is.
func (t *run) phase() *PhaseEvent {
	f := t.state.Flow
	return &PhaseEvent{
		Workflow: f.Workflow, Name: f.Phase, Why: f.Why, Outcome: f.Outcome, Round: f.Round, Tokens: f.Tokens, Visit: f.Visits[f.Phase],
		Rounds: f.Rounds, AllTokens: f.AllTokens, Unpriced: f.Unpriced, Cost: f.Cost, Skill: t.state.Skill, Model: t.model.Info().Name, Warning: t.warning,
	}
}

// maxPhaseTools is how many tools of a phase its note names.
const maxPhaseTools = 40

// phaseNote tells the model which phase begins: in the note of a message, so that nothing
// before it changes.
func (t *run) phaseNote() string {
	if !t.flows() {
		return ""
	}
	f := t.flow()
	ph, ok := t.in.Plan.Phase(f.Phase)
	if !ok {
		return ""
	}
	var text strings.Builder
	fmt.Fprintf(&text, "Workflow %s, phase %s", f.Workflow, ph.Name)
	if f.Visits[ph.Name] > 1 {
		fmt.Fprintf(&text, ", visit %d", f.Visits[ph.Name])
	}
	text.WriteString(".")
	if f.Why != "" {
		fmt.Fprintf(&text, " It begins because: %s.", f.Why)
	}
	if f.Target != "" {
		fmt.Fprintf(&text, "\nTarget: %s", f.Target)
	}
	if ph.Instructions != "" {
		text.WriteString("\n" + strings.TrimSpace(ph.Instructions))
	}
	switch usable := t.selected.Usable(); {
	case len(usable) == 0:
		text.WriteString("\nNo tools can be used in this phase.")
	case t.selected.ActiveSkill() != "" && len(usable) <= maxPhaseTools:
		names := make([]string, len(usable))
		for i, e := range usable {
			names[i] = e.Definition.Name
		}
		fmt.Fprintf(&text, "\nOnly these tools can be used in this phase: %s.", strings.Join(names, ", "))
	}
	fmt.Fprintf(&text, "\nCall %s when its work is done.", selection.FinishPhase)
	return text.String()
}

// switchPhase selects anew for the phase that begins, and chooses what is cheaper: to
// declare its tools, or to keep the front and announce them.
func (t *run) switchPhase() *session.Switch {
	was, before, messages := t.model.Info().Name, t.state, t.prompt.Messages
	t.takePhase()
	in := t.in
	in.Session.State, in.Session.Messages = t.state, messages
	in.Again, in.kept, in.Text = true, messages, t.phaseQuestion()
	in.Session.Front.Held = false
	cause := Break("")
	switch {
	case was != t.model.Info().Name:
		cause = ModelSwitch
	case t.state.Front.Skill != t.state.Skill:
		cause = PhaseSwitch
	}
	in.cold = cause
	t.selected = t.choose(t.ctx, t.selector, in)
	entered := &t.state.Flow.Path[len(t.state.Flow.Path)-1]
	if cause == PhaseSwitch {
		held := in
		held.cold, held.Session.Front.Held = "", true
		kept := t.choose(t.ctx, t.selector, held)
		c := t.costs(t.selected, kept, len(messages))
		if entered.Lost = c.lost; kept.Mode != selection.Direct && c.announce < c.declare {
			t.selected, in, cause, entered.Lost = kept, held, "", 0
		}
	}
	entered.Delivery = "declared"
	if in.Session.Front.Held {
		entered.Delivery = "announced"
	}
	t.state = t.advance(in, t.selected)
	err := t.prompts(nil, chat.Message{Time: in.Facts.Time})
	t.prompt.Messages = messages
	if err != nil {
		t.config.Log.WarnContext(t.ctx, "the system prompt stays as it was", "error", err, "session", t.in.Session.Key)
	}
	entered = &t.state.Flow.Path[len(t.state.Flow.Path)-1] // advance has made a copy
	tokens, counts := t.selected.Tokens(), t.selected.Counts()
	entered.Tools, entered.ToolTokens, entered.FullTokens = counts.Usable, tokens.Sent+tokens.Meta, tokens.All
	t.account(broke(cause, before, t.state))
	said := *entered
	return &said
}

// phaseQuestion are the words by which a phase's tools are ranked.
func (t *run) phaseQuestion() string {
	ph, _ := t.in.Plan.Phase(t.flow().Phase)
	return below(ph.Instructions, t.flow().Input)
}
