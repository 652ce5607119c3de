// Package control holds what operators have said about skills: which are
// enabled, disabled or removed and which version is in force, in a file; and
// which may be enabled at all, in the configuration.
//
// The file is the one place of decisions. Commands, the admin API and people
// with an editor change the same file, under a lock or in one step, and a running
// etui sees it within a second. A file that cannot be read never opens what was
// closed: what was in force stays, and at the start nothing is enabled.
package control

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/gofrs/flock"

	"github.com/etui-run/etui/internal/atomicfile"
	"github.com/etui-run/etui/internal/printable"
	"github.com/etui-run/etui/skill"
)

const (
	// maxFile bounds the file, in bytes.
	maxFile = 1 << 20
	// maxText bounds a reason and a name of somebody, in bytes.
	maxText = 500
	// maxWait is how long a change waits for others to finish theirs.
	maxWait = 5 * time.Second
	// poll is how often the file is looked at.
	poll = 500 * time.Millisecond
)

// Control applies the decisions of a file to a table. It is safe for concurrent
// use, by several processes, too.
type Control struct {
	path  string
	table *skill.Table
	log   *slog.Logger

	mu     sync.Mutex // guards what follows
	seen   stamp
	said   map[string]skill.Decision // what the table was told
	read   bool                      // the file could be read once, or there was none at the start
	err    error                     // why it cannot be read now
	limits Limits
}

// Limits say which skills may be enabled at all, as names or patterns such as
// db_*. Deny wins; an empty Allow allows all.
type Limits struct{ Allow, Deny []string }

// why says why a skill may not be enabled; nothing when it may.
func (l Limits) why(name string) string {
	matches := func(pattern string) bool {
		ok, _ := path.Match(pattern, name) // patterns were checked with the configuration
		return ok
	}
	if i := slices.IndexFunc(l.Deny, matches); i >= 0 {
		return fmt.Sprintf("skills.deny in etui.yaml names it (%s)", l.Deny[i])
	}
	if len(l.Allow) > 0 && !slices.ContainsFunc(l.Allow, matches) {
		return "skills.allow in etui.yaml does not name it"
	}
	return ""
}

// stamp tells versions of the file apart without reading it.
type stamp struct {
	modified time.Time
	size     int64
	file     os.FileInfo
}

func (s stamp) same(o stamp) bool {
	return s.modified.Equal(o.modified) && s.size == o.size && (s.file == nil) == (o.file == nil) && (s.file == nil || os.SameFile(s.file, o.file))
}

// content is the file.
type content struct {
	Version int                       `json:"version"`
	Skills  map[string]skill.Decision `json:"skills"`
}

// New applies the decisions of a file, which need not exist, and the limits to a
// table. A nil log discards.
func New(path string, table *skill.Table, limits Limits, log *slog.Logger) *Control {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	c := &Control{path: path, table: table, log: log, said: map[string]skill.Decision{}, limits: limits}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.look()
	c.limit()
	return c
}

// Restrict replaces the limits.
func (c *Control) Restrict(limits Limits) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.limits = limits
	c.limit()
}

// limit tells the table what may be enabled. The caller holds the lock.
func (c *Control) limit() {
	limits, held := c.limits, ""
	if !c.read {
		held = fmt.Sprintf("what was decided about skills cannot be read: %v", c.err)
	}
	c.table.As("configuration", "").Limit(func(e *skill.Entry) string { return cmp.Or(held, limits.why(e.Name())) })
}

// Err says why the file, as it is now, cannot be used; what was in force before
// is. Nil when it can.
func (c *Control) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}

// Decision returns what is decided about a skill.
func (c *Control) Decision(name string) skill.Decision {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.said[name]
}

// Run applies changes of the file until ctx ends.
func (c *Control) Run(ctx context.Context) {
	ticker := time.NewTicker(poll)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			c.Look()
		}
	}
}

// Look applies the file if it has changed.
func (c *Control) Look() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.stamp().same(c.seen) {
		c.look()
	}
}

func (c *Control) stamp() stamp {
	info, err := os.Stat(c.path)
	if err != nil {
		return stamp{}
	}
	return stamp{info.ModTime(), info.Size(), info}
}

