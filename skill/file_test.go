package skill_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/etui-run/etui/skill"
	"github.com/etui-run/etui/tool"
)

// base is a skill that only lacks what a test adds.
const base = "name: a\ndescription: Does it.\nprovider: http\nendpoint: http://127.0.0.1:8081/execute\n"

var environment = skill.Variables{Lookup: func(name string) (string, bool) {
	v, ok := map[string]string{
		"TOKEN": "s3cret", "CRLF": "s3cret\r\nX: 1", "NUL": "s3cret\x00", "EMPTY": "", "OUTER": "${TOKEN}",
		"OPENAI_API_KEY": "s3cret", "ETUI_API_KEY": "s3cret",
	}[name]
	return v, ok
}}

func parse(text string) (skill.Config, error) {
	return skill.ParseYAML("a.yaml", []byte(text), environment)
}

// same compares one fact.
func same(t *testing.T, fact string, got, want any) {
	t.Helper()
	if got != want {
		t.Errorf("%s is %v, want %v", fact, got, want)
	}
}

// TestKeyInQuery: a service may take its key in the query of its address, which nothing prints.
func TestKeyInQuery(t *testing.T) {
	c, err := parse(strings.Replace(base, "/execute", "/run?v=1&key=${TOKEN}", 1))
	if err != nil {
		t.Fatal(err)
	}
	same(t, "the endpoint", c.Endpoint, "http://127.0.0.1:8081/run?v=1&key=${TOKEN}")
	same(t, "the URL", c.URL(), "http://127.0.0.1:8081/run?v=1&key=s3cret")
	if text := fmt.Sprintf("%v %+v %#v", c, c, c); strings.Contains(text, "s3cret") {
		t.Error("a secret is printed")
	}
	if got := c.Redactor().Text("GET " + c.URL()); strings.Contains(got, "s3cret") {
		t.Errorf("not redacted: %s", got)
	}
	for _, wrong := range []string{"/run?key=${UNSET}", "/run?key=${}", "/${TOKEN}?a=b", "/run?key=${TOKEN}#x"} {
		if _, err := parse(strings.Replace(base, "/execute", wrong, 1)); err == nil {
			t.Errorf("%s is accepted", wrong)
		}
	}
}

func TestParseYAML(t *testing.T) {
	c, err := parse("\ufeff" + strings.ReplaceAll(base+`timeout: 120
risk_level: read
replay: keyed
version: 1.10
enabled: false
headers:
  Authorization: Bearer ${TOKEN}
  X-Twice: ${OUTER}${TOKEN}
groups: [logs]
translations: {zh: 查日志}
parameters:
  type: object
  properties:
    level: {enum: [debug, "1", 1, 1.5, null, true]}
    "on": {$ref: "#/$defs/day"}
  $defs: {day: {type: string}}
`, "\n", "\r\n"))
	if err != nil {
		t.Fatal(err)
	}
	same(t, "timeout", c.Timeout, 2*time.Minute)
	same(t, "risk_level", c.RiskLevel, tool.Read)
	same(t, "replay", c.Replay, tool.Keyed)
	same(t, "version", c.Version, "1.10")
	same(t, "enabled", *c.Enabled, false)
	same(t, "groups", c.Groups[0], "logs")
	same(t, "translations", c.Translations["zh"], "查日志")
	same(t, "Authorization", string(c.Headers["Authorization"]), "Bearer s3cret")
	same(t, "X-Twice", string(c.Headers["X-Twice"]), "${TOKEN}s3cret")
	if len(c.Expanded) != 3 || c.Expanded[0] != "s3cret" {
		t.Errorf("%d variables", len(c.Expanded))
	}
	want := `{"type":"object","properties":{"level":{"enum":["debug","1",1,1.5,null,true]},"on":{"$ref":"#/$defs/day"}},"$defs":{"day":{"type":"string"}}}`
	if string(c.Parameters) != want {
		t.Errorf("got  %s\nwant %s", c.Parameters, want)
	}
	if text := fmt.Sprintf("%v %+v %#v", c, c, c); strings.Contains(text, "s3cret") {
		t.Error("a secret is printed")
	}
	c, err = parse(base)
	same(t, "the error", err, nil)
	same(t, "the default timeout", c.Timeout, 30*time.Second)
	same(t, "the default risk_level", c.RiskLevel, tool.Write)
	same(t, "the default replay", c.Replay, tool.Replay(""))
	same(t, "the default parameters", string(c.Parameters), "")
	if c, err = parse("name: a\ndescription: |\n  Two\n  lines.\ntools: [read_file, 'group:logs']\n"); err != nil || len(c.Tools) != 2 {
		t.Errorf("a toolset: %+v, %v", c, err)
	}
	if _, err = skill.ParseYAML("a.yaml", []byte(base+"headers: {A: '${ETUI_API_KEY}'}\n"), skill.Variables{Lookup: environment.Lookup, Allowed: []string{"ETUI_API_KEY"}}); err != nil {
		t.Errorf("a secret that the operator allows: %v", err)
	}
}

