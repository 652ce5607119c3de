package install

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/skill"
	"github.com/etui-run/etui/tool"
)

// Group is the group of the tools, and their source.
const Group = "skills"

// perRegistry is how many skills of each registry a model is told of.
const perRegistry = 8

// Tools returns the tools find_skills and install_skill. have finds what is loaded already and the
// caller may use; that is told first. May be nil.
func Tools(in *Installer, have func(ctx context.Context, text string) []Found) (find, install tool.Tool) {
	return findTool(in, have), installTool(in)
}

func findTool(in *Installer, have func(ctx context.Context, text string) []Found) tool.Tool {
	type input struct {
		Query string `json:"query"`
	}
	d := tool.Definition{
		Name: "find_skills", Risk: tool.Read, Version: "1", Groups: []string{Group}, Source: "builtin",
		Description:  "Find skills - instructions and tools for a kind of work - among those that are loaded and in the registries. Use it when no tool fits what is asked.",
		Translations: map[string]string{"zh": "查找技能：先查已加载的，再查技能注册表。没有合适的工具时使用。"},
		Aliases:      []string{"search skills", "skill registry", "搜索技能", "查找技能", "有什么技能", "找一个技能"},
		Parameters:   json.RawMessage(`{"type":"object","properties":{"query":{"type":"string","description":"what the skill should be able to do, in a few words"}},"required":["query"]}`),
	}
	return tool.Func(d, func(ctx context.Context, q input) (string, error) {
		var text strings.Builder
		if have != nil {
			for _, f := range have(ctx, q.Query) {
				fmt.Fprintf(&text, "loaded: %s - %s\n", f.Name, excerpt(f.Description))
			}
		}
		found, errs := in.Find(ctx, "", q.Query, perRegistry)
		for _, f := range found {
			state := ""
			if f.Installed {
				state = " (installed)"
			}
			fmt.Fprintf(&text, "%s: %s%s - %s\n", f.Registry, versioned(f.Words(), f.Version), state, excerpt(f.Description))
		}
		for _, err := range errs {
			fmt.Fprintf(&text, "not asked: %s\n", excerpt(err.Error()))
		}
		if text.Len() == 0 {
			return "No skill fits. Try other words, or go on without one.", nil
		}
		return text.String(), nil
	})
}

// installTool never says yes for anybody: what needs a yes is refused, with the
// command that an operator can give.
func installTool(in *Installer) tool.Tool {
	type input struct {
		Name     string `json:"name"`
		Registry string `json:"registry,omitempty"`
		Version  string `json:"version,omitempty"`
	}
	d := tool.Definition{
		Name: "install_skill", Risk: tool.Write, Version: "1", Groups: []string{Group}, Source: "builtin",
		Description:  "Install a skill that find_skills has found, so that it can be used from the next message on. Only when the user asked for it or agreed.",
		Translations: map[string]string{"zh": "安装 find_skills 找到的技能，下一条消息起可用。仅在用户要求或同意时使用。"},
		Aliases:      []string{"add a skill", "安装技能", "添加技能"},
		Parameters:   json.RawMessage(`{"type":"object","properties":{"name":{"type":"string","description":"as find_skills tells it: NAME, @owner/NAME or owner/repository@NAME"},"registry":{"type":"string","description":"only this registry"},"version":{"type":"string","description":"default: the newest"}},"required":["name"]}`),
	}
	return tool.Func(d, func(ctx context.Context, want input) (chat.Result, error) {
		r, ref, err := in.Lookup(ctx, want.Registry, want.Name, want.Version)
		if err != nil {
			return declined(want.Name, err), nil
		}
		done, err := in.Install(ctx, r, ref, Options{Progress: func(p Progress) {
			tool.Report(ctx, tool.Progress{Text: p.Step + " " + p.Name, Done: float64(p.Done), Total: float64(p.Total)})
		}})
		if err != nil {
			return declined(want.Name, err), nil
		}
		return tool.Text(fmt.Sprintf("The skill %s from %s is installed. It can be used from the next message on.", versioned(done.Name, done.Origin.Version), done.Origin.Registry)), nil
	})
}

// versioned is a name with its version, where there is one.
func versioned(name, version string) string { return strings.TrimSpace(name + " " + version) }

// declined tells the model why nothing was installed, and what a person can do.
func declined(name string, err error) chat.Result {
	var ask *NeedsYesError
	switch {
	case errors.As(err, &ask):
		return tool.Failure("%s\nYou cannot say yes yourself. Tell the user what was found; an operator who has looked at it can run: etui skills install %s --yes", err, name)
	case errors.Is(err, ErrInstalled):
		return tool.Failure("%s is installed already; use it, or tell the user that etui skills update %s brings a newer one", name, name)
	case errors.Is(err, skill.ErrNotFound):
		return tool.Failure("%s; find_skills tells the names", err)
	}
	return tool.Failure("%s", err)
}
