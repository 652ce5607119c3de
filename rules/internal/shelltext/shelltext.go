// Package shelltext predicts from the text of a shell command what it would do: which
// programs it runs, and which kinds of risk it has. It runs nothing.
//
// It reads words, and knows neither files nor the values of variables: a script, a
// program in another language or a harmless name may do anything. So its answers are
// good for asking somebody, and for nothing more: the sandbox is what keeps commands
// from doing harm.
//
// It parses the shell's grammar, and so finds programs in pipes, loops, functions,
// substitutions and here-documents for shells, behind programs that run others (env,
// xargs, sudo, find -exec), and in texts that are code (sh -c, eval). It ignores words
// that are data: those of echo, or a here-document for cat.
//
// Reading is bounded by [MaxText], and by the depth and number of nested texts.
package shelltext

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"mvdan.cc/sh/v3/syntax"

	"github.com/etui-run/etui/internal/printable"
)

const (
	// MaxText is how long a text may be, in bytes; a longer one is unreadable. A text
	// and the texts nested in it may have twice as many together.
	MaxText = 20_000
	// maxDepth is how deep texts may be nested.
	maxDepth = 8
	// maxOpen is how many parentheses may be open at once: the parser tries those that
	// may be arithmetic twice.
	maxOpen = 250
	// maxLooks bounds the visits of syntax nodes; a node may be visited several times.
	maxLooks = 200_000
	// maxFound and maxPrograms are how many findings and programs are listed.
	maxFound, maxPrograms = 32, 256
	maxWords              = 80 // characters of a finding
)

// Unknown represents, among the programs, those that the text does not name.
const Unknown = "?"

// Facts are what a command would do.
type Facts struct {
	// Programs are all that it runs, each once, in the order of the text, without the
	// folders of the system and without ".exe".
	Programs []string `json:"programs"`
	// Risks are the kinds of risk, each once.
	Risks []string `json:"risks"`
	// Found are the words behind each risk.
	Found []Finding `json:"found,omitempty"`
}

// Finding is a risk and the words of the command that make it one.
type Finding struct {
	Risk  string `json:"risk"`
	Words string `json:"words"`
}

// Read reads a command. It never fails: a text that it cannot read has the risk
// [Unreadable].
func Read(text string) (facts Facts) {
	r := &reader{
		facts: Facts{Programs: []string{}, Risks: []string{}}, bytes: 2 * MaxText, looks: maxLooks,
		fetched: map[string]bool{}, written: map[string][]word{}, aliases: map[string]word{},
		fed: map[*syntax.Stmt]*syntax.Stmt{},
	}
	defer func() {
		if recover() != nil { // a bug in the parser
			r.find(Unreadable, text)
			facts = r.facts
		}
	}()
	r.read(text)
	return r.facts
}

// OfArguments reads the command in a call's arguments: the text that they call
// command, or a list of texts, which are a program and its arguments.
func OfArguments(args map[string]any) (facts Facts, ok bool) {
	switch command := args["command"].(type) {
	case string:
		return Read(command), true
	case []any:
		var words []string
		for _, item := range command {
			quoted, err := syntax.Quote(fmt.Sprint(item), syntax.LangBash)
			if err != nil {
				quoted = "'" // unreadable
			}
			words = append(words, quoted)
		}
		return Read(strings.Join(words, " ")), true
	}
	return Facts{}, false
}

// reader reads one command.
type reader struct {
	facts Facts
	bytes int // how many more may be parsed
	looks int // how many more nodes may be visited
	depth int
	// text is being read now: the command, or code within it.
	text string
	// fetched are the files that were downloaded so far, by the last part of their name.
	// Written are those that echo, printf and cat wrote, with their contents.
	fetched map[string]bool
	written map[string][]word
	// aliases are those that were defined so far.
	aliases map[string]word
	// fed maps a statement to the one that writes into its pipe.
	fed map[*syntax.Stmt]*syntax.Stmt
}

// read reads code.
func (r *reader) read(text string) {
	if len(text) > MaxText || len(text) > r.bytes || r.depth == maxDepth || open(text) > maxOpen {
		r.unknown(Unreadable, text)
		return
	}
	r.bytes -= len(text)
	file, err := parse(text)
	if err != nil {
		r.unknown(Unreadable, text)
		return
	}
	outer := r.text
	r.text, r.depth = text, r.depth+1
	r.walk(file)
	r.text, r.depth = outer, r.depth-1
}

// open returns how many parentheses are open at once.
func open(text string) (most int) {
	now := 0
	for i := range len(text) {
		switch text[i] {
		case '(':
			now++
			most = max(most, now)
		case ')':
			now = max(now-1, 0)
		}
	}
	return most
}

// parse parses Bash, or else POSIX shell.
func parse(text string) (file *syntax.File, err error) {
	for _, variant := range []syntax.LangVariant{syntax.LangBash, syntax.LangPOSIX} {
		if file, err = syntax.NewParser(syntax.Variant(variant)).Parse(strings.NewReader(text), ""); err == nil {
			return file, nil
		}
	}
	return nil, err
}

// look walks the nodes below one while f returns true. A command that exceeds the bound
// on visits is unreadable.
func (r *reader) look(node syntax.Node, f func(syntax.Node) bool) {
	syntax.Walk(node, func(n syntax.Node) bool {
		if n == nil {
			return true
		}
		if r.looks--; r.looks < 0 {
			r.unknown(Unreadable, "too long")
			return false
		}
		return f(n)
	})
}

