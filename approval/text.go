package approval

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/etui-run/etui/phrase"
	"github.com/etui-run/etui/session"
	"github.com/etui-run/etui/tool"
)

// Why says in a language why an answer is not taken.
func Why(err error, language string) string {
	return phrase.Error(language, err) + phrase.In(language, ".")
}

// Acknowledgement tells somebody that their answer is taken, and its conversation goes on.
func Acknowledgement(a session.Answer, question bool, language string) string {
	switch {
	case a.Withdrawn:
		return phrase.In(language, "Withdrawn; the conversation in which it was asked goes on.")
	case question:
		return phrase.In(language, "Answered; the conversation in which it was asked goes on.")
	case a.Approved:
		return phrase.In(language, "Approved; the conversation in which it was asked goes on.")
	}
	return phrase.In(language, "Denied; the conversation in which it was asked goes on.")
}

// Text is the text that asks people for what a turn waits for, in the conversation in which somebody
// asked for it.
func Text(list []session.Await) string {
	var b strings.Builder
	for i, a := range list {
		if i > 0 {
			b.WriteString("\n\n")
		}
		if a.Question != "" {
			b.WriteString(a.Question)
			for n, choice := range a.Choices {
				fmt.Fprintf(&b, "\n%d. %s", n+1, choice)
			}
			continue
		}
		b.WriteString(phrase.In(a.Language, "This call needs an approval (%s): %s, risk %s",
			a.ID, tool.Label(a.Tool, a.Original), Risk(a)))
		b.WriteString(arguments(a))
		decides, meanwhile := "", ""
		if len(a.Asked) > 0 {
			decides = "\n" + phrase.In(a.Language, "Asked: %s.", strings.Join(a.Asked, phrase.In(a.Language, ", ")))
		}
		switch {
		case !a.Theirs:
			decides += advice(a)
		case len(a.Asked) == 0:
			decides += "\n" + Nobody(a.Language)
		}
		if a.Theirs {
			meanwhile = phrase.In(a.Language,
				"You can go on meanwhile; the outcome comes here. %s %s takes the call back.", Withdraw, a.ID)
		}
		b.WriteString(phrase.Join(a.Language, decides, meanwhile, expiry(a)))
	}
	return b.String()
}

// Nothing is the text for somebody whom nothing waits for.
func Nothing(language string) string {
	return phrase.In(language, "Nothing waits for you, and nothing that you asked for waits.")
}

// Nobody says that none of those who may decide can be asked.
func Nobody(language string) string {
	return phrase.In(language, "Nobody who may decide can be reached at the moment; an operator can decide, too.")
}

// UnreachedNotice says to the asker of a call that it could not reach somebody who may decide.
func UnreachedNotice(a Approval, name string) string {
	return phrase.In(a.Language, "%s could not be asked about %s (%s): the question cannot be delivered there.",
		name, tool.Label(a.Tool, a.Original), a.ID)
}

// Request is the text that asks somebody else to decide about a call: who asks for it, and where.
func Request(a Approval) string {
	where := a.Channel
	if a.Chat != "" {
		where = strings.TrimPrefix(where+", "+a.Chat, ", ")
	}
	asks := cmp.Or(a.User, phrase.In(a.Language, "Somebody without a name"))
	if a.Name != "" {
		asks = a.Name + phrase.In(a.Language, ", ") + asks
	}
	where = cmp.Or(where, string(a.Place()))
	asks = phrase.In(a.Language, "%s (%s) asks for an approval (%s): %s, risk %s",
		asks, where, a.ID, tool.Label(a.Tool, a.Original), Risk(a.Await))
	return phrase.Join(a.Language, asks+arguments(a.Await)+advice(a.Await), expiry(a.Await))
}

// Reminder is the text of another [Request] for the same call.
func Reminder(a Approval) string {
	return phrase.Join(a.Language, phrase.In(a.Language, "This still waits for an answer."), Request(a))
}

