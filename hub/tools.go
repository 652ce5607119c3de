package hub

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/internal/printable"
	"github.com/etui-run/etui/skill"
	"github.com/etui-run/etui/tool"
)

// perSource is how many skills of each source a model sees.
const perSource = 8

// Finder is the tool find_skills.
type Finder struct {
	Installer *Installer
	// Loaded finds loaded skills that the caller may see; they come first. May be
	// nil.
	Loaded func(ctx context.Context, text string) []Match
}

type findInput struct {
	Query string `json:"query"` // what the skill should be able to do, in a few words
}

// findSkills finds skills - instructions and tools for a kind of work - among those
// that are loaded and in the registries. Use it when no tool fits what is asked.
//
//etui:tool risk=read
//etui:zh 查找技能：先查已加载的，再查技能注册表。没有合适的工具时使用。
//etui:alias search skills, skill registry, 搜索技能, 查找技能, 有什么技能, 找一个技能
func (f *Finder) findSkills(ctx context.Context, in findInput) (string, error) {
	var text strings.Builder
	if f.Loaded != nil {
		for _, s := range f.Loaded(ctx, in.Query) {
			fmt.Fprintf(&text, "loaded: %s - %s\n", s.Name, printable.Line(s.Description, maxExcerpt))
		}
	}
	found, errs := f.Installer.Find(ctx, "", in.Query, perSource)
	for _, s := range found {
		// Whether one is installed stays unsaid: it may be hidden from the caller.
		fmt.Fprintf(&text, "%s: %s - %s\n", s.Registry, versioned(s.Words(), s.Version),
			printable.Line(s.Description, maxExcerpt))
	}
	none := text.Len() == 0
	for _, err := range errs {
		fmt.Fprintf(&text, "not asked: %s\n", printable.Line(err.Error(), maxExcerpt))
	}
	switch {
	case none && len(errs) > 0:
		return "", errors.New(text.String())
	case none:
		return "No skill fits. Try other words, or go on without one.", nil
	}
	return text.String(), nil
}

type installInput struct {
	Name     string `json:"name"`               // as find_skills lists it: NAME, @owner/NAME or owner/repository@NAME
	Registry string `json:"registry,omitempty"` // only this registry
	Version  string `json:"version,omitempty"`  // default: the newest
}

// installSkill installs a skill that find_skills has found, so that it can be used
// from the next message on. Only when the user asked for it or agreed.
//
//etui:tool risk=write
//etui:zh 安装 find_skills 找到的技能，下一条消息起可用。仅在用户要求或同意时使用。
//etui:alias add a skill, 安装技能, 添加技能
func (in *Installer) installSkill(ctx context.Context, want installInput) (chat.Result, error) {
	// It never accepts flags: a skill with flags is refused, with the command for an
	// operator.
	s, ref, err := in.Lookup(ctx, want.Registry, want.Name, want.Version)
	if err != nil {
		return declined(want.Name, err), nil
	}
	done, err := in.Install(ctx, s, ref, Options{Progress: func(p Progress) {
		tool.Report(ctx, tool.Progress{Text: p.Step + " " + p.Name, Done: float64(p.Done), Total: float64(p.Total)})
	}})
	if err != nil {
		return declined(want.Name, err), nil
	}
	return tool.Text(fmt.Sprintf("The skill %s from %s is installed. It can be used from the next message on.",
		versioned(done.Name, done.Origin.Version), done.Origin.Registry)), nil
}

// declined explains to the model why nothing was installed, and what a person can
// do.
func declined(name string, err error) chat.Result {
	var ask *NeedsYesError
	switch {
	case errors.As(err, &ask):
		return tool.Failure("%s\nYou cannot say yes yourself. Tell the user what was found; an operator who has looked at it can run: etui skills install %s --yes", err, name)
	case errors.Is(err, ErrInstalled):
		return tool.Failure("%s is installed already; use it, or tell the user that etui skills update %s brings a newer one", name, name)
	case errors.Is(err, skill.ErrNotFound):
		return tool.Failure("%s; find_skills lists the names", err)
	}
	return tool.Failure("%s", err)
}
