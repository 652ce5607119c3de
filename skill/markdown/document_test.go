package markdown_test

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/etui-run/etui/skill"
	"github.com/etui-run/etui/skill/markdown"
)

// TestAmbiguous: what other programs may read differently is distinguished from
// what everybody reads alike.
func TestAmbiguous(t *testing.T) {
	for front, want := range map[string]string{
		"name: tidy\ndescription: d\nlicense: 2.0\nversion: 1": "",
		"name: tidy\ndescription: Use when: asked":             "",
		"name: tidy\ndescription: '42'":                        "",
		"name: tidy\ndescription: 42":                          "line 3: description should be a text",
		"name: tidy\ndescription: [a, b]":                      "line 3: description should be a text",
		"name: 42\ndescription: d":                             "line 2: name should be a text",
		"name: tidy\ndescription: !!binary aGVsbG8=":           "line 3: description should be a text",
		"name: a\nName: tidy\ndescription: d":                  "line 3: name occurs twice",
		"name: tidy\ndescription: \"d":                         "line 3: the frontmatter is not valid YAML",
	} {
		d, _, err := markdown.Parse("tidy", []byte("---\n"+front+"\n---\n"))
		got := ""
		if d.Ambiguous != nil {
			got = fmt.Sprintf("line %d: %s", d.Ambiguous.Line, d.Ambiguous.Message)
		}
		if err != nil || !strings.HasPrefix(got, want) || want == "" && got != "" {
			t.Errorf("%q: %q, %v, want %q", front, got, err, want)
		}
	}
}

