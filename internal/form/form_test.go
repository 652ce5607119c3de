package form_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v4"

	"github.com/etui-run/etui/internal/form"
)

type sample struct {
	Name  string            `yaml:"name" required:"true"`
	Mode  string            `yaml:"mode" enum:"fast,slow" default:"slow"`
	Wait  time.Duration     `yaml:"wait" min:"1" max:"9"`
	Count int               `yaml:"count" min:"1" max:"9"`
	On    *bool             `yaml:"on"`
	Parts []part            `yaml:"parts"`
	Texts map[string]string `yaml:"texts"`
	Own   string            `yaml:"-"`
}

type part struct {
	Size float64 `yaml:"size" default:"0.5"`
}

func read(text string, strict bool) (sample, []string) {
	r := form.Reader{File: "f", Depth: 5, Nodes: 100, Strict: strict}
	r.Text = func(n *yaml.Node, path string) (string, bool) {
		if strict && n.Tag != "!!str" {
			r.Fail(n, path, "%s must be text", path)
			return "", false
		}
		return n.Value, n.Kind == yaml.ScalarNode
	}
	var s sample
	if !strict {
		r.SetDefaults(&s)
	}
	root, bad := form.Parse(text, 10)
	if bad != nil {
		return s, []string{bad.Error()}
	}
	if r.Resolve(root) {
		r.Decode(root, &s)
	}
	var list []string
	for _, p := range r.Problems {
		list = append(list, p.Error())
	}
	return s, list
}

func TestRead(t *testing.T) {
	lenient, problems := read("name: 5\nwait: 2m\ncount:\nparts: [{size: 1}, {}]\ntexts: &t {a: b}\n", false)
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	if got, want := fmt.Sprint(lenient), "{5 slow 2m0s 0 <nil> [{1} {0.5}] map[a:b] }"; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	strict, problems := read("name: a\nwait: 2\ncount: 3\non: true\ntexts: {<<: {a: b, c: d}, a: x}\n", true)
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	if strict.Wait != 2*time.Second {
		t.Errorf("wait is %s", strict.Wait)
	}
	if strict.On == nil || !*strict.On {
		t.Error("on is not true")
	}
	if got := fmt.Sprint(strict.Texts); got != "map[a:x c:d]" {
		t.Errorf("texts are %s", got)
	}
}

// TestProblems: each names the place and what would be right.
func TestProblems(t *testing.T) {
	for _, c := range []struct {
		text   string
		strict bool
		want   string
	}{
		{"nam: a\n", false, `f:1:1: unknown key "nam"; did you mean "name"?`},
		{"mode: fast\n", false, "f:1:1: the key name is missing"},
		{"name: a\nname: b\n", false, `f:2:1: duplicate key "name"`},
		{"name: ''\n", false, "f:1:7: name must not be empty"},
		{"name: a\nmode: fats\n", false, `f:2:7: mode is "fats"; it must be one of fast, slow; did you mean "fast"?`},
		{"name: a\ncount: 10\n", false, "f:2:8: count is 10; it must be from 1 to 9"},
		{"name: a\ncount: '3'\n", true, "f:2:8: count must be a whole number from 1 to 9, without quotes or a unit"},
		{"name: a\non: yes\n", true, `f:2:5: on is "yes"; it must be true or false`},
		{"name: a\nmode:\n", true, "f:2:6: mode has no value; give it one or remove the key"},
		{"name: a\nparts: x\n", true, `f:2:8: parts must be a list, not "x"`},
		{"name: a\nparts: x\n", false, "f:2:8: parts must be a list, not a single value"},
		{"name: a\nparts: [null]\n", false, "f:2:9: parts[0] is empty"},
		{"name: !!str a\n", true, "f:1:7: tags (!!str) are not allowed"},
		{"1: a\n", true, "f:1:1: the key 1 must be text; put it in quotes"},
		{"name: a\ntexts: &a {b: *a}\n", false, "f:2:12: this lies deeper than 5 mappings and lists"},
		{"name: a\ntexts: {a: &a [1,2,3,4,5,6,7,8,9], b: &b [*a,*a,*a,*a,*a], c: [*b,*b,*b]}\n", false, "f:2:32: the file holds more than 100 keys and values"},
		{"name: a\ntexts: {<<: x}\n", false, "f:2:13: << must be given another mapping, or a list of them"},
		{"[[[[[[[[[[[[1]]]]]]]]]]]]", false, "it is nested deeper than 10 levels"},
		{"a: 1\n---\nb: 2\n", false, "a second document begins here"},
	} {
		_, problems := read(c.text, c.strict)
		if len(problems) == 0 {
			t.Errorf("%q has no problem, want %s", c.text, c.want)
		} else if problems[0] != c.want {
			t.Errorf("%q\ngot  %s\nwant %s", c.text, problems[0], c.want)
		}
	}
}

