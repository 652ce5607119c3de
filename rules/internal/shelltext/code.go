package shelltext

import (
	"path"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// The programs that read shell, and those that read other languages.
var (
	shells       = []string{"sh", "bash", "dash", "zsh", "ksh", "ash", "mksh", "fish", "rbash"}
	interpreters = []string{"python", "python2", "python3", "perl", "ruby", "node", "nodejs", "php", "lua", "deno",
		"bun", "osascript"}
	downloaders = []string{"curl", "wget", "fetch", "aria2c", "http", "https", "lwp-request", "axel", "iwr", "irm",
		"invoke-webrequest", "invoke-restmethod", "nc", "ncat", "netcat"}
)

func downloads(name string) bool { return slices.Contains(downloaders, name) }

// inner returns the command that a program runs, if it runs another. It reads code that
// the program would run.
func (r *reader) inner(name string, args []word, s *syntax.Stmt) []word {
	if w, ok := wrappers[name]; ok {
		return r.unwrap(w, args)
	}
	switch {
	case slices.Contains(shells, name):
		r.shell(args, s)
	case slices.Contains(interpreters, name):
		return r.interpreter(args, s)
	}
	switch name {
	case "eval":
		r.code(args)
	case "source", ".":
		if len(args) > 0 {
			r.script(args[0], s)
		}
	case "iex", "invoke-expression", "at", "batch":
		r.input(s)
	case "trap":
		if len(args) > 1 && args[0].text != "-" {
			r.read(args[0].text) // variables in it are usually names of files
		}
	case "alias":
		for _, a := range args {
			if name, value, ok := strings.Cut(a.text, "="); ok {
				r.aliases[name] = word{text: value, literal: a.literal, node: a.node}
			}
		}
	case "su", "runuser":
		r.option(args, "-c", "--command")
	case "cmd":
		if i := index(args, "/c", "/k"); i >= 0 {
			r.code(args[i+1:])
		}
	case "powershell", "pwsh":
		r.powershell(args)
	case "find", "fd", "fdfind":
		r.finds(args, s)
	}
	return nil
}

// shell reads what a shell runs: a text, a file, or its input.
func (r *reader) shell(args []word, s *syntax.Stmt) {
	code := false
	for len(args) > 0 && len(args[0].text) > 1 && strings.ContainsRune("-+", rune(args[0].text[0])) {
		option := args[0].text
		args = args[1:]
		switch {
		case option == "--":
		case option == "--rcfile" || option == "--init-file" || option == "-o" || option == "-O" || option == "+o" ||
			option == "+O":
			args = args[min(1, len(args)):]
			continue
		case strings.HasPrefix(option, "--"):
			continue
		case strings.Contains(option, "c"):
			code = true
			continue
		case strings.Contains(option, "s"):
			args = nil
			continue
		default:
			continue
		}
		break
	}
	switch {
	case code && len(args) > 0:
		r.code(args[:1])
	case len(args) == 0 || args[0].text == "-":
		r.input(s)
	default:
		r.script(args[0], s)
	}
}

// interpreter handles code in another language. It does not read the code, and only
// checks where it comes from.
func (r *reader) interpreter(args []word, s *syntax.Stmt) []word {
	for i, a := range args {
		switch {
		case a.text == "-m" && i+1 < len(args) && slices.Contains([]string{"pip", "pipx", "twine"}, args[i+1].text):
			return args[i+1:]
		case a.text == "-":
			r.fromPipe(s)
			return nil
		case slices.Contains([]string{"-c", "-e", "-E", "-r", "--eval"}, a.text) && i+1 < len(args):
			r.substituted(args[i+1])
			return nil
		case a.text == "-m":
			return nil
		case !strings.HasPrefix(a.text, "-"):
			r.script(a, s)
			return nil
		}
	}
	r.fromPipe(s)
	return nil
}

func (r *reader) fromPipe(s *syntax.Stmt) {
	if from := r.fed[s]; from != nil && r.fetching(from) {
		r.find(RunsDownload, r.source(from)+" | "+r.source(s))
	}
}

// code reads a text that is run as code.
func (r *reader) code(words []word) {
	if len(words) == 0 || slices.ContainsFunc(words, r.substituted) {
		return
	}
	text := texts(words)
	if slices.ContainsFunc(words, func(w word) bool { return !w.literal }) {
		r.unknown(Dynamic, text)
	}
	r.read(text)
}

// substituted reports whether a word contains the output of a download.
func (r *reader) substituted(w word) bool {
	if w.node == nil || w.literal || !r.fetching(w.node) {
		return false
	}
	r.unknown(RunsDownload, r.source(w.node))
	return true
}

// script handles a file that is run.
func (r *reader) script(file word, s *syntax.Stmt) {
	substitution := file.node != nil && slices.ContainsFunc(file.node.Parts, func(p syntax.WordPart) bool {
		_, ok := p.(*syntax.ProcSubst)
		return ok
	})
	switch {
	case r.substituted(file):
	case substitution:
		r.unknown(Dynamic, file.text)
	case file.text == "/dev/stdin":
		r.input(s)
	default:
		r.file(path.Base(file.text), r.source(s))
	}
}

// file handles a file that is run, if the command made it.
func (r *reader) file(base, words string) {
	if r.fetched[base] {
		r.find(RunsDownload, words)
	}
	if said, ok := r.written[base]; ok {
		r.code(said)
	}
}

// input reads the code on a shell's input.
func (r *reader) input(s *syntax.Stmt) {
	for _, d := range s.Redirs {
		switch d.Op {
		case syntax.Hdoc, syntax.DashHdoc:
			if d.Hdoc != nil {
				r.code([]word{r.word(d.Hdoc)})
			}
			return
		case syntax.WordHdoc:
			r.code([]word{r.word(d.Word)})
			return
		case syntax.RdrIn:
			r.script(r.word(d.Word), s)
			return
		}
	}
	from := r.fed[s]
	if from == nil {
		return
	}
	if r.fetching(from) {
		r.unknown(RunsDownload, r.source(from)+" | "+r.source(s))
		return
	}
	if words, ok := r.printed(from); ok {
		r.code(words)
		return
	}
	r.unknown(Dynamic, r.source(from)+" | "+r.source(s))
}

// printed returns the words that a statement prints, if its text shows them.
func (r *reader) printed(s *syntax.Stmt) ([]word, bool) {
	call, ok := s.Cmd.(*syntax.CallExpr)
	if !ok || len(call.Args) == 0 {
		return nil, false
	}
	var args []word
	for _, a := range call.Args[1:] {
		args = append(args, r.word(a))
	}
	switch program(r.word(call.Args[0]).text) {
	case "echo":
		for len(args) > 0 && slices.Contains([]string{"-e", "-n", "-en", "-ne", "-E"}, args[0].text) {
			args = args[1:]
		}
	case "printf":
		if len(args) > 1 && strings.Contains(args[0].text, "%") {
			args = args[1:]
		}
	case "cat":
		for _, d := range s.Redirs {
			if d.Hdoc != nil && len(args) == 0 {
				return []word{r.word(d.Hdoc)}, true
			}
		}
		return nil, false
	default:
		return nil, false
	}
	for i := range args {
		args[i].text = strings.ReplaceAll(args[i].text, `\n`, "\n")
	}
	return args, len(args) > 0
}

// fetching reports whether there is a download below a node.
func (r *reader) fetching(n syntax.Node) (found bool) {
	r.look(n, func(below syntax.Node) bool {
		if call, ok := below.(*syntax.CallExpr); ok {
			for _, arg := range call.Args { // behind sudo and env, too
				found = found || downloads(program(r.word(arg).text))
			}
		}
		return !found
	})
	return found
}

// fetches notes the files that a download writes.
func (r *reader) fetches(args []word, s *syntax.Stmt) {
	note := func(file string) {
		if base := path.Base(file); file != "" && file != "-" {
			r.fetched[base] = true
		}
	}
	for i, a := range args {
		option, value, long := strings.Cut(a.text, "=")
		switch {
		case slices.Contains([]string{"-o", "-O", "--output", "--output-document", "-OutFile"}, option) && long:
			note(value)
		case slices.Contains([]string{"-o", "-O", "--output", "--output-document", "-OutFile"}, option) &&
			i+1 < len(args):
			note(args[i+1].text)
		case strings.HasPrefix(option, "-") && !strings.HasPrefix(option, "--") && strings.HasSuffix(option, "o") &&
			i+1 < len(args):
			note(args[i+1].text) // curl -fsSLo FILE
		case strings.Contains(a.text, "://"):
			address, _, _ := strings.Cut(a.text, "?")
			note(address)
		}
	}
	for _, d := range s.Redirs {
		if d.Word != nil && (d.Op == syntax.RdrOut || d.Op == syntax.RdrAll || d.Op == syntax.RdrClob) {
			note(r.word(d.Word).text)
		}
	}
}

// powershell reads the command of PowerShell as if its grammar were a shell's.
func (r *reader) powershell(args []word) {
	for i, a := range args {
		switch option := strings.ToLower(a.text); {
		case option == "-command" || option == "-c":
			r.code(args[i+1:])
			return
		case strings.HasPrefix(option, "-e") && strings.HasPrefix("-encodedcommand", option):
			r.unknown(Dynamic, texts(args))
			return
		}
	}
}

// finds reads the commands that find runs for files.
func (r *reader) finds(args []word, s *syntax.Stmt) {
	for i, a := range args {
		if slices.Contains([]string{"-exec", "-execdir", "-ok", "-okdir", "-x", "-X", "--exec", "--exec-batch"},
			a.text) {
			rest := args[i+1:]
			if end := index(rest, ";", "+"); end >= 0 {
				rest = rest[:end]
			}
			r.command(rest, s)
		}
	}
}

// option reads the code in an option's value.
func (r *reader) option(args []word, names ...string) {
	if i := index(args, names...); i >= 0 && i+1 < len(args) {
		r.code(args[i+1 : i+2])
	}
}

func index(words []word, names ...string) int {
	return slices.IndexFunc(words, func(w word) bool { return slices.Contains(names, strings.ToLower(w.text)) })
}
