package shelltext

import (
	"fmt"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// simpleCommands returns the commands among a call's arguments, each with its words and a space between. It
// returns false unless all of the text is words that mean themselves, one after the other or in a pipe:
// a text with a variable, a substitution, a pattern, an assignment, or a file behind > or < is not simple.
func simpleCommands(args map[string]any) (commands []string, ok bool) {
	defer func() {
		if recover() != nil { // a bug in the parser
			commands, ok = nil, false
		}
	}()
	switch command := args["command"].(type) {
	case string:
		if len(command) > MaxText || strings.Count(command, "(") > maxOpen {
			return nil, false
		}
		file, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(command), "")
		if err != nil {
			return nil, false
		}
		for _, s := range file.Stmts {
			if commands, ok = simple(commands, s); !ok {
				return nil, false
			}
		}
	case []any:
		words := make([]string, len(command))
		for i, word := range command {
			words[i] = fmt.Sprint(word)
		}
		commands = append(commands, strings.Join(words, " "))
	}
	return commands, len(commands) > 0
}

// simple adds the commands of a statement.
func simple(commands []string, s *syntax.Stmt) ([]string, bool) {
	if s.Negated || s.Background || s.Coprocess || len(s.Redirs) > 0 {
		return nil, false
	}
	switch c := s.Cmd.(type) {
	case *syntax.BinaryCmd:
		commands, ok := simple(commands, c.X)
		if !ok || c.Op == syntax.PipeAll {
			return nil, false
		}
		return simple(commands, c.Y)
	case *syntax.CallExpr:
		if len(c.Assigns) > 0 || len(c.Args) == 0 {
			return nil, false
		}
		words := make([]string, len(c.Args))
		for i, w := range c.Args {
			text, ok := literal(w.Parts, false)
			if !ok {
				return nil, false
			}
			words[i] = text
		}
		return append(commands, strings.Join(words, " ")), true
	}
	return nil, false
}

// literal returns the text of the parts of a word.
func literal(parts []syntax.WordPart, quoted bool) (string, bool) {
	var text strings.Builder
	for _, part := range parts {
		switch p := part.(type) {
		case *syntax.Lit:
			if strings.ContainsAny(p.Value, `\`) || !quoted && strings.ContainsAny(p.Value, "*?[{~") {
				return "", false
			}
			text.WriteString(p.Value)
		case *syntax.SglQuoted:
			if p.Dollar {
				return "", false
			}
			text.WriteString(p.Value)
		case *syntax.DblQuoted:
			inner, ok := literal(p.Parts, true)
			if !ok || p.Dollar {
				return "", false
			}
			text.WriteString(inner)
		default:
			return "", false
		}
	}
	return text.String(), true
}
