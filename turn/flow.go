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
	"github.com/etui-run/etui/internal/nearjson"
	"github.com/etui-run/etui/model"
	"github.com/etui-run/etui/prompt"
	"github.com/etui-run/etui/rules"
	"github.com/etui-run/etui/selection"
	"github.com/etui-run/etui/selection/meta"
	"github.com/etui-run/etui/session"
	"github.com/etui-run/etui/tool"
	"github.com/etui-run/etui/workflow"
)

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

// below joins two parts of a note.
func below(a, b string) string { return strings.Trim(a+"\n"+b, "\n") }

// flow leads a turn through the phases of a workflow. All that decides lies in the session's
// Flow, which is stored with each step: whatever process goes on with the turn comes to the
// same phase.
type flow struct {
	conv    *conversation
	front   *front
	agent   *Runner // of the agent's own model
	warning string  // of the phase: what is not as its workflow says
}

// takePhase makes the toolset and the model of the session's phase those of the turn.
func (w *flow) takePhase() {
	c := w.conv
	w.front.runner, w.warning = w.agent, ""
	if !c.flows() {
		return
	}
	f := c.flow()
	ph, ok := c.in.Plan.Phase(f.Phase)
	if !ok {
		return // proceed ends the run
	}
	ph.Skill = cmp.Or(f.Skill, ph.Skill)
	skill, warning := w.toolset(ph)
	w.warning = warning
	c.in.Facts.Skill, c.in.Session.Skill = skill, skill
	if c.state.Flow != nil {
		c.state.Skill = skill
	}
	if script := c.in.Plan.Offline; script != nil && w.agent.model.Info().Offline {
		w.front.runner = w.agent.asking(script)
	} else if m := c.config.Models[ph.Model]; m != nil {
		w.front.runner = w.agent.with(ph.Model, m)
	} else if ph.Model != "" {
		w.warn("the model %s of the phase %s does not exist; the agent's model answers", ph.Model, ph.Name)
	}
	if w.warning != "" {
		c.config.Log.WarnContext(c.ctx, "a phase is not as its workflow says",
			"workflow", f.Workflow, "phase", f.Phase, "reason", w.warning, "session", c.in.Session.Key)
	}
}

// warn adds to the warning about the phase.
func (w *flow) warn(format string, args ...any) {
	w.warning = strings.TrimPrefix(w.warning+"; "+fmt.Sprintf(format, args...), "; ")
}

