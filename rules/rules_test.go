package rules_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/etui-run/etui/catalog"
	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/rules"
	"github.com/etui-run/etui/tool"
)

// described is a tool that does nothing.
type described struct{ d tool.Definition }

func (d described) Definition() tool.Definition { return d.d }
func (d described) Call(context.Context, json.RawMessage) (chat.Result, error) {
	return tool.Text("done"), nil
}

func must(tb testing.TB, err error) {
	tb.Helper()
	if err != nil {
		tb.Fatal(err)
	}
}

// house is a catalog with groups, sources, risks and a skill.
func house(tb testing.TB) *catalog.Registry {
	r := catalog.NewRegistry(nil)
	must(tb, r.Register(
		described{tool.Definition{Name: "db_query", Groups: []string{"db"}, Risk: tool.Read, Source: "mcp"}},
		described{tool.Definition{Name: "db_drop", Groups: []string{"db", "admin"}, Risk: tool.Destructive, Source: "mcp"}},
		described{tool.Definition{Name: "restart", Groups: []string{"admin"}, Risk: tool.Write}},
		described{tool.Definition{Name: "telegram_poll", Groups: []string{"chat"}, Risk: tool.Write}},
		described{tool.Definition{Name: "note", Risk: tool.Write}},
	))
	_, err := r.SetSkills(catalog.Skill{Name: "ops", Tools: []string{"restart", "db_query"}})
	must(tb, err)
	return r
}

// is compares one fact.
func is[T comparable](t *testing.T, what string, got, want T) {
	t.Helper()
	if got != want {
		t.Errorf("%s: got %v, want %v", what, got, want)
	}
}

func compile(tb testing.TB, hidden []tool.Risk, list ...rules.Rule) *rules.Rules {
	tb.Helper()
	for i := range list {
		list[i].Place = rules.Place{File: "dir/etui.yaml", Line: i + 1, Column: 5}
	}
	defaults := map[tool.Risk]rules.Effect{}
	for _, risk := range hidden {
		defaults[risk] = rules.Deny
	}
	r, err := rules.Compile(rules.Visibility, list, defaults)
	must(tb, err)
	return r
}

func visible(c *catalog.Catalog, f chat.Facts) string {
	var names []string
	for _, d := range c.Definitions(f) {
		names = append(names, d.Name)
	}
	return strings.Join(names, " ")
}

const everything = "db_query db_drop restart telegram_poll note"

func allow(when string, targets ...string) rules.Rule {
	return rules.Rule{Allow: targets, When: when}
}

func deny(when string, targets ...string) rules.Rule {
	return rules.Rule{Deny: targets, When: when}
}

const isAdmin = `"admin" in user.roles`