func TestParse(t *testing.T) {
	if root, bad := form.Parse("# nothing\n", 10); root != nil || bad != nil {
		t.Errorf("a text without content: %v, %v", root, bad)
	}
	_, bad := form.Parse("a: b: c\n", 10)
	if bad == nil || bad.Line != 1 {
		t.Errorf("no YAML: %v", bad)
	}
	if root, bad := form.Parse("a: 1\n---\nb: [\n", 10); form.Get(root, "a") == nil || bad == nil {
		t.Errorf("a broken second document: %v, %v", root, bad)
	}
	if got := form.InvalidLine([]byte("a\nb\xff\n")); got != 2 {
		t.Errorf("the invalid line is %d", got)
	}
}

func FuzzRead(f *testing.F) {
	f.Add("a: &a [*a]\n<<: *a\n", true)
	f.Add("name: a\nparts: [{size: 1}]\n", false)
	f.Fuzz(func(_ *testing.T, text string, strict bool) {
		if root, _ := form.Parse(text, 10); root != nil {
			read(text, strict)
		}
	})
}

func ExampleReader() {
	r := form.Reader{File: "box.yaml", Depth: 5, Nodes: 100, Text: func(n *yaml.Node, _ string) (string, bool) { return n.Value, true }}
	var box struct {
		Color string `yaml:"color" enum:"red,green"`
	}
	root, _ := form.Parse("color: rad\nsize: 3\n", 10)
	if r.Resolve(root) {
		r.Decode(root, &box)
	}
	var list []error
	for _, p := range r.Problems {
		list = append(list, p)
	}
	fmt.Println(strings.TrimSpace(errors.Join(list...).Error()))
	// Output:
	// box.yaml:1:8: color is "rad"; it must be one of red, green; did you mean "red"?
	// box.yaml:2:1: unknown key "size"
}

// TestOtherNames: a key may have names that files of other programs use, one at a time.
func TestOtherNames(t *testing.T) {
	type other struct {
		DefaultSkill string `yaml:"default_skill" also:"defaultSkill,default-skill" required:"true"`
	}
	for text, want := range map[string]string{
		"default_skill: a": "", "defaultSkill: a": "", "default-skill: a": "",
		"{defaultSkill: a, default_skill: a}": "default_skill is default_skill under another name, which is there already",
		"defaultskill: a":                     "unknown key",
		"{}":                                  "the key default_skill is missing",
	} {
		r := form.Reader{File: "f", Depth: 5, Nodes: 100, Text: func(n *yaml.Node, _ string) (string, bool) { return n.Value, true }}
		root, bad := form.Parse(text, 10)
		if bad != nil {
			t.Fatal(bad)
		}
		var got other
		r.Resolve(root)
		r.Decode(root, &got)
		if want == "" {
			if got.DefaultSkill != "a" || len(r.Problems) > 0 {
				t.Errorf("%s: %+v, %v", text, got, r.Problems)
			}
			continue
		}
		if len(r.Problems) == 0 || !strings.Contains(r.Problems[0].Error(), want) {
			t.Errorf("%s: %v, want %q", text, r.Problems, want)
		}
	}
}

// The usual mistakes are named with what to do, in words for people who do not know YAML.
func TestSyntax(t *testing.T) {
	for text, want := range map[string]string{
		"a:\n\t- b\n":           "2:1: a tab cannot indent a line; use spaces",
		"a:\n  - b: c\n\td: e":  "3:1: a tab cannot indent a line; use spaces",
		"a: @b\n":               "1:4: a text that begins with '@' must be in quotes",
		"é: `b`\n":              "1:4: a text that begins with '`' must be in quotes",
		"a: b: c\n":             `1:5: mapping values are not allowed in this context; put a text with ": " into quotes, or check the indentation`,
		"a: {b: ${C}, d: e}\n":  "1:9: did not find expected ',' or '}'; between { and }, or [ and ], put ${NAME} into quotes: \"${NAME}\"",
		"a: [b, ${C}]\n":        "1:9: did not find expected ',' or ']'; between { and }, or [ and ], put ${NAME} into quotes: \"${NAME}\"",
		"a:\n  - b: c\n   d: e": "3:4: did not find expected '-' indicator; check the indentation",
	} {
		_, bad := form.Parse(text, 10)
		if got := fmt.Sprintf("%d:%d: %v", bad.Line, bad.Column, bad); got != want {
			t.Errorf("%q: got %s, want %s", text, got, want)
		}
	}
}
