package hub

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Flag is something in a skill that a person should look at before it is
// installed. It is a reason to ask, not a proof, and the absence of flags proves
// nothing: what a skill's programs can do is limited where they run.
type Flag struct {
	File string `json:"file"`
	// Line is counted from 1; 0 means the file as a whole.
	Line int    `json:"line,omitempty"`
	Rule string `json:"rule"`
	// Why says what was seen, for people.
	Why string `json:"why"`
}

func (f Flag) String() string {
	at := f.File
	if f.Line > 0 {
		at = fmt.Sprintf("%s:%d", f.File, f.Line)
	}
	return at + ": " + f.Why
}

const (
	maxScanned    = 1 << 20 // bytes of a file whose text is read
	maxScannedAll = 4 << 20 // bytes of all files, likewise
	maxFlags      = 50      // flags that are told of one skill
	nearby        = 6       // lines of a Markdown file that belong together
	maxLine       = 2000    // bytes of a line that are read at once
	overlap       = 400
)

// Scan reads the files of a skill for what a person should look at first. The
// flags are ordered by file and line.
func Scan(fsys fs.FS) ([]Flag, error) {
	var flags []Flag
	var all int
	err := fs.WalkDir(fsys, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || len(flags) >= maxFlags {
			return err
		}
		if all > maxScannedAll {
			flags = append(flags, Flag{File: name, Rule: "long", Why: "this file and those after it were not looked at: there is too much text"})
			return fs.SkipAll
		}
		f, err := fsys.Open(name)
		if err != nil {
			return err
		}
		text, err := io.ReadAll(io.LimitReader(f, maxScanned+1))
		if err := errors.Join(err, f.Close()); err != nil {
			return err
		}
		found, read := scanFile(name, text)
		flags, all = append(flags, found...), all+read
		return nil
	})
	slices.SortStableFunc(flags, func(a, b Flag) int {
		return cmp.Or(strings.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line))
	})
	return flags[:min(len(flags), maxFlags)], err
}

// scanFile applies the rules to one file. It says how much of it was text.
func scanFile(name string, text []byte) (flags []Flag, read int) {
	if why := startsItself(name, text); why != "" {
		flags = append(flags, Flag{File: name, Rule: "starts-itself", Why: why})
	}
	if why := program(name, text); why != "" {
		return append(flags, Flag{File: name, Rule: "program", Why: why}), 0
	}
	if bytes.IndexByte(text[:min(len(text), 8000)], 0) >= 0 {
		return flags, 0 // pictures, fonts and such
	}
	if len(text) > maxScanned && !isData(name) {
		flags = append(flags, Flag{File: name, Rule: "long", Why: "only its first MB of text was looked at"})
	}
	page := newPage(name, string(text[:min(len(text), maxScanned)]))
	flags = append(flags, page.hidden()...)
	if isData(name) {
		return flags, 0
	}
	for _, r := range rules() {
		if line := r.find(page); line > 0 {
			flags = append(flags, Flag{File: name, Line: page.numbers[line-1], Rule: r.name, Why: r.why})
		}
	}
	return flags, len(text)
}

// startsItself says which program runs a file, or what it names, without being
// told to.
func startsItself(name string, text []byte) string {
	base := strings.ToLower(path.Base(name))
	dir := "/" + strings.ToLower(path.Dir(name)) + "/"
	switch {
	case base == "package.json":
		return installHook(text)
	case base == "setup.py" && setupRuns(text):
		return "setup.py runs commands while the package is installed"
	case base == "sitecustomize.py", base == "usercustomize.py", strings.HasSuffix(base, ".pth"):
		return "Python runs this file whenever it starts"
	case base == ".envrc":
		return "direnv runs this file when its folder is entered"
	case base == ".mcp.json", base == ".npmrc", base == ".yarnrc", base == ".pip.conf":
		return "other programs take their settings from this file"
	case strings.Contains(dir, "/.vscode/") && (base == "tasks.json" || base == "settings.json" || base == "launch.json"), strings.Contains(dir, "/.idea/"), strings.Contains(dir, "/.devcontainer/"):
		return "editors run what this file names when they open the folder"
	case strings.Contains(dir, "/.husky/"), strings.Contains(dir, "/hooks/") && slices.Contains(gitHooks, base):
		return "Git runs this file as a hook"
	case strings.Contains(dir, "/.claude/") && strings.HasPrefix(base, "settings"), strings.Contains(dir, "/.codex/"), strings.Contains(dir, "/.cursor/") && base == "mcp.json":
		return "other agents take their settings and hooks from this file"
	}
	return ""
}

var gitHooks = []string{"pre-commit", "post-commit", "post-checkout", "post-merge", "pre-push", "pre-rebase", "prepare-commit-msg", "commit-msg", "post-rewrite"}

// installHook finds what npm runs by itself.
func installHook(text []byte) string {
	var p struct {
		Scripts map[string]any `json:"scripts"`
	}
	if json.Unmarshal(text, &p) != nil {
		return ""
	}
	for _, hook := range []string{"preinstall", "install", "postinstall", "preprepare", "prepare", "postprepare"} {
		if run, ok := p.Scripts[hook]; ok {
			return fmt.Sprintf("npm runs %q by itself while the package is installed: %s", hook, excerpt(fmt.Sprint(run)))
		}
	}
	return ""
}

func setupRuns(text []byte) bool {
	return setupCommand().match(string(text))
}

