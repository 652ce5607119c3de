package audit

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// The classes of entries beside those of decisions.
const (
	ClassCall = "call"
	// ClassMark is that of the entries with which a log says what it has dropped.
	ClassMark = "mark"
)

// Entry is a record, a decision or a [Mark] as a log stores it: a link of a chain, in
// which each carries the hash of the one before.
type Entry struct {
	// Number rises by one.
	Number int64
	Class  string
	Time   time.Time
	// User, Name and Outcome are for finding it: whose call, of which skill or tool, and
	// its outcome or kind.
	User, Name, Outcome string
	// Salt is random, so that the hash of an entry that was dropped tells nothing about it.
	Salt []byte
	// Text is the record as JSON, as it was hashed.
	Text string
	// Hash is nil in entries of earlier versions, which are in no chain.
	Hash []byte
}

// Entry returns the record as an entry without number, salt and hash.
func (c Record) Entry() (Entry, error) { return entry(ClassCall, c) }

// Entry returns the decision as an entry without number, salt and hash.
func (d Decision) Entry() (Entry, error) { return entry(d.Class(), d) }

func entry(class string, record any) (Entry, error) {
	text, err := json.Marshal(record)
	if err != nil {
		return Entry{}, err
	}
	return read(class, string(text))
}

// read returns the entry that a text of a class gives.
func read(class, text string) (Entry, error) {
	e := Entry{Class: class, Text: text}
	switch class {
	case ClassCall:
		var c Record
		if err := json.Unmarshal([]byte(text), &c); err != nil {
			return e, fmt.Errorf("a call: %w", err)
		}
		e.Time, e.User, e.Name, e.Outcome = c.Time, c.User, c.Skill, c.Outcome
	case ClassMark:
		var m Mark
		if err := json.Unmarshal([]byte(text), &m); err != nil {
			return e, fmt.Errorf("a mark: %w", err)
		}
		e.Time, e.Outcome = m.Time, m.Why
	default:
		var d Decision
		if err := json.Unmarshal([]byte(text), &d); err != nil {
			return e, fmt.Errorf("a decision: %w", err)
		}
		e.Class, e.Time, e.User, e.Name, e.Outcome = d.Class(), d.Time, d.User, d.Tool, d.kind()
	}
	for _, column := range []*string{&e.User, &e.Name, &e.Outcome} {
		*column = strings.ReplaceAll(*column, "\x00", "") // no database column has it
	}
	return e, nil
}

// Mark is what a log remembers of the entries that it has dropped: which ones, and the
// hashes that lead over the gaps. It is an entry of the chain itself, and the newest one
// stands for all before.
type Mark struct {
	Time time.Time `json:"time"`
	// Why is [DroppedByLimits] or [DroppedByErasure], and Now how many that were.
	Why string `json:"why"`
	Now int    `json:"now"`
	// Dropped is how many records and decisions are missing in all.
	Dropped int64 `json:"dropped"`
	// Gaps is the hash of the gaps, see [Gaps.Hash].
	Gaps string `json:"gaps"`
}

// Why entries are dropped.
const (
	DroppedByLimits  = "limits"
	DroppedByErasure = "erasure"
)

// Entry returns the mark as an entry without number, salt and hash.
func (m Mark) Entry() (Entry, error) { return entry(ClassMark, m) }

// zero is the hash before the first entry of a chain.
var zero = make([]byte, sha256.Size)

// Link gives an entry its place behind a head, and its hash. It returns the new head.
func (h Head) Link(e *Entry) Head {
	e.Number = h.Number + 1
	e.Hash = e.hash(h.Hash)
	return Head{Number: e.Number, Hash: e.Hash}
}

// hash returns the SHA-256 of the hash before, the number, and the SHA-256 of the salt, the
// class and the text.
func (e *Entry) hash(before []byte) []byte {
	content := sha256.New()
	fmt.Fprintf(content, "%x\n%s\n", e.Salt, e.Class)
	content.Write([]byte(e.Text))
	if len(before) == 0 {
		before = zero
	}
	link := sha256.New()
	link.Write([]byte("etui audit 1\n"))
	link.Write(before)
	link.Write(binary.BigEndian.AppendUint64(nil, uint64(e.Number))) //nolint:gosec // it is positive
	link.Write(content.Sum(nil))
	return link.Sum(nil)
}

