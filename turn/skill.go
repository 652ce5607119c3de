package turn

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/etui-run/etui/audit"
	"github.com/etui-run/etui/catalog"
	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/internal/cut"
	"github.com/etui-run/etui/internal/nearjson"
	"github.com/etui-run/etui/rules"
	"github.com/etui-run/etui/selection"
	"github.com/etui-run/etui/selection/meta"
	"github.com/etui-run/etui/tool"
)

// skillAsked reads the arguments of use_skill; missing fields stay empty.
func skillAsked(args json.RawMessage) meta.UseSkill {
	raw, _ := nearjson.Object(args)
	in, _ := meta.ReadUseSkill(raw)
	return in
}

// useSkill takes up the skill that the arguments name.
func (m *metaTools) useSkill(args json.RawMessage) chat.Result {
	in, g := skillAsked(args), m.front.gate()
	skill, ok := g.admitSkill(g.now(), in.Name)
	if !ok {
		g.record(m.conv.ctx, audit.Decision{Skill: in.Name, Stage: StageUnknown}, args)
		return g.unknownSkill(in.Name)
	}
	return m.takeUp(skill, in.File)
}

// takeUp returns a file of a skill, or its instructions. Instructions also switch the
// session to the skill's toolset, if it has one. If it has none, the beginning of the
// request stays the same, and the provider's cache stays valid.
func (m *metaTools) takeUp(skill catalog.Skill, file string) chat.Result {
	c, f := m.conv, m.front
	if err := f.gate().allowSkill(c.ctx, skill.Name, file); err != nil {
		return tool.Failure("%v", err)
	}
	var instructions string
	if skill.Guide == nil && file != "" {
		return tool.Failure("the skill %s has no files", skill.Name)
	}
	if skill.Guide != nil {
		text, err := f.read(skill, file)
		if err != nil {
			return tool.Failure("%v", err)
		}
		instructions = text
	}
	if file != "" {
		return tool.Text(f.once("the file "+file+" of the skill "+skill.Name, instructions))
	}
	if skill.Guide != nil {
		instructions = f.once(instructionsOf+skill.Name, instructions)
	}
	switch switches := len(skill.Allowed) > 0 || f.selector.Catalog().Switches(skill); {
	case switches && c.flows() && instructions == "":
		return tool.Failure("the phase %s has tools of its own; %s ends it when its work is done",
			c.state.Flow.Phase, selection.FinishPhase)
	case !switches || c.flows(): // the tools are those of the phase
		return tool.Text(instructions)
	}
	if f.selected.Request.Facts.Skill != skill.Name {
		f.switchTo(skill.Name)
	}
	result := m.brought(skill)
	if instructions != "" { // the model must read them, whatever the provider does with tools
		result.Text, result.Tools = result.Text+"\n\n"+instructions, nil
	}
	return result
}

// read reads a file of a skill within the time limit of a call, cut to what the model
// may read.
func (f *front) read(skill catalog.Skill, file string) (string, error) {
	c, host := f.conv, tool.Host{Facts: f.selected.Request.Facts}
	result, err := wait(c.ctx, c.config.CallTimeout, func(ctx context.Context) (chat.Result, error) {
		text, err := skill.Read(tool.WithHost(ctx, host), file)
		return chat.Result{Text: text}, err
	})
	if p, ok := errors.AsType[*catalog.PanicError](err); ok {
		c.config.panicked(c.in.Session.Key, "reading the skill "+skill.Name, p)
	}
	return cut.End(c.config.Secrets.Redactor().Text(result.Text), c.config.MaxSkill), err
}

// withInstructions adds the active skill's instructions to a note unless the
// conversation already has them. That happens when a person chose the skill, or when
// the message with the instructions is no longer sent.
func (f *front) withInstructions(note string) string {
	c := f.conv
	name := f.selected.Request.Facts.Skill
	skill, _ := f.selector.Catalog().Skill(name)
	if skill.Guide == nil || slices.Contains(f.selected.HiddenSkills, name) {
		return note
	}
	g := f.gate()
	d := g.decide(c.ctx, g.now(), rules.Attempt{Skill: name, Arguments: fileArguments("")})
	if d.Effect != rules.Allow {
		c.config.Log.WarnContext(c.ctx, "the active skill's instructions are refused",
			"skill", name, "reason", d.Reason, "session", c.in.Session.Key)
		return note
	}
	text, err := f.read(skill, "")
	if err != nil {
		c.config.Log.WarnContext(c.ctx, "the active skill's instructions cannot be read",
			"skill", name, "error", err, "session", c.in.Session.Key)
		return note
	}
	text = instructionsOf + name + ":\n" + text
	if told(c.in.kept, text) {
		return note
	}
	return strings.TrimPrefix(note+"\nFollow "+text, "\n")
}

// once returns a text under a heading, or a pointer to it if the conversation already
// has it.
func (f *front) once(what, text string) string {
	text = what + ":\n" + text
	if told(f.conv.sent, text) {
		return what + ": unchanged, see above in this conversation."
	}
	return text
}

// told reports whether the messages contain a text.
func told(messages []chat.Message, text string) bool {
	return slices.ContainsFunc(messages, func(m chat.Message) bool {
		return strings.Contains(m.Note, text) || m.Result != nil && !m.Result.Failed && strings.Contains(m.Result.Text, text)
	})
}

// instructionsOf is the heading of a skill's instructions, before its name.
const instructionsOf = "the instructions of the skill "

// maxBrought bounds the tools of a skill that a result lists; find_tools finds the
// rest.
const maxBrought = 10

// brought describes the tools of a skill.
func (m *metaTools) brought(skill catalog.Skill) chat.Result {
	var text strings.Builder
	fmt.Fprintf(&text, "The skill %s is active", skill.Name)
	if skill.Description != "" {
		text.WriteString(": " + strings.TrimSuffix(cut.Line(skill.Description, maxLine), "."))
	}
	usable := m.front.selected.Usable()
	fmt.Fprintf(&text, ". It has %d tools.", len(usable))
	var listed []*catalog.Entry
	for _, match := range m.front.selected.Ranked {
		listed = append(listed, match.Entry)
	}
	for _, e := range usable {
		if len(listed) < maxBrought && !slices.Contains(listed, e) && len(skill.Tools) > 0 {
			listed = append(listed, e)
		}
	}
	for _, e := range listed[:min(len(listed), maxBrought)] {
		fmt.Fprintf(&text, "\n%s\n  %s", selection.Signature(e.Definition), cut.Line(e.Definition.Description, maxLine))
	}
	return m.loading(text.String(), listed[:min(len(listed), maxBrought)]...)
}

// perSearch bounds the skills that a search returns.
const perSearch = 3

// findSkills describes the skills that match a search and that the system prompt does
// not describe; empty when there are none.
func (m *metaTools) findSkills(queries []string) string {
	var text strings.Builder
	for _, query := range queries {
		req := m.front.selected.Request
		req.Query = query
		for _, skill := range m.front.selector.SearchSkills(req, perSearch) {
			line := selection.SkillLine(skill)
			if !m.front.selected.Describes(skill.Name) && !strings.Contains(text.String(), line) {
				text.WriteString("\n" + line)
			}
		}
	}
	if text.Len() == 0 {
		return ""
	}
	return "\nSkills, to be taken up with " + selection.UseSkill + ":" + text.String()
}
