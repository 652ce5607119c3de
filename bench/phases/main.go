// Command phases measures what the phases of the demo's incident cost: with a toolset for
// each phase, declared anew or announced, against all their tools at once. It asks no model:
// the answers are scripted, and the requests are billed by the cache rules and list prices
// of two providers, see internal/replay/bill.go. It prints the table of docs/delivery.md, and
// that of the switches in docs/benchmarks.md.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/etui-run/etui/catalog"
	"github.com/etui-run/etui/engine"
	"github.com/etui-run/etui/internal/app"
	"github.com/etui-run/etui/internal/replay"
	"github.com/etui-run/etui/model"
	"github.com/etui-run/etui/model/script"
	"github.com/etui-run/etui/secret"
	"github.com/etui-run/etui/selection"
	"github.com/etui-run/etui/session"
	"github.com/etui-run/etui/store"
	"github.com/etui-run/etui/turn"
	"github.com/etui-run/etui/workflow"
)

func main() {
	if err := measure(os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "phases:", err)
		os.Exit(1)
	}
}

func measure(out io.Writer) (err error) {
	home, err := os.MkdirTemp("", "phases")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(home)) }()
	if err := os.Setenv("XDG_STATE_HOME", home); err != nil {
		return err
	}
	w, err := app.OpenDemo("", os.Environ())
	if err != nil {
		return err
	}
	a, err := app.New(context.Background(), w, app.Config{Secrets: &secret.Known{}})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, a.Close()) }()
	each := "\n| provider | phase | tools | tokens of its definitions | against the tools of all phases | against all tools | lost in the cache |\n|---|---|---|---|---|---|---|\n"
	fmt.Fprintln(out, "| run | provider | tools | tokens of definitions, mean | tokens sent | cost | switches |\n|---|---|---|---|---|---|---|")
	for _, looks := range []int{0, 12} {
		for _, p := range replay.Providers() {
			p.Deferral = false
			base, all := 0.0, 0
			for _, way := range []string{"full", "declare", "announce", "auto"} {
				bill, tools, switches, err := run(a, p, way, looks)
				if err != nil {
					return fmt.Errorf("%s, %s: %w", p.Name, way, err)
				}
				taken := ""
				for _, s := range switches {
					if s.Delivery == "" {
						continue
					}
					taken += s.Delivery[:1]
					if way == "declare" && looks == 0 {
						saved := func(of int) float64 { return 100*float64(s.ToolTokens)/float64(of) - 100 }
						each += fmt.Sprintf("| %s | %s | %d | %d | %d (%.0f %%) | %d (%.0f %%) | %.0f tokens, $%.4f |\n", p.Name, s.To, s.Tools, s.ToolTokens, all, saved(all), s.FullTokens, saved(s.FullTokens), s.Lost, s.Lost*p.Input/1e6)
					}
				}
				change := ""
				if way == "full" {
					base, all = bill.Dollars, tools
				} else {
					change = fmt.Sprintf(" (%+.0f %%)", 100*(bill.Dollars-base)/base)
				}
				fmt.Fprintf(out, "| %d rounds | %s | %s | %d | %d | $%.4f%s | %s |\n", bill.Requests, p.Name, way, tools, bill.Input, bill.Dollars, change, taken)
			}
		}
	}
	fmt.Fprint(out, each)
	return nil
}

// fixed is a model with other prices than it is billed by, to make the choice for it.
type fixed struct {
	*replay.Billed
	way string
}

func (f fixed) Info() model.Info {
	info := f.Billed.Info()
	if f.way == "announce" {
		info.Price.CacheWrite = 1000 // nothing may be written again
	}
	return info
}

func run(a *app.App, p replay.Provider, way string, looks int) (bill replay.Bill, tools int, switches []session.Switch, err error) {
	plan, _ := a.Engine.Workflows().Get("incident")
	scripted, ok := plan.Offline.(*script.Model)
	if !ok {
		return bill, 0, nil, fmt.Errorf("the demo's incident has no script")
	}
	billed := replay.NewBilled(script.New(longer(scripted.Script(), looks)), p)
	flow := plan.Workflow
	flow.Offline, flow.Phases = nil, slices.Clone(flow.Phases)
	flow.Phases[0].Limits.Rounds += looks
	var union []string
	for i, ph := range flow.Phases {
		skill, _ := a.Engine.Catalog().Skill(ph.Skill)
		union = append(union, skill.Tools...)
		if way == "full" {
			flow.Phases[i].Skill = catalog.Full
		}
	}
	set, err := workflow.Compile(flow)
	if err != nil {
		return bill, 0, nil, err
	}
	cfg := a.Config
	cfg.Workflows, cfg.Store, cfg.Turn = &workflow.Table{}, &store.Memory{}, turn.Config{}
	cfg.Workflows.Store(set)
	agent := cfg.Agents[0]
	agent.Model = fixed{billed, way}
	if way == "full" || way == "declare" {
		agent.Mode = selection.Direct
	}
	cfg.Agents = []engine.Agent{agent}
	e, err := engine.New(cfg)
	if err != nil {
		return bill, 0, nil, err
	}
	slices.Sort(union)
	for ev, err := range e.Send(context.Background(), engine.Message{Workflow: "incident", Text: "checkout is failing", Include: slices.Compact(union)}) {
		if err != nil {
			return bill, 0, nil, err
		}
		if ev.Done == nil {
			continue
		}
		if ev.Done.Flow == nil || ev.Done.Flow.Outcome != workflow.Done {
			raw, _ := json.Marshal(ev.Done.Flow)
			return bill, 0, nil, fmt.Errorf("the run ended otherwise: %s", raw)
		}
		switches = ev.Done.Flow.Path
	}
	for _, n := range billed.Tools {
		tools += n
	}
	return billed.Bill, tools / max(len(billed.Tools), 1), switches, nil
}

// longer is the script with more rounds of looking.
func longer(s script.Script, looks int) script.Script {
	var more []script.Answer
	for range looks {
		more = append(more, script.Answer{Calls: []script.Call{
			{Name: "query_logs", Arguments: json.RawMessage(`{"query":"error","service":"checkout"}`)}, {Name: "get_error_rate", Arguments: json.RawMessage(`{"service":"checkout"}`)},
		}})
	}
	s.Answers = slices.Concat(s.Answers[:1], more, s.Answers[1:])
	return s
}
