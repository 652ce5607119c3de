package workflow

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/rules"
	"github.com/etui-run/etui/session"
)

// The bounds of what is kept as evidence. A longer text is cut; longer data is left out, so
// that conditions on it do not hold.
const (
	MaxText  = 2 << 10  // bytes of a result's text, and of a reply
	MaxData  = 16 << 10 // bytes of a result's data
	MaxTools = 40       // tools in a visit, and in the visits before it; later ones are not kept
	MaxFiles = 100
)

// Begin returns a run in the first phase; in none if the workflow is [MissingPlan].
func (p *Plan) Begin(input, target string, params map[string]string) *session.Flow {
	if len(p.Phases) == 0 {
		return &session.Flow{Workflow: p.Name, Input: cut(input), Target: target, Params: params}
	}
	first := p.Phases[0].Name
	return &session.Flow{Workflow: p.Name, Phase: first, Input: cut(input), Target: target, Params: params,
		Visits: map[string]int{first: 1}, Path: []session.Switch{{To: first}}}
}

// Observe adds the result of a tool's call to the evidence. One whose outcome is not known
// yet only counts as a call.
func Observe(f *session.Flow, tool string, r chat.Result) {
	f.Calls++
	if r.Pending {
		return
	}
	if r.Failed {
		f.Failures++
	}
	if r.View != nil {
		for _, file := range r.View.Files {
			if len(f.Files) < MaxFiles && !slices.Contains(f.Files, file.Name) {
				f.Files = append(f.Files, file.Name)
			}
		}
	}
	e, there := f.Results[tool]
	if !there && len(f.Results) >= MaxTools {
		return
	}
	e.Count++
	if e.Failed = r.Failed; r.Failed {
		e.Failures++
	}
	e.Text, e.Data = cut(r.Text), data(r)
	if f.Results == nil {
		f.Results = map[string]session.Evidence{}
	}
	f.Results[tool] = e
}

// data returns a result's data: that of its view, or its text if that is JSON.
func data(r chat.Result) json.RawMessage {
	if r.View != nil && len(r.View.Data) > 0 {
		if len(r.View.Data) > MaxData {
			return nil
		}
		return slices.Clone(r.View.Data)
	}
	text := strings.TrimSpace(r.Text)
	if len(text) > MaxData || text == "" || text[0] != '{' && text[0] != '[' || !json.Valid([]byte(text)) {
		return nil
	}
	return json.RawMessage(text)
}

// cut returns the beginning of a text, as it can be stored.
func cut(text string) string {
	return strings.ToValidUTF8(text[:min(len(text), MaxText)], "")
}

// NoteReply notes an answer of the model that made no calls.
func NoteReply(f *session.Flow, text string) { f.Reply = cut(text) }

// Finish is a call of finish_phase: the model says that it has finished. Next is the phase
// that it asks for, which may be empty.
type Finish struct{ Next, Summary string }

// Verdict is what a plan says of a run.
type Verdict struct {
	// To is the phase that begins now, or [Done] or [Failed]; empty means that the phase
	// goes on.
	To string
	// Why is the condition that holds.
	Why string
	// Open are the conditions that do not hold, with the reasons of those that failed.
	Open []string
	// Broken is the first condition that cannot hold by the evidence that is there, with the reason:
	// it compares texts with numbers, say, or reads what a tool does not give. Empty when the phase leads on, or
	// when what a condition reads is only not there yet.
	Broken string
}

// MaxBroken is how many rounds of a visit may pass with a condition that is [Verdict.Broken], in case
// a tool gives something else the next time. Then the visit ends like one that reached a limit, and a run without
// another way fails.
const MaxBroken = 3

// Judge says which phase begins now by the evidence. With finish, it says what becomes of
// that call.
func (p *Plan) Judge(f *session.Flow, finish *Finish) (v Verdict) {
	ph, ok := p.Phase(f.Phase)
	switch {
	case len(p.Phases) == 0:
		return Verdict{To: Failed, Why: fmt.Sprintf("the workflow %s does not exist any more", p.Name)}
	case !ok:
		return Verdict{To: Failed, Why: fmt.Sprintf("the workflow %s has no phase %s any more", p.Name, f.Phase)}
	}
	values := facts(f, finish)
	values["disk"] = look(p.disk)
	for i, c := range p.conditions[ph.Name] {
		to := ph.Next[i].To
		if finish != nil && finish.Next != "" && finish.Next != to {
			continue // it asks for another one
		}
		holds, err := c.Holds(values)
		switch {
		case holds:
			return Verdict{To: to, Why: c.String()}
		case err != nil:
			v.Open = append(v.Open, fmt.Sprintf("%s (to %s): %v", c, to, err))
			if v.Broken == "" && !absent(f, c, err) {
				v.Broken = fmt.Sprintf("the condition %s fails: %v", c, err)
			}
		default:
			v.Open = append(v.Open, fmt.Sprintf("%s (to %s)", c, to))
		}
	}
	return v
}

// absent reports whether a condition failed because what it reads is not there yet: a tool was not
// called, or failed.
func absent(f *session.Flow, c *rules.Condition, err error) bool {
	key, missing := strings.CutPrefix(err.Error(), "no such key: ")
	if !missing {
		return false
	}
	if key == "data" { // a text that is not JSON has none, and one that is too long
		return !dataless(c, "results", f.Results) && !dataless(c, "earlier", f.Earlier)
	}
	for _, variable := range []string{"results", "earlier", "disk", "visits", "params"} {
		names, all := c.Names(variable)
		if !all || slices.Contains(names, key) {
			return true
		}
		for _, tool := range names {
			if f.Results[tool].Failed || f.Earlier[tool].Failed {
				return true
			}
		}
	}
	return false
}

