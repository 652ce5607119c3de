package turn

import (
	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/prompt"
	"github.com/etui-run/etui/selection"
)

// phaseRounds is how many rounds a phase is expected to have, for the choice below. The
// longer a phase, the more declaring pays.
const phaseRounds = 4

// costs are what two ways to bring a phase's tools to the model cost over the phase, in
// input tokens at full price.
type costs struct {
	declare, announce float64
	lost              float64 // of declare: what the next request pays because the cache ends at its tools
}

// costs compares a new front with the one that is kept. With F the front, H the
// conversation and A the announcements, in tokens, and r and w the shares of the price for
// reading from the cache and writing to it:
//
//	declare:  (F' + H) w + (n-1) (F' + H) r
//	announce: (F + H) r + A w + (n-1) (F + H + A) r
//
// Without a cache r and w are 1, and declaring is as cheap as the smaller request.
func (f *front) costs(declared, kept *selection.Selection) costs {
	info := f.runner.model.Info()
	read, write := info.Price.CacheShares()
	if info.CacheLife == 0 {
		read, write = 1, 1
	}
	system := float64(chat.Tokens(f.system))
	said := float64(prompt.Size(f.conv.sent...)) / prompt.BytesPerToken
	added := 0.0
	for _, e := range kept.Announced {
		added += float64(e.Tokens)
	}
	anew, old, n := system+declaredTokens(declared)+said, system+declaredTokens(kept)+said, float64(phaseRounds-1)
	return costs{
		declare:  anew*write + n*anew*read,
		announce: old*read + added*write + n*(old+added)*read,
		lost:     anew * (write - read),
	}
}

// declaredTokens is how many tokens the declared tools have.
func declaredTokens(sel *selection.Selection) (tokens float64) {
	for _, e := range sel.Declared {
		tokens += float64(e.Tokens)
	}
	return tokens
}