// Risk names the risk of a call's tool in the language of the reader.
func Risk(a session.Await) string { return phrase.Word(a.Language, a.Risk) }

func arguments(a session.Await) string {
	if a.Arguments == "" || a.Arguments == "{}" {
		return ""
	}
	return "\n" + a.Arguments
}

func advice(a session.Await) string {
	return "\n" + phrase.In(a.Language, "Answer %s %s, %s %s REASON, or add %s or %s to approve more than this call.",
		Approve, a.ID, Deny, a.ID, session.ForSession, session.Always)
}

func expiry(a session.Await) string {
	if a.Until.IsZero() {
		return ""
	}
	return phrase.In(a.Language, "It expires %s.", a.Until.UTC().Format("2006-01-02 15:04 UTC"))
}

// Buttons are the answers to what is asked, as people see them and as they are sent.
func Buttons(list []session.Await) (labels, texts []string) {
	if len(list) != 1 {
		return nil, nil
	}
	a := list[0]
	switch {
	case a.Question != "":
		for i := range a.Choices { // the number, as platforms bound what a button says
			texts = append(texts, fmt.Sprintf("%s %s %d", Choose, a.ID, i+1))
		}
		return a.Choices, texts
	case a.Theirs:
		return []string{phrase.In(a.Language, "Withdraw")}, []string{Withdraw + " " + a.ID}
	}
	labels = []string{
		phrase.In(a.Language, "Approve"), phrase.In(a.Language, "Approve for this conversation"),
		phrase.In(a.Language, "Deny"),
	}
	return labels, []string{
		Approve + " " + a.ID, Approve + " " + a.ID + " " + string(session.ForSession), Deny + " " + a.ID,
	}
}

// How says what became of a request.
type How string

// What can become of one.
const (
	Approved   How = "approved" // or a question was answered
	Declined   How = "declined"
	Expired    How = "expired"
	Withdrawn  How = "withdrawn"  // by the one who asked, or their conversation was stopped
	Superseded How = "superseded" // the conversation went on without it
)

// Ending is what became of a request, and why.
type Ending struct {
	How    How    `json:"how"`
	By     string `json:"by,omitempty"`
	Reason string `json:"reason,omitempty"`
	// From is the conversation in which the answer was given.
	From session.Key `json:"from,omitempty"`
	Time time.Time   `json:"time"`
}

// Text tells those who were asked about a call what became of it.
func (e Ending) Text(a Approval) string {
	label := tool.Label(a.Tool, a.Original)
	switch by := phrase.Word(a.Language, e.By); {
	case e.How == Expired:
		return phrase.In(a.Language, "%s (%s) has expired: nobody answered in time.", label, a.ID)
	case e.How == Superseded:
		return phrase.In(a.Language, "%s (%s) does not wait any more: its conversation went on without it.", label,
			a.ID)
	case e.How == Withdrawn && by == "":
		return phrase.In(a.Language, "%s (%s) was withdrawn.", label, a.ID)
	case e.How == Withdrawn:
		return phrase.In(a.Language, "%s (%s) was withdrawn by %s.", label, a.ID, by)
	case e.How == Approved && by == "":
		return phrase.In(a.Language, "%s (%s) was approved.", label, a.ID)
	case e.How == Approved:
		return phrase.In(a.Language, "%s (%s) was approved by %s.", label, a.ID, by)
	case by == "" && e.Reason == "":
		return phrase.In(a.Language, "%s (%s) was declined.", label, a.ID)
	case e.Reason == "":
		return phrase.In(a.Language, "%s (%s) was declined by %s.", label, a.ID, by)
	case by == "":
		return phrase.In(a.Language, "%s (%s) was declined: %s.", label, a.ID, e.Reason)
	default:
		return phrase.In(a.Language, "%s (%s) was declined by %s: %s.", label, a.ID, by, e.Reason)
	}
}