func TestWhatRulesMean(t *testing.T) {
	admin, nobody := chat.Facts{User: "ann", Roles: []string{"user", "admin"}}, chat.Facts{}
	noon := time.Date(2026, 5, 4, 12, 0, 0, 1, time.UTC)
	for name, c := range map[string]struct {
		hidden []tool.Risk
		rules  []rules.Rule
		facts  chat.Facts
		want   string
	}{
		"no rules":                          {nil, nil, nobody, everything},
		"an allow rule that holds":          {nil, []rules.Rule{allow(isAdmin, "group:admin")}, admin, everything},
		"an allow rule that does not":       {nil, []rules.Rule{allow(isAdmin, "group:admin")}, nobody, "db_query telegram_poll note"},
		"one of several allow rules":        {nil, []rules.Rule{allow(isAdmin, "db_*"), allow(`channel == ""`, "db_query")}, nobody, "db_query restart telegram_poll note"},
		"deny wins":                         {nil, []rules.Rule{allow("", "db_*"), deny("", "db_drop")}, admin, "db_query restart telegram_poll note"},
		"deny that does not hold":           {nil, []rules.Rule{deny(isAdmin, "*")}, nobody, everything},
		"default by risk":                   {[]tool.Risk{tool.Destructive, tool.Write}, nil, admin, "db_query"},
		"allowed in spite of the default":   {[]tool.Risk{tool.Destructive}, []rules.Rule{allow(isAdmin, "risk:destructive")}, admin, everything},
		"by source":                         {nil, []rules.Rule{deny("", "source:mc?")}, nobody, "restart telegram_poll note"},
		"by skill":                          {nil, []rules.Rule{deny("", "skill:ops")}, nobody, "db_drop telegram_poll note"},
		"by exact name":                     {nil, []rules.Rule{deny(`channel != "telegram"`, "telegram_poll")}, chat.Facts{Channel: "slack"}, "db_query db_drop restart note"},
		"an allow rule that fails":          {nil, []rules.Rule{allow(`attrs.plan == "vip"`, "note")}, nobody, "db_query db_drop restart telegram_poll"},
		"a deny rule that fails":            {nil, []rules.Rule{deny(`attrs.plan == "free"`, "note")}, nobody, "db_query db_drop restart telegram_poll"},
		"an attribute":                      {nil, []rules.Rule{allow(`attrs["plan"] == "vip"`, "note")}, chat.Facts{Attrs: map[string]string{"plan": "vip"}}, everything},
		"all attributes":                    {nil, []rules.Rule{allow(`attrs.exists(k, k.startsWith("vip"))`, "note")}, chat.Facts{Attrs: map[string]string{"vip2": ""}}, everything},
		"every fact":                        {nil, []rules.Rule{allow(`user.id + channel + chat + agent + session + skill == "abcdef"`, "note")}, chat.Facts{User: "a", Channel: "b", Chat: "c", Agent: "d", Session: "e", Skill: "f"}, everything},
		"the time":                          {nil, []rules.Rule{allow(`time.getHours() < 12`, "db_*"), deny(`time == timestamp("2026-05-04T12:00:00Z")`, "note")}, chat.Facts{Time: noon.In(time.FixedZone("", -3600))}, "restart telegram_poll"},
		"the time in zones":                 {nil, []rules.Rule{allow(`time.getHours("Asia/Shanghai") == 20 && time.getHours("-08:00") == 4`, "note")}, chat.Facts{Time: noon}, everything},
		"the time when it is not known":     {nil, []rules.Rule{deny(`time.getHours() < 12`, "note")}, nobody, "db_query db_drop restart telegram_poll"},
		"a caller with too much to look at": {nil, []rules.Rule{deny(isAdmin, "note")}, chat.Facts{Roles: make([]string, 20_000)}, "db_query db_drop restart telegram_poll"},
	} {
		r := house(t)
		r.SetRules(compile(t, c.hidden, c.rules...))
		for range 2 { // found out, and looked up
			if got := visible(r.Catalog(), c.facts); got != c.want {
				t.Errorf("%s: sees %q, want %q", name, got, c.want)
			}
		}
	}
}

type book string

func (b book) Read(context.Context, string) (string, error) { return string(b), nil }

