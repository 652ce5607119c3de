package selection

import (
	"cmp"
	"encoding/json"
	"slices"

	"github.com/etui-run/etui/catalog"
	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/rank"
)

// Match is a tool with its score for the question.
type Match struct {
	*catalog.Entry
	// Score is higher for tools that fit better. Scores of different questions
	// cannot be compared.
	Score float32
}

// rank scores every tool and orders the admitted ones. Tools that were dropped
// before have scores too, for explanations.
func (sel *Selection) rank() {
	s, req := sel.selector, &sel.Request
	q := rank.Query{
		Text: req.Query, History: req.History, Called: called,
		Votes: s.votes.Cast(req.Query, req.Facts.Record(), sel.votable), Vector: req.Vector, Vectors: s.vectors,
	}
	if sel.usable < len(sel.stages) {
		q.Admitted = sel.stages.admitted()
	}
	sel.ranking = s.index.Rank(q)
	best := rank.NewTop(max(2*sel.limit, 16), compareMatches)
	for i, score := range sel.ranking.Scores {
		if score > 0 && sel.stages[i] == Sent {
			best.Add(Match{s.catalog.At(i), score})
		}
	}
	sel.Ranked = best.List
	for i, m := range sel.Ranked {
		if m.Score < sel.ranking.Noise(sel.Ranked[0].Score) {
			sel.Ranked = sel.Ranked[:i]
			break
		}
	}
	if uncovered(sel) != "" {
		addLately(sel)
	}
}

// addLately adds the tools that were used lately behind the ranked ones, the newest first: a
// question in a language that no tool has may go on with them.
func addLately(sel *Selection) {
	ranked := slices.Clip(sel.Ranked)
	for _, u := range slices.Backward(sel.Request.Used) {
		e, ok := sel.selector.catalog.Get(u.Tool)
		if ok && len(ranked) < sel.limit && sel.stages[e.Position()] == Sent &&
			!slices.ContainsFunc(ranked, func(m Match) bool { return m.Entry == e }) {
			ranked = append(ranked, Match{e, sel.ranking.Scores[e.Position()]})
		}
	}
	sel.Ranked = ranked
}

// uncovered returns the language of a question that the words of the tools do not cover; empty
// where they do, or where meanings were compared.
func uncovered(sel *Selection) string {
	if sel.Request.Vector != nil && sel.selector.vectors != nil {
		return ""
	}
	return sel.ranking.Language
}

// called returns the name of the tool that a call in the history reached: the names of
// the meta tools say nothing about the conversation.
func called(c chat.Call) string {
	if c.Name != CallTool {
		if Meta(c.Name) {
			return ""
		}
		return c.Name
	}
	var through struct {
		Name string `json:"name"`
	}
	if json.Unmarshal(c.Arguments, &through) != nil {
		return ""
	}
	return through.Name
}

// votable finds an admitted tool by its name, if it has the version.
func (sel *Selection) votable(name, version string) (position int, ok bool) {
	e, ok := sel.selector.catalog.Get(name)
	if !ok || sel.stages[e.Position()] != Sent || version != "" && version != e.Hash() {
		return 0, false
	}
	return e.Position(), true
}

func compareMatches(a, b Match) int {
	return cmp.Or(cmp.Compare(b.Score, a.Score), a.Position()-b.Position())
}
