package skill

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/fsnotify/fsnotify"
)

const (
	// settle is how long files are given to be written to their end; a burst of
	// changes that goes on is looked at after patience all the same.
	settle   = 100 * time.Millisecond
	patience = 500 * time.Millisecond
	// pollLeast and pollMost bound the time between two looks at everything. In
	// between, it grows with what a look costs, to a fiftieth of the time.
	pollLeast = 2 * time.Second
	pollMost  = 4 * time.Second
	// maxWaiting is how many changed files are looked at one by one; beyond, the
	// whole root is.
	maxWaiting = 1000
)

// Run keeps the table up to date until ctx ends. What the system tells of folders
// is looked at within a second, one file for one changed file. Everything is
// looked at every 2 to 4 seconds besides, since network folders tell nothing, and
// a folder may go and come back. Only one Run is to be under way at a time.
func (l *Loader) Run(ctx context.Context) {
	w := l.newWatcher(ctx)
	defer w.close()
	l.entering(w.add)
	defer l.entering(nil)
	poll := time.NewTimer(l.everything(ctx, w))
	defer poll.Stop()
	waiting, since := work{}, time.Time{}
	settled := time.NewTimer(0)
	defer settled.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-poll.C:
			poll.Reset(l.everything(ctx, w))
		case e, ok := <-w.events:
			if !ok {
				w.events = nil
			} else if l.note(waiting, e) {
				if since.IsZero() {
					since = time.Now()
				}
				settled.Reset(min(settle, max(0, patience-time.Since(since))))
			}
		case err, ok := <-w.errors:
			if !ok {
				w.errors = nil
				continue
			}
			l.log.WarnContext(ctx, "watching the folders of skills; they are looked at as a whole", "error", err)
			poll.Reset(0)
		case <-settled.C:
			if len(waiting) > 0 {
				l.pass(ctx, l.table.As("loader", "files changed"), waiting, false)
			}
			waiting, since = work{}, time.Time{}
		}
	}
}

// everything looks at all roots, and returns when to do so again.
func (l *Loader) everything(ctx context.Context, w *watcher) time.Duration {
	start := time.Now()
	w.forget()
	l.pass(ctx, l.table.As("loader", "files changed"), everything(l.roots), false)
	return min(max(pollLeast, 50*time.Since(start)), pollMost)
}

func (l *Loader) entering(f func(string)) {
	l.changing.Lock()
	defer l.changing.Unlock()
	l.enter = f
}

// note adds what an event is about to the work that waits.
func (l *Loader) note(waiting work, e fsnotify.Event) bool {
	l.changing.Lock()
	defer l.changing.Unlock()
	noted := false
	for _, r := range l.roots {
		name, whole := r.concerns(e)
		files, known := waiting[r]
		switch {
		case name == "" && !whole:
			continue
		case whole || len(files) >= maxWaiting:
			waiting[r] = nil
		case !known:
			waiting[r] = map[string]bool{name: true}
		case files != nil:
			files[name] = true
		}
		noted = true
	}
	return noted
}

// concerns tells what an event means to a root: that one of its own YAML files may
// have changed, or that it is to be looked at as a whole.
func (r *root) concerns(e fsnotify.Event) (name string, whole bool) {
	dir, name := filepath.Split(e.Name)
	switch dir = filepath.Clean(dir); {
	case dir == r.real && isYAML(name):
		return name, false
	case e.Name == r.real || e.Name == r.path:
		return "", !e.Has(fsnotify.Chmod)
	case dir != r.real && !strings.HasPrefix(dir, r.real+string(filepath.Separator)):
		return "", false
	case strings.HasPrefix(name, ".."): // the links of a mounted configuration
		return "", true
	case strings.HasPrefix(name, "."):
		return "", false
	case strings.EqualFold(name, "SKILL.md"), strings.HasSuffix(name, ".wasm"):
		return "", true
	}
	return "", e.Has(fsnotify.Create) || e.Has(fsnotify.Remove) || e.Has(fsnotify.Rename)
}

// watcher hears what the system tells of folders. The zero value hears nothing.
type watcher struct {
	*fsnotify.Watcher
	loader  *Loader
	events  chan fsnotify.Event
	errors  chan error
	watched map[string]os.FileInfo
	entered map[string]bool // since the last look at everything began
	late    bool            // the log says that news come late
}

func (l *Loader) newWatcher(ctx context.Context) *watcher {
	w := &watcher{loader: l, watched: map[string]os.FileInfo{}, entered: map[string]bool{}}
	if l.config.PollOnly {
		return w
	}
	inner, err := fsnotify.NewWatcher()
	if err != nil {
		l.log.WarnContext(ctx, "changes of skills are noticed a few seconds late", "error", err)
		return w
	}
	w.Watcher, w.events, w.errors = inner, inner.Events, inner.Errors
	return w
}

func (w *watcher) close() {
	if w.Watcher != nil {
		_ = w.Close()
	}
}

// add watches a folder. One that has been replaced by another is watched anew.
func (w *watcher) add(dir string) {
	if w.Watcher == nil {
		return
	}
	w.entered[dir] = true
	info, err := os.Stat(dir)
	if err != nil {
		delete(w.watched, dir)
		return
	}
	if before := w.watched[dir]; before != nil && os.SameFile(before, info) {
		return
	}
	_ = w.Remove(dir)
	if err := w.Add(dir); err != nil {
		if !w.late {
			w.loader.log.Warn("changes of skills are noticed a few seconds late", "folder", dir, "error", err)
			w.late = true
		}
		return
	}
	w.watched[dir] = info
}

// forget ends the watching of folders that the last look at everything did not
// come to any more.
func (w *watcher) forget() {
	w.loader.changing.Lock()
	defer w.loader.changing.Unlock()
	for dir := range w.watched {
		if !w.entered[dir] {
			_ = w.Remove(dir)
			delete(w.watched, dir)
		}
	}
	clear(w.entered)
}
