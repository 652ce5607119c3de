package config_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v4"

	"github.com/etui-run/etui/cmd/internal/config"
	"github.com/etui-run/etui/tool"
)

func parse(t *testing.T, text string, environ ...string) *config.Config {
	t.Helper()
	c, err := config.Parse("etui.yaml", []byte(text), environ)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// same compares one fact.
func same(t *testing.T, fact string, got, want any) {
	t.Helper()
	if got != want {
		t.Errorf("%s is %v, want %v", fact, got, want)
	}
}

func TestDefaults(t *testing.T) {
	for _, text := range []string{"", "\n", "# nothing\n", "selection:\n"} {
		c := parse(t, text)
		same(t, text+": listen", c.Listen, "127.0.0.1:3884")
		same(t, text+": selection.limit", c.Selection.Limit, 8)
		same(t, text+": limits.message", c.Limits.Message, config.Size(256<<10))
		same(t, text+": limits.call", c.Limits.Call, time.Minute)
		same(t, text+": tools.builtin", c.Tools.Builtin, true)
		same(t, text+": workflow.default_skill", c.Workflow.DefaultSkill, "full")
	}
}

func TestFile(t *testing.T) {
	c := parse(t, `
log: {level: debug}
models:
  - {name: main, provider: openai, model: m, api_key: "${KEY}", headers: {X-A: "b"}, timeout: 5s, cache_life: -1s}
agents:
  - name: helper
    model: main
    instructions: |
      Be ${MOOD}.
skills:
  - {name: office, description: d, tools: [send_mail, group:calendar]}
workflow: {default_skill: office}
limits: {message: 1MiB, result: 2000}
selection: {direct: -1}
`, "KEY=s3cret", "MOOD=kind")
	m := c.Models[0]
	same(t, "api_key", string(m.APIKey), "s3cret")
	same(t, "headers.X-A", string(m.Headers["X-A"]), "b")
	same(t, "timeout", m.Timeout, 5*time.Second)
	same(t, "cache_life", m.CacheLife, -time.Second)
	same(t, "retries", m.Retries, 2)
	same(t, "instructions", c.Agents[0].Instructions, "Be kind.\n")
	same(t, "strategy", c.Agents[0].Strategy, "full")
	same(t, "limits.message", c.Limits.Message, config.Size(1<<20))
	same(t, "limits.result", c.Limits.Result, config.Size(2000))
	same(t, "selection.direct", c.Selection.Direct, -1)
	same(t, "tools", c.Skills.Toolsets[0].Tools[1], "group:calendar")
	raw, err := yaml.Dump(c)
	if err != nil {
		t.Fatal(err)
	}
	j, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	for _, shown := range []string{string(raw), string(j), fmt.Sprint(c), fmt.Sprintf("%+v %#v", c, c)} {
		if strings.Contains(shown, "s3cret") {
			t.Errorf("the key is shown: %s", shown)
		}
	}
}

func TestEnvironment(t *testing.T) {
	c := parse(t, "listen: 127.0.0.1:1\nselection: {limit: 3}\n", "ETUI_LISTEN=127.0.0.1:2", "ETUI_SELECTION_LIMIT=5", "ETUI_SELECTION_PINNED=[a, b]",
		"ETUI_LOG_LEVEL=warn", "ETUI_SKILLS=[{name: s}]", "ETUI_WORKSPACE=/x", "PATH=/bin", "ETUI_DEMO=true")
	same(t, "listen", c.Listen, "127.0.0.1:2")
	same(t, "selection.limit", c.Selection.Limit, 5)
	same(t, "pinned tools", len(c.Selection.Pinned), 2)
	same(t, "log.level", c.Log.Level, "warn")
	same(t, "skills", c.Skills.Toolsets[0].Name, "s")
	same(t, "demo", c.Demo, true)
}

// TestDays: a long time is written in days, wherever a time is.
func TestDays(t *testing.T) {
	for text, want := range map[string]time.Duration{"90d": 90 * 24 * time.Hour, "36h": 36 * time.Hour, "0d": 0} {
		c, err := config.Parse("etui.yaml", []byte("sessions: {keep: "+text+"}\n"), nil)
		if err != nil {
			t.Fatal(err)
		}
		if c.Sessions.Keep != want {
			t.Errorf("%s is %v", text, c.Sessions.Keep)
		}
	}
	for _, text := range []string{"-1d", "1.5d", "d", "9999999d", "x"} {
		if _, err := config.Parse("etui.yaml", []byte("sessions: {keep: "+text+"}\n"), nil); err == nil || !strings.Contains(err.Error(), "it must be a time such as") {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// TestMistakes: each says where, what and what to do.
func TestMistakes(t *testing.T) {
	for _, c := range []struct{ text, env, says string }{
		{"lisen: x\n", "", `etui.yaml:1:1: unknown key "lisen"; did you mean "listen"?`},
		{"log:\n  leval: info\n", "", `etui.yaml:2:3: unknown key "leval" in log; did you mean "level"?`},
		{"log:\n  level: inf\n", "", `etui.yaml:2:10: log.level is "inf"; it must be one of debug, info, warn, error; did you mean "info"?`},
		{"a: [\n", "", "etui.yaml:2:1:"},
		{"a: b: c\n", "", "etui.yaml:1:"},
		{"\tx: 1\n", "", "etui.yaml:1:"},
		{"listen: [1]\n", "", "etui.yaml:1:9: listen must be a single value, not a list"},
		{"agents: x\n", "", "agents must be a list, not a single value"},
		{"- a\n", "", "the file must be a mapping of keys to values, not a list"},
		{"selection: {limit: many}\n", "", `selection.limit is "many"; it must be a whole number`},
		{"selection: {limit: -1}\n", "", "selection.limit must not be negative"},
		{"selection: {window_share: 2}\n", "", "from 0 to 1"},
		{"limits: {call: fast}\n", "", `limits.call is "fast"; it must be a time such as 30s, 2m or 90d`},
		{"limits: {message: lots}\n", "", `"lots" is not a size such as 256KiB`},
		{"tools: {builtin: maybe}\n", "", "true or false"},
		{"api: {key: \"${NO_SUCH}\"}\n", "", "etui.yaml:1:12: the environment variable NO_SUCH is not set"},
		{"api: {key: \"${EMPTY}\"}\n", "EMPTY=", "the environment variable EMPTY is not set"},
		{"listen: 0.0.0.0:80\n", "", "others can reach: set api.key"},
		{"listen: nowhere\n", "", "must be an address"},
		{"api: {console: {keys: true}}\n", "", "api.console needs url"},
		{"api: {key: k, console: {url: 'https://e.example'}}\n", "", "nobody could sign in"},
		{"api: {key: k, console: {url: 'https://e.example/x', keys: true}}\n", "", "without a path"},
		{"api: {key: k, console: {url: 'https://e.example:443', keys: true}}\n", "", "leave it out"},
		{"api: {key: k, console: {url: 'http://e.example', keys: true}}\n", "", "must begin with https://"},
		{"api: {console: {url: 'https://e.example', keys: true}}\n", "", "api.console.url needs api.key"},
		{"api: {key: k, console: {url: 'https://e.example', keys: true, owners: [a@e.example]}}\n", "", "api.console needs issuer"},
		{"api: {key: k, console: {url: 'https://e.example', issuer: 'http://l.example', client_id: x, owners: [a@e.example]}}\n", "", "api.console.issuer"},
		{"api: {key: k, console: {url: 'https://e.example', issuer: 'https://l.example', owners: [a@e.example]}}\n", "", "needs client_id"},
		{"api: {key: k, console: {url: 'https://e.example', issuer: 'https://l.example', client_id: x}}\n", "", "would let nobody in"},
		{"api: {key: k, console: {url: 'https://e.example', issuer: 'https://l.example', client_id: x, owners: ['*@e.example']}}\n", "", "patterns are not taken"},
		{"api: {key: k, console: {url: 'https://e.example', issuer: 'https://l.example', client_id: x, viewers: ['group:']}}\n", "", "neither an email address nor a group"},
		{"models: [{provider: openai, model: m}]\n", "", `models[0] needs the key "name"`},
		{"models: [{name: a, provider: openai}]\n", "", `the key "model" must hold`},
		{"models: [{name: a, provider: opnai, model: m}]\n", "", `did you mean "openai"?`},
		{"models: [{name: fast, provider: offline}]\nagents: [{name: a, model: fats}]\n", "", `etui.yaml:2:10: agent a: there is no model "fats"; did you mean "fast"?`},
		{"skills: [{name: a}, {name: a}]\n", "", `the toolset "a" is defined twice`},
		{"skills: [{name: full, tools: [x]}]\n", "", "always means all tools"},
		{"skills: [{name: \"bills, paid\", tools: [x]}]\n", "", `the toolset "bills, paid": a name must have no commas`},
		{"skills: {toolsets: [{name: a}, {name: a}]}\n", "", `the toolset "a" is defined twice`},
		{"skills: {dirs: x}\n", "", `etui.yaml:1:10: unknown key "dirs" in skills; did you mean "dir"?`},
		{"skills: {deny: ['a[']}\n", "", `etui.yaml:1:17: skills.deny: "a[" is neither a name nor a pattern`},
		{"skills: {registries: [{name: a, type: git}, {name: a, type: git}]}\n", "", `the registry "a" is defined twice`},
		{"admin: 0.0.0.0:1\n", "", "must be a loopback address"},
		{"recommend: {mode: model}\n", "", `etui.yaml:1:12: recommend.mode is model: the key recommend.model must name`},
		{"models: [{name: small, provider: offline}]\nsessions: {summary_model: smal}\n", "", `etui.yaml:2:27: sessions.summary_model: there is no model "smal"; did you mean "small"?`},
		{"models: [{name: small, provider: offline}]\nrecommend: {mode: model, model: smal}\n", "", `etui.yaml:2:33: recommend.model: there is no model "smal"; did you mean "small"?`},
		{"channels:\n  - {type: telegram, token: t}\n  - {type: telegram, token: t, name: b}\n", "", "etui.yaml:3:5: the channels telegram and b are the same account"},
		{"channels:\n  - {type: feishu, app_id: cli_1, secret: s}\n  - {type: feishu, app_id: cli_1, secret: s, name: b}\n", "", "etui.yaml:3:5: the channels feishu and b are the same account"},
		{"channels: [{type: feishu, app_id: cli_1, region: cn}]\n", "", "must be one of feishu, lark"},
		{"recommend: {mode: rules, channel: 0, keyword: 0, history: 0, recency: 0}\n", "", "at least one of the weights"},
		{"embeddings: {base_url: http://localhost}\n", "", `etui.yaml:1:13: embeddings needs the key "model"`},
		{"visibility: {rules: [{allow: [a], when: ''}]}\n", "", `etui.yaml:1:41: the condition is empty; leave when out`},
		{"visibility:\n  rules:\n  - deny: [a]\n    when:\n", "", "etui.yaml:4:10: the condition is empty"},
		{"visibility: {rules: [null]}\n", "", "etui.yaml:1:22: visibility.rules[0] is empty"},
		{"selection:\n  pinned:\n  -\n", "", "selection.pinned[0] is empty"},
		{"visibility: {rules: [{deny: [a]}]}\nlisten: 127.0.0.1:1\nvisibility: {}\n", "", `etui.yaml:3:1: duplicate key "visibility"`},
		{"visibility:\n  rules:\n  - deny: [a]\n    deny: [b]\n", "", `etui.yaml:4:5: duplicate key "deny"`},
		{"users: [{name: a, attrs: {a: b, a: c}}]\n", "", `duplicate key "a"`},
		{"users: [{identities: [telegram:42]}]\n", "", `users[0] needs the key "name"`},
		{"users: [{name: a, identites: [telegram:42]}]\n", "", `did you mean "identities"?`},
		{"", "ETUI_LISTN=x", `ETUI_LISTN: there is no such key; did you mean "ETUI_LISTEN"?; variables that begin with ETUI_ are keys`},
		{"", "ETUI_SELECTION_LIMIT=x", `ETUI_SELECTION_LIMIT: selection.limit is "x"`},
		{"", "ETUI_SKILLS=[", "ETUI_SKILLS: the value must be YAML"},
		{"a: &a [*a]\n", "", "etui.yaml:1:4: this lies deeper"},
		{"listen: x\n---\nlisten: y\n", "", "etui.yaml:2:1: a second document begins here"},
		{"skills: &a [*a]\n", "", "etui.yaml"},
	} {
		_, err := config.Parse("etui.yaml", []byte(c.text), []string{c.env})
		if err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%q %s:\ngot  %v\nwant %s", c.text, c.env, err, c.says)
		}
	}
	_, err := config.Parse("etui.yaml", []byte("a: 1\nb: 2\n"), nil)
	if err == nil || strings.Count(err.Error(), "unknown key") != 2 {
		t.Errorf("two mistakes: %v", err)
	}
}

func TestMissingAndLongFiles(t *testing.T) {
	path := filepath.Join(t.TempDir(), "etui.yaml")
	if _, err := config.Read(path); !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), path) {
		t.Errorf("a file that must be there: %v", err)
	}
	if err := os.WriteFile(path, make([]byte, 2<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := config.Read(path); err == nil || !strings.Contains(err.Error(), "1 MiB") {
		t.Errorf("a long file: %v", err)
	}
}

// TestLinkThatLeadsNowhere: a configuration that was meant to be there stops the start, since
// without it no rule would be in effect.
func TestLinkThatLeadsNowhere(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "etui.yaml")
	if err := os.Symlink("gone.yaml", path); err != nil {
		t.Fatal(err)
	}
	_, err := config.Read(path)
	if err == nil || !strings.Contains(err.Error(), path+" is a link to gone.yaml, which does not exist") {
		t.Errorf("it starts: %v", err)
	}
	if errors.Is(err, fs.ErrNotExist) {
		t.Errorf("reading it says that there is none: %v", err)
	}
}

func TestSize(t *testing.T) {
	for text, want := range map[string]config.Size{"1": 1, "1KiB": 1024, "1.5 MiB": 3 << 19, "2kB": 2000, "7B": 7} {
		if got, err := config.ParseSize(text); got != want || err != nil {
			t.Errorf("%q: %d, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "x", "-1", "1TB", "9999999GiB", "KiB"} {
		if got, err := config.ParseSize(text); err == nil {
			t.Errorf("%q: %d", text, got)
		}
	}
}

// TestSchema: the schema is one, and takes and refuses what Parse does.
func TestSchema(t *testing.T) {
	s, err := tool.CompileSchema(config.Schema())
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Validate([]byte(`{"listen":"127.0.0.1:1","models":[{"name":"a","provider":"offline"}],"limits":{"call":"1m"}}`)); err != nil {
		t.Error(err)
	}
	if s.Validate([]byte(`{"lisen":"x"}`)) == nil || s.Validate([]byte(`{"models":[{"provider":"x"}]}`)) == nil {
		t.Error("the schema takes mistakes")
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{"listen: x", "a: &a [*a]", "skills: [{name: x, tools: [y]}]", "log: {level: info}", "? [a]\n: b", "<<: {a: 1}", "--- \n...\n---\n", "limits: {message: 1e9}"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		c, err := config.Parse("f", []byte(text), nil)
		if c == nil && err == nil {
			t.Error("neither configuration nor error")
		}
	})
}

// TestSkills: the short form and the long one, folders from file and environment.
func TestSkills(t *testing.T) {
	for _, c := range []struct{ text, env, dir string }{
		{"skills: [{name: a}]\n", "X=", "[]"},
		{"skills: {dir: one, toolsets: [{name: a}]}\n", "X=", "[one]"},
		{"skills: {dir: [one, two], toolsets: [{name: a}]}\n", "X=", "[one two]"},
		{"skills: [{name: a}]\n", "SKILLS_DIR=three:/four", "[three /four]"},
		{"skills: {dir: one, toolsets: [{name: a}]}\n", "ETUI_SKILLS_DIR=five", "[five]"},
	} {
		got := parse(t, c.text, c.env).Skills
		same(t, c.text+c.env+": dir", fmt.Sprint(got.Dir), c.dir)
		same(t, c.text+c.env+": toolsets", len(got.Toolsets), 1)
		same(t, c.text+c.env+": global is unset", got.Global == nil, true)
	}
	if got := parse(t, "skills: {global: []}").Skills.Global; got == nil {
		t.Error("an empty list of folders is the same as none")
	}
}

// TestNames: every name of a tool, group or skill is listed with its place.
func TestNames(t *testing.T) {
	text := `skills:
  toolsets: [{name: office, tools: [a, "group:g"]}]
  allow: [s, db_*]
workflow: {default_skill: office}
agents: [{name: main, groups: "x, y", skill: full, skills: [office]}]
selection: {pinned: [p]}
`
	c, err := config.Parse("f", []byte(text), []string{"ETUI_TOOLS_DISABLED=[exce]"})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, n := range c.Names {
		got = append(got, fmt.Sprintf("%d %s: %s at %s:%d:%d", n.Kind, n.Where, n.Text, n.Place.File, n.Place.Line, n.Place.Column))
	}
	want := []string{
		`6 the skill "office": a at f:2:37`, `6 the skill "office": group:g at f:2:40`,
		"1 tools.disabled: exce at ETUI_TOOLS_DISABLED:0:0",
		"0 selection.pinned: p at f:6:22",
		"3 workflow.default_skill: office at f:4:27",
		"2 agent main: groups: x at f:5:31", "2 agent main: groups: y at f:5:31",
		"3 agent main: skill: full at f:5:46", "3 agent main: skills: office at f:5:61",
		"4 skills.allow: s at f:3:11",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}
