package names

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"golang.org/x/time/rate"

	"github.com/etui-run/etui/internal/printable"
)

const (
	// life is how long an answer counts if nothing says that names have changed, and again how long it
	// counts that a name is not known. While the platform is away, the last answer counts for most.
	life, again, most = 5 * time.Minute, 30 * time.Second, time.Hour
	// patience is how long the platform may take for an answer.
	patience = 20 * time.Second
	// maxNames is how many names are known at once; beyond it, those asked for long ago are forgotten.
	maxNames = 200
	// maxShown is how many chats are named that have the same name.
	maxShown = 5
)

// Chat is a chat that has a name.
type Chat struct {
	ID string
	// Where is the server or team that it belongs to, as people know it; empty where there is one only.
	Where string
	// Outside means that the account is not in it.
	Outside bool
}

// Directory knows which chats of an account have names: a # and what people call it. It asks the
// platform when it has to, several times in a minute at most. A nil one knows none: all texts are IDs. It
// is safe for concurrent use.
type Directory struct {
	find func(ctx context.Context, names []string) (map[string][]Chat, error)
	log  *slog.Logger
	pace *rate.Limiter
	turn chan struct{} // has room for the one who asks

	mu    sync.Mutex
	known map[string]entry
}

// entry is what is known of a name.
type entry struct {
	id         string
	why        error // why there is no ID
	found      time.Time
	until      time.Time
	configured bool
}

// NewDirectory returns a directory that knows no names yet. Find returns all chats that have names.
func NewDirectory(find func(ctx context.Context, names []string) (map[string][]Chat, error),
	log *slog.Logger) *Directory {
	return &Directory{
		find: find, log: log, pace: rate.NewLimiter(rate.Every(5*time.Second), 10), turn: make(chan struct{}, 1),
		known: map[string]entry{},
	}
}

// Is reports whether a text is a name.
func Is(text string) bool { return len(text) > 1 && text[0] == '#' }

// Same reports whether two names differ in capitals at most. Letters of other scripts that are folded to
// ASCII's, as the long s, make another name: anybody may give it to a chat.
func Same(a, b string) bool {
	ascii := func(r rune) bool { return r < utf8.RuneSelf }
	other, long := []rune(b), 0
	for _, r := range a {
		if long == len(other) || ascii(r) != ascii(other[long]) {
			return false
		}
		long++
	}
	return strings.EqualFold(a, b)
}