// TestSkillsThemselves: a rule that names a skill hides it, with its instructions,
// and not the tools that they ask for.
func TestSkillsThemselves(t *testing.T) {
	r := house(t)
	r.Supply("skills", catalog.Supply{Skills: []catalog.Skill{{Name: "deploy-guide", Guide: book("x"), Tools: []string{"note", "db_drop"}}}})
	boss, guest := chat.Facts{Roles: []string{"boss"}}, chat.Facts{}
	for name, c := range map[string]struct {
		rules                   []rules.Rule
		bossSees, guestSees     string
		bossSkills, guestSkills string
	}{
		"none":  {nil, everything, everything, "[]", "[]"},
		"deny":  {[]rules.Rule{deny(`!("boss" in user.roles)`, "skill:*-guide")}, everything, everything, "[false false false]", "[false true false]"},
		"allow": {[]rules.Rule{allow(`"boss" in user.roles`, "skill:*-guide"), deny("", "db_drop")}, "db_query restart telegram_poll note", "db_query restart telegram_poll note", "[false false false]", "[false true false]"},
		"tools": {[]rules.Rule{deny(`!("boss" in user.roles)`, "skill:ops")}, everything, "db_drop telegram_poll note", "[false false false]", "[true false false]"},
	} {
		list := compile(t, nil, c.rules...)
		r.SetRules(list)
		for _, is := range []struct {
			facts       chat.Facts
			sees, skill string
		}{{boss, c.bossSees, c.bossSkills}, {guest, c.guestSees, c.guestSkills}} {
			if got, skills := visible(r.Catalog(), is.facts), fmt.Sprint(r.Catalog().DeniedSkills(&is.facts)); got != is.sees || skills != is.skill {
				t.Errorf("%s: %v sees %s, denied skills %s", name, is.facts.Roles, got, skills)
			}
		}
		if unknown := list.Unknown(r.Catalog()); unknown != nil {
			t.Errorf("%s: %v", name, unknown)
		}
	}
	r.SetRules(compile(t, nil, deny("", "skill:deploy-guide")))
	if why := r.Catalog().WhySkillDenied(&guest, 1); why != "the rule at etui.yaml:1 denies" {
		t.Errorf("because %s", why)
	}
}

func TestFilterAndRuleMustAgree(t *testing.T) {
	r := house(t)
	must(t, r.RegisterWithFilter(described{tool.Definition{Name: "both"}}, func(f chat.Facts) bool { return f.Channel == "web" }))
	r.SetRules(compile(t, nil, allow(isAdmin, "both")))
	for _, c := range []struct {
		facts chat.Facts
		want  bool
	}{
		{chat.Facts{Channel: "web", Roles: []string{"admin"}}, true},
		{chat.Facts{Channel: "web"}, false},
		{chat.Facts{Roles: []string{"admin"}}, false},
	} {
		if got := strings.Contains(visible(r.Catalog(), c.facts), "both"); got != c.want {
			t.Errorf("%+v: visible %v, want %v", c.facts, got, c.want)
		}
	}
	r.SetRules(nil)
	if !strings.Contains(visible(r.Catalog(), chat.Facts{Channel: "web"}), "both") {
		t.Error("without rules the filter alone decides")
	}
}

// Callers who differ in the facts that a condition reads never share an outcome.
func TestCallersAreToldApart(t *testing.T) {
	for when, callers := range map[string][2]chat.Facts{
		isAdmin:                {{Roles: []string{"admin"}}, {Roles: []string{"admi", "n"}}},
		`user.roles[0] == "a"`: {{Roles: []string{"a", "b"}}, {Roles: []string{"b", "a"}}},
		`user.id + channel == "ab" && channel == "b"`: {{User: "a", Channel: "b"}, {User: "ab"}},
		`has(attrs.a) && attrs.a == ""`:               {{Attrs: map[string]string{"a": ""}}, {}},
		`"a" in attrs`:                                {{Attrs: map[string]string{"a": ""}}, {Attrs: map[string]string{"b": ""}}},
		`attrs[channel] == "x"`:                       {{Channel: "a", Attrs: map[string]string{"a": "x"}}, {Channel: "a", Attrs: map[string]string{"a": "y"}}},
		`attrs.size() == 1`:                           {{Attrs: map[string]string{"a": ""}}, {}},
		`[attrs].exists(a, a.x == "1")`:               {{Attrs: map[string]string{"x": "1"}}, {Attrs: map[string]string{"x": "2"}}},
		`["q"].exists(attrs, attrs == chat)`:          {{Chat: "q"}, {Chat: "r"}},
		`time > timestamp("2026-01-01T00:00:00Z")`:    {{Time: time.Unix(1<<32, 0)}, {Time: time.Unix(1, 0)}},
	} {
		r := house(t)
		r.SetRules(compile(t, nil, allow(when, "note")))
		yes, no := visible(r.Catalog(), callers[0]), visible(r.Catalog(), callers[1])
		if !strings.Contains(yes, "note") {
			t.Errorf("yes: %q does not contain %q", yes, "note")
		}
		if strings.Contains(no, "note") {
			t.Error("strings.Contains(no, \"note\") is true")
		}
	}
}