// dataless reports whether a condition names a tool that has succeeded, and gave no data.
func dataless(c *rules.Condition, variable string, of map[string]session.Evidence) bool {
	names, _ := c.Names(variable)
	return slices.ContainsFunc(names, func(tool string) bool {
		e, there := of[tool]
		return there && !e.Failed && len(e.Data) == 0
	})
}

// facts are the values of [Variables].
func facts(f *session.Flow, finish *Finish) map[string]any {
	said := Finish{}
	if finish != nil {
		said = *finish
	}
	return map[string]any{
		"input": f.Input, "target": f.Target, "params": f.Params, "phase": f.Phase,
		"finished": finish != nil, "next": said.Next, "summary": cut(said.Summary),
		"round": f.Round, "visit": f.Visits[f.Phase], "calls": f.Calls, "failures": f.Failures, "tokens": f.Tokens,
		"visits": f.Visits,
		"reply":  f.Reply, "files": f.Files, "results": values(f.Results), "earlier": values(f.Earlier),
	}
}

// values makes evidence readable for conditions.
func values(of map[string]session.Evidence) map[string]any {
	all := make(map[string]any, len(of))
	for tool, e := range of {
		v := map[string]any{"count": e.Count, "failures": e.Failures, "failed": e.Failed, "text": e.Text}
		var data any
		if len(e.Data) > 0 && json.Unmarshal(e.Data, &data) == nil {
			v["data"] = data
		}
		all[tool] = v
	}
	return all
}

// ReachedLimit returns the limit of the visit or of the run that is reached; empty means none.
// All reports that it is one of the run, after which no phase can begin.
func (p *Plan) ReachedLimit(f *session.Flow) (limit string, all bool) {
	if most := p.Rounds(); f.Rounds >= most {
		return fmt.Sprintf("the workflow %s may have %d rounds", p.Name, most), true
	}
	if most := p.Limits.Tokens; most > 0 && f.AllTokens >= most {
		return fmt.Sprintf("the workflow %s may use %d tokens, and used %d", p.Name, most, f.AllTokens), true
	}
	ph, _ := p.Phase(f.Phase)
	if most := ph.Rounds(); f.Round >= most {
		return fmt.Sprintf("the phase %s may have %d rounds", ph.Name, most), false
	}
	if most := ph.Limits.Tokens; most > 0 && f.Tokens >= most {
		return fmt.Sprintf("the phase %s may use %d tokens, and used %d", ph.Name, most, f.Tokens), false
	}
	return "", false
}

// Rounds is how many answers the model may give in a run.
func (p *Plan) Rounds() int { return or(p.Limits.Rounds, DefaultAllRounds) }

// Rounds is how many answers the model may give in a visit of the phase.
func (ph Phase) Rounds() int { return or(ph.Limits.Rounds, DefaultRounds) }

func or(n, otherwise int) int {
	if n > 0 {
		return n
	}
	return otherwise
}

// Enter begins a phase, or ends the run when to is [Done] or [Failed]. A phase that may not
// begin once more leads where its Otherwise says; the run ends with the outcome [Limit] if
// that leads nowhere.
func (p *Plan) Enter(f *session.Flow, to, why string) {
	from := f.Phase
	for range len(p.Phases) + 1 {
		ph, ok := p.Phase(to)
		switch most := or(ph.Limits.Visits, DefaultVisits); {
		case to == Done || to == Failed:
			End(f, to, why)
			return
		case !ok:
			End(f, Failed, fmt.Sprintf("the workflow %s has no phase %s any more", p.Name, to))
			return
		case f.Visits[to] >= most && ph.Otherwise == "":
			End(f, Limit, fmt.Sprintf("the phase %s may begin %d times", to, most))
			return
		case f.Visits[to] >= most:
			to, why = ph.Otherwise, fmt.Sprintf("the phase %s may begin %d times", to, most)
			continue
		}
		leave(f)
		f.Phase, f.Why = to, why
		if f.Visits == nil {
			f.Visits = map[string]int{}
		}
		f.Visits[to]++
		f.Add(session.Switch{From: from, To: to, Why: why})
		return
	}
	End(f, Limit, "the phases that may begin lead only to phases that may not")
}

// leave makes the evidence of a visit that of an earlier one.
func leave(f *session.Flow) {
	earlier := maps.Clone(f.Earlier)
	if earlier == nil {
		earlier = map[string]session.Evidence{}
	}
	for tool, e := range f.Results {
		if _, there := earlier[tool]; there || len(earlier) < MaxTools {
			earlier[tool] = e
		}
	}
	f.Earlier, f.Results, f.Files, f.Reply, f.Leave = earlier, nil, nil, "", ""
	f.Round, f.Calls, f.Failures, f.Tokens, f.Broken = 0, 0, 0, 0, 0
}

// End ends a run with an outcome.
func End(f *session.Flow, outcome, why string) {
	f.Outcome, f.Reason, f.Leave = outcome, why, ""
	f.Add(session.Switch{From: f.Phase, To: outcome, Why: why})
}
