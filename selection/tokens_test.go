package selection_test

import (
	"testing"

	"github.com/etui-run/etui/catalog"
	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/selection"
)

// TestTokensCompareWithEverything: a toolset saves what it leaves out, hidden tools are
// nobody's saving, and meta tools are counted apart.
func TestTokensCompareWithEverything(t *testing.T) {
	r := office(t)
	_, err := r.SetSkills(catalog.Skill{Name: "post", Tools: []string{"group:mail"}})
	must(t, err)
	must(t, r.RegisterWithFilter(define("secret", "Not for this caller, whatever it costs to describe it"), func(chat.Facts) bool { return false }))
	all, mail := 0, 0
	for e := range r.Catalog().All() {
		switch e.Definition.Name {
		case "send_mail", "search_mail":
			mail += e.Tokens
			fallthrough
		default:
			all += e.Tokens
		case "secret":
		}
	}
	sel := selection.New(r.Catalog(), selection.Config{}).Select(selection.Request{Query: "mail", Facts: chat.Facts{Skill: "post"}})
	got := sel.Tokens()
	for what, c := range map[string][2]int{
		"all": {got.All, all}, "usable": {got.Usable, mail}, "sent": {got.Sent, mail}, "saved": {got.Saved, all - mail - got.Meta},
		"tools": {sel.Counts().All, 8}, "usable tools": {sel.Counts().Usable, 2}, "sent tools": {sel.Counts().Sent, 2},
	} {
		if c[0] != c[1] {
			t.Errorf("%s: %d, want %d", what, c[0], c[1])
		}
	}
	if got.Meta == 0 {
		t.Error("use_skill, which leaves the toolset, costs nothing")
	}
}
