package skill

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"go.yaml.in/yaml/v4"
	"go.yaml.in/yaml/v4/plugin/loaderlimits"

	"github.com/etui-run/etui/internal/nearest"
	"github.com/etui-run/etui/internal/printable"
	"github.com/etui-run/etui/tool"
)

// The bounds of a YAML skill. A file beyond one of them is refused.
const (
	maxYAML        = 256 << 10 // bytes
	maxNodes       = 10_000    // keys and values, aliases written out
	maxDepth       = 40        // mappings and lists in one another
	maxProblems    = 20        // that are reported of one file
	maxName        = 64        // characters, of a name
	maxDescription = 4096      // characters, of a description
	maxText        = 8192      // bytes, of any other text
)

// Variables are what ${NAME} in a file may stand for.
type Variables struct {
	// Lookup finds the value of an environment variable. Nil means os.LookupEnv.
	Lookup func(name string) (value string, ok bool)
	// Allowed are those of etui's own secrets that files may name nonetheless:
	// OPENAI_API_KEY, ANTHROPIC_API_KEY and all that begin with ETUI_ are refused
	// otherwise.
	Allowed []string
}

// ParseYAML reads one skill's file, for messages named after file. The error is
// [Problems]: everything that is wrong, not only what was found first. No message
// holds the value of a variable, a header or env.
//
// A file is one YAML document in UTF-8 that holds one mapping, without tags or
// repeated keys. ${NAME} is replaced in the values of headers and env, once.
func ParseYAML(file string, text []byte, v Variables) (Config, error) {
	d := &decoder{file: file, variables: v}
	c := Config{File: file}
	d.read(&c, text)
	if len(d.problems) > 0 {
		slices.SortStableFunc(d.problems, func(a, b Problem) int { return cmp.Or(a.Line-b.Line, a.Column-b.Column) })
		return Config{}, d.problems
	}
	return c, nil
}

// decoder fills a Config from YAML nodes and collects everything that is wrong.
type decoder struct {
	file      string
	variables Variables
	problems  Problems
	nodes     int
	expanded  []Secret // what ${NAME} was replaced with
}

// read decodes the text. A parser that panics has met a file that is not to be
// used.
func (d *decoder) read(c *Config, text []byte) {
	defer func() {
		if recover() != nil {
			d.fail(&yaml.Node{}, "", "the file cannot be read: it makes the parser fail")
		}
	}()
	if root := d.parse(text); root != nil && d.examine(root, 0, "") && len(d.problems) == 0 {
		d.config(c, root)
	}
}

func (d *decoder) fail(n *yaml.Node, field, format string, args ...any) {
	if len(d.problems) < maxProblems {
		d.problems = append(d.problems, Problem{File: d.file, Line: n.Line, Column: n.Column, Field: field, Message: fmt.Sprintf(format, args...)})
	}
}

// parse returns the file's one mapping, or nil when there is none.
func (d *decoder) parse(text []byte) *yaml.Node {
	start := &yaml.Node{Line: 1}
	text = bytes.TrimPrefix(text, []byte("\ufeff"))
	if bytes.HasPrefix(text, []byte("%YAML 1.2")) { // our parser knows 1.1 by name only
		text = append([]byte("#"), text[1:]...)
	}
	switch {
	case len(text) > maxYAML:
		d.fail(&yaml.Node{}, "", "the file is longer than %d kB", maxYAML>>10)
		return nil
	case !utf8.Valid(text):
		d.fail(&yaml.Node{Line: lineOfInvalid(text)}, "", "the file is not UTF-8 text")
		return nil
	case len(bytes.TrimSpace(text)) == 0:
		d.fail(start, "", "the file is empty")
		return nil
	}
	var doc, second yaml.Node
	loader, err := yaml.NewLoader(bytes.NewReader(text), yaml.WithPlugin(loaderlimits.New(loaderlimits.DepthValue(maxDepth))))
	if err == nil {
		err = loader.Load(&doc)
	}
	if err == nil {
		if err = loader.Load(&second); err == nil {
			d.fail(&second, "", "a second document begins here; a file holds one skill")
			return nil
		}
	}
	switch {
	case !errors.Is(err, io.EOF):
		d.syntax(err)
		return nil
	case len(doc.Content) == 0:
		d.fail(start, "", "the file is empty")
		return nil
	case doc.Content[0].Kind != yaml.MappingNode:
		d.fail(doc.Content[0], "", "the file must be a mapping of keys to values, not %s", kindOf(doc.Content[0]))
		return nil
	}
	return doc.Content[0]
}

