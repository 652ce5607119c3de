// Package control applies operators' decisions about skills to a [skill.Table]: a
// file says which skills are enabled, disabled or removed and which version is in
// effect, and the configuration limits which may be enabled at all. Where several etui
// share a database, the decisions are there instead, see [Shared].
//
// Commands, the admin API and people with an editor change the same file, under a
// lock or in one step, and a running etui applies it within a second. A file or database
// that cannot be read never enables anything: the last decisions stay in effect, and at
// the start nothing is enabled.
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
	// maxText bounds a reason and an operator's name, in characters.
	maxText = 500
	// maxWait is how long a change waits for the lock.
	maxWait = 5 * time.Second
	// poll is the interval between two looks at the file.
	poll = 500 * time.Millisecond
)

// Control applies the decisions of a file to a table. It is safe for concurrent
// use, also by several processes.
type Control struct {
	path   string
	shared Shared // instead of the file
	table  *skill.Table
	log    *slog.Logger

	mu     sync.Mutex                // guards what follows
	seen   os.FileInfo               // of the file as it was read; nil if there was none
	said   map[string]skill.Decision // the decisions in effect
	read   bool                      // the file was readable once, or missing at the start
	err    error                     // why it is unreadable now
	limits []Limits
}

// Shared is where several etui keep their decisions together, as JSON.
type Shared interface {
	// Read returns all decisions, by skill.
	Read(ctx context.Context) (map[string]json.RawMessage, error)
	// Change replaces the decision about one skill by what change makes of it, while nobody
	// else changes it. Nil is none. It may run change twice.
	Change(ctx context.Context, name string, change func(json.RawMessage) (json.RawMessage, error)) error
	// Changed receives a value when decisions may have changed.
	Changed() <-chan struct{}
}

// Limits say which skills may be enabled, as names or patterns such as db_*. Deny
// wins; an empty Allow allows all.
type Limits struct{ Allow, Deny []string }

// why returns why a skill may not be enabled; empty if it may.
func (l Limits) why(name string) string {
	matches := func(pattern string) bool {
		ok, _ := path.Match(pattern, name) // the configuration has checked the patterns
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

// same reports whether the file is unchanged, without reading it.
func same(a, b os.FileInfo) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.ModTime().Equal(b.ModTime()) && a.Size() == b.Size() && os.SameFile(a, b)
}

// content is the content of the file.
type content struct {
	Version int                       `json:"version"`
	Skills  map[string]skill.Decision `json:"skills"`
}

// New applies the decisions of a file and the limits to a table. The file may be
// missing. A nil log discards.
func New(path string, table *skill.Table, limits Limits, log *slog.Logger) *Control {
	return begin(&Control{path: path, table: table, log: log, limits: []Limits{limits}})
}

// NewShared applies the decisions that several etui share, as New does those of a file.
func NewShared(kept Shared, table *skill.Table, limits Limits, log *slog.Logger) *Control {
	return begin(&Control{shared: kept, table: table, log: log, limits: []Limits{limits}})
}

func begin(c *Control) *Control {
	if c.said = map[string]skill.Decision{}; c.log == nil {
		c.log = slog.New(slog.DiscardHandler)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.load()
	c.limit()
	return c
}

// Restrict replaces the limits. A skill may be enabled if all of them let it.
func (c *Control) Restrict(limits ...Limits) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.limits = limits
	c.limit()
}

// limit limits what the table may enable. The caller holds the lock.
func (c *Control) limit() {
	limits, held := c.limits, ""
	if !c.read {
		held = fmt.Sprintf("the decisions about skills cannot be read: %v", c.err)
	}
	c.table.As("configuration", "").Limit(func(e *skill.Entry) string {
		why := held
		for _, l := range limits {
			why = cmp.Or(why, l.why(e.Name()))
		}
		return why
	})
}

// Err returns why the decisions cannot be read now, so that the last ones are in effect;
// nil if they can.
func (c *Control) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}

// Decision returns the decision about a skill.
func (c *Control) Decision(name string) skill.Decision {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.said[name]
}

// Run applies changes until ctx ends.
func (c *Control) Run(ctx context.Context) {
	if c.shared != nil {
		changed := c.shared.Changed()
		for c.Look(); ; c.Look() {
			select {
			case <-ctx.Done():
				return
			case <-changed:
			}
		}
	}
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

// Look applies what has changed.
func (c *Control) Look() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.shared != nil || !same(c.stat(), c.seen) {
		c.load()
	}
}

func (c *Control) stat() os.FileInfo {
	info, err := os.Stat(c.path)
	if err != nil {
		return nil
	}
	return info
}

// readShared reads the decisions that several etui share.
func (c *Control) readShared() (map[string]skill.Decision, error) {
	ctx, cancel := context.WithTimeout(context.Background(), maxWait)
	defer cancel()
	all, err := c.shared.Read(ctx)
	said := map[string]skill.Decision{}
	for name, raw := range all {
		d, wrong := decode(name, raw)
		said[name], err = d, cmp.Or(err, wrong, check(name, d))
	}
	return said, err
}

