package inspect

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/model"
	"github.com/etui-run/etui/route"
	"github.com/etui-run/etui/selection"
	"github.com/etui-run/etui/session"
)

// PastTurn is a message of a conversation as it was stored, with what it got and took.
type PastTurn struct {
	Session session.Key `json:"session"`
	Time    time.Time   `json:"time"`
	Agent   string      `json:"agent"`
	User    string      `json:"user,omitempty"`
	Channel string      `json:"channel,omitempty"`
	// Text is the beginning of the message.
	Text string `json:"text"`
	// Sent are the tools that it was sent, without etui's own, and Tokens their definitions and those
	// of etui's own. Saved is how many more all tools would have been.
	Sent   []string `json:"sent,omitempty"`
	Tokens int      `json:"tokens"`
	Saved  int      `json:"saved"`
	// Calls are those that the model made, with their arguments as the log has them.
	Calls []PastCall `json:"calls,omitempty"`
	// Requests is how many answers the model gave of which the tokens are known: Input, with Cached
	// of them from the provider's cache, and Output.
	Requests int `json:"requests,omitempty"`
	Input    int `json:"input,omitempty"`
	Cached   int `json:"cached,omitempty"`
	Output   int `json:"output,omitempty"`
	// Cost is what these tokens cost, and Spared what the saved ones would have cost, as often as the
	// model was asked and with the same part of them cached; 0 where the model has no price.
	Cost   float64 `json:"cost,omitempty"`
	Spared float64 `json:"spared,omitempty"`
	// Broken is why the provider's cache could not be used; none means that it could, or is unknown.
	Broken []string `json:"broken,omitempty"`
	// TookMS is the time from the message to the last answer of the model, with what people took to
	// approve calls.
	TookMS int64 `json:"took_ms,omitempty"`
}

// PastCall is a call of a [PastTurn].
type PastCall struct {
	Tool      string          `json:"tool"`
	Arguments json.RawMessage `json:"arguments,omitempty"`
	Failed    bool            `json:"failed,omitempty"`
}

// What [Inspector.Turns] reads at most: conversations, and the newest messages of each.
const (
	maxRead     = 200
	maxReadOf   = 200
	maxPastText = 200 // characters
)

// Turns returns the newest turns of the conversations that changed last, newest first, at most limit
// of them.
func (i *Inspector) Turns(ctx context.Context, limit int) ([]PastTurn, error) {
	leave, err := i.engine.Sessions().Look(ctx, "turns")
	if err != nil {
		return nil, err
	}
	defer leave()
	list, err := i.engine.Store().List(ctx, session.Filter{Limit: min(limit, maxRead)})
	if err != nil {
		return nil, err
	}
	turns := []PastTurn{}
	for _, s := range list {
		// Those that follow are older than what there is already.
		if len(turns) >= limit && s.Updated.Before(turns[limit-1].Time) {
			break
		}
		loaded, err := i.engine.Store().Load(ctx, s.Key, maxReadOf)
		if err != nil {
			return nil, err
		}
		turns = append(turns, turnsOf(s.Key, loaded.Messages)...)
		slices.SortStableFunc(turns, func(x, y PastTurn) int { return y.Time.Compare(x.Time) })
		turns = turns[:min(len(turns), limit)]
	}
	return turns, nil
}

// turnsOf returns the turns in messages that follow each other.
func turnsOf(key session.Key, messages []chat.Message) (turns []PastTurn) {
	var t *PastTurn
	price := 0.0
	for _, m := range messages {
		var why selection.Compact
		if m.Role == chat.User && m.Text != "" && m.Why != nil && json.Unmarshal(m.Why, &why) == nil {
			turns = append(turns, PastTurn{
				Session: key, Time: m.Time, Agent: route.Agent(key), User: m.User, Channel: m.Channel,
				Text:   short(m.Text),
				Tokens: why.Sent + why.Meta, Saved: max(0, why.All-why.Sent-why.Meta),
			})
			t, price = &turns[len(turns)-1], 0
			for _, s := range why.ReachedTools() {
				if !selection.Meta(s.Tool) {
					t.Sent = append(t.Sent, s.Tool)
				}
			}
		}
		if t == nil {
			continue
		}
		if m.Spent != nil {
			t.add(m.Spent)
			price = cmp.Or(m.Spent.Price, price)
			t.Spared = t.spared(price)
		}
		for _, c := range m.Calls {
			args := c.Arguments
			if !json.Valid(args) {
				args = nil
			}
			t.Calls = append(t.Calls, PastCall{Tool: c.Name, Arguments: args})
		}
		if m.Result != nil && m.Result.Failed {
			for n := range t.Calls {
				t.Calls[n].Failed = t.Calls[n].Failed || t.Calls[n].Tool == m.Result.Name
			}
		}
	}
	return turns
}

func (t *PastTurn) add(s *chat.Expense) {
	t.Requests++
	t.Input += s.Input
	t.Cached += s.CacheRead
	t.Output += s.Output
	t.Cost += s.Cost
	t.Broken = s.Broken
	if !s.At.IsZero() && !t.Time.IsZero() {
		t.TookMS = max(0, s.At.Sub(t.Time).Milliseconds())
	}
}

// spared returns what the saved tokens would have cost, where a million costs a price.
func (t *PastTurn) spared(price float64) float64 {
	cached := 0.0
	if t.Input > 0 {
		cached = float64(t.Cached) / float64(t.Input)
	}
	return float64(t.Saved*t.Requests) * price * (1 - cached + cached*model.CacheRead) / 1e6
}

func short(text string) string {
	if runes := []rune(text); len(runes) > maxPastText {
		return string(runes[:maxPastText]) + "…"
	}
	return text
}
