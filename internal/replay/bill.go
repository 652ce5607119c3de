package replay

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"time"

	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/model"
)

// Provider is how a provider bills: its prices and the rules of its prompt
// cache.
type Provider struct {
	Name  string
	Model string
	// Window is how many tokens the model reads at once.
	Window int
	// Input and Output are dollars for a million tokens.
	Input, Output float64
	// Write and Read are what a token that is written to the cache or read from
	// it costs, as a multiple of Input. A Write of 1 is an ordinary token.
	Write, Read float64
	// Life is how long the cache remembers what nobody has read.
	Life time.Duration
	// Least is how many tokens a beginning must have to be remembered, and Block
	// in which steps it is.
	Least, Block int
	// Marked says that only the beginnings are remembered that the request marks:
	// the end of the tools, of the system prompt, and of the last two messages
	// that are not the model's.
	Marked bool
}

// Providers are those whose bills are computed: the list prices of the models
// that etui uses when nothing is configured. In November 2026.
//
// Anthropic: platform.claude.com/docs/en/about-claude/pricing (claude-sonnet-5-5,
// $2 and $10, five-minute writes 1.25 times, reads 0.1 times the input) and
// platform.claude.com/docs/en/build-with-claude/prompt-caching (1,024 tokens at
// least, five minutes, refreshed by each use, at most four breakpoints).
//
// OpenAI: developers.openai.com/api/docs/pricing (gpt-5.4-mini, $0.75, $0.075
// cached and $4.50) and developers.openai.com/api/docs/guides/prompt-caching
// (automatic, 1,024 tokens at least, in steps of 128; forgotten after five to
// ten minutes: the longer time is taken, which favours long prompts). Older
// models read at 0.25 or 0.5 times the input.
func Providers() []Provider {
	return []Provider{
		{Name: "anthropic", Model: "claude-sonnet-5-5", Window: 200_000, Input: 2, Output: 10, Write: 1.25, Read: 0.1, Life: 5 * time.Minute, Least: 1024, Block: 1, Marked: true},
		{Name: "openai", Model: "gpt-5.4-mini", Window: 400_000, Input: 0.75, Output: 4.5, Write: 1, Read: 0.1, Life: 10 * time.Minute, Least: 1024, Block: 128},
	}
}

// Usage counts what was sent and what it cost.
type Usage struct {
	// Requests is how often the model was asked.
	Requests int `json:"requests"`
	// Input are all tokens of the requests; Read and Written are those of them
	// that came from the cache and that were written to it.
	Input   int `json:"input"`
	Read    int `json:"read"`
	Written int `json:"written"`
	// Output are the tokens of the answers.
	Output int `json:"output"`
	// Dollars is what all that costs.
	Dollars float64 `json:"dollars"`
}

func (u *Usage) add(v Usage) {
	u.Requests += v.Requests
	u.Input += v.Input
	u.Read += v.Read
	u.Written += v.Written
	u.Output += v.Output
	u.Dollars += v.Dollars
}

// block is a piece of a request that is the same as a whole or not at all.
type block struct {
	text   string
	marked bool // a cache that has to be told remembers up to here
}

// blocks writes a request in the order in which providers read it: tools, system
// prompt, messages.
func blocks(req model.Request) ([]block, error) {
	var list []block
	for _, d := range req.Tools {
		raw, err := json.Marshal(d)
		if err != nil {
			return nil, fmt.Errorf("writing tool %s: %w", d.Name, err)
		}
		list = append(list, block{text: string(raw)})
	}
	if len(list) > 0 {
		list[len(list)-1].marked = true
	}
	if req.System != "" {
		list = append(list, block{req.System, true})
	}
	marks := 2
	for i := range req.Messages {
		list = append(list, block{text: said(req.Messages[i])})
	}
	for i := len(req.Messages) - 1; i >= 0 && marks > 0; i-- {
		if req.Messages[i].Role != chat.Assistant {
			list[len(list)-len(req.Messages)+i].marked = true
			marks--
		}
	}
	return list, nil
}

// said is what a model reads of a message.
func said(m chat.Message) string {
	text := model.UserText(m)
	for _, c := range m.Calls {
		text += "\n" + c.Name + string(c.Arguments)
	}
	if m.Result != nil {
		text += m.Result.Text
	}
	return text
}

// cache is a provider's prompt cache: for each beginning of a request that it
// remembers, when it will forget.
type cache struct {
	Provider
	until map[uint64]time.Time
}

func newCache(p Provider) *cache { return &cache{p, map[uint64]time.Time{}} }

// bill counts a request that is made now, with its answer.
func (c *cache) bill(req model.Request, answer string, now time.Time) (Usage, error) {
	list, err := blocks(req)
	if err != nil {
		return Usage{}, err
	}
	u := Usage{Requests: 1, Output: chat.Tokens(answer)}
	type beginning struct {
		hash   uint64
		tokens int
	}
	remember := []beginning{}
	hash := fnv.New64a()
	for _, b := range list {
		_, _ = hash.Write([]byte(b.text)) // it never fails
		_, _ = hash.Write([]byte{0})
		u.Input += chat.Tokens(b.text)
		at := beginning{hash.Sum64(), u.Input}
		if c.until[at.hash].After(now) {
			u.Read = u.Input
		}
		if (b.marked || !c.Marked) && u.Input >= c.Least {
			remember = append(remember, at)
		}
	}
	if u.Read = u.Read / c.Block * c.Block; u.Read < c.Least {
		u.Read = 0
	}
	for _, b := range remember {
		c.until[b.hash] = now.Add(c.Life)
		if c.Write != 1 {
			u.Written = max(0, b.tokens-u.Read)
		}
	}
	fresh := float64(u.Input - u.Read - u.Written)
	u.Dollars = ((fresh+c.Write*float64(u.Written)+c.Read*float64(u.Read))*c.Input + float64(u.Output)*c.Output) / 1e6
	return u, nil
}