// Head is the end of a chain, or another place in it: the number of an entry and its hash.
type Head struct {
	Number int64
	Hash   []byte
}

// String returns the head as NUMBER:HASH; empty for that of an empty chain.
func (h Head) String() string {
	if len(h.Hash) == 0 || bytes.Equal(h.Hash, zero) {
		return ""
	}
	return fmt.Sprintf("%d:%x", h.Number, h.Hash)
}

// ParseHead reads what [Head.String] returns.
func ParseHead(text string) (h Head, err error) {
	number, hash, _ := strings.Cut(strings.TrimSpace(text), ":")
	h.Number, err = strconv.ParseInt(number, 10, 64)
	if err == nil {
		h.Hash, err = hex.DecodeString(hash)
	}
	if err != nil || h.Number < 1 || len(h.Hash) != sha256.Size {
		return Head{}, errors.New("a head is NUMBER:HASH, as etui audit verify prints it")
	}
	return h, nil
}

// Gap stands for entries that were dropped, which follow one another. Hash is that of the
// last one.
type Gap struct {
	First, Last int64
	Hash        []byte
}

// Gaps are all gaps of a chain, in their order.
type Gaps []Gap

// With returns the gaps, and those that dropped entries leave. Both are in the order of
// their numbers.
func (g Gaps) With(dropped []Head) Gaps {
	all := make(Gaps, 0, len(g)+len(dropped))
	put := func(next Gap) {
		if n := len(all); n > 0 && all[n-1].Last+1 == next.First {
			all[n-1].Last, all[n-1].Hash = next.Last, next.Hash
			return
		}
		all = append(all, next)
	}
	for _, d := range dropped {
		for len(g) > 0 && g[0].First < d.Number {
			put(g[0])
			g = g[1:]
		}
		put(Gap{d.Number, d.Number, d.Hash})
	}
	for _, next := range g {
		put(next)
	}
	return all
}

// Hash returns the SHA-256 of the gaps, as hexadecimal digits.
func (g Gaps) Hash() string {
	sum := sha256.New()
	for _, gap := range g {
		fmt.Fprintf(sum, "%d %d %x\n", gap.First, gap.Last, gap.Hash)
	}
	return hex.EncodeToString(sum.Sum(nil))
}

// Verdict is what came of looking at every entry of a log.
type Verdict struct {
	Unbroken bool `json:"unbroken"`
	// Records is how many records and decisions the log has.
	Records int `json:"records"`
	// Dropped is how many are missing that the log has dropped itself, and says so: beyond
	// its limits, or because a person was forgotten.
	Dropped int64 `json:"dropped"`
	// Head is the newest entry, NUMBER:HASH; empty without one.
	Head string `json:"head,omitempty"`
	// Compared says what came of comparing a head that was kept elsewhere.
	Compared string `json:"compared,omitempty"`
	// Breaks says where the chain is broken, at most [MaxBreaks] times.
	Breaks []Break `json:"breaks,omitempty"`
}

// Break is a place at which a chain is broken.
type Break struct {
	// Number is that of the entry, and Time when it was, if it is known.
	Number int64     `json:"number"`
	Time   time.Time `json:"time,omitzero"`
	What   string    `json:"what"`
}

// MaxBreaks is how many breaks a verdict names.
const MaxBreaks = 20

// Checker looks at the entries of a log in the order of their numbers.
type Checker struct {
	verdict Verdict
	gaps    Gaps
	hash    string // of the gaps
	rest    Gaps   // those that are still to come
	at      Head
	begun   bool
	mark    *Mark // the newest one
	kept    *Head
}

// NewChecker returns a checker of the entries between gaps. Kept is a head that was kept
// elsewhere; nil means none.
func NewChecker(gaps Gaps, kept *Head) *Checker {
	return &Checker{gaps: gaps, rest: gaps, hash: gaps.Hash(), kept: kept}
}

func (c *Checker) broken(number int64, at time.Time, format string, args ...any) {
	if len(c.verdict.Breaks) < MaxBreaks {
		c.verdict.Breaks = append(c.verdict.Breaks, Break{number, at.UTC(), fmt.Sprintf(format, args...)})
	}
}

