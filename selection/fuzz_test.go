package selection_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/selection"
)

// queries are what people paste, mistype and try.
func queries() []string {
	return []string{
		"", "hi", "show logs", "查天气 weather", "getURLFor", "a_b.c-d'e", "\x00\xff", "pod\x00logs", "\xe6\x9f pod \xe6",
		"!!! ??? 。。。 ——", "🎉🎉 pod 👩‍👩‍👧‍👦", "ｆｕｌｌ 한국어 İstanbul ПОД логи سجل", strings.Repeat("'", 1000), strings.Repeat("_", 1000),
		strings.Repeat("a", 100_000), strings.Repeat("pod logs ", 11_000), strings.Repeat("客户退款", 8_000), strings.Repeat("a.", 50_000),
		strings.Repeat("x@", 50_000), strings.Repeat("http://", 15_000), strings.Repeat("pod@mail ", 11_000),
	}
}

// maxTerms is how many words of a question are searched for at most.
const maxTerms = 64

// checkWork checks a selection's bounds by counting, not by time.
func checkWork(t *testing.T, x selection.Explanation) {
	t.Helper()
	for _, v := range x.Tools {
		if len(v.Terms) > maxTerms {
			t.Errorf("%s: %d words were searched for", v.Tool, len(v.Terms))
		}
		if v.Score > 0 != (len(v.Terms) > 0) {
			t.Errorf("%s: score %v of %d words", v.Tool, v.Score, len(v.Terms))
		}
	}
	if x.Funnel[0].Left != len(x.Tools) {
		t.Errorf("%d of %d tools are explained", len(x.Tools), x.Funnel[0].Left)
	}
	if _, err := json.Marshal(x); err != nil {
		t.Error(err)
	}
}

// FuzzSelect: every question is ranked or gets nothing, within the limits, and is
// explained.
func FuzzSelect(f *testing.F) {
	for _, q := range queries() {
		f.Add(q, "", "", "")
	}
	f.Add("pod", "post", "hr", "\xff")
	s := selection.New(guarded(f), choosing)
	f.Fuzz(func(t *testing.T, query, skill, role, declared string) {
		req := selection.Request{Query: query, Facts: chat.Facts{Skill: skill, Roles: []string{role}}}
		if declared != "" {
			req.Declared = []string{declared, selection.CallTool}
		}
		sel := s.Select(req)
		if len(sel.Ranked) > 2 || len(sel.Declared)+len(sel.Announced) > 5 { // two, and three for reaching the others
			t.Errorf("%q sends %s", query, sent(sel))
		}
		checkWork(t, sel.Explain())
		if raw, err := json.Marshal(sel.Compact()); err != nil || len(raw) > 2048 {
			t.Errorf("%d bytes, %v", len(raw), err)
		}
		for _, a := range sel.Alternatives(selection.Try{Roles: []string{role, "x"}, Channels: []string{skill}}) {
			if a.Sent > 4 {
				t.Errorf("%+v", a)
			}
		}
	})
}

// FuzzSearch: no search finds tools that the caller may not use, or more than the
// limit.
func FuzzSearch(f *testing.F) {
	for _, q := range queries() {
		f.Add(q, 3)
	}
	f.Add("read_salaries", 0)
	s := selection.New(guarded(f), choosing)
	f.Fuzz(func(t *testing.T, query string, limit int) {
		limit = max(0, min(limit, 1000))
		req := selection.Request{Query: query}
		found := s.Search(req, limit)
		if len(found) > limit {
			t.Errorf("%d found, at most %d were asked for", len(found), limit)
		}
		for i, m := range found {
			if _, stage := s.Admit(req, m.Definition.Name); !stage.Usable() {
				t.Errorf("%q finds %s, which may not be used", query, m.Definition.Name)
			}
			if i > 1 && m.Score > found[i-1].Score {
				t.Errorf("%q: %s is too far down", query, m.Definition.Name)
			}
		}
	})
}