func TestReasons(t *testing.T) {
	r := house(t)
	list := compile(t, []tool.Risk{tool.Destructive},
		rules.Rule{Name: "admins", Allow: []string{"restart"}, When: isAdmin},
		rules.Rule{Name: "polls", Deny: []string{"telegram_poll"}, When: `channel != "telegram"`, Reason: "polls exist on Telegram only"},
		rules.Rule{Deny: []string{"db_query"}, When: `attrs.plan == "free"`},
		rules.Rule{Allow: []string{"note"}, When: `channel == "x"`},
		rules.Rule{Allow: []string{"note"}, When: `attrs.plan == "vip"`},
	)
	r.SetRules(list)
	for name, want := range map[string]string{
		"restart":       "allowed only by rule admins (etui.yaml:1), which does not hold",
		"telegram_poll": "rule polls (etui.yaml:2) denies: polls exist on Telegram only",
		"db_query":      "the rule at etui.yaml:3 failed, which denies: no such key: plan",
		"note":          "allowed only by the rule at etui.yaml:4; the rule at etui.yaml:5, which failed: no such key: plan: none holds",
		"db_drop":       "no rule allows it, and tools of risk destructive are hidden by default",
	} {
		e, _ := r.Catalog().Get(name)
		if got := r.Catalog().WhyDenied(&chat.Facts{}, e); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	if _, failed := r.Catalog().Denied(&chat.Facts{}); len(failed) != 2 || !strings.Contains(failed[0].Error(), "etui.yaml:3) failed") && !strings.Contains(failed[0].Error(), "etui.yaml:3 failed") {
		t.Errorf("failed %v", failed)
	}
	s := list.Status()
	if len(s) != 5 {
		t.Fatalf("the status has %d rules, want 5", len(s))
	}
	is(t, "name", s[1].Rule, "rule polls (etui.yaml:2)")
	is(t, "failures of a rule that holds", s[0].Failures, 0)
	is(t, "failures of a rule that failed", s[2].Failures, 1)
}

func TestMistakes(t *testing.T) {
	at := rules.Place{File: "etui.yaml", Line: 7, Column: 11}
	for _, c := range []struct {
		rule rules.Rule
		want string
	}{
		{allow(`chanel == "x"`, "a"), `etui.yaml:7:11: visibility rule r: the condition reads "chanel", which is no fact and no function; did you mean "channel"?`},
		{allow(`true && user.rols == []`, "a"), `etui.yaml:7:19: visibility rule r: the condition reads "user.rols", which is no fact and no function; did you mean "user.roles"?`},
		{allow(`user == "x"`, "a"), `; did you mean "user.id"?`},
		{allow(`country == "x"`, "a"), `the facts are user.id, user.roles,`},
		{allow(`channel.startWith("x")`, "a"), `etui.yaml:7:19: visibility rule r: the condition reads "startWith", which is no fact and no function; did you mean "startsWith"?`},
		{allow(`channel == 3`, "a"), `etui.yaml:7:19: visibility rule r: the condition is not valid: found no matching overload`},
		{allow("channel ==\n  !", "a"), `etui.yaml:8: visibility rule r: the condition is not valid: Syntax error`},
		{allow(`channel`, "a"), "is of type string; it must be true or false"},
		{allow(`time.getHours("Asia/Shangai") > 3`, "a"), `the time zone "Asia/Shangai" cannot be used: unknown time zone Asia/Shangai; zones are written as in "Asia/Shanghai"`},
		{allow(`time.getDayOfWeek("+25:00") > 3`, "a"), `the time zone "+25:00" cannot be used`},
		{allow(`channel.matches("(a")`, "a"), "the condition is not valid"},
		{allow(`user.roles.exists(a, user.roles.exists(b, user.roles.exists(c, a == b+c)))`, "a"), "may cost"},
		{allow(strings.Repeat(" ", rules.MaxCondition)+"true", "a"), "characters, at most 4096"},
		{allow(strings.Repeat("(", 2000)+"true"+strings.Repeat(")", 2000), "a"), "not valid"},
		{allow(""), "must name tools under allow or under deny"},
		{rules.Rule{Allow: []string{"a"}, Deny: []string{"b"}}, "both allow and deny"},
		{allow("", "grup:x"), `"grup:x" begins with no known kind, which are group:, source:, risk: and skill:; did you mean "group"?`},
		{allow("", "risk:reed"), `did you mean "read"?`},
		{allow("", "db_["), "no valid pattern"},
		{allow("", "group:"), "names nothing"},
		{allow("", ""), "names nothing"},
		{allow("", make([]string, 1001)...), "at most 1000"},
	} {
		c.rule.Name, c.rule.Place, c.rule.WhenPlace = "r", at, at
		_, err := rules.Compile(rules.Visibility, []rules.Rule{c.rule}, nil)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v:\n got %v\nwant %s", c.rule, err, c.want)
		}
	}
	if _, err := rules.Compile(rules.Visibility, make([]rules.Rule, rules.MaxRules+1), nil); err == nil || !strings.Contains(err.Error(), "at most 10000") {
		t.Errorf("too many rules: %v", err)
	}
}

