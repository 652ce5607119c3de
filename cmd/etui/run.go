package main

import (
	"bufio"
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/etui-run/etui/cmd/internal/app"
	"github.com/etui-run/etui/cmd/internal/client"
	"github.com/etui-run/etui/cmd/internal/config"
	"github.com/etui-run/etui/engine"
	"github.com/etui-run/etui/internal/printable"
	"github.com/etui-run/etui/route"
	"github.com/etui-run/etui/server/api"
	"github.com/etui-run/etui/session"
	"github.com/etui-run/etui/turn"
	"github.com/etui-run/etui/workflow"
)

// The exit codes of a run, beside those of every command.
const (
	exitLimit   = 3
	exitWaiting = 4
)

// ended is how a run ended, if not with done.
type ended struct {
	code int
	says string
}

func (e ended) Error() string { return e.says }

// runPrefix begins the names of the conversations that run makes.
const runPrefix = "run-"

func (a *cli) runCommand() *cobra.Command {
	var who api.Message
	var input string
	var resume bool
	c := &cobra.Command{
		Use: "run [WORKFLOW]", Short: "Run a workflow to its end", Args: cobra.MaximumNArgs(1),
		Long: `Run a workflow of the workspace to its end, and show its phases: see docs/workflows.md. Without a name it
runs the only one. With --skill it keeps to the tools of that
skill in all phases; with --skill and no workflow it runs one turn with these tools.

If a call waits for an approval, a terminal asks; otherwise run ends, and --resume goes on after
etui approvals approve. --resume also goes on after a crash: with the newest run, or that of --session.

Exit status: 0 the run is done, 1 it failed, 2 it was called wrongly, 3 it reached a limit, 4 it waits
for an approval.`,
		Example: `  etui run incident --input "checkout is slow"
  etui run unittest --target Foo.java
  etui run --skill analysis --target Foo.java --input "which branches are not covered?"
  etui run --resume`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if resume && (len(args) > 0 || input != "" || who.Target != "" || len(who.Params) > 0) {
				return config.Usagef("--resume goes on with a run as it began: leave the workflow, --input, --target and --param out")
			}
			return a.using(cmd.Context(), app.Config{Stored: true, Records: true}, func(c *client.Client) error {
				m, err := a.runMessage(cmd.Context(), c, who, args, input, resume)
				if err != nil {
					return err
				}
				return a.follow(cmd.Context(), c, m)
			})
		},
	}
	placeFlags(c, &who)
	f := c.Flags()
	f.StringVar(&input, "input", "", "what the workflow is to do")
	f.StringVar(&who.Target, "target", "", "what it works on, as a file name")
	f.StringToStringVar(&who.Params, "param", nil, "named text for its conditions as name=value (may be repeated)")
	f.StringVar(&who.Skill, "skill", "", "skill or toolset for all phases")
	f.BoolVar(&resume, "resume", false, "go on with the newest run, or that of --session")
	return c
}

// runMessage makes the message that begins a run or goes on with one.
func (a *cli) runMessage(ctx context.Context, c *client.Client, m api.Message, args []string, input string, resume bool) (api.Message, error) {
	if resume {
		if m.Session == "" {
			if err := newestRun(ctx, c, &m); err != nil {
				return m, err
			}
		}
		m.Text = engine.Run
		return m, nil
	}
	var known api.Workflows
	if err := c.Do(ctx, "GET", "/api/workflows", nil, &known); err != nil {
		return m, err
	}
	if len(args) > 0 {
		m.Workflow = args[0]
	} else if m.Skill == "" {
		name, err := onlyWorkflow(known)
		if err != nil {
			return m, err
		}
		m.Workflow = name
	}
	m.Text = input
	if m.Workflow == "" { // one turn
		m.Text = strings.TrimSpace(input + "\n" + targetLine(m.Target))
		if m.Text == "" {
			return m, config.Usagef("say what to do with --input or --target, or name a workflow")
		}
		m.Target, m.Params = "", nil
	}
	if m.Session == "" {
		m.Session = runPrefix + cmp.Or(m.Workflow, m.Skill) + "-" + strings.ToLower(rand.Text()[:6])
	}
	m.IdempotencyKey = rand.Text() // the run goes on when this program is interrupted
	return m, nil
}

func targetLine(target string) string {
	if target == "" {
		return ""
	}
	return "Target: " + target
}

// onlyWorkflow is the workflow that run means without a name.
func onlyWorkflow(known api.Workflows) (string, error) {
	switch {
	case len(known.Workflows) == 0:
		return "", config.Usagef("the workspace has no workflows; write one into etui.yaml or workflows/NAME.yaml, see docs/workflows.md")
	case len(known.Workflows) == 1:
		return known.Workflows[0].Name, nil
	}
	var names []string
	for _, w := range known.Workflows {
		names = append(names, w.Name)
	}
	return "", config.Usagef("name a workflow: %s", strings.Join(names, ", "))
}

