package replay

import (
	"context"
	"iter"
	"time"

	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/model"
)

// Biller is a model whose requests are billed by the rules of a provider. It is not safe
// for concurrent use.
type Biller struct {
	model.Model
	// Bill is what the requests cost so far, and Tools how many tokens the definitions of
	// each request had.
	Bill  Bill
	Tools []int

	provider Provider
	cache    *cache
	now      time.Time
}

// NewBiller returns a model that answers like m and has the cache of a provider.
func NewBiller(m model.Model, p Provider) *Biller {
	return &Biller{Model: m, provider: p, cache: newCache(p), now: time.Unix(0, 0)}
}

// Info implements [model.Model].
func (b *Biller) Info() model.Info {
	p := b.provider
	return model.Info{Name: p.Name + "/" + p.Model, Window: p.Window, CacheLife: p.AtMost,
		Price: model.Price{Input: p.Input, Output: p.Output, CacheRead: p.Read, CacheWrite: p.Write}}
}

// Stream implements [model.Model]. Requests come five seconds one after the other.
func (b *Biller) Stream(ctx context.Context, req model.Request) iter.Seq2[model.Event, error] {
	return func(yield func(model.Event, error) bool) {
		b.now = b.now.Add(5 * time.Second)
		tools := 0
		for i := range req.Tools {
			tools += b.cache.tool(&req.Tools[i]).tokens
		}
		b.Tools = append(b.Tools, tools)
		answer := chat.Message{Role: chat.Assistant}
		defer func() { b.Bill.add(b.cache.bill(req, said(answer), b.now)) }()
		for e, err := range b.Model.Stream(ctx, req) {
			answer.Text += e.Text
			if e.Call != nil {
				answer.Calls = append(answer.Calls, *e.Call)
			}
			if !yield(e, err) {
				return
			}
		}
	}
}