func TestUnknownTargetsAreWarnings(t *testing.T) {
	list := compile(t, nil, allow("", "db_qury", "group:admn", "skill:opps", "source:mpc", "zz*", "risk:read", "note"))
	var all []string
	for _, w := range list.Unknown(house(t).Catalog()) {
		all = append(all, w.Error())
	}
	got := strings.Join(all, "\n")
	for _, want := range []string{`"db_qury", which does not exist; did you mean "db_query"?`, `"admn", which does not exist; did you mean "admin"?`, `"ops"?`, `"mcp"?`, `no tool matches "zz*"`} {
		if !strings.Contains(got, want) {
			t.Errorf("%s\nwants %s", got, want)
		}
	}
	if len(all) != 5 {
		t.Errorf("%d warnings: %s", len(all), got)
	}
}

// More callers than the caches hold still get their own outcomes, in many goroutines.
func TestManyCallers(t *testing.T) {
	r := house(t)
	r.SetRules(compile(t, nil, allow(`user.id.endsWith("7")`, "note"), deny(`time.getSeconds() % 2 == 0`, "restart")))
	var wg sync.WaitGroup
	for g := range 4 {
		wg.Go(func() {
			for i := range 6000 {
				user := fmt.Sprint(i, "-", i%10)
				got := visible(r.Catalog(), chat.Facts{User: user, Time: time.Unix(int64(i+g), 0)})
				if strings.Contains(got, "note") != (i%10 == 7) || strings.Contains(got, "restart") != ((i+g)%2 == 1) {
					t.Errorf("%s at %d sees %s", user, i+g, got)
					return
				}
			}
		})
	}
	wg.Wait()
}

// TestLongFacts: a caller with facts of any length costs little, and a condition that reads
// them fails, so that what it guards stays guarded.
func TestLongFacts(t *testing.T) {
	slow := `attrs.a.matches("(x?){500}x{500}") || attrs.a.matches("^(a|b)*$")`
	r := house(t)
	r.SetRules(compile(t, nil, allow(slow, "note"), deny(slow, "restart")))
	for _, size := range []int{4 << 10, 9 << 20} {
		facts := chat.Facts{Channel: "web", Attrs: map[string]string{"a": strings.Repeat("x", size)}}
		if got := visible(r.Catalog(), facts); strings.Contains(got, "note") || strings.Contains(got, "restart") {
			t.Errorf("with an attribute of %d bytes, %s is visible", size, got)
		}
		_, failed := r.Catalog().Denied(&facts)
		if len(failed) != 2 || !strings.Contains(failed[0].Error(), "too long for the pattern") && !strings.Contains(failed[0].Error(), "at most 65536 are looked at") {
			t.Errorf("with an attribute of %d bytes: %v", size, failed)
		}
	}
	facts := chat.Facts{Attrs: map[string]string{"a": "abab", "unread": strings.Repeat("x", 9<<20)}}
	if got := visible(r.Catalog(), facts); !strings.Contains(got, "note") {
		t.Errorf("an attribute that no condition reads hides tools: %s", got)
	}
	if _, err := rules.Compile(rules.Visibility, []rules.Rule{allow(`channel.matches(attrs.pattern)`, "note")}, nil); err == nil || !strings.Contains(err.Error(), "must be a text in quotes") {
		t.Errorf("a caller's pattern: %v", err)
	}
}