// Keep adds names of the configuration, of which [Directory.Check] tells.
func (d *Directory) Keep(names ...string) {
	if d == nil {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, name := range names {
		if Is(name) {
			e := d.known[name]
			e.configured = true
			d.put(name, e)
		}
	}
}

// put keeps an entry; d.mu is held.
func (d *Directory) put(name string, e entry) {
	if _, there := d.known[name]; !there && len(d.known) >= maxNames {
		first := ""
		for other, old := range d.known {
			if first == "" || old.until.Before(d.known[first].until) {
				first = other
			}
		}
		delete(d.known, first)
	}
	d.known[name] = e
}

// ID returns the ID of the chat that has a name, also with the error that the account is not in it. A text
// that is no name is an ID already.
func (d *Directory) ID(ctx context.Context, name string) (string, error) {
	if d == nil || !Is(name) {
		return name, nil
	}
	d.look(ctx, name)
	d.mu.Lock()
	defer d.mu.Unlock()
	e := d.known[name]
	if e.id == "" && e.why == nil {
		e.why = fmt.Errorf("the platform was not asked which chat %q is: it was asked too often; try again in a moment",
			name)
	}
	return e.id, e.why
}

// Match returns the IDs and names of a list that mean a chat with these IDs.
func (d *Directory) Match(ctx context.Context, list []string, ids ...string) (found []string) {
	for _, item := range list {
		if id, _ := d.ID(ctx, item); id != "" && slices.Contains(ids, id) {
			found = append(found, item)
		}
	}
	return found
}

// Forget makes the next question go to the platform: names have changed, or a chat is gone.
func (d *Directory) Forget() {
	if d == nil {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	for name, e := range d.known {
		d.known[name] = entry{configured: e.configured}
	}
}

// Check asks for the names of the configuration that are not known, and says which have no chat.
func (d *Directory) Check(ctx context.Context) error {
	if d == nil {
		return nil
	}
	d.look(ctx, "")
	var list []error
	for _, says := range d.Unknown() {
		list = append(list, errors.New(says))
	}
	return errors.Join(list...)
}

// Unknown says which names of the configuration have no chat, and why.
func (d *Directory) Unknown() (list []string) {
	if d == nil {
		return nil
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, e := range d.known {
		if e.configured && e.why != nil {
			list = append(list, e.why.Error())
		}
	}
	slices.Sort(list)
	return list
}

// stale returns the names that have to be asked for: a wanted one, and those of the configuration.
func (d *Directory) stale(wanted string) (list []string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if _, there := d.known[wanted]; wanted != "" && !there {
		d.put(wanted, entry{})
	}
	now := time.Now()
	if e, there := d.known[wanted]; there && now.Before(e.until) {
		return nil
	}
	for name, e := range d.known {
		if !now.Before(e.until) && (e.configured || name == wanted) {
			list = append(list, name)
		}
	}
	slices.Sort(list)
	return list
}

// look asks the platform for what is not known, unless somebody else does at the same time.
func (d *Directory) look(ctx context.Context, wanted string) {
	if len(d.stale(wanted)) == 0 {
		return
	}
	select {
	case d.turn <- struct{}{}:
		defer func() { <-d.turn }()
	case <-ctx.Done():
		return
	}
	list := d.stale(wanted)
	if len(list) == 0 || !d.pace.Allow() {
		return
	}
	asking, done := context.WithTimeout(ctx, patience)
	defer done()
	found, err := d.find(asking, list)
	if ctx.Err() != nil {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, name := range list {
		old, now := d.known[name], time.Now()
		e := old
		e.until = now.Add(again)
		switch {
		case err != nil && now.Sub(old.found) < most:
		case err != nil:
			e.id, e.why = "", fmt.Errorf("which chat %q is could not be asked: %w", name, err)
		default:
			if e.id, e.why = one(name, found[name]); e.why == nil {
				e.found, e.until = now, now.Add(life)
			}
		}
		if e.configured && e.why != nil && (old.why == nil || old.why.Error() != e.why.Error()) {
			d.log.WarnContext(ctx, "a chat of the configuration is not known, so nothing counts there", "chat", name,
				"error", e.why)
		}
		if e.configured && e.why == nil && e.id != old.id {
			d.log.InfoContext(ctx, "a chat of the configuration is known by its name", "chat", name, "id", e.id)
		}
		d.put(name, e)
	}
}

// one returns the ID of the only chat that has a name and that the account is in, or can be.
func one(name string, chats []Chat) (string, error) {
	inside := slices.DeleteFunc(slices.Clone(chats), func(c Chat) bool { return c.Outside })
	switch {
	case len(inside) == 1:
		return inside[0].ID, nil
	case len(chats) == 1:
		return chats[0].ID, fmt.Errorf("the account is not in the chat %q: invite it there", name)
	case len(chats) > 1 && len(inside) == 0:
		return "", fmt.Errorf("the account is in none of the %d chats %q: invite it to the one that is meant",
			len(chats), name)
	case len(inside) == 0:
		return "", fmt.Errorf("no chat that the account sees has the name %q: check the name, and invite the account there", name)
	}
	var list []string
	for _, c := range inside[:min(len(inside), maxShown)] {
		says := c.ID
		if c.Where != "" {
			says += " in " + printable.Line(c.Where, 60)
		}
		list = append(list, says)
	}
	if len(inside) > maxShown {
		list = append(list, fmt.Sprintf("and %d more", len(inside)-maxShown))
	}
	return "", fmt.Errorf("%d chats have the name %q: write the ID of the one that is meant: %s", len(inside), name,
		strings.Join(list, ", "))
}
