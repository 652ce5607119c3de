package turn

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/etui-run/etui/audit"
	"github.com/etui-run/etui/catalog"
	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/internal/nearest"
	"github.com/etui-run/etui/rules"
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
func (t *run) useSkill(args json.RawMessage) chat.Result {
	in := skillAsked(args)
	skill, ok := t.admitSkill(t.now(), in.Name)
	if !ok {
		t.decided(audit.Decision{Skill: in.Name, Stage: StageUnknown}, args)
		return t.unknownSkill(in.Name)
	}
	return t.takeUp(skill, in.File)
}

// admitSkill finds a skill that the caller may take up, in the turn's catalog and in that
// of a moment.
func (t *run) admitSkill(now moment, name string) (catalog.Skill, bool) {
	skill, ok := t.selector.AdmitSkill(t.selected.Request, name)
	if ok && now.changed {
		_, ok = now.AdmitSkill(now.request, name)
	}
	return skill, ok
}

// maxSkillNames bounds the names listed for a model that asks for an unknown skill.
const maxSkillNames = 50

// unknownSkill is the result for a skill that does not exist, or that the caller may not take up
// any more.
func (t *run) unknownSkill(name string) chat.Result {
	skills := []string{catalog.Full}
	for skill := range t.selected.OfferedSkills() {
		if skill != name {
			skills = append(skills, skill)
		}
	}
	slices.Sort(skills)
	list := strings.Join(skills[:min(len(skills), maxSkillNames)], ", ")
	if more := len(skills) - maxSkillNames; more > 0 {
		list += fmt.Sprintf(" and %d more", more)
	}
	return tool.Failure("there is no skill %q%s The skills are: %s.", name, cmp.Or(nearest.Hint(name, slices.Values(skills)), "."), list)
}

// takeUp returns a file of a skill, or its instructions. Instructions also switch the
// session to the skill's toolset, if it has one. If it has none, the beginning of the
// request stays the same, and the provider's cache stays valid.
func (t *run) takeUp(skill catalog.Skill, file string) chat.Result {
	if err := t.allowSkill(skill.Name, file); err != nil {
		return tool.Failure("%v", err)
	}
	var instructions string
	if skill.Guide == nil && file != "" {
		return tool.Failure("the skill %s has no files", skill.Name)
	}
	if skill.Guide != nil {
		text, err := t.read(skill, file)
		if err != nil {
			return tool.Failure("%v", err)
		}
		instructions = text
	}
	if file != "" {
		return tool.Text(t.once("the file "+file+" of the skill "+skill.Name, instructions))
	}
	if skill.Guide != nil {
		instructions = t.once(instructionsOf+skill.Name, instructions)
	}
	switch switches := t.selector.Catalog().Switches(skill); {
	case switches && t.flows() && instructions == "":
		return tool.Failure("the phase %s has tools of its own; %s ends it when its work is done", t.state.Flow.Phase, selection.FinishPhase)
	case !switches || t.flows(): // the tools are those of the phase
		return tool.Text(instructions)
	}
	if t.selected.Request.Facts.Skill != skill.Name {
		t.switchTo(skill.Name)
	}
	result := t.brought(skill)
	if instructions != "" { // the model must read them, whatever the provider does with tools
		result.Text, result.Tools = result.Text+"\n\n"+instructions, nil
	}
	return result
}

// read reads a file of a skill within the time limit of a call, cut to what the model
// may read.
func (t *run) read(skill catalog.Skill, file string) (string, error) {
	result, err := wait(t.ctx, t.config.CallTimeout, func(ctx context.Context) (chat.Result, error) {
		text, err := skill.Read(tool.WithHost(ctx, tool.Host{Facts: t.selected.Request.Facts}), file)
		return chat.Result{Text: text}, err
	})
	if p, ok := errors.AsType[*catalog.PanicError](err); ok {
		t.panicked("reading the skill "+skill.Name, p)
	}
	return cut(t.config.Secrets.Redactor().Text(result.Text), t.config.MaxSkill), err
}

