package skill

import (
	"bytes"
	"cmp"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v4"

	"github.com/etui-run/etui/internal/form"
	"github.com/etui-run/etui/internal/printable"
	"github.com/etui-run/etui/tool"
)

// The bounds of a YAML skill. A file that exceeds one is refused.
const (
	maxYAML        = 256 << 10 // bytes
	maxNodes       = 10_000    // keys and values, aliases written out
	maxDepth       = 40        // mappings and lists in one another
	maxProblems    = 20        // reported of one file
	maxName        = 64        // characters, of a name
	maxDescription = 4096      // characters, of a description
	maxText        = 8192      // bytes, of any other text
)

// ParseYAML reads the text of a skill's file; messages name it file. The error is
// [Problems], everything that is wrong. No message holds the value of a variable, a
// header or env.
//
// A file is one YAML document in UTF-8 with one mapping, without tags or duplicate
// keys. ${NAME} is replaced in the values of headers and env, in the query of endpoint and in the
// client of auth, once.
func ParseYAML(file string, text []byte, v Variables) (Config, error) {
	r := &reader{variables: v}
	r.Reader = form.Reader{
		File: file, Depth: maxDepth, Nodes: maxNodes, Most: maxProblems, Strict: true,
		Text: r.text, Value: r.value, Inspect: r.inspect,
	}
	c := Config{File: file}
	r.read(&c, text)
	if len(r.Problems) == 0 {
		return c, nil
	}
	problems := make(Problems, len(r.Problems))
	for i, p := range r.Problems {
		problems[i] = Problem(p)
	}
	slices.SortStableFunc(problems, func(a, b Problem) int { return cmp.Or(a.Line-b.Line, a.Column-b.Column) })
	return Config{}, problems
}

// reader reads a skill's file.
type reader struct {
	form.Reader
	variables Variables
	expanded  []Secret // what ${NAME} was replaced with
	address   Secret   // see Config.Address
}

// read fills a config. If the parser panics, the file is refused.
func (r *reader) read(c *Config, text []byte) {
	defer func() {
		if recover() != nil {
			r.Fail(&yaml.Node{}, "", "the file cannot be read: the parser failed on it")
		}
	}()
	if root := r.parse(text); root != nil && r.Resolve(root) && len(r.Problems) == 0 {
		r.config(c, root)
	}
}

// parse returns the file's one mapping, or nil.
func (r *reader) parse(text []byte) *yaml.Node {
	start := &yaml.Node{Line: 1}
	text = bytes.TrimPrefix(text, []byte("\ufeff"))
	if bytes.HasPrefix(text, []byte("%YAML 1.2")) { // our parser knows only the name 1.1
		text = append([]byte("#"), text[1:]...)
	}
	switch {
	case len(text) > maxYAML:
		r.Fail(&yaml.Node{}, "", "the file is longer than %d kB", maxYAML>>10)
		return nil
	case !utf8.Valid(text):
		r.Fail(&yaml.Node{Line: form.InvalidLine(text)}, "", "the file is not UTF-8 text")
		return nil
	}
	root, bad := form.Parse(string(text), maxDepth)
	switch {
	case bad != nil && bad.Second:
		r.Fail(&yaml.Node{Line: bad.Line, Column: bad.Column}, "", "%s; a file holds one skill", bad.Message)
		return nil
	case bad != nil:
		r.Fail(&yaml.Node{Line: bad.Line, Column: bad.Column}, "", "the file is not valid YAML: %s",
			printable.OneLine(bad.Message))
		return nil
	case root == nil:
		r.Fail(start, "", "the file is empty")
		return nil
	case root.Kind != yaml.MappingNode:
		r.Fail(root, "", "the file must be a mapping of keys to values, not %s", form.KindOf(root))
		return nil
	}
	return root
}

// inspect refuses ${NAME} where it is not replaced.
func (r *reader) inspect(n *yaml.Node, top string) {
	text := n.Value
	if top == "endpoint" {
		text, _, _ = strings.Cut(text, "?")
	}
	if n.Kind == yaml.ScalarNode && top != "headers" && top != "env" && top != "auth" && strings.Contains(text, "${") {
		r.Fail(n, top, "${NAME} is replaced in the values of headers, env and auth and in the query of endpoint only, not in %s", cmp.Or(top, "a key"))
	}
}

// config reads the file's mapping.
func (r *reader) config(c *Config, root *yaml.Node) {
	r.Decode(root, c)
	at := map[string]*yaml.Node{}
	c.lines = map[string]int{}
	for key, value := range form.Pairs(root) {
		at[key.Value], c.lines[key.Value] = value, key.Line
	}
	c.Expanded, c.Address = r.expanded, r.address
	r.relations(c, root, at)
	if c.Timeout == 0 {
		c.Timeout = DefaultTimeout
	}
	c.RiskLevel = cmp.Or(c.RiskLevel, tool.Write)
}

// needed are the keys that a provider requires; one of them is enough.
var needed = map[string][]string{"http": {"endpoint"}, "mcp": {"endpoint", "command"}, "wasm": {"module"},
	"command": {"command"}}