// program recognises what cannot be read.
func program(name string, text []byte) string {
	for magic, kind := range map[string]string{
		"\x7fELF": "a program for Linux", "\xfe\xed\xfa\xce": "a program for macOS", "\xfe\xed\xfa\xcf": "a program for macOS",
		"\xcf\xfa\xed\xfe": "a program for macOS", "\xce\xfa\xed\xfe": "a program for macOS", "\xca\xfe\xba\xbe": "a program for macOS or Java",
		"Rar!": "an archive, which was not looked into", "7z\xbc\xaf\x27\x1c": "an archive, which was not looked into",
		"\x1f\x8b": "an archive, which was not looked into", "\xfd7zXZ": "an archive, which was not looked into", "BZh": "an archive, which was not looked into",
	} {
		if bytes.HasPrefix(text, []byte(magic)) {
			return "it is " + kind
		}
	}
	switch ending := strings.ToLower(path.Ext(name)); {
	case bytes.HasPrefix(text, []byte("MZ")) && bytes.IndexByte(text[:min(len(text), 512)], 0) >= 0:
		return "it is a program for Windows"
	case slices.Contains([]string{".exe", ".dll", ".msi", ".scr", ".lnk", ".pyc", ".class", ".jar", ".apk", ".dmg", ".pkg", ".deb", ".rpm", ".so", ".dylib", ".node"}, ending):
		return "it is a program that cannot be read (" + ending + ")"
	case isZip(text) && slices.Contains([]string{".zip", "", ".whl", ".skill", ".crx", ".xpi"}, ending):
		return "it is an archive, which was not looked into"
	}
	return ""
}

// isData reports files that hold no instructions for anybody.
func isData(name string) bool {
	switch strings.ToLower(path.Ext(name)) {
	case ".csv", ".tsv", ".svg", ".xsd", ".dtd", ".lock", ".map", ".css", ".ttf", ".sig", ".pem", ".geojson", ".ipynb":
		return true
	}
	return false
}

// page is a file as the rules read it.
type page struct {
	name    string
	prose   bool     // Markdown and plain text: a person's words, with code in between
	lines   []string // as they are; very long ones in pieces that overlap
	numbers []int    // of the lines, from 1
	lower   string   // all of them in lower case
	starts  []int    // where each begins in lower
}

func newPage(name, text string) *page {
	p := &page{name: name}
	number := 0
	for line := range strings.SplitSeq(text, "\n") {
		number++
		for len(line) > maxLine {
			p.lines, p.numbers = append(p.lines, line[:maxLine]), append(p.numbers, number)
			line = line[maxLine-overlap:]
		}
		p.lines, p.numbers = append(p.lines, line), append(p.numbers, number)
	}
	var lower strings.Builder
	for _, line := range p.lines {
		p.starts = append(p.starts, lower.Len())
		lower.WriteString(strings.ToLower(line))
		lower.WriteByte('\n')
	}
	p.lower = lower.String()
	switch strings.ToLower(path.Ext(name)) {
	case ".md", ".markdown", ".mdx", ".txt", ".rst", ".adoc", ".html", ".htm":
		p.prose = true
	case "":
		p.prose = !strings.HasPrefix(text, "#!")
	}
	return p
}

// hidden finds characters that a person does not see and a model reads.
func (p *page) hidden() (flags []Flag) {
	for i, line := range p.lines {
		if why := hiddenIn(line, i == 0); why != "" {
			flags = append(flags, Flag{File: p.name, Line: p.numbers[i], Rule: "hidden-text", Why: why})
		}
		if len(flags) == 3 {
			break
		}
	}
	return flags
}

func hiddenIn(line string, first bool) string {
	if isASCII(line) {
		return ""
	}
	zero, before, begins := 0, rune(0), first
	for at, r := range line {
		switch {
		case r >= 0xE0000 && r <= 0xE007F && !flagOf(line[:at]):
			return fmt.Sprintf("it holds invisible letters (U+%04X)", r)
		case r >= 0x202A && r <= 0x202E, r >= 0x2066 && r <= 0x2069:
			return fmt.Sprintf("it holds a mark that turns the direction of text around (U+%04X)", r)
		case r >= 0xE0100 && r <= 0xE01EF, r >= 0x2061 && r <= 0x2064, r == 0x180E, r >= 0xFFF9 && r <= 0xFFFB, r == 0x115F, r == 0x1160, r == 0x3164, r == 0xFFA0:
			if zero++; zero > 2 || r >= 0xE0100 {
				return fmt.Sprintf("it holds invisible characters (U+%04X)", r)
			}
		case r == 0xFEFF && begins:
		case r == 0x200B, r == 0x2060, r == 0xFEFF, (r == 0x200C || r == 0x200D) && before < 0x80:
			if zero++; zero > 1 || unicode.IsLetter(before) && unicode.IsLetter(next(line[at+utf8.RuneLen(r):])) && before < 0x80 {
				return fmt.Sprintf("it holds characters without width (U+%04X)", r)
			}
		}
		before, begins = r, false
	}
	return ""
}

func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

func next(s string) rune {
	r, _ := utf8.DecodeRuneInString(s)
	return r
}

// flagOf reports that invisible letters belong to an emoji: the flags of England,
// Scotland and Wales are written with them.
func flagOf(before string) bool {
	before = strings.TrimRightFunc(before, func(r rune) bool { return r >= 0xE0000 && r <= 0xE007F })
	return strings.HasSuffix(before, "\U0001F3F4")
}

// excerpt is a text of a package as a message may hold it.
func excerpt(s string) string {
	s = strings.Join(strings.Fields(strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || unicode.Is(unicode.Cf, r) {
			return ' '
		}
		return r
	}, s)), " ")
	if runes := []rune(s); len(runes) > 80 {
		s = string(runes[:80]) + "…"
	}
	return s
}