// withInstructions adds the active skill's instructions to a note unless the
// conversation already has them. That happens when a person chose the skill, or when
// the message with the instructions is no longer sent.
func (t *run) withInstructions(note string) string {
	name := t.selected.Request.Facts.Skill
	skill, _ := t.selector.Catalog().Skill(name)
	if skill.Guide == nil || slices.Contains(t.selected.HiddenSkills, name) {
		return note
	}
	if d := t.decide(t.ctx, t.now(), rules.Attempt{Skill: name, Arguments: fileArguments("")}); d.Effect != rules.Allow {
		t.config.Log.WarnContext(t.ctx, "the active skill's instructions are refused", "skill", name, "reason", d.Reason, "session", t.in.Session.Key)
		return note
	}
	text, err := t.read(skill, "")
	if err != nil {
		t.config.Log.WarnContext(t.ctx, "the active skill's instructions cannot be read", "skill", name, "error", err, "session", t.in.Session.Key)
		return note
	}
	text = instructionsOf + name + ":\n" + text
	if told(t.in.kept, text) {
		return note
	}
	return strings.TrimPrefix(note+"\nFollow "+text, "\n")
}

// told reports whether the messages contain a text.
func told(messages []chat.Message, text string) bool {
	return slices.ContainsFunc(messages, func(m chat.Message) bool {
		return strings.Contains(m.Note, text) || m.Result != nil && !m.Result.Failed && strings.Contains(m.Result.Text, text)
	})
}

// instructionsOf is the heading of a skill's instructions, before its name.
const instructionsOf = "the instructions of the skill "

// once returns a text under a heading, or a pointer to it if the conversation already
// has it.
func (t *run) once(what, text string) string {
	text = what + ":\n" + text
	if told(t.prompt.Messages, text) {
		return what + ": unchanged, see above in this conversation."
	}
	return text
}

// switchTo switches the session's toolset, for this turn and the following ones. It
// rebuilds the front at once: a switch breaks the cache in any case, and the next
// request of this turn needs the tools.
func (t *run) switchTo(name string) {
	before, messages := t.state, t.prompt.Messages
	in := t.in
	in.Session.State, in.Session.Messages = t.state, messages
	in.Session.Skill, in.Facts.Skill = name, name
	in.Again, in.kept, in.cold = true, messages, SkillSwitch
	t.selected = t.choose(t.ctx, t.selector, in)
	t.state = t.advance(in, t.selected)
	err := t.prompts(nil, chat.Message{Time: in.Facts.Time})
	t.prompt.Messages = messages
	if err != nil {
		t.config.Log.WarnContext(t.ctx, "the system prompt stays as it was", "error", err, "session", t.in.Session.Key)
	}
	t.account(broke(SkillSwitch, before, t.state))
}

// maxBrought bounds the tools of a skill that a result lists; find_tools finds the
// rest.
const maxBrought = 10

// brought describes the tools of a skill.
func (t *run) brought(skill catalog.Skill) chat.Result {
	var text strings.Builder
	fmt.Fprintf(&text, "The skill %s is active", skill.Name)
	if skill.Description != "" {
		text.WriteString(": " + strings.TrimSuffix(line(skill.Description), "."))
	}
	usable := t.selected.Usable()
	fmt.Fprintf(&text, ". It has %d tools.", len(usable))
	var listed []*catalog.Entry
	for _, m := range t.selected.Ranked {
		listed = append(listed, m.Entry)
	}
	for _, e := range usable {
		if len(listed) < maxBrought && !slices.Contains(listed, e) && skill.Name != catalog.Full {
			listed = append(listed, e)
		}
	}
	for _, e := range listed[:min(len(listed), maxBrought)] {
		fmt.Fprintf(&text, "\n%s\n  %s", selection.Signature(e.Definition), line(e.Definition.Description))
	}
	return t.loading(text.String(), listed[:min(len(listed), maxBrought)]...)
}

// perSearch bounds the skills that a search returns.
const perSearch = 3

// findSkills describes the skills that match a search and that the system prompt does
// not describe; empty when there are none.
func (t *run) findSkills(queries []string) string {
	var text strings.Builder
	for _, query := range queries {
		req := t.selected.Request
		req.Query = query
		for _, skill := range t.selector.SearchSkills(req, perSearch) {
			line := selection.SkillLine(skill)
			if !t.selected.Describes(skill.Name) && !strings.Contains(text.String(), line) {
				text.WriteString("\n" + line)
			}
		}
	}
	if text.Len() == 0 {
		return ""
	}
	return "\nSkills, to be taken up with " + selection.UseSkill + ":" + text.String()
}