// changeShared changes the decision about one skill where several etui keep it.
func changeShared(ctx context.Context, in Shared, name string, change func(skill.Decision) skill.Decision) error {
	return in.Change(ctx, name, func(raw json.RawMessage) (json.RawMessage, error) {
		d, err := decode(name, raw)
		if err != nil {
			return nil, err
		}
		if d = change(d); d.IsZero() {
			return nil, nil
		}
		return json.Marshal(d)
	})
}

func decode(name string, raw json.RawMessage) (d skill.Decision, err error) {
	if raw == nil {
		return d, nil
	}
	if err := json.Unmarshal(raw, &d); err != nil {
		return d, fmt.Errorf("the decision about skill %q: %w", name, err)
	}
	return d, nil
}

// readFile reads the file.
func (c *Control) readFile() (map[string]skill.Decision, error) {
	c.seen = c.stat()
	said, err := read(c.path)
	if errors.Is(err, fs.ErrNotExist) {
		if len(c.said) == 0 {
			said, err = map[string]skill.Decision{}, nil
		} else {
			err = fmt.Errorf("%s is gone; its decisions stay in effect until etui restarts", c.path)
		}
	}
	return said, err
}

// load reads the decisions and applies them. The caller holds the lock.
func (c *Control) load() {
	read := c.readFile
	if c.shared != nil {
		read = c.readShared
	}
	said, err := read()
	if err != nil {
		if c.err == nil || c.err.Error() != err.Error() {
			c.log.Error("the decisions about skills cannot be read; the last ones stay in effect", "error", err)
		}
		c.err = err
		return
	}
	c.apply(said)
}

// apply applies changed decisions to the table. The caller holds the lock.
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
	return a.State == b.State && a.Version == b.Version && slices.Equal(a.Removed, b.Removed) && a.By == b.By &&
		a.Why == b.Why && a.At.Equal(b.At)
}

// Change changes the decision about one skill, where it is kept and in the table. It
// records the operator and the reason in by and why, at most 500 characters of each.
func (c *Control) Change(name, by, why string, change func(*skill.Decision)) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	decide := func(d skill.Decision) skill.Decision {
		change(&d)
		d.By, d.Why, d.At = printable.Line(by, maxText), printable.Line(why, maxText),
			time.Now().UTC().Truncate(time.Millisecond)
		return d
	}
	if c.shared == nil {
		return c.changeFile(name, decide)
	}
	ctx, cancel := context.WithTimeout(context.Background(), maxWait)
	defer cancel()
	if err := changeShared(ctx, c.shared, name, decide); err != nil {
		return err
	}
	c.load()
	return c.err
}

// changeFile changes the decision about one skill in the file. The caller holds the lock.
func (c *Control) changeFile(name string, decide func(skill.Decision) skill.Decision) error {
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
	if said[name] = decide(said[name]); said[name].IsZero() {
		delete(said, name)
	}
	if err := write(c.path, said); err != nil {
		return err
	}
	c.seen = c.stat()
	c.apply(said)
	return nil
}

// mend says what to do about a file that cannot be used.
const mend = "repair it, or stop etui and remove it to forget all decisions"

// read reads the file. It refuses what it does not know, because a typing mistake
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
		if err := check(name, said); err != nil {
			return nil, fmt.Errorf("%s: %w; %s", path, err, mend)
		}
	}
	if file.Skills == nil {
		file.Skills = map[string]skill.Decision{}
	}
	return file.Skills, nil
}

// check refuses a decision that is none.
func check(name string, said skill.Decision) error {
	if said.State != "" && said.State != skill.Enabled && said.State != skill.Disabled {
		return fmt.Errorf("skill %q: the state %q is neither enabled nor disabled", name, said.State)
	}
	return nil
}

// Move adds the decisions of a file to those that several etui share, and renames the file.
// A decision that is there already stays, but a skill that either has disabled is disabled.
// Without a file it does nothing.
func Move(ctx context.Context, path string, to Shared) error {
	said, err := read(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	for name, d := range said {
		err := changeShared(ctx, to, name, func(there skill.Decision) skill.Decision {
			switch {
			case there.IsZero():
				return d
			case d.State == skill.Disabled && there.State != skill.Disabled:
				there.State, there.By, there.Why, there.At = d.State, d.By, d.Why, d.At
			}
			return there
		})
		if err != nil {
			return err
		}
	}
	if err := os.Rename(path, path+".moved"); err != nil {
		return fmt.Errorf("the decisions of %s are in the database now, and it cannot be renamed: %w", path, err)
	}
	return nil
}

// write replaces the file in one step.
func write(path string, said map[string]skill.Decision) error {
	text, err := json.MarshalIndent(content{1, said}, "", "  ")
	if err != nil {
		return err
	}
	if len(text) >= maxFile {
		return fmt.Errorf("%s would be longer than 1 MiB: there are too many decisions", path)
	}
	if err := atomicfile.Write(path, append(text, '\n')); err != nil {
		return fmt.Errorf("writing to the state folder: %w", err)
	}
	return nil
}