// look reads the file and applies it. The caller holds the lock.
func (c *Control) look() {
	c.seen = c.stamp()
	said, err := read(c.path)
	if errors.Is(err, fs.ErrNotExist) {
		if len(c.said) == 0 {
			said, err = map[string]skill.Decision{}, nil
		} else {
			err = fmt.Errorf("%s has gone; what was decided holds until etui starts again", c.path)
		}
	}
	if err != nil {
		if c.err == nil || c.err.Error() != err.Error() {
			c.log.Error("what was decided about skills cannot be read; what was in force stays", "error", err)
		}
		c.err = err
		return
	}
	c.apply(said)
}

// apply tells the table what has changed. The caller holds the lock.
func (c *Control) apply(said map[string]skill.Decision) {
	changed := map[string]skill.Decision{}
	for name, d := range said {
		if !equal(d, c.said[name]) {
			changed[name] = d
		}
	}
	for name := range c.said {
		if _, ok := said[name]; !ok {
			changed[name] = skill.Decision{}
		}
	}
	c.said, c.err = said, nil
	if len(changed) > 0 {
		c.table.As("operator", "").Decide(changed)
	}
	if !c.read {
		c.read = true
		c.limit()
	}
}

func equal(a, b skill.Decision) bool {
	return a.State == b.State && a.Version == b.Version && slices.Equal(a.Removed, b.Removed) && a.By == b.By && a.Why == b.Why && a.At.Equal(b.At)
}

// Change changes what is decided about one skill, in the file and in the table.
// By says who does it, why for what reason; both are cut after 500 bytes.
func (c *Control) Change(name, by, why string, change func(*skill.Decision)) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := os.MkdirAll(filepath.Dir(c.path), 0o700); err != nil {
		return fmt.Errorf("making the state folder: %w", err)
	}
	waiting, cancel := context.WithTimeout(context.Background(), maxWait)
	defer cancel()
	lock := flock.New(c.path+".lock", flock.SetPermissions(0o600))
	if _, err := lock.TryLockContext(waiting, 10*time.Millisecond); err != nil {
		return fmt.Errorf("waiting for another change of %s: %w", c.path, err)
	}
	defer func() { _ = lock.Unlock() }()
	said, err := read(c.path)
	if errors.Is(err, fs.ErrNotExist) {
		said, err = maps.Clone(c.said), nil
	}
	if err != nil {
		return fmt.Errorf("nothing is changed: %w", err)
	}
	d := said[name]
	change(&d)
	d.By, d.Why, d.At = clean(by), clean(why), time.Now().UTC().Truncate(time.Millisecond)
	said[name] = d
	if d.IsZero() {
		delete(said, name)
	}
	if err := write(c.path, said); err != nil {
		return err
	}
	c.seen = c.stamp()
	c.apply(said)
	return nil
}

// clean makes a short single line of a text.
func clean(text string) string {
	text = printable.OneLine(text)
	if len(text) > maxText {
		text = strings.ToValidUTF8(text[:maxText], "") + "…"
	}
	return text
}

// mend says what to do about a file that cannot be used.
const mend = "repair it, or stop etui and remove it to forget what was decided"

// read reads the file. It refuses what it does not know: a slip of an editor
// must not enable anything.
func read(path string) (map[string]skill.Decision, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("reading %s: %w", path, err)
	case len(text) > maxFile:
		return nil, fmt.Errorf("%s is longer than 1 MiB; %s", path, mend)
	}
	var file content
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(&file); err != nil {
		line := 1 + bytes.Count(text[:min(int(d.InputOffset()), len(text))], []byte("\n"))
		return nil, fmt.Errorf("%s:%d: %w; %s", path, line, err, mend)
	}
	if d.More() || file.Version != 1 {
		return nil, fmt.Errorf("%s is not of version 1, or has more than one value; %s", path, mend)
	}
	for name, said := range file.Skills {
		if said.State != "" && said.State != skill.Enabled && said.State != skill.Disabled {
			return nil, fmt.Errorf("%s: skill %q: the state %q is neither enabled nor disabled; %s", path, name, said.State, mend)
		}
	}
	if file.Skills == nil {
		file.Skills = map[string]skill.Decision{}
	}
	return file.Skills, nil
}

// write replaces the file in one step.
func write(path string, said map[string]skill.Decision) error {
	text, err := json.MarshalIndent(content{1, said}, "", "  ")
	if err != nil {
		return err
	}
	if len(text) >= maxFile {
		return fmt.Errorf("%s would be longer than 1 MiB: too much is decided", path)
	}
	if err := atomicfile.Write(path, append(text, '\n')); err != nil {
		return fmt.Errorf("writing to the state folder: %w", err)
	}
	return nil
}