// relations checks rules about more than one key.
func (r *reader) relations(c *Config, root *yaml.Node, at map[string]*yaml.Node) {
	for key, f := range form.Fields(reflect.TypeFor[Config]()) {
		if of := f.Tag.Get("of"); of != "" && at[key] != nil && known(c.Provider) &&
			!slices.Contains(strings.Split(of, ","), c.Provider) {
			r.Fail(at[key], key, "provider %[2]s has no key %[1]s; it belongs to %[3]s", key,
				cmp.Or(c.Provider, "none"), strings.ReplaceAll(of, ",", " and "))
		}
	}
	if at["provider"] == nil && at["tools"] == nil {
		r.Fail(root, "provider", "the key provider is missing: builtin, http, mcp, wasm or command; a skill without one must have tools")
	}
	if list := needed[c.Provider]; len(list) > 0 {
		switch given := slices.DeleteFunc(slices.Clone(list), func(key string) bool { return at[key] == nil }); {
		case len(given) == 0:
			r.Fail(root, list[0], "provider %s needs the key %s", c.Provider, strings.Join(list, " or "))
		case len(given) > 1:
			r.Fail(at[given[1]], given[1], "%s and %s exclude each other", given[0], given[1])
		}
	}
	for key, address := range map[string]string{"endpoint": c.Endpoint, "health": c.Health} {
		if path, _, _ := strings.Cut(address, "?"); strings.ContainsAny(path, "{}") &&
			(key == "health" || c.Provider == "mcp") {
			r.Fail(at[key], key, "%s has braces in its path, which nothing fills in: only the endpoint of provider http takes arguments", key)
		}
	}
	if c.Auth.ClientSecret != "" && c.Auth.Issuer == "" {
		r.Fail(at["auth"], "auth.issuer",
			"auth.client_secret needs the key auth.issuer, the URL of the authorization server that it is for: a server could send it to another one")
	}
}

// known reports whether the keys of a provider are known; a program may have
// providers of its own.
func known(provider string) bool {
	return provider == "" || provider == "builtin" || needed[provider] != nil
}

// value reads JSON Schemas and secrets.
func (r *reader) value(n *yaml.Node, v any, key string) bool {
	switch v := v.(type) {
	case *ParameterSchema:
		*v = r.schema(n, key)
	case *Secret:
		*v = r.secret(n, key)
	case *map[string]Secret:
		*v = r.secrets(n, key)
	default:
		return false
	}
	return true
}

// checks say what is wrong with a text, in words that follow the key.
var checks = map[string]func(string) string{
	"name": func(s string) string {
		if !skillName.MatchString(s) || len(s) > maxName {
			return fmt.Sprintf("is %q; it must be 1 to 64 letters, digits, '_' and '-'", form.Short(s))
		}
		if strings.HasPrefix(strings.ToLower(s), serverTools) {
			return fmt.Sprintf("is %q; names that begin with %s belong to the tools of MCP servers", form.Short(s),
				serverTools)
		}
		return ""
	},
	"description": func(s string) string {
		if utf8.RuneCountInString(s) > maxDescription {
			return fmt.Sprintf("is longer than %d characters", maxDescription)
		}
		return ""
	},
	"provider": func(s string) string {
		if !skillName.MatchString(s) {
			return fmt.Sprintf("is %q; it must be builtin, http, mcp, wasm or command", form.Short(s))
		}
		return ""
	},
	"endpoint":    checkURL,
	"auth.issuer": checkURL,
	"health": func(s string) string {
		if strings.HasPrefix(s, "/") && !strings.HasPrefix(s, "//") && !strings.ContainsFunc(s, notInURL) {
			return ""
		}
		return checkURL(s)
	},
}

// serverTools begins the names of tools of MCP servers. A skill of such a name could pass
// for one.
const serverTools = "mcp__"

var skillName = regexp.MustCompile(`^[A-Za-z0-9_-]+$`)

// text reads a text that is not blank. A version may be written as a number; it
// counts as it is written.
func (r *reader) text(n *yaml.Node, key string) (string, bool) {
	number := key == "version" && (n.Tag == "!!float" || n.Tag == "!!int")
	switch {
	case n.Kind != yaml.ScalarNode:
		r.Fail(n, key, "%s must be text, not %s", key, form.KindOf(n))
	case n.Tag != "!!str" && !number:
		r.Fail(n, key, "%s must be text; put it in quotes", key)
	case strings.TrimSpace(n.Value) == "":
		r.Fail(n, key, "%s is empty", key)
	case key != "description" && len(n.Value) > maxText:
		r.Fail(n, key, "%s is longer than %d bytes", key, maxText)
	case strings.HasPrefix(key, "auth.") && strings.Contains(n.Value, "${"):
		r.Fail(n, key, "${NAME} is replaced in auth.client_id and auth.client_secret only, not in %s", key)
	case strings.ContainsFunc(n.Value, unseen):
		r.Fail(n, key, "%s holds a control character or an invisible one", key)
	default:
		text := n.Value
		if key == "endpoint" {
			text = r.query(n, key)
			r.address = Secret(text)
		}
		if check := checks[key]; check != nil {
			if reason := check(text); reason != "" {
				r.Fail(n, key, "%s %s", key, reason)
				return "", false
			}
		}
		return n.Value, true
	}
	return "", false
}

// unseen reports characters that hide a text's meaning from people: controls,
// changes of direction, tags.
func unseen(r rune) bool {
	switch r {
	case '\n', '\t', '\r':
		return false
	}
	return r < 0x20 || r >= 0x7f && r < 0xa0 || r >= 0x202a && r <= 0x202e || r >= 0x2060 && r <= 0x206f ||
		r == 0xfeff || r >= 0xe0000 && r <= 0xe0fff
}