// TestRefused: each of these files is refused, with a message that names what is
// wrong and no secret.
func TestRefused(t *testing.T) {
	with := func(lines string) string { return base + lines + "\n" }
	instead := func(key, value string) string {
		var lines []string
		for line := range strings.Lines(base) {
			if !strings.HasPrefix(line, key+":") {
				lines = append(lines, line)
			}
		}
		return strings.Join(lines, "") + key + ": " + value + "\n"
	}
	params := func(p string) string { return with("parameters: " + p) }
	header := func(h string) string { return with("headers: {" + h + "}") }
	service := func(line string) string {
		return "name: a\ndescription: Does it.\nprovider: mcp\nendpoint: https://a/\n" + line + "\n"
	}
	for i, test := range []struct{ text, want string }{
		// Syntax and encoding.
		{"", "empty"}, {"# nothing\n", "empty"}, {"- a\n", "mapping"}, {"a.yaml", "mapping"}, {"null", "mapping"},
		{base + "\tx: 1\n", "a.yaml:5"}, {base + "x: [1, 2\n", "YAML"}, {base + "x: 'a\n", "YAML"}, {base + "---\n" + base, "second document"},
		{base + "...\nrubbish\n", "document"}, {"\xff\xfen\x00a\x00", "UTF-8"}, {base + "# \xe9\n", "a.yaml:5"}, {base + "version: a\x00b\n", "YAML"},
		{with("name: b"), "duplicate"}, {with("headers: {A: b, a: c}"), "duplicate"}, {with("headers: {A: b, A: c}"), "duplicate"}, {params("{type: object, type: object}"), "duplicate"},
		{strings.ToUpper(base), `did you mean "name"`}, {with("time_out: 3"), `did you mean "timeout"`}, {with("? [a]\n: b"), "key"}, {with("1: b"), "quotes"},
		// What makes files mean other things than they seem to.
		{with("version: *a"), "YAML"}, {with("<<: {a: 1}"), `unknown key "a"`}, {with("<<: a"), "<<"}, {with("version: !!str 1"), "tag"}, {with("version: !!python/object:x 1"), "tag"},
		{with("version: !x y"), "tag"},
		{with("version: &a '1'\n*a : x"), `unknown key "1"`}, {header("A: &a '${TOKEN}'") + "version: *a\n", "version"},
		// Bombs.
		{with("examples: &a [*a]"), "deeper"}, {params("&a {type: object, properties: {a: *a}}"), "deeper"}, {params("&a {type: object, <<: *a}"), "<<"}, {params("&a {type: object, b: {<<: *a}}"), "deeper"},
		{params("{type: object, a: &a {x: 1}" + doubled(", %[2]c: &%[2]c {p: *%[1]c, q: *%[1]c}") + "}"), "10000"}, {params("{type: object, a: &a {x: 1}" + doubled(", %[2]c: &%[2]c {<<: [*%[1]c, *%[1]c], p%[2]c: *%[1]c, q%[2]c: *%[1]c}") + "}"), "10000"},
		{params("{type: object, a: &a {x: 1}, b: {<<: [" + strings.Repeat("*a,", 20_000) + "]}}"), "10000"},
		{with("examples: [" + strings.Repeat("a,", 20_000) + "a]"), "10000"}, {with("# " + strings.Repeat("x", 300<<10)), "256 kB"},
		{params(strings.Repeat("{a: ", 100) + strings.Repeat("}", 100)), "YAML"}, {with(strings.Repeat("k: v\n", 5000)), "duplicate"},
		{params(strings.Repeat("[", 9000) + strings.Repeat("]", 9000)), "deeper"},
		// Types.
		{instead("name", "true"), "name"}, {instead("name", "12"), "name"}, {instead("name", "~"), "name"}, {instead("name", "[a]"), "name"}, {instead("name", "2020-01-01"), "name"},
		{instead("description", "5"), "description"}, {instead("description", "{a: b}"), "description"}, {instead("description", "' '"), "description"}, {instead("provider", "[http]"), "provider"},
		{with("enabled: yes"), "enabled"}, {with("enabled: 1"), "enabled"}, {with("groups: logs"), "groups"}, {with("groups: [1]"), "groups[0]"}, {with("headers: [a]"), "headers"},
		{with("headers: x"), "headers"}, {with("translations: [a]"), "translations"}, {with("version:"), "version"}, {with("tools: [{a: b}]"), "tools[0]"},
		// Names and descriptions.
		{instead("name", "a b"), "name"}, {instead("name", "../a"), "name"}, {instead("name", "查日志"), "name"}, {instead("name", "a.b"), "name"}, {instead("name", `"a\n"`), "name"},
		{instead("name", `"a\0b"`), "name"}, {instead("name", "''"), "name"}, {instead("name", strings.Repeat("a", 65)), "name"}, {instead("name", "ａ"), "name"}, {instead("name", "a\u200b"), "name"},
		{instead("description", strings.Repeat("长", 5000)), "description"}, {instead("description", `"a\e[2Jb"`), "description"}, {instead("description", "a\u202eb"), "description"},
		{instead("description", "a\U000e0041b"), "description"},
		{instead("name", "mcp__github__x"), "MCP servers"}, {instead("name", "MCP__a"), "MCP servers"},
		// Missing and foreign keys.
		{"name: a\n", "description"}, {"description: a\n", "name"}, {"name: a\ndescription: b\n", "provider"}, {"name: a\ndescription: b\nprovider: http\n", "endpoint"},
		{"name: a\ndescription: b\nprovider: command\n", "command"}, {"name: a\ndescription: b\nprovider: wasm\n", "module"}, {"name: a\ndescription: b\nprovider: mcp\n", "endpoint or command"},
		{with("command: [ls]"), "command"}, {with("memory: 5"), "memory"}, {"name: a\ndescription: b\nprovider: mcp\nendpoint: http://a/\ncommand: [x]\n", "exclude"},
		// Numbers and choices.
		{with("timeout: 0"), "timeout"}, {with("timeout: 121"), "timeout"}, {with("timeout: -1"), "timeout"}, {with("timeout: 1.5"), "timeout"}, {with("timeout: 30.0"), "timeout"}, {with("timeout: '30'"), "timeout"},
		{with("timeout: 30s"), "timeout"}, {with("timeout: 0x1e"), "timeout"}, {with("timeout: 99999999999999999999"), "timeout"}, {with("timeout: 1e1"), "timeout"}, {with("timeout: .inf"), "timeout"}, {with("timeout: 030"), "timeout"}, {with("timeout: [30]"), "timeout"},
		{with("risk_level: Read"), `did you mean "read"`}, {with("risk_level: none"), "risk_level"}, {with("risk_level: ''"), "risk_level"}, {with("risk_level: 'read '"), "risk_level"}, {with("risk_level: true"), "risk_level"}, {with("replay: maybe"), "replay"}, {with("replay: nevr"), `did you mean "never"`},
		// Endpoints.
		{instead("endpoint", "''"), "endpoint"}, {instead("endpoint", "127.0.0.1:80"), "endpoint"}, {instead("endpoint", "/execute"), "endpoint"}, {instead("endpoint", "//a/b"), "endpoint"}, {instead("endpoint", "file:///etc/passwd"), "endpoint"},
		{instead("endpoint", "ftp://a/"), "endpoint"}, {instead("endpoint", "http:///x"), "endpoint"}, {instead("endpoint", "http://:80/"), "endpoint"}, {instead("endpoint", "http:a"), "endpoint"}, {instead("endpoint", "http://u:s3cret@a/"), "endpoint"}, {instead("endpoint", "http://s3cret@a/"), "endpoint"},
		{instead("endpoint", "http://a:0/"), "endpoint"}, {instead("endpoint", "http://a:65536/"), "endpoint"}, {instead("endpoint", "http://a:/"), "endpoint"}, {instead("endpoint", "http://a:b/"), "endpoint"}, {instead("endpoint", "'http://a b/'"), "endpoint"}, {instead("endpoint", `"http://a\r\nHost: b/"`), "endpoint"},
		{instead("endpoint", `"http://a/\nx"`), "endpoint"}, {instead("endpoint", `'http://a\@b/'`), "endpoint"}, {instead("endpoint", "http://2130706433/"), "endpoint"}, {instead("endpoint", "http://0x7f.1/"), "endpoint"}, {instead("endpoint", "http://127.1/"), "endpoint"}, {instead("endpoint", "http://0177.0.0.1/"), "endpoint"},
		{instead("endpoint", "'http://[fe80::1%25eth0]/'"), "endpoint"}, {instead("endpoint", "http://１２７.0.0.1/"), "endpoint"}, {instead("endpoint", "'http://[::1/'"), "endpoint"}, {instead("endpoint", "http://a/%zz"), "endpoint"}, {instead("endpoint", "http://${TOKEN}/"), "headers, env and auth"}, {instead("endpoint", "' http://a/'"), "endpoint"},
		{instead("endpoint", "'http://a/#x'"), "endpoint"}, {instead("endpoint", "http://a..b/"), "endpoint"},
		// Headers and variables.
		{header("'X A': b"), "headers"}, {header("'': b"), "headers"}, {header("'A:': b"), "headers"}, {header(`"A\r\nB": c`), "headers"}, {header("查: b"), "headers"}, {header("Host: b"), "headers"}, {header("content-length: '0'"), "headers"}, {header("Connection: close"), "headers"},
		{header("TE: trailers"), "headers"}, {header("Upgrade: h2c"), "headers"}, {header(`A: "b\r\nC: d"`), "headers.A"}, {header(`A: "b\nc"`), "headers.A"}, {header(`A: "b\0"`), "headers.A"}, {header("A: [b]"), "headers.A"}, {header("A: 5"), "headers.A"}, {header("A: null"), "headers.A"},
		{header("A: '${MISSING}'"), "MISSING"}, {header("A: '${EMPTY}'"), "EMPTY"}, {header("A: '${CRLF}'"), "CRLF"}, {header("A: '${NUL}'"), "NUL"}, {header("A: '${}'"), "${}"}, {header("A: '${TOKEN'"), "${TOKEN"}, {header("A: '${TOKEN-x}'"), "${TOKEN-x}"},
		{with("auth: {login: person}"), "belongs to mcp"}, {service("auth: {login: everybody}"), "login"}, {service("auth: {secret: a}"), "unknown key"}, {service("auth: {client_secret: 7}"), "put it in quotes"},
		{service("auth: {client_secret: '${OPENAI_API_KEY}'}"), "OPENAI_API_KEY"}, {service("auth: {scopes: ['${TOKEN}']}"), "client_secret only"}, {service("auth: {scopes: read}"), "list"}, {service("auth: person"), "mapping"},
		{service("auth: {client_id: a, client_secret: b}"), "auth.issuer"}, {service("auth: {issuer: evil}"), "auth.issuer"},
		{header("A: '${OPENAI_API_KEY}'"), "OPENAI_API_KEY"}, {header("A: '${ETUI_API_KEY}'"), "ETUI_API_KEY"}, {header("'${TOKEN}': a"), "headers"}, {instead("description", "'${TOKEN}'"), "headers, env and auth"}, {params("{type: object, title: '${TOKEN}'}"), "headers, env and auth"},
		// Parameters.
		{params("[]"), "parameters"}, {params("{a: b}"), "parameters"}, {params("{type: string}"), "parameters"}, {params("{type: [object, 'null']}"), "parameters"}, {params("{type: Object}"), "parameters"}, {params("x"), "parameters"}, {params("{type: object, properties: []}"), "parameters"},
		{params("{type: object, properties: {a: {type: text}}}"), "parameters"}, {params("{type: object, required: a}"), "parameters"}, {params("{type: object, $ref: 'http://127.0.0.1/x'}"), "$ref"}, {params("{type: object, $ref: 'file:///etc/passwd'}"), "$ref"}, {params("{type: object, properties: {a: {$ref: 'x.json'}}}"), "$ref"},
		{params("{type: object, properties: {a: {$ref: '#/nowhere'}}}"), "parameters"}, {params("{type: object, $schema: 'http://127.0.0.1/x'}"), "parameters"}, {params("{type: object, properties: {a: {pattern: '('}}}"), "parameters"}, {params("{type: object, properties: {a: {minimum: 1e999999999}}}"), "minimum"},
		{params("{type: object, properties: {a: {$ref: '#'}}}"), "back to itself"}, {params("{type: object, $defs: {a: {items: {$ref: '#/$defs/a'}}}}"), "back to itself"},
		{params("{type: object, properties: {a: {default: .nan}}}"), "default"}, {params("{type: object, properties: {a: {minimum: 0x10}}}"), "minimum"},
	} {
		_, err := parse(test.text)
		var problems skill.Problems
		switch {
		case err == nil:
			t.Errorf("%d is taken: %.200s", i, test.text)
		case !errors.As(err, &problems) || problems[0].File != "a.yaml":
			t.Errorf("%d: %#v", i, err)
		case !strings.Contains(err.Error(), test.want):
			t.Errorf("%d: %q is not in %v\n%.300s", i, test.want, err, test.text)
		case strings.Contains(err.Error(), "s3cret"):
			t.Errorf("%d tells a secret: %v", i, err)
		}
	}
}