// newestRun makes m go on in the newest conversation of a run.
func newestRun(ctx context.Context, c *client.Client, m *api.Message) error {
	for s, err := range sessionPages(ctx, c, "/admin/sessions", url.Values{}, maxLooked) {
		if err != nil {
			return err
		}
		agent, name, ok := route.Named(s.Key)
		if ok && strings.HasPrefix(name, runPrefix) && (m.Agent == "" || m.Agent == agent) {
			m.Agent, m.Session = agent, name
			return nil
		}
	}
	return config.Usagef("there is no run to resume; etui run WORKFLOW begins one")
}

// follow sends a message and shows the run that it begins or goes on with, until that has
// ended. On a terminal it asks about calls that await approval.
func (a *cli) follow(ctx context.Context, c *client.Client, m api.Message) error {
	r := &reply{cli: a}
	if !a.json {
		r.note("· run %s", printable.OneLine(m.Session))
		if m.Text == engine.Run {
			r.soFar(ctx, c, m)
		}
	}
	answers := bufio.NewScanner(a.in)
	for {
		done, err := r.runTurn(ctx, c, m)
		switch {
		case err != nil:
			return err
		case m.Text == engine.Run && done.Flow == nil:
			return config.Usagef("no workflow has run in the conversation %s; etui status lists what runs", m.Session)
		case len(done.Awaits) == 0:
			return outcomeOf(done)
		case a.json || !isTerminal(a.in):
			return ended{exitWaiting, fmt.Sprintf("a call of %s waits for an approval: etui approvals approve %s, then etui run --resume", done.Awaits[0].Tool, done.Awaits[0].ID)}
		}
		fmt.Fprintf(a.err, "%s %s: let it run? [y/N] ", done.Awaits[0].Tool, printable.Line(done.Awaits[0].Arguments, maxFailure))
		m.Workflow, m.Target, m.Params, m.Skill, m.IdempotencyKey = "", "", nil, "", ""
		m.Text = engine.Deny + " " + done.Awaits[0].ID
		if answers.Scan() && slices.Contains([]string{"y", "yes"}, strings.ToLower(strings.TrimSpace(answers.Text()))) {
			m.Text = engine.Approve + " " + done.Awaits[0].ID
		}
	}
}

// outcomeOf returns how a run ended, as an error if it is not done.
func outcomeOf(done turn.Done) error {
	f := done.Flow
	switch {
	case f == nil:
		return nil
	case f.Outcome == workflow.Done:
		return nil
	case f.Outcome == workflow.Limit:
		return ended{exitLimit, fmt.Sprintf("the workflow %s reached a limit in the phase %s: %s", f.Workflow, f.Phase, f.Reason)}
	case f.Outcome == "":
		return ended{exitFailed, fmt.Sprintf("the workflow %s stopped in the phase %s; etui run --resume goes on", f.Workflow, f.Phase)}
	}
	return ended{exitFailed, fmt.Sprintf("the workflow %s ended in the phase %s: %s: %s", f.Workflow, f.Phase, f.Outcome, f.Reason)}
}

// runTurn sends a message, prints what happens and returns how the turn ended.
func (r *reply) runTurn(ctx context.Context, c *client.Client, m api.Message) (done turn.Done, err error) {
	defer r.end()
	for e, err := range c.Chat(ctx, m) {
		if err != nil {
			return done, err
		}
		if e.Done != nil {
			done = *e.Done
		}
		switch {
		case r.json:
			if err := json.NewEncoder(r.out).Encode(e); err != nil {
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
		if agent, name, ok := route.Named(run.Session); ok && name == m.Session && (m.Agent == "" || m.Agent == agent) {
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
			r.note("■ %s: %s after %s, %d tokens; %s", f.Workflow, f.Outcome, printable.Count(f.Rounds, "round"), f.AllTokens, s.Why)
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
		cost = fmt.Sprintf(", cost %.4f", p.Cost)
	}
	r.live = true
	switch {
	case p.Outcome != "":
		if p.Unpriced == p.AllTokens && p.Unpriced > 0 {
			cost = ", at no known price (models[].price)"
		} else if p.Unpriced > 0 {
			cost += fmt.Sprintf(", %d of them without a price (models[].price)", p.Unpriced)
		}
		r.note("■ %s: %s after %s, %d tokens%s", p.Workflow, p.Outcome, printable.Count(p.Rounds, "round"), p.AllTokens, cost)
	case p.Began:
		r.note("▶ phase %s (visit %d), skill %s, %s%s; %s", p.Name, p.Visit, p.Skill, printable.Count(tools(p.Switch), "tool"), delivered(p.Switch), p.Why)
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
