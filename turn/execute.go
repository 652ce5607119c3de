package turn

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"slices"
	"time"

	"github.com/etui-run/etui/audit"
	"github.com/etui-run/etui/catalog"
	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/internal/cut"
	"github.com/etui-run/etui/internal/nearjson"
	"github.com/etui-run/etui/internal/span"
	"github.com/etui-run/etui/session"
	"github.com/etui-run/etui/tool"
	"github.com/etui-run/etui/tool/consult"
	"github.com/etui-run/etui/turn/internal/desk"
)

// executor runs calls. It keeps the turn as it was when they began, because the turn goes on
// while a call runs, or a policy that takes longer than it may.
type executor struct {
	config    *Config
	gate      *gate
	answers   []session.Answer // of people to calls of the turn
	user      string
	asks      bool                         // a tool may ask the user
	late      func(chat.Call, chat.Result) // receives the outcomes of calls that go on after the turn; nil when none may
	maxResult int                          // in bytes
	desk      *desk.Desk                   // answers the questions of tools
}

// do runs a job and sets its result.
func (x *executor) do(ctx context.Context, j *job, progress chan<- Progress) {
	switch {
	case j.result.Failed: // refused before, or not to be repeated
	case j.meta != nil:
		j.result = j.meta(j.args)
	default:
		if j.result = x.execute(ctx, j, progress); j.awaits != nil {
			return
		}
		j.result.Pending = j.result.Pending && (x.late != nil || j.result.Session != "")
		x.logCall(ctx, j)
	}
	j.result.CallID, j.result.Name = j.call.ID, j.call.Name
	j.result = x.hide(ctx, j.result)
	if !j.whole {
		j.result.Text = cut.Middle(j.result.Text, x.maxResult)
	}
}

// hide removes the secrets from a result, and data that is no JSON, which could not be
// stored. Every result passes here before anybody reads or stores it.
func (x *executor) hide(ctx context.Context, r chat.Result) chat.Result {
	secrets := x.config.Secrets.Redactor()
	r.Text = secrets.Text(r.Text)
	if r.View == nil {
		return r
	}
	view := *r.View
	view.Text, view.Error, view.Data = secrets.Text(view.Text), secrets.Text(view.Error), secrets.JSON(view.Data)
	if len(view.Data) > 0 && !json.Valid(view.Data) {
		x.config.Log.ErrorContext(ctx, "a tool gave data that is no JSON; it is left out",
			"tool", r.Name, "session", x.gate.session)
		view.Data = nil
	}
	view.Files = slices.Clone(view.Files)
	for i := range view.Files {
		f := &view.Files[i]
		f.Name = secrets.Text(f.Name)
		if data := string(f.Data); len(data) > 0 {
			if clean := secrets.Text(data); clean != data {
				f.Data = []byte(clean)
			}
		}
	}
	r.View = &view
	return r
}

// logCall logs a call under the name of the tool that it reached. Read-only calls are
// logged at debug level.
func (x *executor) logCall(ctx context.Context, j *job) {
	level := slog.LevelInfo
	if j.entry.Definition.Risk == tool.Read {
		level = slog.LevelDebug
	}
	x.config.Log.Log(ctx, level, "tool called", "tool", j.entry.Definition.Name, "failed", j.result.Failed,
		"user", x.user, "channel", x.gate.selected.Request.Facts.Channel, "session", x.gate.session)
}

// execute asks the gate about a call of a tool and makes the call.
func (x *executor) execute(ctx context.Context, j *job, progress chan<- Progress) chat.Result {
	name := j.entry.Definition.Name
	args, err := nearjson.Object(j.args)
	if err == nil && j.entry.Definition.Risk != tool.Read {
		err = x.config.Secrets.Redactor().Whole(string(args))
	}
	if err != nil {
		record := recordOf(j.entry)
		record.Stage, record.Reason = StageArguments, err.Error()
		x.gate.record(ctx, record, j.args)
		j.err = x.config.Secrets.Redactor().Error(&tool.Mismatch{Problems: []string{err.Error()}})
		return tool.Failure("the arguments are %v. Parameters of %s: %s", err, name, j.entry.Definition.Schema())
	}
	args = x.gate.fitting(ctx, j.entry, args)
	replied := replyTo(x.answers, j.call.ID)
	host := tool.Host{Facts: x.gate.selected.Request.Facts, Key: j.idempotencyKey(), Asks: x.asks}
	host.Progress = func(p tool.Progress) {
		p.Text = x.config.Secrets.Redactor().Text(p.Text)
		select {
		case progress <- Progress{j.call.ID, p}:
		default:
		}
	}
	if replied != nil && replied.Resume != "" {
		host.Reply = &tool.Reply{Resume: replied.Resume, Text: replied.Text, Given: replied.Approved}
	}
	if x.late != nil {
		host.Finish = func(r chat.Result) { x.late(j.call, x.hide(ctx, r)) }
	}
	note := func(text string) {
		record := recordOf(j.entry)
		record.Allowed, record.Reason = true, text
		x.gate.record(ctx, record, nil)
	}
	limit := x.config.CallTimeout
	result, err := wait(ctx, limit, func(ctx context.Context) (chat.Result, error) {
		return chat.Result{}, x.gate.allow(ctx, j.entry, args, decisionOn(x.answers, j.call.ID))
	})
	switch {
	case err != nil && ctx.Err() != nil:
		return tool.Failure(notRun)
	case errors.Is(err, context.DeadlineExceeded): // a late decision runs nothing
		err = fmt.Errorf("%s did not run: nobody decided within %v whether it may", name, limit)
	case err == nil && replied != nil && replied.Resume == "":
		result = toldResult(*replied)
	case err == nil:
		limit = cmp.Or(j.entry.Definition.Timeout, limit)
		running, s := span.Start(ctx, x.config.Tracer, "execute_tool "+name, span.Texts(
			"gen_ai.operation.name", "execute_tool", "gen_ai.tool.name", name,
			"gen_ai.tool.type", "function", "gen_ai.tool.call.id", j.call.ID))
		result, err = wait(running, limit, func(ctx context.Context) (chat.Result, error) {
			return j.entry.Run(consult.With(tool.WithHost(ctx, host), x.desk.For(note)), args)
		})
		span.End(s, failureOf(result, err))
	}
	var waits *Awaits
	var question *tool.Question
	if errors.As(err, &question) && x.asks {
		j.awaits = x.question(j, args, question)
		return chat.Result{}
	}
	if errors.As(err, &waits) {
		j.awaits = &waits.Await
		return chat.Result{}
	}
	j.err = x.config.Secrets.Redactor().Error(err)
	return x.outcome(ctx, j, limit, result, err)
}

