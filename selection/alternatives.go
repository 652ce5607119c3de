package selection

import (
	"slices"

	"github.com/etui-run/etui/catalog"
	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/rank"
)

// Try lists the changes that are tried for a question, one at a time: each role in
// addition to the caller's roles, each channel instead of the caller's, and every
// skill of the catalog that has tools instead of the active one.
type Try struct {
	Roles    []string `json:"roles,omitempty"`
	Channels []string `json:"channels,omitempty"`
}

// MaxTried is how many changes are tried at most: first roles, then channels, then
// skills.
const MaxTried = 32

// Alternative is what the question would get if one fact were another.
type Alternative struct {
	// Change is the fact: role, channel or skill. Value is what it would be.
	Change string `json:"change"`
	Value  string `json:"value"`
	// Usable is how many tools the caller could use, Sent how many would be sent.
	Usable int `json:"usable"`
	Sent   int `json:"sent"`
	// Added and Dropped name the difference between the tools that are sent.
	Added   []string `json:"added,omitempty"`
	Dropped []string `json:"dropped,omitempty"`
	// Opens names the tools that match the question and that the caller may use only
	// with this change, best first, at most [MaxOpened].
	Opens []string `json:"opens,omitempty"`
}

// MaxOpened is how many tools an [Alternative] opens at most.
const MaxOpened = 8

// Alternatives returns what the question would get if the caller had another role
// or came from another channel, or if another skill were active. It selects again
// for each, at most [MaxTried] times. Tools that no single change opens are in
// none of them.
func (sel *Selection) Alternatives(try Try) []Alternative {
	now := sel.sent()
	var found []Alternative
	for _, v := range try.variants(sel) {
		req := sel.Request
		req.Facts = v.facts
		then := sel.selector.Select(req)
		a := Alternative{Change: v.change, Value: v.value, Usable: then.usable, Opens: opened(sel, then)}
		sent := then.sent()
		a.Sent = len(sent)
		a.Added, a.Dropped = names(without(sent, now)), names(without(now, sent))
		found = append(found, a)
	}
	return found
}

// variant is the facts with one of them changed.
type variant struct {
	change, value string
	facts         chat.Facts
}

func (try Try) variants(sel *Selection) []variant {
	facts := sel.Request.Facts
	var list []variant
	for _, role := range try.Roles {
		if !facts.HasRole(role) {
			f := facts
			f.Roles = append(slices.Clone(f.Roles), role)
			list = append(list, variant{"role", role, f})
		}
	}
	for _, channel := range try.Channels {
		if channel != facts.Channel {
			f := facts
			f.Channel = channel
			list = append(list, variant{"channel", channel, f})
		}
	}
	for _, t := range sel.selector.catalog.Skills() {
		if t.Name != facts.Skill && sel.selector.catalog.Switches(t) && (facts.Skill != "" || t.Name != catalog.Full) {
			f := facts
			f.Skill = t.Name
			list = append(list, variant{"skill", t.Name, f})
		}
	}
	return list[:min(len(list), MaxTried)]
}

// opened returns the tools that match the question and may be used then, but not
// now.
func opened(sel, then *Selection) []string {
	best := rank.NewTop[Match](MaxOpened, compareMatches)
	for i, score := range then.ranking.Scores {
		if score > 0 && !sel.stages[i].Usable() && then.stages[i].Usable() {
			best.Add(Match{sel.selector.catalog.At(i), score})
		}
	}
	var opened []string
	for _, m := range best.List {
		opened = append(opened, m.Definition.Name)
	}
	return opened
}

// without returns the entries of list that others lacks, in order.
func without(list, others []*catalog.Entry) []*catalog.Entry {
	return slices.DeleteFunc(slices.Clone(list), func(e *catalog.Entry) bool { return slices.Contains(others, e) })
}
