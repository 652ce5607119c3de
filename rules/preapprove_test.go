package rules_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/etui-run/etui/catalog"
	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/rules"
	"github.com/etui-run/etui/tool"
)

// TestPreapprove: what the active skill lists, and just that, needs no approval, if the policy names the skill
// and no rule asks.
func TestPreapprove(t *testing.T) {
	registry := catalog.NewRegistry(nil)
	for _, name := range []string{"exec", "write_file", "web_fetch", "asked", "denied", "other"} {
		f := tool.Func(tool.Definition{Name: name, Risk: tool.Destructive}, func(context.Context, struct{}) (string, error) { return "", nil })
		if err := registry.Register(f); err != nil {
			t.Fatal(err)
		}
	}
	allowed := []string{"exec(git:*)", "exec(npm run *)", "exec(make test)", "write_file(docs/**)", "web_fetch(domain:example.com)", "asked", "denied"}
	if _, err := registry.SetSkills(catalog.Skill{Name: "git-notes", Allowed: allowed}, catalog.Skill{Name: "stranger", Allowed: []string{"*"}}, catalog.Skill{Name: "all-of-it", Allowed: []string{"*"}}); err != nil {
		t.Fatal(err)
	}
	r, err := rules.Compile(rules.Policy, []rules.Rule{{Name: "a", Ask: []string{"asked"}}, {Name: "d", Deny: []string{"denied"}}}, map[tool.Risk]rules.Effect{tool.Destructive: rules.Ask})
	if err != nil {
		t.Fatal(err)
	}
	r.Preapprove("git-*", "all-of-it")
	command := func(text string) string { return fmt.Sprintf(`{"command":%q}`, text) }
	for _, c := range []struct {
		skill, tool, args string
		want              rules.Effect
	}{
		{"git-notes", "exec", command("git status"), rules.Allow},
		{"git-notes", "exec", command("git"), rules.Allow},
		{"git-notes", "exec", command(`git commit -m 'a; b $x' && git push | git log`), rules.Allow},
		{"git-notes", "exec", command("git add a\ngit status"), rules.Allow},
		{"git-notes", "exec", `{"command":["git","status"]}`, rules.Allow},
		{"git-notes", "exec", command("npm run build"), rules.Allow},
		{"git-notes", "exec", command("make test"), rules.Allow},
		{"git-notes", "exec", command("make test all"), rules.Ask},
		{"git-notes", "exec", command("npm install"), rules.Ask},
		{"git-notes", "exec", command("gitk"), rules.Ask},
		{"git-notes", "exec", command("rm -rf ."), rules.Ask},
		{"git-notes", "exec", command("git status; rm -rf ."), rules.Ask},
		{"git-notes", "exec", command("git status && make test"), rules.Allow},
		{"git-notes", "exec", command("git status\nrm x"), rules.Ask},
		{"git-notes", "exec", command("git log > x"), rules.Ask},
		{"git-notes", "exec", command("git log $(rm x)"), rules.Ask},
		{"git-notes", "exec", command("git log `rm x`"), rules.Ask},
		{"git-notes", "exec", command(`git log "$(rm x)"`), rules.Ask},
		{"git-notes", "exec", command("git log $X"), rules.Ask},
		{"git-notes", "exec", command("git log <(rm x)"), rules.Ask},
		{"git-notes", "exec", command("GIT_PAGER=sh git log"), rules.Ask},
		{"git-notes", "exec", command("git log &"), rules.Ask},
		{"git-notes", "exec", command("git() { rm x; }; git"), rules.Ask},
		{"git-notes", "exec", command("if git x; then rm x; fi"), rules.Ask},
		{"git-notes", "exec", command("git 'unclosed"), rules.Ask},
		{"git-notes", "exec", command(""), rules.Ask},
		{"git-notes", "exec", `{"command":["rm","git"]}`, rules.Ask},
		{"git-notes", "exec", `{}`, rules.Ask},
		{"git-notes", "write_file", `{"path":"docs/a/b.md"}`, rules.Allow},
		{"git-notes", "write_file", `{"path":"docs/../a.md"}`, rules.Ask},
		{"git-notes", "write_file", `{"path":"docs2/a.md"}`, rules.Ask},
		{"git-notes", "web_fetch", `{"url":"https://example.com/x"}`, rules.Allow},
		{"git-notes", "web_fetch", `{"url":"https://example.com.evil.org/x"}`, rules.Ask},
		// Each pattern is for one kind of argument, and an argument that the tool ignores covers nothing.
		{"git-notes", "web_fetch", `{"url":"http://evil.com/","command":"domain:example.com"}`, rules.Ask},
		{"git-notes", "web_fetch", `{"command":"domain:example.com"}`, rules.Ask},
		{"git-notes", "web_fetch", `{"path":"domain:example.com"}`, rules.Ask},
		{"git-notes", "web_fetch", `{"URL":"http://evil.com/","url":"http://example.com/"}`, rules.Ask},
		{"git-notes", "write_file", `{"path":"/etc/passwd","command":"'docs/**'"}`, rules.Ask},
		{"git-notes", "write_file", `{"command":"'docs/**'"}`, rules.Ask},
		{"git-notes", "write_file", `{"path":"docs/a","url":"http://example.com/"}`, rules.Ask},
		{"git-notes", "exec", `{"command":"git status","path":"docs/a"}`, rules.Ask},
		{"all-of-it", "other", `{"command":"a","url":"b"}`, rules.Allow},
		{"git-notes", "asked", `{}`, rules.Ask},
		{"git-notes", "denied", `{}`, rules.Deny},
		{"git-notes", "other", `{}`, rules.Ask},
		{"stranger", "other", `{}`, rules.Ask},
		{"all-of-it", "other", `{}`, rules.Allow},
		{"", "exec", command("git status"), rules.Ask},
	} {
		catalog := registry.Catalog()
		entry, _ := catalog.Get(c.tool)
		d := r.Decide(t.Context(), rules.Attempt{Facts: chat.Facts{Skill: c.skill}, Catalog: catalog, Now: catalog, Entry: entry, Arguments: json.RawMessage(c.args)})
		if d.Effect != c.want || d.Effect == rules.Allow && !strings.Contains(d.Reason, c.skill) {
			t.Errorf("%s %s %s: %+v, want %s", c.skill, c.tool, c.args, d, c.want)
		}
	}
}
