package markdown_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/etui-run/etui/skill"
	"github.com/etui-run/etui/skill/markdown"
)

// TestValidate compares the verdict on files of every class with that of the
// standard's reference validator.
func TestValidate(t *testing.T) {
	for _, c := range []struct {
		text string
		want string // what the first problem says, with its line; empty: valid
	}{
		{"---\nname: tidy\ndescription: Tidies up.\n---\nbody", ""},
		{"---\r\nname: tidy\r\ndescription: Tidies up.\r\n---\r\nbody", ""},
		{"---\nname: 'tidy'\ndescription: \"a: b\" # why\nlicense: MIT\ncompatibility: Linux\nallowed-tools: Read Bash(git:*)\nmetadata:\n  version: 1.0\n---\n", ""},
		{"---\nname: tidy\ndescription: >-\n  Folded: text,\n\n  with\ta tab\n---\n", ""},
		{"---\nname: tidy\ndescription: a --- b\nmore: x\n---\n", ""}, // any --- closes it
		{"---\nname: ｔｉｄｙ\ndescription: full width\n---\n", ""},
		{"---\nname: tidy\ndescription: 'a\tb' # c\td\n---\n", ""},
		{"---\nname: tidy\ndescription: d\nallowed-tools:\n- Read\nmetadata:\n  a:\n    b: c\n...\n---\n", ""},
		{"---\nname: tidy\ndescription: " + strings.Repeat("长", 1024) + "\n---\n", ""},

		{"name: tidy\n", "line 1: the file must begin"},
		{"\n---\nname: tidy\n---\n", "line 1: the file must begin"},
		{"\ufeff---\nname: tidy\ndescription: d\n---\n", "line 1: the file begins with a byte order mark"},
		{"---\nname: tidy\ndescription: \xff\n---\n", "line 3: the file is not UTF-8"},
		{"---\nname: tidy\ndescription: d\n", "line 1: the frontmatter is not closed"},
		{"---\n# nothing\n---\n", "line 1: the frontmatter is empty"},
		{"---\n- name\n---\n", "line 2: the frontmatter must be a mapping"},
		{"---\nname: tidy\ndescription: use when: asked\n---\n", "line 3: the frontmatter is not valid YAML"},
		{"---\nname: tidy\ndescription: d\nmetadata: {a: b}\n---\n", "line 4: braces and brackets"},
		{"---\nname: tidy\ndescription: d\nmetadata:\n  a: [b]\n---\n", "line 5: braces and brackets"},
		{"---\nname: tidy\nname: tidy\ndescription: d\n---\n", `line 3: duplicate key "name"`},
		{"---\nname: &a tidy\ndescription: d\n---\n", "line 2: anchors"},
		{"---\nname: tidy\ndescription: !!str d\n---\n", "line 3: types"},
		{"---\nname: tidy\n...\ndescription: d\n---\n", "line 4: the frontmatter must be one YAML document"},
		{"---...\nname: tidy\ndescription: d\n---\n", "line 1: the frontmatter must be one YAML document"},
		{"---\nname: tidy\ndescription: a\tb\n---\n", "line 3: there is a tab"},
		{"---\nname: tidy\t\ndescription: a\n---\n", "line 2: there is a tab"},
		{"---\nname: tidy\ndescription: |\n  a\n\tb\n---\n", "line 5: the frontmatter is not valid YAML"},
		{"---\nname: tidy\ndescription: |\n  a\u2028b\n---\n", "line 4: there is a Unicode line separator"},
		{"---\nname: tidy\ndescription: d\nmetadata:\n  a:\n    b: c\n  d:\n      e: f\n---\n", "line 8: the mapping below \"d\" is indented"},
		{"---\nname: tidy\ndescription: d\nmetadata:\n  <<: a\n---\n", "line 5: <<"},
		{"---\nname: tidy\ndescription: d\nmetadata:\n  ? a: b\n---\n", "line 5: a key must be a text"},

		{"---\ndescription: d\n---\n", `line 2: the required field "name" is missing`},
		{"---\nname:\ndescription: d\n---\n", "line 2: name must be a text"},
		{"---\nname: tidy\ndescription: ' '\n---\n", "line 3: description must be a text"},
		{"---\nname: tidy\ndescription:\n- d\n---\n", "line 4: description must be a text"},
		{"---\nname: tidy\ndescription: d\nversion: 1\n---\n", `line 4: the standard has no field "version"`},
		{"---\nname: tidy\ndescription: " + strings.Repeat("长", 1025) + "\n---\n", "line 3: description has 1025"},
		{"---\nname: tidy\ndescription: d\ncompatibility: " + strings.Repeat("c", 501) + "\n---\n", "line 4: compatibility has 501"},
		{"---\nname: Tidy\ndescription: d\n---\n", `line 2: name "Tidy" must be lower case`},
		{"---\nname: other\ndescription: d\n---\n", `line 2: name "other" differs`},
		{"---\nname: -tidy\ndescription: d\n---\n", "line 2: name \"-tidy\" must not begin"},
		{"---\nname: ti--dy\ndescription: d\n---\n", "line 2: name \"ti--dy\" must not have two"},
		{"---\nname: ti_dy\ndescription: d\n---\n", "line 2: name \"ti_dy\" has a character"},
		{"---\nname: " + strings.Repeat("n", 65) + "\ndescription: d\n---\n", "line 2: name has 65"},
	} {
		problems := markdown.Validate("tidy", "SKILL.md", []byte(c.text))
		got := ""
		if len(problems) > 0 {
			got = sentence(problems[0])
		}
		if c.want == "" && got != "" || !strings.HasPrefix(got, c.want) {
			t.Errorf("%.200q\ngot  %s\nwant %s", c.text, got, c.want)
		}
	}
}

// sentence is a problem with its line.
func sentence(p skill.Problem) string {
	if p.Line == 0 {
		return p.Message
	}
	return fmt.Sprintf("line %d: %s", p.Line, p.Message)
}

func TestValidateNames(t *testing.T) {
	text := func(name string) []byte { return fmt.Appendf(nil, "---\nname: %s\ndescription: d\n---\n", name) }
	for _, c := range []struct {
		folder, file, name string
		valid              bool
	}{
		{"查天气", "skill.md", "查天气", true},
		{"cafe\u0301", "SKILL.md", "caf\u00e9", true},
		{"tidy", "Skill.md", "tidy", false},
		{"Tidy", "SKILL.md", "tidy", false},
		{"½-x", "SKILL.md", "½-x", false}, // NFKC makes a slash of it
	} {
		if got := markdown.Validate(c.folder, c.file, text(c.name)); (len(got) == 0) != c.valid {
			t.Errorf("%s/%s with the name %s: %v", c.folder, c.file, c.name, got)
		}
	}
}

func FuzzValidate(f *testing.F) {
	f.Add("tidy", "---\nname: tidy\ndescription: |\n  a\tb\n \u2028'\"\n---\n")
	f.Add("tidy", "---\n'name': \"ti\\\"dy\" # x\ndescription: >2-\n    a\n---\n")
	f.Fuzz(func(_ *testing.T, dir, text string) { markdown.Validate(dir, "SKILL.md", []byte(text)) })
}
