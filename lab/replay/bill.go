package replay

import (
	"cmp"
	"encoding/json"
	"hash/fnv"
	"slices"
	"strings"
	"time"

	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/model"
	"github.com/etui-run/etui/tool"
)

// Provider says how a provider bills: its prices and the rules of its prompt cache.
type Provider struct {
	Name  string
	Model string
	// Window is how many tokens the model reads at once.
	Window int
	// Input and Output are dollars for a million tokens.
	Input, Output float64
	// Write and Read are the price of a token that is written to the cache or read
	// from it, as a multiple of Input. With a Write of 1 it is an ordinary token.
	Write, Read float64
	// Life is how long the cache keeps a prefix after its last use. AtMost is how
	// long etui assumes that it does before it gives up a session's front, see
	// [model.Info].
	Life, AtMost time.Duration
	// Least is how many tokens a prefix must have to be cached, and Block the step in
	// which longer ones are.
	Least, Block int
	// Marked says that only prefixes are cached that the request marks: they end with
	// the tools, the system prompt, and each of the last two messages that are not
	// the model's.
	Marked bool
	// Deferral says that it accepts tools that the model reads only once a result
	// names them.
	Deferral bool
}

// Providers returns the providers whose bills can be computed, with the list prices,
// as of November 2026, of the models that etui uses by default.
//
// Anthropic: platform.claude.com/docs/en/about-claude/pricing (claude-sonnet-5-5,
// $2 and $10, five-minute writes 1.25 times, reads 0.1 times the input) and
// platform.claude.com/docs/en/build-with-claude/prompt-caching (1,024 tokens at
// least, five minutes, refreshed by each use, at most four breakpoints).
//
// OpenAI: developers.openai.com/api/docs/pricing (gpt-5.4-mini, $0.75, $0.075
// cached and $4.50) and developers.openai.com/api/docs/guides/prompt-caching
// (automatic, 1,024 tokens at least, in steps of 128; kept for five to ten minutes,
// at most an hour: ten are assumed, which favours long prompts). Older models read
// at 0.25 or 0.5 times the input, newer ones bill writes.
func Providers() []Provider {
	return []Provider{
		{Name: "anthropic", Model: "claude-sonnet-5-5", Window: 200_000, Input: 2, Output: 10, Write: 1.25, Read: 0.1,
			Life: 5 * time.Minute, AtMost: 5 * time.Minute, Least: 1024, Block: 1, Marked: true, Deferral: true},
		{Name: "openai", Model: "gpt-5.4-mini", Window: 400_000, Input: 0.75, Output: 4.5, Write: 1, Read: 0.1,
			Life: 10 * time.Minute, AtMost: time.Hour, Least: 1024, Block: 128},
	}
}

// Bill counts what was sent and what it cost.
type Bill struct {
	// Requests is the number of requests to the model.
	Requests int `json:"requests"`
	// Input counts all tokens of the requests; Read and Written count those that
	// were read from the cache and written to it.
	Input   int `json:"input"`
	Read    int `json:"read"`
	Written int `json:"written"`
	// Output counts the tokens of the answers.
	Output int `json:"output"`
	// Dollars is the price of all that.
	Dollars float64 `json:"dollars"`
}

func (b *Bill) add(v Bill) {
	b.Requests += v.Requests
	b.Input += v.Input
	b.Read += v.Read
	b.Written += v.Written
	b.Output += v.Output
	b.Dollars += v.Dollars
}

// block is a piece of a request. It is compared as a whole.
type block struct {
	hash   uint64
	tokens int
	marked bool // a prefix may be cached up to here
}

func newBlock(text string) block {
	h := fnv.New64a()
	_, _ = h.Write([]byte(text)) // it never fails
	return block{hash: h.Sum64(), tokens: chat.Tokens(text)}
}

// blocks splits a request in the order in which providers read it: tools, system
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

// tool returns a definition as a block. Blocks are kept: a replay has one catalog.
func (c *cache) tool(d *tool.Definition) block {
	b, ok := c.tools[d.Name]
	if !ok {
		raw, _ := json.Marshal(d) // the catalog has marshalled it before
		b = newBlock(string(raw))
		c.tools[d.Name] = b
	}
	return b
}

// read returns what a model reads of a message: for a result that loads deferred
// tools, their definitions.
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

// said returns the text of a message.
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

// cache is a provider's prompt cache. It says until when each prefix is kept.
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

// bill counts a request made now, with its answer.
func (c *cache) bill(req model.Request, answer string, now time.Time) Bill {
	u := Bill{Requests: 1, Output: chat.Tokens(answer)}
	var hash uint64 // of the request up to the end of a block
	var remember []uint64
	last := 0 // tokens of the longest prefix to cache
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

// PriceOf returns the price in dollars of a model that etui knows, or zero.
func PriceOf(name string) model.Price {
	for _, p := range Providers() {
		if strings.HasSuffix(name, "/"+p.Model) {
			return model.Price{Input: p.Input, Output: p.Output}
		}
	}
	return model.Price{}
}
