package markdown

import (
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"

	"github.com/etui-run/etui/skill"
)

// stray finds characters that our YAML parser takes and the reference validator's
// does not: a tab outside quotes, blocks of text and comments, and a Unicode line
// separator in a block or a comment, which would end there.
func stray(front string, root *yaml.Node) *skill.Problem {
	if !strings.ContainsAny(front, "\t"+lineSeparators) {
		return nil
	}
	var lines lines
	for line := range strings.SplitSeq(front, "\n") {
		lines = append(lines, []rune(line))
	}
	lines.blank(root)
	for i, line := range lines {
		comment := false
		for j, r := range []rune(strings.TrimRight(string(line), blanks)) {
			switch {
			case r == '#' && (j == 0 || line[j-1] == ' '):
				comment = true
			case r == '\t' && !comment:
				return &skill.Problem{Line: i + 1, Message: "there is a tab outside quotes; YAML takes spaces only"}
			case comment && strings.ContainsRune(lineSeparators, r):
				return &skill.Problem{Line: i + 1,
					Message: "there is a Unicode line separator; write a plain line break"}
			}
		}
	}
	return nil
}

// lineSeparators are line breaks to our YAML parser. To the reference validator's they
// are white space, except where stray finds them.
const lineSeparators = "\u0085\u2028\u2029"

var separators = strings.NewReplacer("\u0085", " ", "\u2028", " ", "\u2029", " ")

const blanks = " \r" + lineSeparators

// lines are the lines of a parsed text.
type lines [][]rune

// blank overwrites quoted text and blocks of text.
func (l lines) blank(n *yaml.Node) {
	switch {
	case n.Style&(yaml.DoubleQuotedStyle|yaml.SingleQuotedStyle) != 0:
		l.blankQuoted(n.Line-1, n.Column-1)
	case n.Style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0:
		l.blankBlock(n.Line - 1)
	}
	for _, c := range n.Content {
		l.blank(c)
	}
}

// blankQuoted overwrites text that begins with a quote.
func (l lines) blankQuoted(row, column int) {
	quote := l[row][column]
	for column++; row < len(l); row, column = row+1, 0 {
		for ; column < len(l[row]); column++ {
			r := l[row][column]
			l[row][column] = 'x'
			switch {
			case r == quote && quote == '\'' && column+1 < len(l[row]) && l[row][column+1] == quote, r == '\\' &&
				quote == '"':
				column++
				if column < len(l[row]) {
					l[row][column] = 'x'
				}
			case r == quote:
				return
			}
		}
	}
}

// blankBlock overwrites the block of text whose header is in a row: the lines that
// are indented at least as far as its first one.
func (l lines) blankBlock(row int) {
	least := indentation(l[row]) + 1
	first := true
	for _, line := range l[row+1:] {
		if !slices.ContainsFunc(line, func(r rune) bool { return r != ' ' }) {
			continue
		}
		if first {
			least, first = max(least, indentation(line)), false
		}
		if indentation(line) < least {
			return
		}
		for i, r := range line {
			if r != ' ' && !strings.ContainsRune(lineSeparators, r) {
				line[i] = 'x'
			}
		}
		line[0] = '#' // as in comments, a remaining separator is wrong
	}
}

func indentation(line []rune) int {
	if i := slices.IndexFunc(line, func(r rune) bool { return r != ' ' }); i >= 0 {
		return i
	}
	return len(line)
}