// syntax reports text that is no YAML.
func (d *decoder) syntax(err error) {
	at, reason := yaml.Node{}, err.Error()
	var load *yaml.LoadError
	if errors.As(err, &load) {
		reason = load.Message
		at.Line, at.Column = load.Mark.Line, load.Mark.Column
		if at.Line == 0 {
			at.Line, at.Column = load.ContextMark.Line, load.ContextMark.Column
		}
	}
	d.fail(&at, "", "this is no YAML: %s", printable.OneLine(reason))
}

func lineOfInvalid(text []byte) int {
	line := 1
	for len(text) > 0 {
		r, size := utf8.DecodeRune(text)
		if r == utf8.RuneError && size == 1 {
			break
		}
		if r == '\n' {
			line++
		}
		text = text[size:]
	}
	return line
}

// examine refuses what no skill needs, in all nodes, and puts what aliases and
// merge keys stand for in their place. Each use of an alias counts as if it were
// written out, so that few lines cannot become many. top is the file's key that
// the node is a value of; empty for keys and for the whole. It returns false when
// it gave up.
func (d *decoder) examine(n *yaml.Node, depth int, top string) bool {
	d.nodes++
	switch {
	case d.nodes > maxNodes:
		d.fail(n, "", "the file holds more than %d keys and values", maxNodes)
		return false
	case depth > maxDepth:
		d.fail(n, "", "this lies deeper than %d mappings and lists", maxDepth)
		return false
	case len(d.problems) >= maxProblems:
		return false
	case n.Style&yaml.TaggedStyle != 0:
		d.fail(n, top, "tags (%s) are not allowed", short(n.Tag))
	case n.Kind == yaml.ScalarNode && top != "headers" && top != "env" && strings.Contains(n.Value, "${"):
		d.fail(n, top, "${NAME} is replaced in the values of headers and env only, not in %s", cmp.Or(top, "a key"))
	}
	for i, item := range n.Content {
		if item.Kind == yaml.AliasNode {
			n.Content[i] = item.Alias
		}
	}
	if n.Kind == yaml.MappingNode {
		d.merge(n)
		return d.mapping(n, depth, top)
	}
	for _, item := range n.Content {
		if !d.examine(item, depth+1, top) {
			return false
		}
	}
	return true
}

// mapping examines the keys and values of a mapping.
func (d *decoder) mapping(n *yaml.Node, depth int, top string) bool {
	seen := map[string]bool{}
	for key, value := range pairs(n) {
		switch {
		case key.Kind != yaml.ScalarNode:
			d.fail(key, "", "a key must be text, not %s", kindOf(key))
		case key.Tag != "!!str" && key.Style&yaml.TaggedStyle == 0:
			d.fail(key, key.Value, "the key %s must be text; put it in quotes", short(key.Value))
		case seen[key.Value]:
			d.fail(key, key.Value, "the key %q stands twice", short(key.Value))
		}
		seen[key.Value] = true
		if depth == 0 {
			top = short(key.Value)
		}
		if !d.examine(key, depth+1, "") || !d.examine(value, depth+1, top) {
			return false
		}
	}
	return true
}

// merge puts the keys of other mappings, which the merge key << names, behind
// those that a mapping has itself. Of two with one name the first one holds.
func (d *decoder) merge(n *yaml.Node) {
	var own, others []*yaml.Node
	seen := map[string]bool{}
	for key, value := range pairs(n) {
		if key.Tag == "!!merge" {
			others = append(others, value)
			continue
		}
		own, seen[key.Value] = append(own, key, value), true
	}
	n.Content = own
	for _, other := range others {
		list := []*yaml.Node{other}
		if other.Kind == yaml.SequenceNode {
			list = other.Content
		}
		for _, from := range list {
			if from.Kind == yaml.AliasNode {
				from = from.Alias
			}
			if from.Kind != yaml.MappingNode || from == n {
				d.fail(from, "", "<< must be given another mapping, or a list of them")
				return
			}
			if d.nodes += len(from.Content); d.nodes > maxNodes {
				return // examine tells
			}
			for key, value := range pairs(from) {
				if !seen[key.Value] {
					n.Content, seen[key.Value] = append(n.Content, key, value), true
				}
			}
		}
	}
}

