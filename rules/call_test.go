package rules_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/etui-run/etui/rules"
)

// TestCalls: conditions read the arguments of a call, and the effects of its command.
func TestCalls(t *testing.T) {
	c := shells(t).Catalog()
	p := policy(t, []rules.Rule{
		{Name: "secrets", Deny: []string{"look"}, When: `has(args.path) && args.path.startsWith("/etc/")`},
		{Name: "many", Deny: []string{"look"}, When: `has(args.limit) && args.limit > 100`},
		{Name: "careless", Deny: []string{"wipe"}, When: `args.all`},
		{Name: "risky", Ask: []string{"exec"}, When: `command.risks.exists(r, r in ["deletes", "disk"])`, Reason: "somebody should look"},
		{Name: "known", Allow: []string{"exec"}, When: `command.programs.all(p, p in ["ls", "cat", "rm"]) && channel != "web"`},
		{Name: "slow", Deny: []string{"look"}, When: `has(args.text) && args.text.matches("(x?){500}x{500}")`},
		{Name: "drafts", Allow: []string{"draft"}, When: `args.to[0].endsWith("@example.com")`},
	}...)
	for _, q := range []struct{ tool, args, want string }{
		{"look", `{}`, "allow tools of risk read"},
		{"look", `{"path":"/etc/passwd"}`, "deny rule secrets denies"},
		{"look", `{"path":7}`, "deny rule secrets failed, which denies: "},
		{"look", `{"limit":101}`, "deny rule many denies"},
		{"look", `{"limit":100.5}`, "deny rule many denies"},
		{"look", `{"limit":5}`, "allow "},
		{"look", `{"text":"x"}`, "allow "},
		{"look", `{"text":"` + strings.Repeat("x", 1<<20) + `"}`, "deny rule slow failed, which denies: a text of 1048576 bytes is too long for the pattern"},
		{"wipe", `{}`, "deny rule careless failed, which denies: no such key: all"},
		{"wipe", `{"all":true}`, "deny rule careless denies"},
		{"wipe", `{"all":false}`, "allow "},
		{"exec", `{"command":"ls | cat"}`, "allow rule known allows"},
		{"exec", `{"command":"ls; sudo rm -rf 'my build'"}`, "ask rule risky asks for an approval: somebody should look (privilege: sudo rm -rf my build; deletes: rm -rf my build)"},
		{"exec", `{"command":"ls; $x"}`, "deny allowed only by rule known, which does not hold"},
		{"exec", `{"command":"ls 'x"}`, "deny allowed only by rule known, which does not hold"},
		{"exec", `{"command":["rm","x"]}`, "ask rule risky asks"},
		{"exec", `{"command":"` + strings.Repeat("x", 30_000) + `"}`, "deny "},
		{"exec", `{}`, "allow "}, // it runs nothing
		{"exec", `[]`, "ask rule risky failed, which asks for an approval: the arguments are no JSON object"},
		{"draft", `{"to":["ann@example.com"]}`, "allow "},
		{"draft", `{"to":["ann@example.org"]}`, "deny "},
		{"draft", `{"to":"ann@example.com"}`, "deny allowed only by rule drafts, which failed"},
		{"look", "", "deny rule secrets denies, depending on the arguments"},
		{"exec", "", "ask rule risky asks for an approval, depending on the arguments: somebody should look"},
		{"draft", "", "deny allowed only by rule drafts, which depends on the arguments"},
	} {
		a := rules.Attempt{Catalog: c, Arguments: json.RawMessage(q.args)}
		if q.args == "" {
			a.Arguments = nil
		}
		a.Entry, _ = c.Get(q.tool)
		d := p.Decide(t.Context(), a)
		if got := string(d.Effect) + " " + d.Reason; !strings.HasPrefix(got, q.want) {
			t.Errorf("%s %.80s: %.200s, want %s", q.tool, q.args, got, q.want)
		}
		if d.Depends != (q.args == "") {
			t.Errorf("%s %.80s: depends on the arguments: %v", q.tool, q.args, d.Depends)
		}
	}

	at := rules.Place{File: "etui.yaml", Line: 3, Column: 5}
	for condition, want := range map[string]string{
		`"delete" in command.risks`:                        `etui.yaml:3:5: policy rule: "delete" is no risk of a command; did you mean "deletes"?; the risks are deletes, disk, `,
		`command.risks.exists(r, r in ["disk", "powers"])`: `etui.yaml:3:5: policy rule: "powers" is no risk of a command; did you mean "power"?`,
		`["disk", "wipes"].exists(r, r in command.risks)`:  `etui.yaml:3:5: policy rule: "wipes" is no risk of a command`,
		`command.risks == ["erases"]`:                      `etui.yaml:3:5: policy rule: "erases" is no risk of a command`,
		`command.risks[0] == "erases"`:                     `etui.yaml:3:5: policy rule: "erases" is no risk of a command`,
		`command.risks.exists(r, "killed" == r)`:           `etui.yaml:3:5: policy rule: "killed" is no risk of a command`,
		`"rm" in command.program`:                          `etui.yaml:3:13: policy rule: the condition reads "command.program", which is no fact and no function; did you mean "command.programs"?`,
	} {
		_, err := rules.Compile(rules.Policy, []rules.Rule{{Ask: []string{"exec"}, When: condition, Place: at, WhenPlace: at}}, nil)
		if err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: %v, want %s", condition, err, want)
		}
	}
	// Variables of one name may go through different lists.
	policy(t, rules.Rule{Ask: []string{"exec"}, When: `user.roles.exists(r, r == "admin") || command.risks.exists(r, r == "disk") || user.roles.exists(r, r == "guest")`})
	_, err := rules.Compile(rules.Visibility, []rules.Rule{{Deny: []string{"exec"}, When: `has(args.path)`, WhenPlace: at}}, nil)
	if err == nil || !strings.Contains(err.Error(), `the condition reads "args.path": what a caller sees is decided before there is a call. Write a rule under policy`) {
		t.Error(err)
	}
	_, err = rules.Compile(rules.Visibility, []rules.Rule{{Deny: []string{"exec"}, When: `"disk" in command.risks`, WhenPlace: at}}, nil)
	if err == nil || !strings.Contains(err.Error(), `the condition reads "command.risks": what`) {
		t.Error(err)
	}
}

func BenchmarkCalls(b *testing.B) {
	c := shells(b).Catalog()
	p := policy(b,
		rules.Rule{Ask: []string{"exec"}, When: `command.risks.exists(r, r in ["deletes", "disk", "power"])`},
		rules.Rule{Deny: []string{"look"}, When: `has(args.path) && args.path.startsWith("/etc/")`},
	)
	for tool, args := range map[string]string{"exec": `{"command":"cd src && go test ./... | tail -20"}`, "look": `{"path":"a.txt"}`, "wipe": `{"command":"rm -rf /"}`} {
		b.Run(tool, func(b *testing.B) {
			call := rules.Attempt{Catalog: c, Arguments: json.RawMessage(args)}
			call.Entry, _ = c.Get(tool)
			b.ReportAllocs()
			for b.Loop() {
				p.Decide(b.Context(), call)
			}
		})
	}
}
