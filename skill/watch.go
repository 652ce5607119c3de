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
	// settle is how long the loader waits for a file to be complete, and patience how
	// long at most while changes keep coming.
	settle   = 100 * time.Millisecond
	patience = 500 * time.Millisecond
	// pollLeast and pollMost bound the time between two looks at everything. Between
	// them it is fifty times as long as a look takes.
	pollLeast = 2 * time.Second
	pollMost  = 4 * time.Second
	// maxWaiting is how many changed files are read one by one; beyond that the whole
	// root is.
	maxWaiting = 1000
)

// Run keeps the table up to date until ctx ends. It reads a changed file within a
// second of the system's notice. It also looks at everything every 2 to 4 seconds:
// network folders give no notice, and folders come and go. Only one Run may run at a
// time.
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
			l.log.WarnContext(ctx, "watching the folders of skills failed; reading them all", "error", err)
			poll.Reset(0)
		case <-settled.C:
			if len(waiting) > 0 {
				l.pass(ctx, l.table.As("loader", "files changed"), waiting, false)
			}
			waiting, since = work{}, time.Time{}
		}
	}
}

// everything looks at all roots and returns the time until the next look.
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

// note adds the subject of an event to the waiting work.
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

// concerns says what an event means to a root: one of its own YAML files may have
// changed, or the whole root must be looked at.
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

// watcher receives the system's notices about folders. Without a Watcher it receives
// none.
type watcher struct {
	*fsnotify.Watcher
	loader  *Loader
	events  chan fsnotify.Event
	errors  chan error
	watched map[string]os.FileInfo
	entered map[string]bool // since the last look at everything began
	late    bool            // the log says that notices are late
}

func (l *Loader) newWatcher(ctx context.Context) *watcher {
	w := &watcher{loader: l, watched: map[string]os.FileInfo{}, entered: map[string]bool{}}
	if l.pollOnly {
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

// add watches a folder, and watches a replaced one anew.
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

// forget stops watching folders that the last look at everything did not enter.
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
