package conversation

import (
	"bufio"
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/etui-run/etui/approval"
	"github.com/etui-run/etui/cmd/internal/client"
	"github.com/etui-run/etui/cmd/internal/config"
	"github.com/etui-run/etui/internal/printable"
	"github.com/etui-run/etui/internal/terminal"
	"github.com/etui-run/etui/message"
	"github.com/etui-run/etui/phrase"
	"github.com/etui-run/etui/route"
	"github.com/etui-run/etui/server/api"
	"github.com/etui-run/etui/session"
	"github.com/etui-run/etui/turn"
	"github.com/etui-run/etui/workflow"
)

// End is how a run ended that is not done.
type End int

// The ends of a run.
const (
	Failed End = iota
	Limit      // it reached a limit
	Waits      // a call waits for an approval
)

// EndedError says how a run ended.
type EndedError struct {
	End End
	error
}

// Unwrap returns what the error says.
func (e EndedError) Unwrap() error { return e.error }

// runPrefix begins the names of the conversations of runs.
const runPrefix = "run-"

// Run runs a workflow, and shows it until it has ended; the error is an [EndedError] if it
// is not done. Without a name it is the only workflow, or one turn with the active skill.
func (c *Conversation) Run(ctx context.Context, workflow, input string) error {
	m := c.who
	var known api.Workflows
	if err := c.client.Do(ctx, http.MethodGet, "/api/workflows", nil, &known); err != nil {
		return err
	}
	m.Workflow = workflow
	if workflow == "" && m.Skill == "" {
		switch len(known.Workflows) {
		case 0:
			return config.Usagef("the workspace has no workflows; write one into etui.yaml or workflows/NAME.yaml, see docs/workflows.md")
		case 1:
			m.Workflow = known.Workflows[0].Name
		default:
			var names []string
			for _, w := range known.Workflows {
				names = append(names, w.Name)
			}
			return config.Usagef("name a workflow: %s", strings.Join(names, ", "))
		}
	}
	m.Text = input
	if m.Workflow == "" { // one turn
		if m.Target != "" {
			m.Text += "\nTarget: " + m.Target
		}
		if m.Text = strings.TrimSpace(m.Text); m.Text == "" {
			return config.Usagef("say what to do with --input or --target, or name a workflow")
		}
		m.Target, m.Params = "", nil
	}
	if m.Session == "" {
		m.Session = runPrefix + cmp.Or(m.Workflow, m.Skill) + "-" + strings.ToLower(rand.Text()[:6])
	}
	m.IdempotencyKey = rand.Text() // the run goes on when this program is interrupted
	return c.show(ctx, m)
}

// Resume goes on with a run, and shows it as [Conversation.Run] does: with that of the
// conversation if it has a name, else with the newest one.
func (c *Conversation) Resume(ctx context.Context) error {
	m := c.who
	m.Text = message.Run
	if m.Session != "" {
		return c.show(ctx, m)
	}
	for s, err := range c.client.Sessions(ctx, "/admin/sessions", url.Values{}, maxLooked) {
		if err != nil {
			return err
		}
		agent, name, ok := route.AgentOf(s.Key)
		if ok && strings.HasPrefix(name, runPrefix) && (m.Agent == "" || m.Agent == agent) {
			m.Agent, m.Session = agent, name
			return c.show(ctx, m)
		}
	}
	return config.Usagef("there is no run to resume; etui run WORKFLOW begins one")
}

// show sends a message and shows the run that it begins or goes on with, until that has
// ended. On a terminal it asks about calls that await approval.
func (c *Conversation) show(ctx context.Context, m api.Message) error {
	r := &reply{Console: c.Console}
	if !c.JSON {
		r.note("· run %s", printable.OneLine(m.Session))
		if m.Text == message.Run {
			r.soFar(ctx, c.client, m)
		}
	}
	answers := bufio.NewScanner(c.In)
	for {
		done, err := r.follow(ctx, c.client, m)
		switch {
		case err != nil:
			return err
		case m.Text == message.Run && done.Flow == nil:
			return config.Usagef("no workflow has run in the conversation %s; etui status lists what runs", m.Session)
		case len(done.Awaits) == 0:
			return outcomeOf(done)
		}
		call := done.Awaits[0]
		if c.JSON || !terminal.Is(c.In) {
			return EndedError{Waits, phrase.Errorf("a call of %s waits for an approval: etui approvals approve %s, then etui run --resume", call.Tool, call.ID)}
		}
		phrase.Fprintf(c.Err, c.Language, "%s %s: let it run? [y/N] ", call.Tool,
			printable.Line(call.Arguments, maxFailure))
		m.Workflow, m.Target, m.Params, m.Skill, m.IdempotencyKey = "", "", nil, "", ""
		m.Text = approval.Deny + " " + call.ID
		if answers.Scan() && slices.Contains([]string{"y", "yes", "是"},
			strings.ToLower(strings.TrimSpace(answers.Text()))) {
			m.Text = approval.Approve + " " + call.ID
		}
	}
}