// config decodes the file's mapping.
func (d *decoder) config(c *Config, root *yaml.Node) {
	v := reflect.ValueOf(c).Elem()
	at := map[string]*yaml.Node{}
	c.lines = map[string]int{}
	for key, value := range pairs(root) {
		c.lines[key.Value] = key.Line
		f, ok := fieldOf(key.Value)
		if !ok {
			d.fail(key, short(key.Value), "unknown key %q%s", short(key.Value), nearest.Hint(key.Value, keys))
			continue
		}
		at[key.Value] = value
		d.value(value, v.FieldByIndex(f.Index), f)
	}
	c.Expanded = d.expanded
	d.relations(c, root, at)
	if c.Timeout == 0 {
		c.Timeout = DefaultTimeout
	}
	c.RiskLevel = cmp.Or(c.RiskLevel, tool.Write)
	if c.Replay == "" {
		c.Replay = "never"
		if c.RiskLevel == tool.Read {
			c.Replay = "safe"
		}
	}
}

// needed are the keys without which a provider's skill is nothing; of several
// one is enough.
var needed = map[string][]string{"http": {"endpoint"}, "mcp": {"endpoint", "command"}, "wasm": {"module"}, "command": {"command"}}

// relations checks what concerns more than one key.
func (d *decoder) relations(c *Config, root *yaml.Node, at map[string]*yaml.Node) {
	for f := range fields() {
		key := f.Tag.Get("yaml")
		if f.Tag.Get("required") != "" && at[key] == nil {
			d.fail(root, key, "the key %s is missing", key)
		}
		if of := f.Tag.Get("of"); of != "" && at[key] != nil && known(c.Provider) && !slices.Contains(strings.Split(of, ","), c.Provider) {
			d.fail(at[key], key, "%s means nothing to provider %s; it belongs to %s", key, cmp.Or(c.Provider, "none"), strings.ReplaceAll(of, ",", " and "))
		}
	}
	if at["provider"] == nil && at["tools"] == nil {
		d.fail(root, "provider", "the key provider is missing: builtin, http, mcp, wasm or command; a skill without one must have tools")
	}
	if list := needed[c.Provider]; len(list) > 0 {
		switch given := slices.DeleteFunc(slices.Clone(list), func(key string) bool { return at[key] == nil }); {
		case len(given) == 0:
			d.fail(root, list[0], "provider %s needs the key %s", c.Provider, strings.Join(list, " or "))
		case len(given) > 1:
			d.fail(at[given[1]], given[1], "%s and %s exclude each other", given[0], given[1])
		}
	}
}

// known reports whether the keys of a provider are those of the table; a program
// may have providers of its own.
func known(provider string) bool {
	return provider == "" || provider == "builtin" || needed[provider] != nil
}

// value decodes the value of a key.
func (d *decoder) value(n *yaml.Node, v reflect.Value, f reflect.StructField) {
	key := f.Tag.Get("yaml")
	if n.Kind == yaml.ScalarNode && n.Tag == "!!null" {
		d.fail(n, key, "%s has no value; give it one or remove the key", key)
		return
	}
	before := len(d.problems)
	switch {
	case v.Type() == reflect.TypeFor[ParameterSchema]():
		v.SetBytes(d.schema(n, key))
	case v.Type() == reflect.TypeFor[time.Duration]():
		v.SetInt(int64(time.Duration(d.number(n, f)) * time.Second))
	case v.Kind() == reflect.Int:
		v.SetInt(int64(d.number(n, f)))
	case v.Kind() == reflect.Pointer:
		v.Set(reflect.ValueOf(d.boolean(n, key)))
	case v.Kind() == reflect.String:
		v.SetString(d.scalar(n, f))
	case v.Kind() == reflect.Slice:
		v.Set(reflect.ValueOf(d.list(n, key)))
	case v.Type() == reflect.TypeFor[map[string]Secret]():
		v.Set(reflect.ValueOf(d.secrets(n, key)))
	default:
		v.Set(reflect.ValueOf(d.texts(n, key)))
	}
	if check := checks[key]; check != nil && len(d.problems) == before {
		if reason := check(v.String()); reason != "" {
			d.fail(n, key, "%s %s", key, reason)
		}
	}
}

// checks say what is wrong with a text, in words that follow the key.
var checks = map[string]func(string) string{
	"name": func(s string) string {
		if !skillName.MatchString(s) || len(s) > maxName {
			return fmt.Sprintf("is %q; it must be 1 to 64 letters, digits, '_' and '-'", short(s))
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
			return fmt.Sprintf("is %q; it must be builtin, http, mcp, wasm or command", short(s))
		}
		return ""
	},
	"endpoint": checkURL,
	"health": func(s string) string {
		if strings.HasPrefix(s, "/") && !strings.HasPrefix(s, "//") && !strings.ContainsFunc(s, notInURL) {
			return ""
		}
		return checkURL(s)
	},
}