// TestParse reads what the standard does not allow and people write.
func TestParse(t *testing.T) {
	type doc = markdown.Document
	for _, c := range []struct {
		name, text string
		want       doc
		warnings   string // a part of each, in order
	}{
		{"by the standard", "---\nname: tidy\ndescription: Tidies up.\nlicense: MIT\ncompatibility: Linux\n---\n\n# Tidy\n", doc{Name: "tidy", Description: "Tidies up.", License: "MIT", Compatibility: "Linux", Body: "# Tidy"}, ""},
		{"byte order mark, carriage returns", "\ufeff---\r\nname: tidy\r\ndescription: d\r\n---\r\na\r\nb", doc{Name: "tidy", Description: "d", Body: "a\nb"}, "byte order mark"},
		{"blank lines and long dashes", "\n-----\nname: tidy\ndescription: d\n-----\nb", doc{Name: "tidy", Description: "d", Body: "b"}, "does not begin"},
		{"dashes in the text", "---\nname: tidy\ndescription: a --- b\n---\nb", doc{Name: "tidy", Description: "a --- b", Body: "b"}, ""},
		{"JSON", "---\n{\"name\": \"tidy\", \"description\": \"d\", \"metadata\": {\"version\": 2}}\n---\n", doc{Name: "tidy", Description: "d", Version: "2"}, ""},
		{"no name", "---\ndescription: d\n---\n", doc{Name: "tidy", Description: "d"}, "there is no name; using the name of the folder"},
		{"spelling", "---\nName: tidy\nDESCRIPTION: d\nallowed_tools: Read\n---\n", doc{Name: "tidy", Description: "d", AllowedTools: []string{"Read"}}, "spelled name|spelled description|spelled allowed-tools"},
		{"twice", "---\nname: a\nname: b\ndescription: d\n---\n", doc{Name: "b", Description: "d"}, "occurs twice|named b and its folder tidy"},
		{"unquoted colon", "---\nname: tidy\ndescription: Use when: asked to tidy\n  or to sort: \"all\"\nversion: 1.10\n---\n", doc{Name: "tidy", Description: `Use when: asked to tidy or to sort: "all"`, Version: "1.10"}, "read key by key|description is not valid YAML and was taken as a text"},
		{"unclosed quote", "---\ndescription: \"Tidies up.\nname: tidy\n---\n", doc{Name: "tidy", Description: "Tidies up."}, "description|read key by key"},
		{"text after a quote", "---\nname: tidy\ndescription: \"Tidy\" and \"sort\"\n---\n", doc{Name: "tidy", Description: `"Tidy" and "sort"`}, "read key by key|description"},
		{"a star, a percent sign", "---\nname: tidy\ndescription: *Tidies* up\nlicense: % of it\n---\n", doc{Name: "tidy", Description: "*Tidies* up", License: "% of it"}, "read key by key|description|license"},
		{"block that is not indented", "---\nname: tidy\ndescription: |\nTidies up\nand down\n---\n", doc{Name: "tidy", Description: "Tidies up and down"}, "description|read key by key"},
		{"tabs", "---\nname:\ttidy\ndescription: d\nmetadata:\n\tversion: 3\n\tauthor: a: b\n---\n", doc{Name: "tidy", Description: "d", Version: "3"}, "read key by key|author"},
		{"all indented", "---\n  name: tidy\n  description: use: it\n---\n", doc{Name: "tidy", Description: "use: it"}, "read key by key|description"},
		{"broken metadata", "---\nname: tidy\ndescription: d\nmetadata: {a: [b\n---\n", doc{Name: "tidy", Description: "d"}, "metadata is not valid YAML and was left out|read key by key"},
		{"lists", "---\nname: tidy\ndescription: [Tidies, up]\nallowed-tools: [Read, 'Bash(git add:*)']\ntriggers:\n- 整理\ntags: a, b\n---\n", doc{Name: "tidy", Description: "Tidies up", AllowedTools: []string{"Read", "Bash(git add:*)"}, Aliases: []string{"整理", "a", "b"}}, "description should be a text"},
		{"a text of tools", "---\nname: tidy\ndescription: d\nallowed-tools: Read, Bash(git add:*) Write\ndisable-model-invocation: true\n---\n", doc{Name: "tidy", Description: "d", AllowedTools: []string{"Read", "Bash(git add:*)", "Write"}, Hidden: true}, ""},
		{"not closed", "---\nname: tidy\ndescription: d\n  and more\n\n# Tidy\nbody", doc{Name: "tidy", Description: "d and more", Body: "# Tidy\nbody"}, "is not closed"},
		{"requirements", "---\nname: tidy\ndescription: d\nmetadata: {\"clawdbot\":{\"emoji\":\"🧹\",\"os\":[\"macOS\",\"linux\"],\"requires\":{\"bins\":[\"git\"],\"anyBins\":[\"rg\",\"grep\"],\"env\":[\"TOKEN\"],}}}\n---\n", doc{Name: "tidy", Description: "d", Requires: markdown.Requirements{OS: []string{"darwin", "linux"}, Bins: []string{"git"}, AnyBins: []string{"rg", "grep"}, Env: []string{"TOKEN"}}}, ""},
		{"requirements in a text", "---\nname: tidy\ndescription: d\nmetadata:\n  openclaw: '{\"requires\":{\"bins\":[\"git\"],\"config\":[\"browser\"]}}'\n---\n", doc{Name: "tidy", Description: "d", Requires: markdown.Requirements{Bins: []string{"git"}, Config: []string{"browser"}}}, "cannot check: browser"},
		{"control characters", "---\nname: ti\x07dy\ndescription: \x1bd\n---\n", doc{Name: "tidy", Description: "d"}, ""},
		{"control characters in quotes", "---\nname: \"ti\\e[31mdy\"\ndescription: \"a\\nb\\0\"\ntags: [\"x\\ey\", '', \"\\u202e\"]\n---\n", doc{Name: "ti [31mdy", Description: "a b", Aliases: []string{"x y"}}, "named ti [31mdy"},
		{"hidden text", "---\nname: tidy\ndescription: \"a\u200bb\U000e0041 \u202ec 👩‍💻 \u0645\u06cc\u200c\u062e 🏴\U000e0067\U000e007f\"\n---\nx\U000e0041", doc{Name: "tidy", Description: "ab c 👩‍💻 \u0645\u06cc\u200c\u062e 🏴\U000e0067\U000e007f", Body: "x\U000e0041"}, "the instructions hold 1|description held 3 invisible"},
		{"not UTF-8", "---\nname: tidy\ndescription: d\n---\na\xff", doc{Name: "tidy", Description: "d", Body: "a\ufffd"}, "not all UTF-8"},
		{"a number sign", "---\nname: tidy # the name\ndescription: Post to the #deploy channel\nlicense: MIT # see LICENSE\n---\n", doc{Name: "tidy", Description: "Post to the #deploy channel", License: "MIT"}, "description holds a #"},
		{"a number sign at first", "---\nname: tidy\ndescription: #deploy helper\ncompatibility: C #8\n---\n", doc{Name: "tidy", Description: "#deploy helper", Compatibility: "C #8"}, "description holds a #|compatibility holds a #"},
		{"a number sign in the next line", "---\nname: tidy\ndescription: Post to the\n  #deploy channel,\n  or #ops\n# a comment\nlicense: MIT\n---\n", doc{Name: "tidy", Description: "Post to the #deploy channel, or #ops", License: "MIT"}, "taken as a text|description holds a #|read key by key"},
		{"a number sign in quotes and blocks", "---\nname: tidy\ndescription: \"C # is\" # why\ncompatibility: |\n  a #b\n---\n", doc{Name: "tidy", Description: "C # is", Compatibility: "a #b"}, ""},
		{"C#, no comment", "---\nname: tidy\ndescription: Writes C# and F#.\n---\n", doc{Name: "tidy", Description: "Writes C# and F#."}, ""},
		{"an anchor, a tag", "---\nname: tidy\ndescription: &Tidy up\ncompatibility: !important Linux\n---\n", doc{Name: "tidy", Description: "&Tidy up", Compatibility: "!important Linux"}, "description holds|compatibility holds"},
		{"at, backtick, bracket, pipe, dash", "---\nname: tidy\ndescription: @team use `tidy`\ncompatibility: `tidy` 1\nlicense: [MIT] or so\n---\n", doc{Name: "tidy", Description: "@team use `tidy`", Compatibility: "`tidy` 1", License: "[MIT] or so"}, "read key by key|description|compatibility|license"},
		{"yes", "---\nname: yes\ndescription: no\n---\n", doc{Name: "yes", Description: "no"}, "named yes"},
		{"too long", "---\nname: tidy\ndescription: " + strings.Repeat("长", 5000) + "\n---\n", doc{Name: "tidy", Description: strings.Repeat("长", 4096)}, "was cut after 4096|standard allows 1024"},
	} {
		got, warnings, err := markdown.Parse("tidy", []byte(c.text))
		got.Ambiguous = nil // see TestAmbiguous
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(got, c.want) {
			t.Errorf("got: %v is not %v", got, c.want)
		}
		parts := strings.Split(c.warnings, "|")
		if c.warnings == "" {
			parts = nil
		}
		same := len(parts) == len(warnings)
		for i := range min(len(parts), len(warnings)) {
			same = same && strings.Contains(warnings[i].Message, parts[i])
		}
		if !same {
			t.Errorf("%s: warnings\ngot  %v\nwant %q", c.name, warnings, parts)
		}
	}
}