// toolset returns the skill whose tools a phase has: its own; full, with a warning, if that
// does not exist; or none, with a warning, if it exists and this caller cannot use it now.
func (w *flow) toolset(ph workflow.Phase) (name, warning string) {
	if ph.Skill == "" || ph.Skill == catalog.Full {
		return catalog.Full, ""
	}
	c := w.front.selector.Catalog()
	skill, ok := c.Skill(ph.Skill)
	facts, bounds, _ := w.conv.in.people().at(c, w.conv.in.Facts)
	switch {
	case !ok && c.Away(ph.Skill), ok && w.front.selector.HidesSkill(facts, w.conv.in.Groups, ph.Skill):
		// The caller reads this, and what is hidden from them has no name.
		return catalog.None, fmt.Sprintf("the skill of the phase %s cannot be used by this caller now; the phase has no tools", ph.Name)
	case !ok:
		var names []string
		for _, s := range c.Skills() {
			if !w.front.selector.HidesSkill(facts, w.conv.in.Groups, s.Name) {
				names = append(names, s.Name)
			}
		}
		return catalog.Full, fmt.Sprintf("the phase %s names the skill %s, which does not exist%s; the phase has all tools", ph.Name, ph.Skill, nearest.Hint(ph.Skill, slices.Values(names)))
	}
	now := moment{Selector: w.front.selector, request: selection.Request{Facts: facts, Bounds: bounds}}
	d := w.front.gate().decide(w.conv.ctx, now, rules.Attempt{Skill: ph.Skill, Arguments: fileArguments("")})
	if d.Effect != rules.Allow {
		return catalog.None, fmt.Sprintf("the policy does not let this caller take up the skill %s of the phase %s; the phase has no tools", ph.Skill, ph.Name)
	}
	members, unknown := c.Members(skill)
	missing := c.Missing(skill)
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

// with returns the runner that asks another model, by its name.
func (r *Runner) with(name string, m model.Model) *Runner {
	other, ok := r.others.Load(name)
	if !ok {
		other, _ = r.others.LoadOrStore(name, r.asking(m))
	}
	kept, _ := other.(*Runner)
	return kept
}

// asking returns a runner like r that asks another model.
func (r *Runner) asking(m model.Model) *Runner {
	other := New(m, r.selector, r.prompt, r.config)
	other.broken = r.broken
	return other
}

// answered counts an answer of the model, beside its tokens.
func (w *flow) answered() {
	if w.conv.flows() {
		w.conv.state.Flow.Round++
		w.conv.state.Flow.Rounds++
	}
}

// proceed decides, before the model is asked, whether the phase has ended by what happened
// in it, and begins the next one. It reports whether the model is to be asked.
func (w *flow) proceed() bool {
	c := w.conv
	if !c.flows() {
		return true
	}
	f := c.state.Flow
	if _, there := c.in.Plan.Phase(f.Phase); f.Round > 0 || f.Leave != "" || !there {
		if to, why := w.nextPhase(1); to != "" {
			return w.enter(to, why)
		}
	}
	if limit, all := c.in.Plan.ReachedLimit(f); limit != "" {
		return w.exhaust(limit, all)
	}
	return c.emit(Event{Phase: w.phase()})
}

// nextPhase is the phase that begins now; empty when the phase goes on. A condition that cannot be
// judged counts as so many rounds, see breaks.
func (w *flow) nextPhase(rounds int) (to, why string) {
	f := w.conv.state.Flow
	if f.Leave != "" {
		return f.Leave, f.Why
	}
	v := w.conv.in.Plan.Judge(f, nil)
	if v.Broken != "" && w.breaks(v.Broken, rounds) {
		ph, _ := w.conv.in.Plan.Phase(f.Phase)
		return cmp.Or(ph.Otherwise, workflow.Failed), v.Broken
	}
	return v.To, v.Why
}

// breaks counts rounds with a condition that cannot be judged, and tells the operator of the first.
// It reports whether the phase ends by them.
func (w *flow) breaks(why string, rounds int) bool {
	f := w.conv.state.Flow
	if f.Broken == 0 {
		w.warn("%s", why)
		w.conv.config.Log.ErrorContext(w.conv.ctx, "a condition of a workflow fails; mend it in its file",
			"workflow", f.Workflow, "phase", f.Phase, "reason", why, "session", w.conv.in.Session.Key)
	}
	f.Broken += rounds
	return f.Broken >= workflow.MaxBroken
}

// reply takes an answer without calls. It ends the turn if the run ends by it; otherwise it
// begins the next phase, or tells the model what the phase still needs. It reports whether
// the turn goes on.
func (w *flow) reply(answer chat.Message) bool {
	f := w.conv.state.Flow
	workflow.NoteReply(f, answer.Text)
	to, why := w.nextPhase(workflow.MaxBroken) // the model has done what it could
	limit, all := w.conv.in.Plan.ReachedLimit(f)
	switch {
	case to != "":
		return w.enter(to, why, answer)
	case limit != "":
		return w.exhaust(limit, all, answer)
	}
	open := w.conv.in.Plan.Judge(f, nil).Open
	text := fmt.Sprintf("The phase %s goes on: nothing that ends it has happened.%s\nGo on with its work, or call %s when it is done.", f.Phase, listed(open), selection.FinishPhase)
	return w.conv.remember(answer, w.hostMessage(text, ""))
}

func listed(lines []string) string {
	if len(lines) == 0 {
		return ""
	}
	return " It ends when one of these holds:\n- " + strings.Join(lines, "\n- ")
}

// hostMessage makes a message of the host to the model.
func (w *flow) hostMessage(note, text string) chat.Message {
	c := w.conv
	c.state.Turn.Steps, c.state.Turn.Calls = c.done.Steps, c.called
	announced, named := w.front.selected.Announced, w.front.selected.Named
	if text == "" { // they were announced when the phase began
		announced, named = nil, nil
	}
	m := prompt.NewMessage(text, note, w.front.selected.Request.Facts, announced, named, c.in.Options)
	if text != "" {
		m.Why = w.front.why()
	}
	m.Note = c.config.Secrets.Redactor().Text(m.Note)
	return m
}

// finishPhase judges the model's word that the phase is done.
func (w *flow) finishPhase(args json.RawMessage) chat.Result {
	c := w.conv
	raw, _ := nearjson.Object(args)
	in, _ := meta.ReadFinishPhase(raw)
	if !c.flows() {
		return tool.Failure("no workflow runs in this conversation")
	}
	f := c.state.Flow
	ph, _ := c.in.Plan.Phase(f.Phase)
	if in.Next != "" && !slices.ContainsFunc(ph.Next, func(n workflow.Next) bool { return n.To == in.Next }) {
		var names []string
		for _, n := range ph.Next {
			names = append(names, n.To)
		}
		return tool.Failure("the phase %s does not lead to %q%s It leads to %s.", f.Phase, in.Next, cmp.Or(nearest.Hint(in.Next, slices.Values(names)), "."), strings.Join(names, ", "))
	}
	summary := c.config.Secrets.Redactor().Text(in.Summary)
	v := c.in.Plan.Judge(f, &workflow.Finish{Next: in.Next, Summary: summary})
	if v.To == "" && v.Broken != "" && w.breaks(v.Broken, workflow.MaxBroken) {
		v.To, v.Why = cmp.Or(ph.Otherwise, workflow.Failed), v.Broken
	}
	if v.To == "" {
		return tool.Failure("The phase %s is not finished.%s", f.Phase, listed(v.Open))
	}
	f.Leave, f.Why = v.To, v.Why
	if summary != "" {
		workflow.NoteReply(f, summary)
	}
	return tool.Text(fmt.Sprintf("The phase %s is finished. Next: %s.", f.Phase, v.To))
}

// exhaust ends the visit because of a limit.
func (w *flow) exhaust(limit string, all bool, before ...chat.Message) bool {
	ph, _ := w.conv.in.Plan.Phase(w.conv.state.Flow.Phase)
	if all || ph.Otherwise == "" {
		workflow.End(w.conv.state.Flow, workflow.Limit, limit)
		return w.end(before...)
	}
	return w.enter(ph.Otherwise, limit, before...)
}

// enter begins a phase, with one stored step, or ends the run. It reports whether the turn
// goes on.
func (w *flow) enter(to, why string, before ...chat.Message) bool {
	f := w.conv.state.Flow
	from := f.Phase
	w.conv.in.Plan.Enter(f, to, why)
	if !f.Runs() {
		return w.end(before...)
	}
	w.conv.state.Turn.Resumed = 0 // there was progress
	return w.begin(from, fmt.Sprintf("The phase %s begins.", f.Phase), before...)
}

// begin gives the phase its tools and stores the step, in which the host tells the model.
func (w *flow) begin(from, text string, before ...chat.Message) bool {
	c := w.conv
	c.sent = append(c.sent, before...)
	entered := w.switchPhase()
	c.sent = c.sent[:len(c.sent)-len(before)]
	if !c.remember(append(before, w.hostMessage(w.phaseNote(), text))...) {
		return false
	}
	e := w.phase()
	e.From, e.Why, e.Began, e.Switch = from, entered.Why, true, entered
	return c.emit(Event{Phase: e})
}

// choose makes a person's choice of the toolset that of the phases, from now on.
func (w *flow) choose(skill string) bool {
	f := w.conv.state.Flow
	why, text := "a person chose the skill "+skill, "A person chose the tools of the skill "+skill+"."
	if skill == "" {
		why, text = "a person gave each phase its own tools again", "The phase has its own tools again."
	}
	f.Skill = skill
	f.Add(session.Switch{From: f.Phase, To: f.Phase, Why: why})
	return w.begin(f.Phase, text)
}

// end ends the turn together with the run. The last answer of the model is the reply, if
// the run ended by it.
func (w *flow) end(before ...chat.Message) bool {
	c := w.conv
	f := c.state.Flow
	c.emit(Event{Phase: w.phase()})
	var answer chat.Message
	switch n := len(before); {
	case n > 0 && (f.Outcome == workflow.Done || f.Outcome == workflow.Failed && f.Broken == 0) && before[n-1].Text != "":
		answer = before[n-1]
	default:
		if n > 0 && !c.remember(before...) {
			return false
		}
		text := workflow.Ending(c.in.Facts.Language, f)
		if f.Reply != "" && n == 0 {
			text = f.Reply + "\n\n" + text
		}
		answer = chat.Message{Role: chat.Assistant, Text: text}
		c.emit(Event{Text: text})
	}
	if f.Outcome == workflow.Limit {
		c.config.Log.WarnContext(c.ctx, "a workflow reached a limit",
			"workflow", f.Workflow, "phase", f.Phase, "reason", f.Reason, "session", c.in.Session.Key)
	}
	c.finish(answer)
	c.stopped = true
	return false
}

// phase describes where the run is.
func (w *flow) phase() *PhaseEvent {
	f := w.conv.state.Flow
	return &PhaseEvent{
		Workflow: f.Workflow, Name: f.Phase, Why: f.Why, Outcome: f.Outcome,
		Round: f.Round, Tokens: f.Tokens, Visit: f.Visits[f.Phase],
		Rounds: f.Rounds, AllTokens: f.AllTokens, Unpriced: f.Unpriced, Cost: f.Cost,
		Skill: w.conv.state.Skill, Model: w.front.runner.model.Info().Name, Warning: w.warning,
	}
}

// maxPhaseTools is how many tools of a phase its note names.
const maxPhaseTools = 40

// phaseNote tells the model which phase begins: in the note of a message, so that nothing
// before it changes.
func (w *flow) phaseNote() string {
	if !w.conv.flows() {
		return ""
	}
	f := w.conv.flow()
	ph, ok := w.conv.in.Plan.Phase(f.Phase)
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
	switch usable := w.front.selected.Usable(); {
	case len(usable) == 0:
		text.WriteString("\nNo tools can be used in this phase.")
	case w.front.selected.ActiveSkill() != "" && len(usable) <= maxPhaseTools:
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
func (w *flow) switchPhase() *session.Switch {
	c, front := w.conv, w.front
	was := front.runner.model.Info().Name
	w.takePhase()
	in := c.in
	in.Session.State, in.Session.Messages = c.state, c.sent
	in.Again, in.kept, in.Text = true, c.sent, w.phaseQuestion()
	in.Session.Front.Held = false
	switch {
	case was != front.runner.model.Info().Name:
		in.cold = ModelSwitch
	case c.state.Front.Skill != c.state.Skill:
		in.cold = PhaseSwitch
	default:
		in.cold = ""
	}
	selected, lost := front.choose(in), 0.0
	if in.cold == PhaseSwitch {
		held := in
		held.cold, held.Session.Front.Held = "", true
		kept := front.choose(held)
		costs := front.costs(selected, kept)
		lost = costs.lost
		if kept.Mode != selection.Direct && costs.announce < costs.declare {
			selected, in, lost = kept, held, 0
		}
	}
	front.rebuild(in, selected, in.cold)
	entered := &c.state.Flow.Path[len(c.state.Flow.Path)-1]
	entered.Lost, entered.Delivery = lost, "declared"
	if in.Session.Front.Held {
		entered.Delivery = "announced"
	}
	tokens, counts := selected.Tokens(), selected.Counts()
	entered.Tools, entered.ToolTokens, entered.FullTokens = counts.Usable, tokens.Sent+tokens.Meta, tokens.All
	said := *entered
	return &said
}

// phaseQuestion are the words by which a phase's tools are ranked.
func (w *flow) phaseQuestion() string {
	ph, _ := w.conv.in.Plan.Phase(w.conv.flow().Phase)
	return below(ph.Instructions, w.conv.flow().Input)
}