// next takes the gaps before a number, and says which entries are missing before it.
func (c *Checker) next(number int64, at time.Time) {
	for len(c.rest) > 0 && c.rest[0].First < number {
		gap := c.rest[0]
		c.rest = c.rest[1:]
		c.missing(gap.First, at)
		if gap.First <= c.at.Number || gap.Last < gap.First || gap.Last >= number {
			c.broken(gap.First, at, "the gap %d to %d is not where entries were dropped", gap.First, gap.Last)
			continue
		}
		c.at, c.begun = Head{gap.Last, gap.Hash}, true
		c.compare()
	}
	c.missing(number, at)
}

func (c *Checker) missing(number int64, at time.Time) {
	from := c.at.Number + 1
	switch {
	case !c.begun && number > 0 || number <= from: // the first one may have any number: its hash says that nothing was before
	case number == from+1:
		c.broken(from, at, "record %d is missing", from)
	default:
		c.broken(from, at, "records %d to %d are missing", from, number-1)
	}
}

// Add looks at the next entry.
func (c *Checker) Add(e Entry) {
	c.next(e.Number, e.Time)
	if e.Class != ClassMark {
		c.verdict.Records++
	}
	switch {
	case !bytes.Equal(e.Hash, e.hash(c.at.Hash)):
		c.broken(e.Number, e.Time, "record %d is not the one that was written: it was changed, moved or inserted, or the one before it was", e.Number)
	case !e.found():
		c.broken(e.Number, e.Time, "record %d would not be found as what it is: its columns were changed", e.Number)
	}
	if e.Class == ClassMark {
		c.mark = &Mark{}
		_ = json.Unmarshal([]byte(e.Text), c.mark) // then its gaps differ
	}
	c.at, c.begun = Head{e.Number, e.Hash}, true
	c.compare()
}

// compare compares the place that the checker has reached with the head kept elsewhere.
func (c *Checker) compare() {
	if c.kept == nil || c.at.Number != c.kept.Number {
		return
	}
	if c.verdict.Compared = "same"; !bytes.Equal(c.at.Hash, c.kept.Hash) {
		c.verdict.Compared = "different"
		c.broken(c.at.Number, time.Time{}, "the chain up to record %d is another one than that whose head was kept",
			c.at.Number)
	}
}

// found reports whether the columns say what the text says.
func (e *Entry) found() bool {
	want, err := read(e.Class, e.Text)
	return err == nil && want.Class == e.Class && want.Time.UnixMilli() == e.Time.UnixMilli() && want.User == e.User &&
		want.Name == e.Name && want.Outcome == e.Outcome
}

// End compares the end of the chain with the head that the log keeps, and returns the
// verdict.
func (c *Checker) End(head Head) Verdict {
	if head.Number > 0 || len(c.rest) > 0 {
		c.next(head.Number+1, time.Time{})
	}
	switch {
	case !c.begun && head.String() != "":
		c.broken(head.Number, time.Time{}, "all records up to %d are missing", head.Number)
	case c.begun && head.Number < c.at.Number:
		c.broken(head.Number+1, time.Time{}, "the log has written %d records, and there are more: they were inserted",
			head.Number)
	case c.begun && head.Number == c.at.Number && !bytes.Equal(head.Hash, c.at.Hash):
		c.broken(c.at.Number, time.Time{}, "record %d is not the last one that the log has written", c.at.Number)
	}
	if len(c.gaps) > 0 && (c.mark == nil || c.mark.Gaps != c.hash) {
		c.broken(c.gaps[0].First, time.Time{},
			"the records that are missing are not those that the log says it has dropped")
	}
	if c.kept != nil && c.verdict.Compared == "" {
		if c.verdict.Compared = "dropped"; c.kept.Number > c.at.Number {
			c.verdict.Compared = "missing"
			c.broken(c.kept.Number, time.Time{},
				"the chain ends before record %d, whose head was kept: newer records were cut off", c.kept.Number)
		}
	}
	v := c.verdict
	v.Unbroken, v.Head = len(v.Breaks) == 0, c.at.String()
	if c.mark != nil {
		v.Dropped = c.mark.Dropped
	}
	return v
}

// Verify looks at every stored entry. Kept is a head that was kept elsewhere; nil means
// none. Without a log there is nothing to be broken.
func (r *Recorder) Verify(ctx context.Context, kept *Head) (Verdict, error) {
	if r == nil || r.log == nil {
		return Verdict{Unbroken: true}, nil
	}
	return r.log.Verify(ctx, kept)
}
