package main

import (
	"cmp"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/etui-run/etui/internal/terminal"
	"github.com/rogpeppe/go-internal/testscript"
	"github.com/spf13/cobra"
	"go.yaml.in/yaml/v4"
)

// TestPages does what README.md and docs tell a user to do. It makes a script of each
// page, in which every command of a block runs and every block of YAML is loaded: as
// etui.yaml, or as a skill if it names a provider. What follows a line with "$ " in a
// block is looked for in the command's output; "..." matches anything. A command with
// placeholders (NAME, [--flag]) is no call, but its words and flags must exist; the same
// holds for commands in the text. Links lead to files, and docs/README.md names each page.
//
// A comment above a block prepares it:
//
//	<!-- test: fixture policy -->          lines of a script that run first
//	<!-- test: skip, it needs a network --> it cannot be tried here, and why
//	<!-- test: file NAME -->               the block is this file, not etui.yaml
//	<!-- test: demo -->                    the demo runs
func TestPages(t *testing.T) {
	pages, err := filepath.Glob("../../docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	scripts := t.TempDir()
	var all pageCount
	for _, path := range append(pages, "../../README.md") {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		p := page{t: t, name: strings.TrimPrefix(path, "../../")}
		p.read(string(text))
		all.add(p.pageCount)
		if p.script.Len() == 0 {
			continue
		}
		file := strings.TrimSuffix(filepath.Base(path), ".md") + ".txtar"
		if err := os.WriteFile(filepath.Join(scripts, file), []byte(p.script.String()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	index, err := os.ReadFile("../../docs/README.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range pages {
		if name := filepath.Base(path); name != "README.md" && !strings.Contains(string(index), "]("+name+")") {
			t.Errorf("docs/README.md, the index, does not name %s", name)
		}
	}
	t.Logf("%d commands run, %d looked up, %d YAML blocks loaded, %d blocks skipped", all.run, all.known, all.loaded, all.skipped)
	if all.skipped > mostSkipped {
		t.Errorf("%d blocks of the pages are skipped, more than %d: try them, or raise the limit", all.skipped, mostSkipped)
	}
	testscript.Run(t, scriptParams(t, scripts))
}

// TestTroubleshooting holds that the page quotes errors that etui has: each text in the
// first column, "..." for what differs, is in the source.
func TestTroubleshooting(t *testing.T) {
	text, err := os.ReadFile("../../docs/troubleshooting.md")
	if err != nil {
		t.Fatal(err)
	}
	var source strings.Builder
	err = filepath.WalkDir("../..", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() && (d.Name() == "node_modules" || strings.HasPrefix(d.Name(), ".") && d.Name() != ".." || d.Name() == "dist.copy") {
			return cmp.Or(err, fs.SkipDir)
		}
		if strings.HasSuffix(path, ".go") && !strings.HasSuffix(path, "_test.go") {
			raw, err := os.ReadFile(path)
			source.Write(raw)
			return err
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	quoted := 0
	for line := range strings.Lines(string(text)) {
		cells := strings.Split(line, "|")
		if len(cells) < 3 {
			continue
		}
		for _, found := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(cells[1], -1) {
			quoted++
			for part := range strings.SplitSeq(found[1], "...") {
				if !strings.Contains(source.String(), strings.TrimSpace(part)) {
					t.Errorf("docs/troubleshooting.md quotes %q, which etui does not say", part)
				}
			}
		}
	}
	if quoted < 20 {
		t.Errorf("only %d errors are quoted", quoted)
	}
}

// mostSkipped is how many blocks of the pages may say that they cannot be tried here.
const mostSkipped = 15

type pageCount struct{ run, known, loaded, skipped int }

func (c *pageCount) add(other pageCount) {
	c.run += other.run
	c.known += other.known
	c.loaded += other.loaded
	c.skipped += other.skipped
}

// page becomes a script.
type page struct {
	t      *testing.T
	name   string
	script strings.Builder
	demo   bool // it runs
	pageCount
}

var (
	pageBlock  = regexp.MustCompile("(?ms)(?:^<!-- test: (.*?)-->\n)?^```(\\w*)\n(.*?)^```$")
	pageLink   = regexp.MustCompile(`\]\(([^)#\s]+)(?:#[^)]*)?\)`)
	inlineEtui = regexp.MustCompile("`(etui [^`]+)`")
	// Two spaces or a # begin what a page says about a command.
	aboutCommand = regexp.MustCompile(`\s{2,}.*$|\s+#.*$`)
	placeholder  = regexp.MustCompile(`[\[\]|]|(^|[\s=@|])[A-Z][A-Z_]+\b|\.\.\.|…`)
)

// read adds the blocks of a page to the script.
func (p *page) read(text string) {
	for _, at := range pageBlock.FindAllStringSubmatchIndex(text, -1) {
		part := func(i int) string {
			if at[i] < 0 {
				return ""
			}
			return text[at[i]:at[i+1]]
		}
		line := 1 + strings.Count(text[:at[6]], "\n")
		p.block(fmt.Sprintf("%s:%d", p.name, line), strings.TrimSpace(part(2)), part(4), part(6))
	}
	text = pageBlock.ReplaceAllStringFunc(text, func(block string) string { return strings.Repeat("\n", strings.Count(block, "\n")) })
	for _, found := range pageLink.FindAllStringSubmatchIndex(text, -1) {
		target := text[found[2]:found[3]]
		if _, err := os.Stat(filepath.Join("../..", filepath.Dir(p.name), target)); err != nil && !strings.Contains(target, ":") {
			p.t.Errorf("%s:%d: the link to %s leads nowhere", p.name, 1+strings.Count(text[:found[2]], "\n"), target)
		}
	}
	for _, found := range inlineEtui.FindAllStringSubmatchIndex(text, -1) {
		p.known++
		p.lookUp(fmt.Sprintf("%s:%d", p.name, 1+strings.Count(text[:found[2]], "\n")), text[found[2]:found[3]])
	}
}

// block adds one block.
func (p *page) block(where, test, language, body string) {
	switch {
	case strings.HasPrefix(test, "skip"):
		if reason := strings.TrimPrefix(test, "skip, "); reason == test || len(reason) < 10 {
			p.t.Errorf("%s: say why it is skipped: <!-- test: skip, REASON -->", where)
		}
		p.skipped++
		return
	case strings.HasPrefix(test, "file "):
		fmt.Fprintf(&p.script, "# %s\nwrite %s %s\n", where, strings.TrimPrefix(test, "file "), quote(body))
		return
	case test == "demo":
		p.demo = true
		fmt.Fprintf(&p.script, "# %s: prepare\nexec etui demo &demo&\ngateway state/etui/demo\nhttp GET $URL/readyz\nenv ETUI_LISTEN=$ADDRESS\n", where)
	case test != "":
		fmt.Fprintf(&p.script, "# %s: prepare\n%s\n", where, test)
	}
	switch language {
	case "yaml":
		p.yaml(where, body)
	case "", "console", "sh", "bash":
		p.commands(where, body)
	}
}

// yaml loads a block: as a skill if it names a provider, else as the configuration.
func (p *page) yaml(where, body string) {
	var keys map[string]any
	if err := yaml.Unmarshal([]byte(body), &keys); err != nil { // another program's file is marked so: file NAME
		p.t.Errorf("%s: %v", where, err)
		return
	}
	p.loaded++
	if _, ok := keys["provider"]; ok {
		file := fmt.Sprintf("skills/block%d.yaml", p.loaded)
		if name, ok := keys["name"].(string); ok {
			file = "skills/" + name + ".yaml"
		} else { // a part of a skill
			body = "name: part\ndescription: A part of a skill.\n" + body
		}
		fmt.Fprintf(&p.script, "# %s\nwrite %s %s\nexec etui skills validate %s\n", where, file, quote(body), file)
		return
	}
	fmt.Fprintf(&p.script, "# %s\nwrite etui.yaml %s\nexec etui config validate\n", where, quote(body))
}

// commands runs the commands of a block, and holds what it shows of their output.
func (p *page) commands(where, body string) {
	marked := strings.HasPrefix(body, "$ ") || strings.Contains(body, "\n$ ")
	ran := false
	for line := range strings.Lines(body) {
		line = strings.TrimSuffix(line, "\n")
		command, is := strings.CutPrefix(line, "$ ")
		if !marked {
			is = strings.HasPrefix(line, "etui ") || strings.HasPrefix(line, "make ")
		}
		switch {
		case !is && !marked || strings.TrimSpace(line) == "":
			continue // a tree of files, a picture
		case !is:
			if ran && strings.TrimSpace(line) != "..." {
				fmt.Fprintf(&p.script, "shows %s\n", quote(line))
			}
			continue
		}
		command = aboutCommand.ReplaceAllString(strings.Replace(command, "bin/etui", "etui", 1), "")
		ran = false
		switch {
		case strings.HasPrefix(command, "make "):
			p.known++
			p.target(where, strings.Fields(command)[1])
		case !strings.HasPrefix(command, "etui "):
			p.t.Errorf("%s: no test can run %q: give the block a comment, <!-- test: skip, REASON -->", where, command)
		case placeholder.MatchString(command):
			p.known++
			p.lookUp(where, command)
		case command == "etui serve" || command == "etui demo": // until it has started
			p.run++
			if p.demo {
				p.demo = false
				p.script.WriteString("kill -INT demo\nwait demo\nenv ETUI_LISTEN=127.0.0.1:0\n")
			}
			fmt.Fprintf(&p.script, "# %s: %s\nexec %[2]s &run%d&\ngateway state/etui/*\nhttp GET $URL/readyz\nkill -INT run%[3]d\nwait run%[3]d\n", where, command, p.run)
		default:
			p.run++
			ran = true
			// What a command is refused is shown as an error.
			mode := ""
			if _, after, _ := strings.Cut(body, line+"\n"); strings.HasPrefix(after, "etui: ") {
				mode = "! "
			}
			fmt.Fprintf(&p.script, "# %s: %s\n%sexec sh -c %s\n", where, command, mode, quote(command))
		}
	}
}

// target holds that make has a target.
func (p *page) target(where, name string) {
	makefile, err := os.ReadFile("../../Makefile")
	if err != nil {
		p.t.Fatal(err)
	}
	if !regexp.MustCompile(`(?m)^` + regexp.QuoteMeta(name) + `:`).Match(makefile) {
		p.t.Errorf("%s: make has no target %q", where, name)
	}
}

// lookUp holds that the words and the flags of a command exist.
func (p *page) lookUp(where, command string) {
	root := newRoot(&terminal.Console{Out: io.Discard, Err: io.Discard}, nil)
	root.InitDefaultCompletionCmd()
	words := strings.FieldsFunc(aboutCommand.ReplaceAllString(command, ""), func(r rune) bool { return strings.ContainsRune(" \t[]", r) })[1:]
	at := root
	for len(words) > 1 && strings.HasPrefix(words[0], "-") { // flags may come first
		words = append(words[1:], words[0])
	}
	for len(words) > 0 && at.HasSubCommands() {
		var next *cobra.Command
		for _, sub := range at.Commands() {
			if sub.Name() == strings.Trim(words[0], ",;") || sub.HasAlias(words[0]) {
				next = sub
			}
		}
		if next == nil {
			break
		}
		at, words = next, words[1:]
	}
	if at == root && len(words) > 0 && !strings.HasPrefix(words[0], "-") && words[0] != "man" && words[0] != "help" && !placeholder.MatchString(words[0]) {
		p.t.Errorf("%s: etui has no command %q", where, words[0])
	}
	for _, word := range words {
		name, isFlag := strings.CutPrefix(word, "--")
		name, _, _ = strings.Cut(name, "=")
		if isFlag && name != "help" && at.Flags().Lookup(name) == nil && root.PersistentFlags().Lookup(name) == nil {
			p.t.Errorf("%s: %s has no flag --%s", where, at.CommandPath(), name)
		}
	}
}

// quote makes a text one argument of a script.
func quote(text string) string {
	// A script's argument is on one line.
	return "'" + strings.NewReplacer("'", "''", "\\", `\\`, "\n", `\n`).Replace(text) + "'"
}

// unquote undoes what quote did to line ends.
func unquote(text string) string { return strings.NewReplacer(`\\`, "\\", `\n`, "\n").Replace(text) }

// write makes a file: write NAME TEXT.
func write(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: write NAME TEXT")
	}
	file := ts.MkAbs(args[0])
	ts.Check(os.MkdirAll(filepath.Dir(file), 0o755))
	ts.Check(os.WriteFile(file, []byte(unquote(args[1])), 0o644))
}

// shows holds that the last command printed a line, whatever its spaces; "..." matches
// anything: shows LINE.
func shows(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: shows LINE")
	}
	spaces := regexp.MustCompile(`\s+`)
	pattern := regexp.QuoteMeta(spaces.ReplaceAllString(strings.TrimSpace(unquote(args[0])), " "))
	pattern = strings.NewReplacer(`\.\.\.`, ".*", "…", ".*").Replace(pattern)
	printed := ts.ReadFile("stdout") + ts.ReadFile("stderr")
	if !regexp.MustCompile(pattern).MatchString(spaces.ReplaceAllString(printed, " ")) {
		ts.Fatalf("the page shows %q, and the command printed:\n%s", args[0], printed)
	}
}
