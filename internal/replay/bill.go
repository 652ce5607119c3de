package replay

import (
	"cmp"
	"encoding/json"
	"hash/fnv"
	"slices"
	"time"

	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/model"
	"github.com/etui-run/etui/tool"
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
	// Life is how long the cache remembers what nobody has read, and AtMost how long
	// etui takes it to do so before it gives up a session's front, see
	// [model.Info].
	Life, AtMost time.Duration
	// Least is how many tokens a beginning must have to be remembered, and Block
	// in which steps it is.
	Least, Block int
	// Marked says that only the beginnings are remembered that the request marks:
	// the end of the tools, of the system prompt, and of the last two messages
	// that are not the model's.
	Marked bool
	// Deferral says that it takes tools that the model reads only when a result
	// names them.
	Deferral bool
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
// ten minutes, at most an hour: ten are taken, which favours long prompts). Older
// models read at 0.25 or 0.5 times the input, newer ones bill writes.
func Providers() []Provider {
	return []Provider{
		{Name: "anthropic", Model: "claude-sonnet-5-5", Window: 200_000, Input: 2, Output: 10, Write: 1.25, Read: 0.1, Life: 5 * time.Minute, AtMost: 5 * time.Minute, Least: 1024, Block: 1, Marked: true, Deferral: true},
		{Name: "openai", Model: "gpt-5.4-mini", Window: 400_000, Input: 0.75, Output: 4.5, Write: 1, Read: 0.1, Life: 10 * time.Minute, AtMost: time.Hour, Least: 1024, Block: 128},
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
	hash   uint64
	tokens int
	marked bool // a cache that has to be told remembers up to here
}

func newBlock(text string) block {
	h := fnv.New64a()
	_, _ = h.Write([]byte(text)) // it never fails
	return block{hash: h.Sum64(), tokens: chat.Tokens(text)}
}

// blocks cuts a request in the order in which providers read it: tools, system
// prompt, messages.
func (c *cache) blocks(req model.Request) []block {
	list := make([]block, 0, len(req.Tools)+1+len(req.Messages))
	for i := range req.Tools {
		list = append(list, c.tool(&req.Tools[i]))
	}
	if len(list) > 0 {
		list[len(list)-1].marked = true
	}
	if req.System != "" {
		list = append(list, newBlock(req.System))
		list[len(list)-1].marked = true
	}
	first := len(list)
	for _, m := range req.Messages {
		list = append(list, newBlock(c.read(m, req.Deferred)))
	}
	marks := 2
	for i, m := range slices.Backward(req.Messages) {
		if m.Role != chat.Assistant && marks > 0 {
			list[first+i].marked = true
			marks--
		}
	}
	return list
}

// tool is a definition as a block. It is made once: a replay has one catalog.
func (c *cache) tool(d *tool.Definition) block {
	b, ok := c.tools[d.Name]
	if !ok {
		raw, _ := json.Marshal(d) // the catalog has marshalled it before
		b = newBlock(string(raw))
		c.tools[d.Name] = b
	}
	return b
}

// read is what a model reads of a message: of a result that loads deferred tools
// their definitions.
func (c *cache) read(m chat.Message, deferred []tool.Definition) string {
	if m.Result == nil || !c.Deferral {
		return said(m)
	}
	text := ""
	for i := range deferred {
		if slices.Contains(m.Result.Tools, deferred[i].Name) {
			raw, _ := json.Marshal(&deferred[i])
			text += string(raw)
		}
	}
	return cmp.Or(text, said(m))
}

// said is the text of a message.
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
	tools map[string]block
}

func newCache(p Provider) *cache {
	return &cache{p, map[uint64]time.Time{}, map[string]block{}}
}

// forget empties the cache.
func (c *cache) forget() { clear(c.until) }

// bill counts a request that is made now, with its answer.
func (c *cache) bill(req model.Request, answer string, now time.Time) Usage {
	u := Usage{Requests: 1, Output: chat.Tokens(answer)}
	var hash uint64 // of the request up to and with a block
	var remember []uint64
	last := 0 // how many tokens are remembered
	for _, b := range c.blocks(req) {
		hash = hash*0x100000001b3 ^ b.hash
		u.Input += b.tokens
		if c.until[hash].After(now) {
			u.Read = u.Input
		}
		if (b.marked || !c.Marked) && u.Input >= c.Least {
			remember, last = append(remember, hash), u.Input
		}
	}
	if u.Read = u.Read / c.Block * c.Block; u.Read < c.Least {
		u.Read = 0
	}
	for _, h := range remember {
		c.until[h] = now.Add(c.Life)
	}
	if c.Write != 1 {
		u.Written = max(0, last-u.Read)
	}
	fresh := float64(u.Input - u.Read - u.Written)
	u.Dollars = ((fresh+c.Write*float64(u.Written)+c.Read*float64(u.Read))*c.Input + float64(u.Output)*c.Output) / 1e6
	return u
}