var skillName = regexp.MustCompile(`^[A-Za-z0-9_-]+$`)

// scalar decodes a text. A version may be written as a number; it counts as it is
// written.
func (d *decoder) scalar(n *yaml.Node, f reflect.StructField) string {
	key := f.Tag.Get("yaml")
	if key == "version" && (n.Tag == "!!float" || n.Tag == "!!int") {
		return n.Value
	}
	text, ok := d.text(n, key)
	if !ok {
		return ""
	}
	if list := f.Tag.Get("enum"); list != "" {
		if allowed := strings.Split(list, ","); !slices.Contains(allowed, text) {
			d.fail(n, key, "%s is %q; it must be one of %s%s", key, short(text), strings.Join(allowed, ", "), nearest.Hint(text, slices.Values(allowed)))
		}
	}
	return text
}

// text decodes a text that is not blank.
func (d *decoder) text(n *yaml.Node, key string) (string, bool) {
	switch {
	case n.Kind != yaml.ScalarNode:
		d.fail(n, key, "%s must be text, not %s", key, kindOf(n))
	case n.Tag != "!!str":
		d.fail(n, key, "%s must be text; put it in quotes", key)
	case strings.TrimSpace(n.Value) == "":
		d.fail(n, key, "%s is empty", key)
	case key != "description" && len(n.Value) > maxText:
		d.fail(n, key, "%s is longer than %d bytes", key, maxText)
	case strings.ContainsFunc(n.Value, unseen):
		d.fail(n, key, "%s holds a control character or one that cannot be seen", key)
	default:
		return n.Value, true
	}
	return "", false
}

// unseen reports characters that hide what a text says from the people who read
// it: controls, changes of direction, tags.
func unseen(r rune) bool {
	switch r {
	case '\n', '\t', '\r':
		return false
	}
	return r < 0x20 || r >= 0x7f && r < 0xa0 || r >= 0x202a && r <= 0x202e || r >= 0x2060 && r <= 0x206f || r == 0xfeff || r >= 0xe0000 && r <= 0xe0fff
}

var decimal = regexp.MustCompile(`^(0|-?[1-9][0-9]{0,8})$`)

// number decodes a whole number.
func (d *decoder) number(n *yaml.Node, f reflect.StructField) int {
	key, least, most := f.Tag.Get("yaml"), f.Tag.Get("min"), f.Tag.Get("max")
	if n.Kind != yaml.ScalarNode || n.Tag != "!!int" || !decimal.MatchString(n.Value) {
		d.fail(n, key, "%s must be a whole number from %s to %s, without quotes or a unit", key, least, most)
		return 0
	}
	x, _ := strconv.Atoi(n.Value)
	lo, _ := strconv.Atoi(least)
	hi, _ := strconv.Atoi(most)
	if x < lo || x > hi {
		d.fail(n, key, "%s is %d; it must be from %d to %d", key, x, lo, hi)
	}
	return x
}

func (d *decoder) boolean(n *yaml.Node, key string) *bool {
	if n.Kind != yaml.ScalarNode || n.Tag != "!!bool" {
		d.fail(n, key, "%s must be true or false", key)
		return nil
	}
	b := strings.EqualFold(n.Value, "true")
	return &b
}

func (d *decoder) list(n *yaml.Node, key string) []string {
	if n.Kind != yaml.SequenceNode {
		d.fail(n, key, "%s must be a list, not %s", key, kindOf(n))
		return nil
	}
	list := make([]string, 0, len(n.Content))
	for i, item := range n.Content {
		if text, ok := d.text(item, fmt.Sprintf("%s[%d]", key, i)); ok {
			list = append(list, text)
		}
	}
	return list
}

func (d *decoder) texts(n *yaml.Node, key string) map[string]string {
	if n.Kind != yaml.MappingNode {
		d.fail(n, key, "%s must be a mapping of names to texts, not %s", key, kindOf(n))
		return nil
	}
	all := make(map[string]string, len(n.Content)/2)
	for k, value := range pairs(n) {
		if text, ok := d.text(value, key+"."+short(k.Value)); ok {
			all[k.Value] = text
		}
	}
	return all
}

