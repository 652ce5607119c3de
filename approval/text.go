package approval

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/etui-run/etui/session"
	"github.com/etui-run/etui/tool"
)

// Chinese is [session.Await.Language] of those who read Chinese.
const Chinese = "zh"

// say returns the text for those who read a language.
func say(language, english, chinese string) string {
	if language == Chinese {
		return chinese
	}
	return english
}

// refusal is why an answer is not taken, in both languages.
type refusal struct {
	kind             error // nil if it is of none
	english, chinese string
}

func (r *refusal) Error() string {
	if r.kind != nil {
		return r.kind.Error() + ": " + r.english
	}
	return r.english
}

func (r *refusal) Unwrap() error { return r.kind }

// Why says in a language why an answer is not taken.
func Why(err error, language string) string {
	var r *refusal
	if language != Chinese || !errors.As(err, &r) {
		return err.Error() + "."
	}
	kinds := map[error]string{ErrNotYours: "您的答复无效：", ErrNone: "没有这样的批准请求："}
	return kinds[r.kind] + r.chinese + "。"
}

// Taken tells somebody that their answer is taken, and its conversation goes on.
func Taken(a session.Answer, question bool, language string) string {
	done := say(language, "Denied", "已拒绝")
	switch {
	case a.Withdrawn:
		done = say(language, "Withdrawn", "已撤回")
	case question:
		done = say(language, "Answered", "已答复")
	case a.Approved:
		done = say(language, "Approved", "已批准")
	}
	return done + say(language, "; the conversation in which it was asked goes on.", "；提出请求的对话会继续。")
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
		fmt.Fprintf(&b, say(a.Language,
			"This call needs an approval (%s): %s, risk %s", "此调用需要批准（%s）：%s，风险：%s",
		), a.ID, tool.Label(a.Tool, a.Original), Risk(a))
		b.WriteString(arguments(a))
		if len(a.Asked) > 0 {
			names := strings.Join(a.Asked, say(a.Language, ", ", "、"))
			fmt.Fprintf(&b, say(a.Language, "\nAsked: %s.", "\n已询问：%s。"), names)
		}
		switch {
		case !a.Theirs:
			b.WriteString(advice(a))
		case len(a.Asked) == 0:
			b.WriteString(say(a.Language,
				"\nNobody who may decide can be reached at the moment; an operator can decide, too.",
				"\n目前联系不到有权决定的人；管理员也可以决定。",
			))
		}
		if a.Theirs {
			fmt.Fprintf(&b, say(a.Language,
				" You can go on meanwhile; the outcome comes here. %s %s takes the call back.",
				"您可以继续对话，结果会发到这里。%s %s 撤回此调用。",
			), Withdraw, a.ID)
		}
		b.WriteString(expiry(a))
	}
	return b.String()
}

// Nothing is the text for somebody whom nothing waits for.
func Nothing(language string) string {
	return say(language,
		"Nothing waits for you, and nothing that you asked for waits.", "没有等待您决定的请求，您也没有等待中的请求。",
	)
}

// Request is the text that asks somebody else to decide about a call: who asks for it, and where.
func Request(a Approval) string {
	where := a.Channel
	if a.Chat != "" {
		where = strings.TrimPrefix(where+", "+a.Chat, ", ")
	}
	asks := cmp.Or(a.User, say(a.Language, "Somebody without a name", "一位没有名字的人"))
	where = cmp.Or(where, string(a.Place()))
	asks = fmt.Sprintf(say(a.Language,
		"%s (%s) asks for an approval (%s): %s, risk %s", "%s（%s）请求批准（%s）：%s，风险：%s",
	), asks, where, a.ID, tool.Label(a.Tool, a.Original), Risk(a.Await))
	return asks + arguments(a.Await) + advice(a.Await) + expiry(a.Await)
}

// Reminder is the text of another [Request] for the same call.
func Reminder(a Approval) string {
	return say(a.Language, "This still waits for an answer. ", "此请求仍在等待答复。") + Request(a)
}

// Risk names the risk of a call's tool in the language of the reader.
func Risk(a session.Await) string {
	chinese := map[string]string{"read": "只读", "write": "写入", "destructive": "破坏性"}[a.Risk]
	return say(a.Language, a.Risk, cmp.Or(chinese, a.Risk))
}

func arguments(a session.Await) string {
	if a.Arguments == "" || a.Arguments == "{}" {
		return ""
	}
	return "\n" + a.Arguments
}

func advice(a session.Await) string {
	return fmt.Sprintf(say(a.Language,
		"\nAnswer %s %s, %s %s REASON, or add %s or %s to approve more than this call.",
		"\n请回复 %s %s，或 %s %s 理由；加上 %s 或 %s 可批准更多调用。"),
		Approve, a.ID, Deny, a.ID, session.ForSession, session.Always)
}

func expiry(a session.Await) string {
	if a.Until.IsZero() {
		return ""
	}
	until := a.Until.UTC().Format("2006-01-02 15:04")
	return fmt.Sprintf(say(a.Language, " It expires %s UTC.", "有效期至 %s（UTC）。"), until)
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
		return []string{say(a.Language, "Withdraw", "撤回")}, []string{Withdraw + " " + a.ID}
	}
	labels = []string{
		say(a.Language, "Approve", "批准"), say(a.Language, "Approve for this conversation", "在此对话中批准"),
		say(a.Language, "Deny", "拒绝"),
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
	english := map[How]string{
		Approved: "was approved", Declined: "was declined", Expired: "has expired: nobody answered in time",
		Withdrawn: "was withdrawn", Superseded: "does not wait any more: its conversation went on without it",
	}[e.How]
	chinese := map[How]string{
		Approved: "已批准", Declined: "已拒绝", Expired: "已过期：无人及时答复", Withdrawn: "已撤回",
		Superseded: "已不再等待：对话已继续，未执行此调用",
	}[e.How]
	label := tool.Label(a.Tool, a.Original)
	text := fmt.Sprintf(say(a.Language, "%s (%s) %s", "%s（%s）%s"), label, a.ID, say(a.Language, english, chinese))
	if e.By != "" && e.How != Expired {
		if text += " by " + e.By; a.Language == Chinese {
			text = fmt.Sprintf("%s（%s）由 %s %s", label, a.ID, e.By, strings.TrimPrefix(chinese, "已"))
		}
	}
	if e.Reason != "" && e.How == Declined {
		text += say(a.Language, ": ", "：") + e.Reason
	}
	return text + say(a.Language, ".", "。")
}