// FuzzCondition: no condition makes compiling or judging panic, and judging again gives
// the same result.
func FuzzCondition(f *testing.F) {
	for _, s := range []string{isAdmin, `attrs.a == "b"`, `channel ==`, `time.getHours("Nowhere") > 3`, `user.roles.all(r, r.size() < 3)`, `"\u`, `[1,2].map(x, x/0) == []`, `attrs[channel] in user.roles`, `1/0 == 1`, "a\n.b", `chat.matches(channel)`} {
		f.Add(s, "web", "admin")
	}
	c := house(f).Catalog()
	f.Fuzz(func(t *testing.T, when, channel, role string) {
		list, err := rules.Compile(rules.Visibility, []rules.Rule{allow(when, "note"), deny(when, "restart")}, nil)
		if err != nil {
			return
		}
		facts := chat.Facts{Channel: channel, Chat: role, Roles: []string{role}, Attrs: map[string]string{channel: role}, Time: time.Unix(1e9, 0)}
		g := list.Guard(c)
		first, _, _ := g.Denied(&facts)
		again, _, _ := list.Guard(c).Denied(&facts)
		if fmt.Sprint(first) != fmt.Sprint(again) {
			t.Errorf("%q: %v, then %v", when, first, again)
		}
	})
}

func BenchmarkCompile100(b *testing.B) {
	var list []rules.Rule
	for i := range 100 {
		list = append(list, allow(fmt.Sprintf(`"role%d" in user.roles || channel == "web"`, i), "note"))
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := rules.Compile(rules.Visibility, list, nil); err != nil {
			b.Fatal(err)
		}
	}
}

// TestOriginalNames: a rule names a tool by the name that models read or by that of its server, also
// with a colon or brackets in it, and by patterns.
func TestOriginalNames(t *testing.T) {
	r := catalog.NewRegistry(nil)
	must(t, r.Register(
		described{tool.Definition{Name: "mcp__s__get_user_d77d8f", Original: "mcp__s__get user"}},
		described{tool.Definition{Name: "mcp__s__ns_get_0c6c48", Original: "mcp__s__ns:get"}},
		described{tool.Definition{Name: "mcp__s__x_1_ce33de", Original: "mcp__s__x[1]"}},
		described{tool.Definition{Name: "mcp__s__srv_aaaa_69df97", Original: "mcp__s__srv/aaaa/delete_all"}},
	))
	for target, want := range map[string]string{
		"mcp__s__get user": "[true false false false]", "mcp__s__get_user_d77d8f": "[true false false false]",
		"mcp__s__ns:get": "[false true false false]", "mcp__s__ns:*": "[false true false false]",
		"mcp__s__x[1]": "[false false true false]", "mcp__s__*": "[true true true true]", "mcp__s__*delete*": "[false false false true]",
	} {
		list, err := rules.Compile(rules.Visibility, []rules.Rule{deny("", target)}, nil)
		must(t, err)
		must(t, errOf(r, list))
		denied, _ := r.Catalog().Denied(&chat.Facts{})
		is(t, target, fmt.Sprint(denied), want)
		is(t, target, len(list.Unknown(r.Catalog())), 0)
	}
}

func errOf(r *catalog.Registry, list *rules.Rules) error { _, err := r.Update(nil, list); return err }