// outcomeOf returns how a run ended, as an error if it is not done.
func outcomeOf(done turn.End) error {
	f := done.Flow
	switch {
	case f == nil:
		return nil
	case f.Outcome == workflow.Done:
		return nil
	case f.Outcome == workflow.Limit:
		return EndedError{Limit, phrase.Errorf("the workflow %s reached a limit in the phase %s: %s", f.Workflow,
			f.Phase, f.Reason)}
	case f.Outcome == "":
		return EndedError{Failed, phrase.Errorf("the workflow %s stopped in the phase %s; etui run --resume goes on",
			f.Workflow, f.Phase)}
	}
	return EndedError{Failed, phrase.Errorf("the workflow %s ended in the phase %s: %s: %s", f.Workflow, f.Phase,
		f.Outcome, f.Reason)}
}

// follow sends a message, prints what happens and returns how the turn ended.
func (r *reply) follow(ctx context.Context, c *client.Client, m api.Message) (done turn.End, err error) {
	defer r.end()
	for e, err := range c.Chat(ctx, m) {
		if err != nil {
			return done, err
		}
		if e.Done != nil {
			done = *e.Done
		}
		switch {
		case r.JSON:
			if err := json.NewEncoder(r.Out).Encode(e); err != nil {
				return done, err
			}
		case e.Selected == nil:
			if e.Done != nil && !r.live {
				r.path(done.Flow)
			}
			r.show(e)
		}
	}
	return done, nil
}

// soFar prints where a run that goes on is now. Another process may run it, whose events do
// not come here.
func (r *reply) soFar(ctx context.Context, c *client.Client, m api.Message) {
	var s api.Status
	if err := c.Do(ctx, "GET", "/api/status", nil, &s); err != nil {
		return // the run goes on without it
	}
	for _, run := range s.Runs {
		if agent, name, ok := route.AgentOf(run.Session); ok && name == m.Session &&
			(m.Agent == "" || m.Agent == agent) {
			r.path(run.Flow)
		}
	}
}

// path prints the switches of a run that were not printed yet.
func (r *reply) path(f *session.Flow) {
	if f == nil {
		return
	}
	for _, s := range f.Path[min(r.switches, len(f.Path)):] {
		switch r.switches++; {
		case s.To == f.Outcome:
			r.note("■ %s: %s after %s, %d tokens; %s", f.Workflow, f.Outcome,
				phrase.Count(r.Language, f.Rounds, "round"), f.AllTokens, s.Why)
		case s.Why == "":
			r.note("▶ phase %s", s.To)
		default:
			r.note("▶ phase %s; %s", s.To, s.Why)
		}
	}
}

// phase prints how far a workflow has come.
func (r *reply) phase(p turn.PhaseEvent) {
	cost := ""
	if p.Cost > 0 {
		cost = phrase.In(r.Language, ", cost %.4f", p.Cost)
	}
	r.live = true
	switch {
	case p.Outcome != "":
		if p.Unpriced == p.AllTokens && p.Unpriced > 0 {
			cost = ", at no known price (models[].price)"
		} else if p.Unpriced > 0 {
			cost += phrase.In(r.Language, ", %d of them without a price (models[].price)", p.Unpriced)
		}
		r.note("■ %s: %s after %s, %d tokens%s", p.Workflow, p.Outcome, phrase.Count(r.Language, p.Rounds, "round"),
			p.AllTokens, cost)
	case p.Began:
		r.note("▶ phase %s (visit %d), skill %s, %s%s; %s", p.Name, p.Visit, p.Skill,
			phrase.Count(r.Language, tools(p.Switch), "tool"), delivered(p.Switch), p.Why)
	default:
		r.note("· %s round %d, %d tokens so far%s", p.Name, p.Round+1, p.AllTokens, cost)
	}
	if p.Warning != "" && (p.Began || p.Rounds == 0) {
		r.note("· warning: %s", p.Warning)
	}
}

func tools(s *session.Switch) int {
	if s == nil {
		return 0
	}
	return s.Tools
}

func delivered(s *session.Switch) string {
	if s == nil || s.Delivery == "" {
		return ""
	}
	return ", " + s.Delivery
}
