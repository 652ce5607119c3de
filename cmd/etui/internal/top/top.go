// Package top shows what a gateway does now: the turns that run, what waits for people, how long turns take,
// and the tokens. It asks the routes that the console's page Live uses, and changes nothing.
package top

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"time"

	"github.com/etui-run/etui/approval"
	"github.com/etui-run/etui/cmd/internal/client"
	"github.com/etui-run/etui/health"
	"github.com/etui-run/etui/inbox"
	"github.com/etui-run/etui/live"
	"github.com/etui-run/etui/model"
	"github.com/etui-run/etui/server/api"
	"github.com/etui-run/etui/session"
	"github.com/etui-run/etui/store"
)

// State says what a message does now.
type State string

// The states of a message.
const (
	Runs    State = "runs"
	Waits   State = "waits"   // for its turn
	Replies State = "replies" // its reply is being delivered
	Parked  State = "parked"  // it was given up, and an operator decides
)

// Turn is a message whose turn runs, or that waits.
type Turn struct {
	ID      int64       `json:"id"`
	State   State       `json:"state"`
	Session session.Key `json:"session"`
	User    string      `json:"user,omitempty"`
	Text    string      `json:"text,omitempty"`
	Reason  string      `json:"reason,omitempty"`
	Since   time.Time   `json:"since"`
	// Live is what the turn does; nil where it does not run in the process that was asked, which is Process
	// where it is another one's.
	Live    *live.Turn `json:"live,omitempty"`
	Process string     `json:"process,omitempty"`
	Agent   string     `json:"agent,omitempty"`
	Channel string     `json:"channel,omitempty"`
}

// Reading is what a gateway did at a time.
type Reading struct {
	Time  time.Time `json:"time"`
	Where string    `json:"gateway"`
	// Running and Queued are how many turns run and messages wait in this process of the gateway.
	Running   int                 `json:"running"`
	Queued    int                 `json:"queued"`
	Turns     []Turn              `json:"turns"`
	Approvals []approval.Approval `json:"approvals"`
	// Figures are those since the gateway started.
	Figures Figures        `json:"figures"`
	Models  []model.Health `json:"models"`
	Refused []health.Cause `json:"refused,omitempty"`
	// Configuration says why the configuration's file cannot be used.
	Configuration string `json:"configuration,omitempty"`

	counted metrics
}

// Figures are counted over a time.
type Figures struct {
	Turns  Took   `json:"turns"`
	Failed int    `json:"failed"`
	Calls  Took   `json:"calls"`
	Tokens Tokens `json:"tokens"`
}

// Tokens are those that providers counted, and those of the tools' descriptions.
type Tokens struct {
	Input  int `json:"input"`
	Cached int `json:"cache_read"`
	Output int `json:"output"`
	Tools  int `json:"tools_sent"`
	Saved  int `json:"tools_saved"`
}

// maxTurns is how many messages are read; the gateway has at most as many in an answer.
const maxTurns = "1000"

// Read asks a gateway.
func Read(ctx context.Context, c *client.Client, now time.Time) (Reading, error) {
	r := Reading{Time: now, Where: c.Where, Turns: []Turn{}, Models: []model.Health{}}
	var items []inbox.Item
	var running []live.Turn
	var waits api.Approvals
	status, err := c.Status(ctx)
	counted, counting := c.Text(ctx, "/metrics")
	err = errors.Join(err, counting,
		c.Do(ctx, http.MethodGet, "/admin/inbox?limit="+maxTurns, nil, &items),
		c.Do(ctx, http.MethodGet, "/admin/running", nil, &running),
		c.Do(ctx, http.MethodGet, "/admin/approvals", nil, &waits))
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		err = joined.Unwrap()[0] // a gateway that is away fails five times
	}
	r.counted = parse(counted)
	r.Running, r.Queued = r.counted.sum("etui_turns_running", ""), r.counted.sum("etui_messages_waiting", "")
	r.Figures = figures(r.counted)
	r.Approvals = append([]approval.Approval{}, waits.Waiting...)
	r.Turns, r.Refused = turns(items, running), status.Refused
	for _, a := range status.Agents {
		for _, m := range a.Models {
			if !slices.ContainsFunc(r.Models, func(known model.Health) bool { return known.Model == m.Model }) {
				r.Models = append(r.Models, m)
			}
		}
	}
	if status.Configuration != nil {
		r.Configuration = status.Configuration.Error
	}
	return r, err
}

// turns are the messages of the inbox, and the turns of conversations that clients keep, which run. Turns of a
// session run one after the other, so where another process has them, the first of its messages runs, and the
// others wait.
func turns(items []inbox.Item, running []live.Turn) []Turn {
	list, begun := []Turn{}, map[session.Key]bool{}
	of := map[int64]*live.Turn{}
	for i, t := range running {
		if t.Item == 0 {
			list = append(list, Turn{State: Runs, Session: t.Session, User: t.User, Since: t.Began, Live: &running[i]})
			continue
		}
		of[t.Item], begun[t.Session] = &running[i], true
	}
	slices.SortFunc(items, func(a, b inbox.Item) int { return int(a.ID - b.ID) })
	for _, i := range items {
		t := Turn{
			ID: i.ID, State: Waits, Session: i.Session, User: i.User, Text: i.Text, Reason: i.Reason, Since: i.Accepted,
			Live: of[i.ID], Process: i.Process, Agent: i.Agent, Channel: i.Channel,
		}
		switch {
		case i.State == store.Parked:
			t.State = Parked
		case i.State == store.Answered:
			t.State = Replies
		case t.Live != nil:
			t.State = Runs
		case !begun[i.Session]:
			t.State, begun[i.Session] = Runs, true
		}
		list = append(list, t)
	}
	return list
}

func figures(m metrics) Figures {
	kind := func(name string) int { return m.sum("etui_tokens_total", `kind="`+name+`"`) }
	return Figures{
		Turns: m.took("etui_turn_seconds"), Failed: m.sum("etui_turns_total", `outcome="failed"`),
		Calls:  m.took("etui_tool_call_seconds"),
		Tokens: Tokens{kind("input"), kind("cache_read"), kind("output"), kind("tools_sent"), kind("tools_saved")},
	}
}
