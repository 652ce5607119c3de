package selection_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/etui-run/etui/catalog"
	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/rules"
	"github.com/etui-run/etui/selection"
	"github.com/etui-run/etui/tool"
)

func compile(tb testing.TB, list ...rules.Rule) *rules.Rules {
	tb.Helper()
	r, err := rules.Compile(rules.Visibility, list, nil)
	must(tb, err)
	return r
}

func TestRulesHideAtTheStageVisibility(t *testing.T) {
	r := office(t)
	must(t, r.RegisterWithFilter(define("read_salaries", "Read what people earn", "hr"), func(chat.Facts) bool { return false }))
	follow := selection.Follow(r, selection.Config{Direct: -1})
	before := follow()
	r.SetRules(compile(t,
		rules.Rule{Name: "clerks", Allow: []string{"group:finance"}, When: `"clerk" in user.roles`, Place: rules.Place{File: "etui.yaml", Line: 3}},
		rules.Rule{Allow: []string{"read_salaries"}},
		rules.Rule{Name: "late", Deny: []string{"send_mail"}, When: `attrs.late == "yes"`},
	))
	s := follow()
	if s == before || s.Catalog() != r.Catalog() {
		t.Fatal("the selector did not follow the rules")
	}
	guest := selection.Request{Query: "refund the invoice", Facts: chat.Facts{User: "bob"}}
	clerk := guest
	clerk.Facts.Roles = []string{"clerk"}
	for name, want := range map[string]string{
		"createInvoice": "allowed only by rule clerks (etui.yaml:3), which does not hold",
		"read_salaries": "its filter hides it from this caller",
		"send_mail":     "rule late failed, which denies: no such key: late",
	} {
		if _, stage := s.Admit(guest, name); stage != selection.Visibility {
			t.Errorf("Admit(%s) = %v", name, stage)
		}
		for _, v := range s.Select(guest).Explain().Tools {
			if v.Tool == name && (v.Stage != selection.Visibility || v.Reason != want) {
				t.Errorf("%s: %v, %q; want %q", name, v.Stage, v.Reason, want)
			}
		}
		guest.Query = name
		if len(s.Search(guest, 3)) > 0 && s.Search(guest, 3)[0].Definition.Name == name {
			t.Errorf("%s was found", name)
		}
	}
	if failed := s.Select(guest).Failed(); len(failed) != 1 {
		t.Errorf("failed %v", failed)
	}
	if _, stage := s.Admit(clerk, "createInvoice"); !stage.Usable() {
		t.Errorf("a clerk may not bill: %v", stage)
	}
	// What a session was shown leaves when a rule takes it away.
	clerk.Declared = []string{selection.FindTools, selection.CallTool, "createInvoice"}
	guest.Declared = clerk.Declared
	if got := sent(s.Select(clerk)); !strings.Contains(got, "createInvoice") {
		t.Errorf("a clerk is sent %s", got)
	}
	if got := sent(s.Select(guest)); strings.Contains(got, "createInvoice") {
		t.Errorf("a guest is sent %s", got)
	}
}

// Rules are swapped while callers select: each selection is judged by the rules
// of one moment.
func TestRulesAreSwappedWhileSelecting(t *testing.T) {
	r := office(t)
	follow := selection.Follow(r, selection.Config{})
	var sets []*rules.Rules
	for _, group := range []string{"mail", "finance"} {
		sets = append(sets, compile(t, rules.Rule{Deny: []string{"group:" + group}, When: `user.id != "boss"`}))
	}
	r.SetRules(sets[0])
	var readers, writer sync.WaitGroup
	done := make(chan struct{})
	writer.Go(func() {
		for i := 0; ; i++ {
			select {
			case <-done:
				return
			default:
				r.SetRules(sets[i%2])
				if i%50 == 0 {
					must(t, r.Register(define(fmt.Sprint("extra", i%3), "comes and goes")))
				}
			}
		}
	})
	for g := range 3 {
		readers.Go(func() {
			for range 300 {
				s := follow()
				sel := s.Select(selection.Request{Query: "mail", Facts: chat.Facts{User: fmt.Sprint("user", g)}})
				got := " " + sent(sel) + " "
				if strings.Contains(got, " send_mail ") == strings.Contains(got, " createInvoice ") {
					t.Errorf("sent %s", got)
					return
				}
				if _, stage := s.Admit(selection.Request{Facts: chat.Facts{User: "boss"}}, "send_mail"); !stage.Usable() {
					t.Errorf("the boss: %v", stage)
					return
				}
			}
		})
	}
	readers.Wait()
	close(done)
	writer.Wait()
}