func TestParseRefuses(t *testing.T) {
	nested := strings.Repeat("[", 100) + strings.Repeat("]", 100)
	bomb := "a: &a [x, x, x, x]\nb: &b [*a, *a, *a, *a]\nc: [*b, *b, *b, *b]\n"
	for _, c := range []struct{ text, want string }{
		{"", "line 1: the file is empty"},
		{"# Tidy\nTidies up.\n", "line 1: there is no frontmatter"},
		{"---\nname: tidy\n---\nTidies up.", "line 2: there is no usable description"},
		{"---\nname: tidy\ndescription: null\n---\n", "line 2: there is no usable description"},
		{"---\nname: tidy\ndescription: \u200b\n---\n", "line 2: there is no usable description"},
		{"---\njust a text\n---\n", "line 2: the frontmatter cannot be used: it must be a mapping"},
		{"---\nname: tidy\ndescription: d\n" + bomb + "---\n", "line 5: the frontmatter cannot be used: it uses an alias"},
		{"---\nname: tidy\ndescription: d\nx: " + nested + "\n---\n", "line 2: the frontmatter cannot be used: it is nested"},
		{"---\nname: tidy\ndescription: d\nx: " + strings.Repeat("y", 70_000) + "\n---\n", "line 2: the frontmatter is longer than 64 KiB"},
		{"---\nname: tidy\ndescription: d\n---\n" + strings.Repeat("y", 1<<20), "the file is longer than 1 MiB"},
		{"PK\x03\x04\x00\x00", "line 1: the file is not UTF-8 text"},
	} {
		_, _, err := markdown.Parse("tidy", []byte(c.text))
		var p skill.Problem
		if !errors.As(err, &p) || !strings.HasPrefix(sentence(p), c.want) {
			t.Errorf("%.80q\ngot  %s\nwant %s", c.text, sentence(p), c.want)
		}
	}
}

func TestTools(t *testing.T) {
	got := markdown.Tools([]string{"Read", "Bash(git add:*)", "Bash(ls)", "Write", "MultiEdit", "Grep", "Glob", "LS", "WebFetch", "WebSearch", "mcp__jira__get", "list_pods"})
	want := []string{"read_file", "exec(git add:*)", "exec(ls)", "write_file", "edit_file", "search_text", "find_files", "list_dir", "web_fetch", "web_search", "mcp__jira__get", "list_pods"}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

func FuzzParse(f *testing.F) {
	f.Add("---\nname: tidy\ndescription: use: it\nmetadata:\n\ta: {b\n---\nbody")
	f.Add("\ufeff---\n - x\n\"q\": 'a\n|\n...\n")
	f.Fuzz(func(t *testing.T, text string) {
		d, _, err := markdown.Parse("", []byte(text))
		if (err == nil) != (d.Description != "") {
			t.Errorf("%+v, %v", d, err)
		}
	})
}

// BenchmarkParse reads one ordinary file.
func BenchmarkParse(b *testing.B) {
	text := fmt.Appendf(nil, "---\nname: tidy\ndescription: Tidies up.\nmetadata: {\"openclaw\":{\"requires\":{\"bins\":[\"git\"]}}}\n---\n%s", strings.Repeat("Some text.\n", 500))
	for b.Loop() {
		if _, _, err := markdown.Parse("tidy", text); err != nil {
			b.Fatal(err)
		}
	}
}
