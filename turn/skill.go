package turn

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/etui-run/etui/audit"
	"github.com/etui-run/etui/catalog"
	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/selection"
	"github.com/etui-run/etui/selection/meta"
	"github.com/etui-run/etui/tool"
	"github.com/etui-run/etui/turn/internal/arguments"
)

// skillAsked reads the arguments of use_skill; missing fields stay empty.
func skillAsked(args json.RawMessage) meta.UseSkill {
	raw, _ := arguments.Repair(args)
	in, _ := meta.ReadUseSkill(raw)
	return in
}

// useSkill takes up the skill that the arguments name.
func (m *metaTools) useSkill(args json.RawMessage) chat.Result {
	in, g := skillAsked(args), m.front.gate()
	skill, ok := g.admitSkill(g.now(), in.Name)
	if !ok {
		g.decided(m.conv.ctx, audit.Decision{Skill: in.Name, Stage: StageUnknown}, args)
		return g.unknownSkill(in.Name)
	}
	return m.takeUp(skill, in.File)
}

// takeUp returns a file of a skill, or its instructions. Instructions also switch the
// session to the skill's toolset, if it has one. If it has none, the beginning of the
// request stays the same, and the provider's cache stays valid.
func (m *metaTools) takeUp(skill catalog.Skill, file string) chat.Result {
	if err := m.front.gate().allowSkill(m.conv.ctx, skill.Name, file); err != nil {
		return tool.Failure("%v", err)
	}
	var instructions string
	if skill.Guide == nil && file != "" {
		return tool.Failure("the skill %s has no files", skill.Name)
	}
	if skill.Guide != nil {
		text, err := m.front.read(skill, file)
		if err != nil {
			return tool.Failure("%v", err)
		}
		instructions = text
	}
	if file != "" {
		return tool.Text(m.front.once("the file "+file+" of the skill "+skill.Name, instructions))
	}
	if skill.Guide != nil {
		instructions = m.front.once(instructionsOf+skill.Name, instructions)
	}
	switch switches := m.front.selector.Catalog().Switches(skill); {
	case switches && m.conv.flows() && instructions == "":
		return tool.Failure("the phase %s has tools of its own; %s ends it when its work is done", m.conv.state.Flow.Phase, selection.FinishPhase)
	case !switches || m.conv.flows(): // the tools are those of the phase
		return tool.Text(instructions)
	}
	if m.front.selected.Request.Facts.Skill != skill.Name {
		m.front.switchTo(skill.Name)
	}
	result := m.brought(skill)
	if instructions != "" { // the model must read them, whatever the provider does with tools
		result.Text, result.Tools = result.Text+"\n\n"+instructions, nil
	}
	return result
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
		text.WriteString(": " + strings.TrimSuffix(line(skill.Description), "."))
	}
	usable := m.front.selected.Usable()
	fmt.Fprintf(&text, ". It has %d tools.", len(usable))
	var listed []*catalog.Entry
	for _, match := range m.front.selected.Ranked {
		listed = append(listed, match.Entry)
	}
	for _, e := range usable {
		if len(listed) < maxBrought && !slices.Contains(listed, e) && skill.Name != catalog.Full {
			listed = append(listed, e)
		}
	}
	for _, e := range listed[:min(len(listed), maxBrought)] {
		fmt.Fprintf(&text, "\n%s\n  %s", selection.Signature(e.Definition), line(e.Definition.Description))
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
