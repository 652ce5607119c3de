package markup

import (
	"bytes"
	"regexp"
	"unicode"
	"unicode/utf8"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

// emphasis reads bold, italic and struck text as models mean it. CommonMark looks at the spaces
// around marks, so that it reads **注意：**请看 as plain text, and takes a star between digits for
// a mark, or one in the name of a file.
type emphasis struct{ struck bool }

// Extend implements [goldmark.Extender].
func (e emphasis) Extend(m goldmark.Markdown) {
	m.Parser().AddOptions(parser.WithInlineParsers(util.Prioritized(meant{parser.NewEmphasisParser()}, 490)))
	if e.struck {
		m.Parser().AddOptions(parser.WithInlineParsers(util.Prioritized(meant{extension.NewStrikethroughParser()},
			490)))
	}
}

// meant changes what a mark can do that CommonMark has found.
type meant struct{ parser.InlineParser }

// Parse implements [parser.InlineParser].
func (p meant) Parse(parent ast.Node, block text.Reader, pc parser.Context) ast.Node {
	before := block.PrecendingCharacter()
	n := p.InlineParser.Parse(parent, block, pc)
	d, ok := n.(*parser.Delimiter)
	if !ok {
		return n
	}
	after := ' '
	rest, _ := block.PeekLine()
	if len(rest) > 0 {
		after, _ = utf8.DecodeRune(rest)
	}
	switch {
	case d.Char == '_':
		// A name of Python, such as __init__, is not bold.
		start := d.Segment.Start
		said := block.Source()[max(0, start-maxName):start]
		next := rest[:min(len(rest), maxName)]
		if d.OriginalLength == 2 && (named.Match(next) ||
			naming.Match(said) && (known.Match(said) || joined.Match(next))) {
			d.CanOpen, d.CanClose = false, false
		}
	case d.Char == '~' && d.OriginalLength == 1: // 10~20 is a range
		d.CanOpen, d.CanClose = d.CanOpen && !letter(before), d.CanClose && !letter(after)
	case d.Char == '*' &&
		(bytes.HasSuffix(block.Source()[:d.Segment.Start], []byte("*/")) || bytes.HasPrefix(rest, []byte("/*"))):
		// The names of files have stars: *.go, src/**/*.ts.
		d.CanOpen, d.CanClose = false, false
	case d.Char == '*' && d.OriginalLength == 1 && suffix.Match(rest):
		d.CanOpen = false
	case d.OriginalLength > 1: // a double mark has no other meaning
		d.CanOpen, d.CanClose = !unicode.IsSpace(after), !unicode.IsSpace(before)
	case d.Char == '*' && factor(before, ")]") && factor(after, "(["):
		d.CanOpen, d.CanClose = false, false // 5*3*2
	case wide(before) || wide(after):
		d.CanOpen, d.CanClose = !unicode.IsSpace(after), !unicode.IsSpace(before)
	}
	return n
}

const maxName = 64 // bytes of a name

const names = `(init|main|name|file|all|dict|call|str|repr|new|class|doc|enter|exit|proto|dirname|filename)`

var (
	named  = regexp.MustCompile(`^(` + names + `__|[a-z][a-z0-9_]*__([.][a-z]|[(\[]))`)
	naming = regexp.MustCompile(`__[a-z][a-z0-9_]*$`)
	known  = regexp.MustCompile(`__` + names + `$`)
	joined = regexp.MustCompile(`^([.][a-z]|[(\[])`)
)

// suffix is the ending of a file's name after a star.
var suffix = regexp.MustCompile(`^\.[a-z0-9]`)

// factor reports whether a character can be beside the sign of a product.
func factor(r rune, brackets string) bool {
	return letter(r) && !wide(r) || r == rune(brackets[0]) || r == rune(brackets[1])
}

// wide reports whether a character is of a script that is written without spaces.
func wide(r rune) bool {
	return util.IsEastAsianWideRune(r) || r >= 0xff00 && r <= 0xffef
}
