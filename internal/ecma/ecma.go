// Package ecma matches the regular expressions of JSON Schemas, which are those of ECMAScript.
//
// Go's own engine, whose time is linear, runs each pattern that it can compile. The others, with
// lookahead or back references, run in an engine that may need exponential time, so each of their
// matches has a limit, and so have their number in a schema and the time of one check, see [Patterns].
package ecma

import (
	"fmt"
	"regexp"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/dlclark/regexp2"
)

const (
	maxPattern = 10_000 // bytes
	maxTime    = 100 * time.Millisecond
	// maxCheck bounds the time of all slow patterns in one check of a value. It may be exceeded by the
	// last of them.
	maxCheck = 300 * time.Millisecond
)

// Pattern is a compiled pattern. It is safe for concurrent use.
type Pattern struct {
	source string
	linear *regexp.Regexp  // nil if Go cannot compile it
	other  *regexp2.Regexp // nil if Go can
	// slow is the length from which on texts are not tried any more: one of them took too long. It
	// shrinks with each such text, so a pattern costs its time limit a few times only.
	slow  atomic.Int64
	check *check // of its schema; nil for a pattern alone
}

// check is one check of a value against a schema.
type check struct {
	mu     sync.Mutex // held by the check
	spent  time.Duration
	undone string // a pattern that a text was not checked against
}

// MaxSlow is how many patterns of one schema Go's own engine may leave to the slower one.
const MaxSlow = 16

// ErrMany says that a schema has more than [MaxSlow] patterns for the slower engine.
var ErrMany = fmt.Errorf("a schema can have at most %d patterns with lookahead or back references", MaxSlow)

// Patterns compiles the patterns of one schema, each once. The zero value is ready for use, by one
// goroutine until all are compiled. A pattern of a schema is used within a check, see Begin.
type Patterns struct {
	compiled map[string]*Pattern
	slow     int
	check    check
}

// Begin begins a check of a value against the schema, after all patterns have been compiled. The
// caller calls end, which returns a pattern that some text was not checked against because that took too
// long; empty if there is none. Checks of a schema with slow patterns wait for each other.
func (l *Patterns) Begin() (end func() (undone string)) {
	if l.slow == 0 {
		return func() string { return "" }
	}
	l.check.mu.Lock()
	l.check.spent, l.check.undone = 0, ""
	return func() string {
		defer l.check.mu.Unlock()
		return l.check.undone
	}
}

// Compile compiles a pattern of the schema.
func (l *Patterns) Compile(pattern string) (*Pattern, error) {
	if p := l.compiled[pattern]; p != nil {
		return p, nil
	}
	p, err := Compile(pattern)
	if err != nil {
		return nil, err
	}
	if p.other != nil {
		if l.slow == MaxSlow {
			return nil, ErrMany
		}
		l.slow++
		p.check = &l.check
	}
	if l.compiled == nil {
		l.compiled = map[string]*Pattern{}
	}
	l.compiled[pattern] = p
	return p, nil
}

// Compile compiles a pattern.
func Compile(pattern string) (*Pattern, error) {
	if len(pattern) > maxPattern {
		return nil, fmt.Errorf("the pattern has %d bytes, at most %d are allowed", len(pattern), maxPattern)
	}
	p := &Pattern{source: pattern}
	translated := escapes.ReplaceAllStringFunc(pattern, translate)
	var err error
	if p.linear, err = regexp.Compile(translated); err == nil {
		return p, nil
	}
	dialects := []regexp2.RegexOptions{regexp2.ECMAScript | regexp2.Unicode, regexp2.ECMAScript, regexp2.None}
	for _, options := range dialects {
		if p.other, err = regexp2.Compile(pattern, options); err == nil {
			p.other.MatchTimeout = maxTime
			return p, nil
		}
	}
	return nil, fmt.Errorf("the pattern %.80q cannot be compiled: %w", pattern, err)
}

// escapes are what ECMAScript and Go write differently, after any other escape.
var escapes = regexp.MustCompile(`\\u\{[0-9a-fA-F]{1,6}\}|\\u[0-9a-fA-F]{4}` +
	`|\\[pP]\{(?:Script|sc|Script_Extensions|scx|General_Category|gc)=\w+\}|\[\^\]|\\(?s:.)`)

func translate(escape string) string {
	switch {
	case escape == "[^]":
		return `(?s:.)`
	case escape[1] == 'u' && len(escape) > 2:
		digits := escape[2:]
		if digits[0] == '{' {
			digits = digits[1 : len(digits)-1]
		}
		if r, err := strconv.ParseUint(digits, 16, 32); err == nil && r >= 0xD800 && r <= 0xDFFF {
			return escape // half of a character, which Go refuses
		}
		return `\x{` + digits + `}`
	case len(escape) > 3:
		for i := range escape {
			if escape[i] == '=' {
				return escape[:3] + escape[i+1:]
			}
		}
	}
	return escape
}

// MatchString reports whether a text has a match. A text that takes too long has none.
func (p *Pattern) MatchString(text string) bool {
	if p.linear != nil {
		return p.linear.MatchString(text)
	}
	size, began := int64(len(text)), time.Now()
	slow := p.slow.Load()
	if slow > 0 && size >= slow || p.check != nil && p.check.spent > maxCheck {
		return p.leave()
	}
	ok, err := p.other.MatchString(text)
	if p.check != nil {
		p.check.spent += time.Since(began)
	}
	if err != nil {
		p.slow.Store(max(1, size*3/4))
		return p.leave()
	}
	return ok
}

// leave leaves a text unchecked.
func (p *Pattern) leave() bool {
	if p.check != nil {
		p.check.undone = p.source
	}
	return false
}

// String returns the pattern as it was written.
func (p *Pattern) String() string { return p.source }