// failureOf returns a word for how a call failed; empty if it did not.
func failureOf(r chat.Result, err error) string {
	var question *tool.Question
	var mismatch *tool.Mismatch
	switch {
	case errors.As(err, &question), err == nil && !r.Failed:
		return ""
	case errors.Is(err, context.DeadlineExceeded):
		return "timeout"
	case errors.Is(err, context.Canceled):
		return "cancelled"
	case errors.As(err, &mismatch):
		return "arguments"
	}
	return "tool_error"
}

// question returns what a call waits for that has a question.
func (x *executor) question(j *job, args json.RawMessage, q *tool.Question) *session.Await {
	record, secrets := recordOf(j.entry), x.config.Secrets.Redactor()
	a := &session.Await{
		Tool: record.Tool, Risk: record.Risk, Hash: record.Hash, Arguments: audit.Arguments(x.config.Secrets, args),
		Question: cut.Bytes(secrets.Text(cmp.Or(q.Text, "?")), maxQuestion), Resume: q.Resume,
	}
	if q.Lasts > 0 {
		a.Until = time.Now().Add(q.Lasts).Round(time.Second)
	}
	for _, choice := range q.Choices[:min(len(q.Choices), maxChoices)] {
		a.Choices = append(a.Choices, cut.Bytes(secrets.Text(choice), maxAnswer))
	}
	return a
}

// The limits of a question: what is more is cut.
const (
	maxQuestion = 4 << 10 // bytes
	maxChoices  = 20
	maxAnswer   = 200 // bytes
)

// outcome turns whatever a call gave within its time limit into a result for the model.
func (x *executor) outcome(
	ctx context.Context, j *job, limit time.Duration, result chat.Result, err error,
) chat.Result {
	name := j.entry.Definition.Name
	var mismatch *tool.Mismatch
	var panicked *catalog.PanicError
	switch {
	case err == nil:
		return result
	case errors.As(err, &mismatch):
		return tool.Failure("the arguments do not fit: %s. Parameters of %s: %s", mismatch, name, j.entry.Definition.Schema())
	case ctx.Err() != nil:
		r := tool.Failure("the call was cancelled while it ran; what it did is not known")
		r.Unknown = j.entry.Definition.Repeats() != tool.Safe
		return r
	case errors.Is(err, context.DeadlineExceeded):
		return tool.Failure("%s did not finish within %v", name, limit)
	case errors.As(err, &panicked):
		x.config.panicked(x.gate.session, "running "+name, panicked)
	}
	return tool.Failure("%v", err)
}

// toldResult is the result of a call whose question was answered.
func toldResult(a session.Answer) chat.Result {
	if a.Approved {
		return tool.Text("The user answered: " + a.Text)
	}
	return tool.Failure("The user did not answer the question. %s", a.Reason)
}

// idempotencyKey returns the key that the tool of the job gets; empty unless its calls
// are keyed.
func (j *job) idempotencyKey() string {
	if j.entry.Definition.Repeats() == tool.Keyed {
		return j.key
	}
	return ""
}

// wait returns when f returns, when ctx ends or after the limit, whichever comes first. A
// tool that ignores its context keeps its goroutine until it returns.
func wait(ctx context.Context, limit time.Duration, f func(context.Context) (chat.Result, error)) (chat.Result, error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	if err := ctx.Err(); err != nil {
		return chat.Result{}, err
	}
	type outcome struct {
		result chat.Result
		err    error
	}
	done := make(chan outcome, 1)
	go func() {
		defer func() {
			if p := recover(); p != nil {
				done <- outcome{err: &catalog.PanicError{Value: p, Stack: debug.Stack()}}
			}
		}()
		r, err := f(ctx)
		done <- outcome{r, err}
	}()
	select {
	case o := <-done:
		return o.result, o.err
	case <-ctx.Done():
		return chat.Result{}, ctx.Err()
	}
}