func (r *reader) walk(node syntax.Node) {
	r.look(node, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.FuncDecl:
			if r.bomb(n) {
				r.find(ForkBomb, r.source(n))
			}
		case *syntax.WhileClause:
			if r.flood(n) {
				r.find(ForkBomb, r.source(n))
			}
		case *syntax.BinaryCmd:
			if pipe(n) {
				r.feed(n)
			}
		case *syntax.Stmt:
			r.statement(n)
		}
		return true
	})
}

func pipe(n *syntax.BinaryCmd) bool { return n.Op == syntax.Pipe || n.Op == syntax.PipeAll }

// feed notes what the right side of a pipe reads. All statements in it read the same.
func (r *reader) feed(n *syntax.BinaryCmd) {
	r.look(n.Y, func(below syntax.Node) bool {
		if s, ok := below.(*syntax.Stmt); ok {
			r.fed[s] = n.X
		}
		return true
	})
}

func (r *reader) statement(s *syntax.Stmt) {
	for _, redirect := range s.Redirs {
		r.redirect(redirect)
	}
	call, ok := s.Cmd.(*syntax.CallExpr)
	if !ok || len(call.Args) == 0 {
		return
	}
	var words []word
	for _, arg := range call.Args {
		words = append(words, r.word(arg))
	}
	for _, d := range s.Redirs {
		if said, ok := r.printed(s); ok && d.Word != nil && (d.Op == syntax.RdrOut || d.Op == syntax.AppOut) {
			r.written[path.Base(r.word(d.Word).text)] = said
		}
	}
	r.command(words, s)
}

// redirect looks for special files.
func (r *reader) redirect(d *syntax.Redirect) {
	if d.Word == nil || d.Op == syntax.Hdoc || d.Op == syntax.DashHdoc || d.Op == syntax.WordHdoc {
		return
	}
	switch file := r.word(d.Word).text; {
	case strings.HasPrefix(file, "/dev/tcp/"), strings.HasPrefix(file, "/dev/udp/"):
		r.find(Remote, r.source(d))
	case file == "/proc/sysrq-trigger":
		r.find(Power, r.source(d))
	case d.Op != syntax.RdrIn && device(file):
		r.find(Disk, r.source(d))
	}
}

// command reads a program and its arguments, and the programs that it runs in turn.
func (r *reader) command(words []word, s *syntax.Stmt) {
	for len(words) > 0 {
		if r.looks--; r.looks < 0 {
			r.unknown(Unreadable, "too long")
			return
		}
		if !words[0].name() {
			r.unknown(Dynamic, texts(words))
			if words[0].text == "$0" && (s.Background || r.fed[s] != nil) {
				r.find(ForkBomb, r.source(s))
			}
			return
		}
		name := program(words[0].text)
		r.program(name)
		name = family(path.Base(name))
		args := words[1:]
		for _, risk := range risksOf(name, args) {
			r.find(risk, texts(words))
		}
		if strings.Contains(words[0].text, "/") {
			r.file(name, texts(words))
		}
		if short, ok := r.aliases[name]; ok {
			delete(r.aliases, name) // within itself it means the program
			r.code([]word{short})
			r.aliases[name] = short
		}
		if downloads(name) {
			r.fetches(args, s)
		}
		words = r.inner(name, args, s)
	}
}

// program notes that a program is run.
func (r *reader) program(name string) {
	if len(r.facts.Programs) < maxPrograms && !slices.Contains(r.facts.Programs, name) {
		r.facts.Programs = append(r.facts.Programs, name)
	}
}

// program returns the name of a program without a folder of the system.
func program(name string) string {
	if dir, base := path.Split(name); slices.Contains([]string{"/bin/", "/usr/bin/", "/sbin/", "/usr/sbin/",
		"/usr/local/bin/"}, dir) && base != "" {
		name = base
	}
	return strings.TrimSuffix(strings.ToLower(name), ".exe")
}

// family returns a program's name in the tables: python3 for python3.14, mkfs for
// mkfs.ext4.
func family(name string) string {
	if begin, _, ok := strings.Cut(name, "."); ok && slices.Contains([]string{"python3", "pip3", "mkfs"}, begin) {
		return begin
	}
	return name
}

// unknown notes a risk of something whose programs are unknown.
func (r *reader) unknown(risk, words string) {
	r.program(Unknown)
	r.find(risk, words)
}

func (r *reader) find(risk, words string) {
	found := Finding{risk, short(words)}
	if !slices.Contains(r.facts.Risks, risk) {
		r.facts.Risks = append(r.facts.Risks, risk)
	}
	if len(r.facts.Found) < maxFound && !slices.Contains(r.facts.Found, found) {
		r.facts.Found = append(r.facts.Found, found)
	}
}

// short returns words in one short line. It leaves out whole words, because a redactor
// would not recognize part of a secret.
func short(words string) string {
	var line strings.Builder
	for word := range strings.FieldsSeq(printable.Text(words)) {
		if utf8.RuneCountInString(line.String())+utf8.RuneCountInString(word) > maxWords-3 {
			line.WriteString(" …")
			break
		}
		if line.Len() > 0 {
			line.WriteByte(' ')
		}
		line.WriteString(word)
	}
	return strings.TrimSpace(line.String())
}

// source returns the text of a node.
func (r *reader) source(n syntax.Node) string {
	from, to := n.Pos().Offset(), n.End().Offset()
	if from > to || to > uint(len(r.text)) {
		return ""
	}
	return r.text[from:to]
}
