package demo

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/internal/panics"
	"github.com/etui-run/etui/tool"
)

const (
	maxAnswer = 1 << 20         // bytes of one answer, progress included
	maxWork   = 2 * time.Minute // of a call that outlives its turn
)

// Tools makes the demo's tools callable: each posts its arguments to
// {baseURL}/tools/{name}. A nil client means [http.DefaultClient].
//
// Long-running tools return a pending result if the host accepts late outcomes, and
// continue for at most two minutes. Nothing else outlives its call.
func Tools(baseURL string, client *http.Client) []tool.Tool {
	if client == nil {
		client = http.DefaultClient
	}
	defs := Definitions()
	tools := make([]tool.Tool, len(defs))
	for i, def := range defs {
		tools[i] = &remote{def, strings.TrimRight(baseURL, "/") + "/tools/" + def.Name, client}
	}
	return tools
}

// remote is a tool that the service executes.
type remote struct {
	def    tool.Definition
	url    string
	client *http.Client
}

var _ tool.Tool = (*remote)(nil)

func (r *remote) Definition() tool.Definition { return r.def }

// reply is one JSON value of the service's answer: any number of progress reports,
// then the outcome.
type reply struct {
	Text     string          `json:"text,omitempty"`
	Data     json.RawMessage `json:"data,omitempty"`
	Error    string          `json:"error,omitempty"`
	Progress *tool.Progress  `json:"progress,omitempty"`
}

func (r *remote) Call(ctx context.Context, args json.RawMessage) (chat.Result, error) {
	finish, ok := tool.Defer(ctx)
	// A call that may outlive its turn needs a context that does, from its first byte
	// on: the body of an answer ends with the context of its request.
	work, cancel := ctx, context.CancelFunc(func() {})
	if ok {
		work, cancel = context.WithTimeout(context.WithoutCancel(ctx), maxWork)
		stop := context.AfterFunc(ctx, cancel)
		defer stop()
	}
	resp, err := r.post(work, args)
	if err != nil {
		cancel()
		return chat.Result{}, err
	}
	a := &answer{r.def.Name, resp, json.NewDecoder(io.LimitReader(resp.Body, maxAnswer))}
	first, err := a.next()
	if err == nil && first.Progress != nil && ok {
		tool.Report(ctx, *first.Progress)
		go func() {
			defer cancel()
			defer panics.Log(nil, "waiting for the outcome of a call")
			finish(a.outcome(work, first))
		}()
		return chat.Result{
			Text:    fmt.Sprintf("%s has begun: %s. The outcome follows by itself; do not call it again.", r.def.Name, first.Progress.Text),
			Pending: true,
		}, nil
	}
	defer cancel()
	if err != nil {
		resp.Body.Close()
		return chat.Result{}, err
	}
	return a.outcome(work, first), nil
}

func (r *remote) post(ctx context.Context, args json.RawMessage) (*http.Response, error) {
	if len(bytes.TrimSpace(args)) == 0 {
		args = json.RawMessage("{}")
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, r.url, bytes.NewReader(args))
	if err != nil {
		return nil, fmt.Errorf("calling %s: %w", r.def.Name, err)
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := r.client.Do(req)
	if err != nil {
		return nil, fmt.Errorf("calling %s: %w", r.def.Name, err)
	}
	return resp, nil
}

// answer reads the service's JSON values one by one.
type answer struct {
	tool   string
	resp   *http.Response
	values *json.Decoder
}

func (a *answer) next() (reply, error) {
	var r reply
	err := a.values.Decode(&r)
	switch {
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		err = fmt.Errorf("the answer of %s is cut off or larger than %d bytes", a.tool, maxAnswer)
	case err != nil && a.resp.StatusCode >= 400:
		err = fmt.Errorf("calling %s: %s", a.tool, a.resp.Status)
	case err != nil:
		err = fmt.Errorf("reading the answer of %s: %w", a.tool, err)
	}
	return r, err
}

// outcome reports the remaining progress, beginning with r, and returns the value
// after it.
func (a *answer) outcome(ctx context.Context, r reply) chat.Result {
	defer a.resp.Body.Close()
	for r.Progress != nil {
		tool.Report(ctx, *r.Progress)
		var err error
		if r, err = a.next(); err != nil {
			return tool.Failure("%v", err)
		}
	}
	if r.Error != "" {
		return tool.Failure("%s", r.Error)
	}
	result := tool.Text(r.Text)
	if len(r.Data) > 0 {
		result.View = &chat.View{Data: r.Data}
	}
	return result
}