// secrets decodes headers or env. Their values stand in no message.
func (d *decoder) secrets(n *yaml.Node, key string) map[string]Secret {
	if n.Kind != yaml.MappingNode {
		d.fail(n, key, "%s must be a mapping of names to texts, not %s", key, listOrMapping(n))
		return nil
	}
	all, seen := make(map[string]Secret, len(n.Content)/2), map[string]bool{}
	for k, value := range pairs(n) {
		field := key + "." + short(k.Value)
		reason, fold := checkVariableName(k.Value), k.Value
		if key == "headers" {
			reason, fold = checkHeaderName(k.Value), strings.ToLower(k.Value)
		}
		switch {
		case reason != "":
			d.fail(k, field, "%s: %q %s", key, short(k.Value), reason)
		case seen[fold]:
			d.fail(k, field, "%s: %q stands twice", key, k.Value)
		case value.Kind != yaml.ScalarNode:
			d.fail(value, field, "%s must be text, not %s", field, listOrMapping(value))
		case value.Tag != "!!str":
			d.fail(value, field, "%s must be text; put it in quotes", field)
		default:
			all[k.Value] = d.expand(value, field)
		}
		seen[fold] = true
	}
	return all
}

var reference = regexp.MustCompile(`\$\{([^}]*)\}?`)

var variableName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// expand puts environment variables in the place of ${NAME}. What they hold is
// not looked at again.
func (d *decoder) expand(n *yaml.Node, field string) Secret {
	if strings.ContainsFunc(n.Value, notInSecret) {
		d.fail(n, field, "%s holds a line break or another control character", field)
	}
	text := reference.ReplaceAllStringFunc(n.Value, func(ref string) string {
		name, closed := strings.CutSuffix(ref[2:], "}")
		value, reason := "", fmt.Sprintf("%q is not the name of a variable; write ${NAME}", short(ref))
		if closed && variableName.MatchString(name) {
			value, reason = d.variables.get(name)
			d.expanded = append(d.expanded, Secret(value))
		}
		if reason != "" {
			d.fail(n, field, "%s: %s", field, reason)
		}
		return value
	})
	if len(text) > maxText {
		d.fail(n, field, "%s is longer than %d bytes", field, maxText)
	}
	return Secret(text)
}

func notInSecret(r rune) bool { return r < 0x20 && r != '\t' || r == 0x7f }

// get returns the value of a variable, or why it cannot be had.
func (v Variables) get(name string) (value, reason string) {
	lookup := v.Lookup
	if lookup == nil {
		lookup = os.LookupEnv
	}
	own := name == "OPENAI_API_KEY" || name == "ANTHROPIC_API_KEY" || strings.HasPrefix(name, "ETUI_")
	value, _ = lookup(name)
	switch {
	case own && !slices.Contains(v.Allowed, name):
		return "", fmt.Sprintf("the environment variable %s is etui's own secret, and not for skills", name)
	case value == "":
		return "", fmt.Sprintf("the environment variable %s is not set", name)
	case strings.ContainsFunc(value, notInSecret):
		return "", fmt.Sprintf("the environment variable %s holds a line break or another control character", name)
	}
	return value, ""
}

// pairs yields the keys and values of a mapping.
func pairs(n *yaml.Node) iter.Seq2[*yaml.Node, *yaml.Node] {
	return func(yield func(*yaml.Node, *yaml.Node) bool) {
		for i := 0; i+1 < len(n.Content); i += 2 {
			if !yield(n.Content[i], n.Content[i+1]) {
				return
			}
		}
	}
}

// fields yields the fields of Config that are keys of the file.
func fields() iter.Seq[reflect.StructField] {
	return func(yield func(reflect.StructField) bool) {
		for f := range reflect.TypeFor[Config]().Fields() {
			if f.Tag.Get("yaml") != "-" && !yield(f) {
				return
			}
		}
	}
}

func keys(yield func(string) bool) {
	for f := range fields() {
		if !yield(f.Tag.Get("yaml")) {
			return
		}
	}
}

func fieldOf(key string) (reflect.StructField, bool) {
	for f := range fields() {
		if f.Tag.Get("yaml") == key {
			return f, true
		}
	}
	return reflect.StructField{}, false
}

// kindOf says what a node is, in words.
func kindOf(n *yaml.Node) string {
	if n.Kind == yaml.ScalarNode {
		return fmt.Sprintf("%q", short(n.Value))
	}
	return listOrMapping(n)
}

// listOrMapping says what a node is without showing it.
func listOrMapping(n *yaml.Node) string {
	switch n.Kind {
	case yaml.MappingNode:
		return "a mapping"
	case yaml.SequenceNode:
		return "a list"
	}
	return "a single value"
}

// short cuts a text for a message.
func short(s string) string {
	if utf8.RuneCountInString(s) <= 40 {
		return s
	}
	return string([]rune(s)[:40]) + "…"
}
