package conversation

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strconv"

	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/cmd/internal/client"
	"github.com/etui-run/etui/internal/printable"
	"github.com/etui-run/etui/internal/terminal"
	"github.com/etui-run/etui/phrase"
	"github.com/etui-run/etui/server/api"
)

// Call calls a tool, and puts its questions to the person at the terminal.
func Call(ctx context.Context, at *terminal.Console, c *client.Client, name string,
	request api.CallRequest) (chat.Result, error) {
	request.Asks = true
	for {
		var r api.CallReply
		if err := c.Do(ctx, http.MethodPost, "/api/tools/"+url.PathEscape(name), request, &r); err != nil ||
			r.Question == nil {
			return r.Result, err
		}
		if request.Answer != nil && !request.Answer.Given {
			return r.Result, phrase.Errorf("%s asks again, and nobody answers", name)
		}
		answer, err := ask(ctx, at, r.Question)
		if err != nil {
			return r.Result, err
		}
		request.Answer = answer
	}
}

// ask puts the question of a tool to the person at the terminal. Without one nobody answers.
func ask(ctx context.Context, at *terminal.Console, q *api.CallQuestion) (*api.QuestionAnswer, error) {
	if at.JSON || !terminal.Is(at.In) || !terminal.Is(at.Err) {
		at.Note("The tool asks, and nobody can be asked here: run the command at a terminal, without --json. It asked: %s",
			printable.OneLine(q.Text))
		return &api.QuestionAnswer{Resume: q.Resume}, nil
	}
	question := printable.Text(q.Text)
	for n, choice := range q.Choices {
		question += fmt.Sprintf("\n  %d. %s", n+1, printable.OneLine(choice))
	}
	none := at.Say("no answer")
	text, err := at.Questions(false).Ask(ctx, question+"\n", none, nil)
	if n, wrong := strconv.Atoi(text); wrong == nil && n > 0 && n <= len(q.Choices) {
		text = q.Choices[n-1]
	}
	return &api.QuestionAnswer{Resume: q.Resume, Text: text, Given: text != none}, err
}