// hundredRules returns a registry whose rules together name every tool, some of
// them twice, and hide none from the caller of the benchmarks.
func hundredRules(tb testing.TB, n int) *catalog.Registry {
	r := crowd(tb, n, 0)
	var list []rules.Rule
	for i := range 50 {
		list = append(list,
			rules.Rule{Allow: []string{fmt.Sprintf("*%d", i)}, When: fmt.Sprintf(`"role%d" in user.roles || channel == "web"`, i)},
			rules.Rule{Deny: []string{fmt.Sprintf("*_%d?", i%10)}, When: fmt.Sprintf(`user.id == "user%d" && attrs.plan == "free"`, i)},
		)
	}
	r.SetRules(compile(tb, list...))
	return r
}

// BenchmarkSelectRules compares with BenchmarkSelect: the same tools and
// question. rules=0 has none, rules=100 a caller like one before, new=user one
// whom no rule has seen, new=second one rule that reads the time, and
// hidden=skills a rule that hides fifty skills.
func BenchmarkSelectRules(b *testing.B) {
	req := selection.Request{Query: "approve the overdue invoice of the customer", Facts: chat.Facts{User: "ann", Channel: "web", Roles: []string{"user"}, Time: time.Unix(1e9, 0)}}
	run := func(name string, r *catalog.Registry, change func(i int)) {
		s := selection.New(r.Catalog(), selection.Config{})
		s.Select(req) // binds the rules to the catalog
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				change(i)
				s.Select(req)
			}
		})
	}
	same := func(int) {}
	for _, n := range []int{1000, 10_000} {
		run(fmt.Sprintf("tools=%d/rules=0", n), crowd(b, n, 0), same)
		r := hundredRules(b, n)
		run(fmt.Sprintf("tools=%d/rules=100", n), r, same)
		run(fmt.Sprintf("tools=%d/rules=100/new=user", n), r, func(i int) { req.Facts.User = fmt.Sprint("u", i) })
	}
	hiding := crowd(b, 1000, 0)
	var skills []catalog.Skill
	for i := range 500 {
		if i%10 == 0 {
			skills = append(skills, catalog.Skill{Name: fmt.Sprint("skill", i/10)})
		}
		skills[i/10].Tools = append(skills[i/10].Tools, hiding.Catalog().At(i).Definition.Name)
	}
	_, err := hiding.SetSkills(skills...)
	must(b, err)
	hiding.SetRules(compile(b, rules.Rule{Deny: []string{"skill:*"}}))
	run("tools=1000/rules=1/hidden=skills", hiding, same)
	r := crowd(b, 1000, 0)
	r.SetRules(compile(b, rules.Rule{Deny: []string{"risk:destructive"}, When: "time.getHours() > 17"}))
	run("tools=1000/rules=1/new=second", r, func(i int) { req.Facts.Time = time.Unix(int64(i), 0) })
}

// BenchmarkSwapRules is what the first selection after a change of rules costs.
func BenchmarkSwapRules(b *testing.B) {
	r := hundredRules(b, 1000)
	follow := selection.Follow(r, selection.Config{})
	list := compile(b, rules.Rule{Deny: []string{"risk:" + string(tool.Destructive)}, When: `channel == "web"`})
	req := selection.Request{Query: "invoice"}
	follow().Select(req)
	b.ReportAllocs()
	for b.Loop() {
		r.SetRules(list)
		follow().Select(req)
	}
}
