package selection

import (
	"github.com/etui-run/etui/catalog"
	"github.com/etui-run/etui/chat"
)

// Tokens is what definitions cost in a request, as [chat.Tokens] estimates it.
type Tokens struct {
	// All is the cost of sending every tool that the caller may see, with no toolset and
	// no choice: what a request would cost without etui's selection.
	All int `json:"all"`
	// Usable is the part of All that the active toolset and the request leave.
	Usable int `json:"usable"`
	// Sent is the cost of the tools in the request, and Meta that of the tools with which
	// the model reaches the others, see [Meta].
	Sent int `json:"sent"`
	Meta int `json:"meta"`
	// Saved is All without Sent and Meta, and SavedPercent its share of All. Both are
	// negative when Meta costs more than the choice saves.
	Saved        int     `json:"saved"`
	SavedPercent float64 `json:"saved_percent"`
	// Budget is how much the definitions were allowed to cost.
	Budget int `json:"budget"`
}

// Tokens returns what the selection costs and saves.
func (sel *Selection) Tokens() Tokens {
	t := Tokens{Budget: sel.budget, All: sel.allTokens, Usable: sel.usableTokens}
	for _, list := range [...][]*catalog.Entry{sel.Declared, sel.Announced} {
		for _, e := range list {
			if Meta(e.Definition.Name) {
				t.Meta += e.Tokens
			} else {
				t.Sent += e.Tokens
			}
		}
	}
	for _, e := range sel.Named {
		t.Sent += chat.Tokens(e.Definition.Name)
	}
	t.Saved = t.All - t.Sent - t.Meta
	if t.All > 0 {
		t.SavedPercent = 100 * float64(t.Saved) / float64(t.All)
	}
	return t
}

// Counts says of how many tools a request has how many.
type Counts struct {
	// All, Usable and Sent count the tools that have the [Tokens] of the same names. Meta
	// tools do not count.
	All    int `json:"all"`
	Usable int `json:"usable"`
	Sent   int `json:"sent"`
}

// Counts returns how many tools the selection chose from and sends.
func (sel *Selection) Counts() Counts {
	n := Counts{All: sel.all, Usable: sel.usable, Sent: len(sel.Named)}
	for _, list := range [...][]*catalog.Entry{sel.Declared, sel.Announced} {
		for _, e := range list {
			if !Meta(e.Definition.Name) {
				n.Sent++
			}
		}
	}
	return n
}
