package golang

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/token"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"example.com/unittest/lang"
)

// at is a place in a source file.
type at struct{ line, column int }

func (a at) compare(b at) int {
	return cmp.Or(cmp.Compare(a.line, b.line), cmp.Compare(a.column, b.column))
}

// block is a line of a cover profile.
type block struct {
	from, to at
	count    int
}

type profile []block

var profileLine = regexp.MustCompile(`^(.+):(\d+)\.(\d+),(\d+)\.(\d+) \d+ (\d+)$`)

// parseProfile reads the blocks of one file of the profile, whose name ends in /base.
func parseProfile(text, base string) (blocks profile) {
	for line := range strings.Lines(text) {
		m := profileLine.FindStringSubmatch(strings.TrimSpace(line))
		if m == nil || m[1] != base && !strings.HasSuffix(m[1], "/"+base) {
			continue
		}
		var n [5]int
		for i := range n {
			n[i], _ = strconv.Atoi(m[i+2])
		}
		blocks = append(blocks, block{at{n[0], n[1]}, at{n[2], n[3]}, n[4]})
	}
	return blocks
}

// count is how often the code at a place ran; false means that no block has it.
func (p profile) count(a at) (int, bool) {
	best := -1
	for i, b := range p {
		if b.from.compare(a) <= 0 && a.compare(b.to) <= 0 && (best < 0 || p[best].from.compare(b.from) < 0) {
			best = i
		}
	}
	if best < 0 {
		return 0, false
	}
	return p[best].count, true
}

// coverage reads the coverage of a target from a profile; nil if the profile has nothing
// about it, as after a test that panicked.
func (g Go) coverage(p *lang.Project, target string, text []byte) (*lang.Coverage, error) {
	f, fset, err := read(p, target)
	if err != nil {
		return nil, err
	}
	blocks := parseProfile(string(text), target[strings.LastIndex(target, "/")+1:])
	if len(blocks) == 0 {
		return nil, nil
	}
	m := measured{fset: fset, blocks: blocks, lines: map[int]*lang.Line{}}
	for _, fn := range functions(f) {
		m.body(fn.Body)
	}
	c := &lang.Coverage{File: target, Lines: []lang.Line{}}
	for _, l := range m.lines {
		c.Lines = append(c.Lines, *l)
	}
	slices.SortFunc(c.Lines, func(a, b lang.Line) int { return cmp.Compare(a.Line, b.Line) })
	return c, nil
}

// measured collects the lines of a file.
type measured struct {
	fset   *token.FileSet
	blocks profile
	lines  map[int]*lang.Line
}

func (m *measured) at(p token.Pos) at {
	place := m.fset.Position(p)
	return at{place.Line, place.Column}
}

func (m *measured) count(p token.Pos) int {
	n, _ := m.blocks.count(m.at(p))
	return n
}

// inside is how often a body ran, by its first statement or its end.
func (m *measured) inside(list []ast.Stmt, end token.Pos) int {
	if len(list) > 0 {
		return m.count(list[0].Pos())
	}
	return m.count(end)
}

// way notes a branch that goes on from a line.
func (m *measured) way(p token.Pos, taken bool, open string, args ...any) {
	l := m.line(p)
	l.Branches++
	if taken {
		l.Taken++
	} else if len(l.Open) < 8 {
		l.Open = append(l.Open, fmt.Sprintf(open, args...))
	}
}

func (m *measured) line(p token.Pos) *lang.Line {
	n := m.at(p).line
	l := m.lines[n]
	if l == nil {
		l = &lang.Line{Line: n}
		m.lines[n] = l
	}
	return l
}

func (m *measured) body(body *ast.BlockStmt) {
	ast.Inspect(body, func(n ast.Node) bool {
		s, ok := n.(ast.Stmt)
		if !ok {
			return true
		}
		switch s := s.(type) {
		case *ast.BlockStmt, *ast.CaseClause, *ast.CommClause, *ast.LabeledStmt, *ast.EmptyStmt:
		case *ast.IfStmt:
			m.ran(s.Cond.Pos())
			m.branches(s)
		default:
			m.ran(s.Pos())
		}
		switch s := s.(type) {
		case *ast.ForStmt:
			if s.Cond != nil {
				m.way(s.Pos(), m.inside(s.Body.List, s.Body.Rbrace) > 0, "the body of the loop never runs")
			}
		case *ast.RangeStmt:
			m.way(s.Pos(), m.inside(s.Body.List, s.Body.Rbrace) > 0, "the body of the loop never runs")
		case *ast.SwitchStmt:
			m.cases(s.Pos(), s.Body)
		case *ast.TypeSwitchStmt:
			m.cases(s.Pos(), s.Body)
		case *ast.SelectStmt:
			for _, c := range s.Body.List {
				if c, ok := c.(*ast.CommClause); ok {
					n := m.inside(c.Body, c.End())
					m.way(c.Pos(), n > 0, "this case never runs")
					l := m.line(c.Pos())
					l.Hits = max(l.Hits, n)
				}
			}
		}
		return true
	})
}

func (m *measured) ran(p token.Pos) {
	if n, ok := m.blocks.count(m.at(p)); ok {
		l := m.line(p)
		l.Hits = max(l.Hits, n)
	}
}

func (m *measured) branches(s *ast.IfStmt) {
	condition := cut(text(m.fset, s.Cond), 80)
	then := m.inside(s.Body.List, s.Body.Rbrace)
	m.way(s.Cond.Pos(), then > 0, "%s is never true", condition)
	other := m.count(s.Cond.Pos()) - then
	switch e := s.Else.(type) {
	case *ast.BlockStmt:
		other = m.inside(e.List, e.Rbrace)
	case *ast.IfStmt:
		other = m.count(e.Cond.Pos())
	}
	m.way(s.Cond.Pos(), other > 0, "%s is never false", condition)
}

// cases notes the branches of a switch, with the one that no case takes.
func (m *measured) cases(p token.Pos, body *ast.BlockStmt) {
	left, whole := m.count(p), false
	for _, c := range body.List {
		c, ok := c.(*ast.CaseClause)
		if !ok {
			continue
		}
		n := m.inside(c.Body, c.Colon)
		left -= n
		whole = whole || c.List == nil || falls(c)
		says := "the default is never taken"
		if c.List != nil {
			says = "case " + cut(text(m.fset, c.List[0]), 60) + " is never taken"
		}
		m.way(c.Pos(), n > 0, "%s", says)
		l := m.line(c.Pos()) // profiles have no counter for the case itself
		l.Hits = max(l.Hits, n)
	}
	if !whole {
		m.way(p, left > 0, "no input is without a case")
	}
}

func falls(c *ast.CaseClause) bool {
	if len(c.Body) == 0 {
		return false
	}
	b, ok := c.Body[len(c.Body)-1].(*ast.BranchStmt)
	return ok && b.Tok == token.FALLTHROUGH
}