// TestTaken: these look odd and are right.
func TestTaken(t *testing.T) {
	for _, text := range []string{
		base + "headers: {}\n", base + "headers: {Content-Type: application/json, X-Empty: '', X-Text: '查 $ { }'}\n", "---\n" + base + "...\n", "%YAML 1.2\n---\n" + base,
		"# 注释\n" + base, "{name: a, description: 'b: c', provider: http, endpoint: 'https://[::1]:443/x?y=%20'}",
		strings.Replace(base, "127.0.0.1:8081", "search.default.svc.cluster.local:8080", 1), strings.Replace(base, "http://127.0.0.1:8081/execute", "HTTP://localhost", 1),
		strings.Replace(base, "Does it.", `"两行\n文字 \U0001F469\u200D\U0001F52C"`, 1), base + "parameters: {type: object, properties: {no: {type: string}, off: {const: 1.0e3}}, additionalProperties: false}\n",
		base + "parameters: {type: object, properties: {next: {$ref: '#/$defs/a'}}, $defs: {a: {type: string}}}\n", base + "parameters: {}\n",
		"name: a\ndescription: b\nprovider: ours\nendpoint: http://a/\nmodule: x\n", "name: a\ndescription: b\nprovider: builtin\n",
	} {
		if _, err := parse(text); err != nil {
			t.Errorf("%v\n%s", err, text)
		}
	}
}

