package workflow

import (
	"fmt"
	"strings"

	"github.com/etui-run/etui/phrase"
	"github.com/etui-run/etui/session"
)

// Ending says to people in a language how a run ended. The reason is for operators, and in English only.
func Ending(lang string, f *session.Flow) string {
	outcome := phrase.Word(lang, f.Outcome)
	text := phrase.In(lang, "The workflow %s ended: %s.", f.Workflow, outcome)
	if f.Phase != "" {
		text = phrase.In(lang, "The workflow %s ended in the phase %s: %s.", f.Workflow, f.Phase, outcome)
	}
	if lang == phrase.Chinese || f.Reason == "" {
		return text
	}
	return text + " " + strings.ToUpper(f.Reason[:1]) + f.Reason[1:] + "."
}

// PastEnding is Ending for somebody who asks about a run of long ago.
func PastEnding(lang string, f *session.Flow) string {
	if lang == phrase.Chinese {
		return phrase.In(lang, "The workflow %s ended: %s.", f.Workflow, phrase.Word(lang, f.Outcome))
	}
	return fmt.Sprintf("The workflow %s ended: %s (%s).", f.Workflow, f.Outcome, f.Reason)
}

// Place says to people in which phase a conversation is, and who chose its tools: a sentence to add to
// others, or nothing.
func Place(lang string, f *session.Flow) string {
	switch {
	case !f.Runs():
		return ""
	case f.Skill != "":
		return " " + phrase.In(lang, "The workflow %s is in the phase %s and keeps to this skill, as a person chose.",
			f.Workflow, f.Phase)
	}
	return " " + phrase.In(lang, "It belongs to the phase %s of the workflow %s.", f.Phase, f.Workflow)
}
