package app

import (
	"context"
	"slices"
	"time"

	"github.com/etui-run/etui/agent"
	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/internal/nearest"
	"github.com/etui-run/etui/subagent"
	"github.com/etui-run/etui/tool"
)

type spawnInput struct {
	Task    string `json:"task" jsonschema:"what to do, with all that the sub-agent must know: it does not see this conversation"`
	Agent   string `json:"agent,omitempty" jsonschema:"the agent that does it, if not the usual one"`
	Toolset string `json:"toolset,omitempty" jsonschema:"a skill whose tools it has at first"`
	Steps   int    `json:"steps,omitempty" jsonschema:"ask the model at most so often"`
	Minutes int    `json:"minutes,omitempty" jsonschema:"work at most so many minutes"`
	Tokens  int    `json:"tokens,omitempty" jsonschema:"use at most so many tokens"`
}

// addSpawn registers the tool with which agents start sub-agents, for those that may. If
// none may, there is no such tool.
func (a *App) addSpawn() error {
	w := a.Workspace
	spawners := map[string]bool{}
	for _, g := range w.Config.Agents {
		for _, name := range g.Spawn.Agents {
			others := func(yield func(string) bool) {
				for _, g := range w.Config.Agents {
					if !yield(g.Name) {
						return
					}
				}
			}
			if !slices.Contains(slices.Collect(others), name) {
				return w.Mistakef("agent %s: spawn.agents: there is no agent %q%s", g.Name, name,
					nearest.Hint(name, others))
			}
		}
		if g.Spawn.AtOnce > 0 {
			spawners[g.Name] = true
		}
	}
	if len(spawners) == 0 {
		return nil
	}
	return a.Config.Registry.RegisterWithFilter(a.spawnTool(), func(f chat.Facts) bool { return spawners[f.Agent] })
}

// spawnTool is the tool with which a model hands a task to a sub-agent.
func (a *App) spawnTool() tool.Tool {
	return tool.Func(tool.Definition{
		Name: agent.SpawnTool, Description: "Hand a task that takes many steps, or that can be done beside others, to a sub-agent that works in the background. Its result comes back as a message in this conversation.",
		Translations: map[string]string{"zh": "把任务交给子代理在后台完成，结果稍后返回。"},
		Aliases:      []string{"sub-agent", "subagent", "delegate", "in the background", "子代理", "后台"},
		Groups:       []string{"agents"}, Risk: tool.Write, Replay: tool.Keyed, Source: "builtin",
	}, func(ctx context.Context, in spawnInput) (chat.Result, error) {
		return a.Engine.SubAgents().Start(ctx, subagent.Assignment{
			Task: in.Task, Agent: in.Agent, Toolset: in.Toolset, Steps: in.Steps,
			Time: time.Duration(in.Minutes) * time.Minute, Tokens: in.Tokens,
		})
	})
}