// TestAliases: aliases and merge keys mean what they say.
func TestAliases(t *testing.T) {
	c, err := parse(base + `
groups: &two [a, b]
channels: *two
parameters:
  type: object
  properties:
    from: &day {type: string, format: date}
    to: *day
    until: {<<: [*day, {title: x, type: integer}], format: time}
`)
	if err != nil {
		t.Fatal(err)
	}
	want := `{"type":"object","properties":{"from":{"type":"string","format":"date"},"to":{"type":"string","format":"date"},"until":{"format":"time","type":"string","title":"x"}}}`
	if string(c.Parameters) != want || len(c.Channels) != 2 {
		t.Errorf("got  %s\nwant %s\n%v", c.Parameters, want, c.Channels)
	}
}

// doubled repeats a line of which each names the one before it, by letters.
func doubled(format string) string {
	var b strings.Builder
	for c := 'b'; c <= 'z'; c++ {
		fmt.Fprintf(&b, format, c-1, c)
	}
	return b.String()
}

func FuzzParseYAML(f *testing.F) {
	f.Add(base + "headers: {A: '${TOKEN}'}\nparameters: {type: object, properties: {a: {type: [string, 'null']}}}\n")
	f.Add("a: &a [*a]\n<<: *a\n")
	f.Fuzz(func(t *testing.T, text string) {
		c, err := parse(text)
		if err == nil && (c.Name == "" || c.Description == "" || c.Timeout < time.Second || c.Timeout > skill.MaxTimeout) {
			t.Errorf("%+v", c)
		}
		if err != nil && strings.Contains(err.Error(), "s3cret") && !strings.Contains(text, "s3cret") {
			t.Error(err)
		}
	})
}
