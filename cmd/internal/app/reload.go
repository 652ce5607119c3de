package app

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/fsnotify/fsnotify"

	"github.com/etui-run/etui/catalog"
	"github.com/etui-run/etui/cmd/internal/config"
	"github.com/etui-run/etui/cmd/internal/nameset"
	"github.com/etui-run/etui/cmd/internal/rulebook"
	"github.com/etui-run/etui/cmd/internal/state"
	"github.com/etui-run/etui/cmd/internal/trust"
	"github.com/etui-run/etui/engine"
	"github.com/etui-run/etui/inspect"
	"github.com/etui-run/etui/internal/filestamp"
	"github.com/etui-run/etui/lab/preview"
	"github.com/etui-run/etui/secret"
	"github.com/etui-run/etui/server/api"
	"github.com/etui-run/etui/skill/control"
	"github.com/etui-run/etui/tool"
	"github.com/etui-run/etui/workflow"
)

const (
	// settle is how long etui waits after a change until the file is written completely.
	settle = 100 * time.Millisecond
	// poll is how often the file is checked where the system reports no changes.
	poll = 2 * time.Second
)

// reloader applies the users, the rules, the toolsets and the allowed skills of a changed
// configuration while etui serves, and the API keys of a changed file. If the file cannot be used, is empty or is gone,
// what was in effect stays, and the status says why.
type reloader struct {
	file     string
	environ  []string
	app      *App
	registry *catalog.Registry
	secrets  *secret.Set
	skills   *skills
	gateway  *engine.Engine
	steady   func(path string) (still func() bool)
	before   func(path string) (text []byte, known bool)
	log      *slog.Logger
	asked    chan struct{} // to look at the file now

	// Only run uses the following fields, but for status.
	text    []byte // as it was last read
	seen    filestamp.Stamp
	waits   bool // a change waits for the end of a command
	found   bool // the file has been there
	served  *config.Config
	restart []string       // keys that differ from served, and wait for the next start
	limits  control.Limits // in effect
	flows   string         // stamps of the files of workflows, as they were read last
	behind  bool           // workflows of the configuration wait for the end of a command
	keys    string         // why the file of API keys cannot be used; empty if it can
	wrong   struct {
		file   error // the configuration cannot be read
		flows  error // the folder of workflows cannot be read
		change error // what was read last cannot be put in effect
	}
	status atomic.Pointer[api.Configuration]
}

func newReloader(a *App) *reloader {
	w := a.Workspace
	r := &reloader{
		file: w.File, environ: w.Environ, app: a, registry: a.Config.Registry, secrets: a.settings.Secrets,
		skills: a.skills, gateway: a.Engine,
		steady: a.tools.steady, before: a.tools.before, log: a.settings.Log, asked: make(chan struct{}, 1),
		text: w.Text, found: w.Found, served: w.Config, limits: state.Limits(w.Config), flows: w.Flows,
	}
	r.status.Store(&api.Configuration{File: w.File, Since: time.Now()})
	return r
}

// run watches the file until ctx ends. It watches the folder, since editors
// replace the file by another one, and looks at the file itself now and then,
// since network folders and mounted configurations report nothing.
func (r *reloader) run(ctx context.Context) {
	var changes chan fsnotify.Event // nil, which never has any, without a watcher
	var failures chan error
	if w, err := fsnotify.NewWatcher(); err != nil {
		r.log.WarnContext(ctx, "changes of the configuration are noticed late", "error", err)
	} else {
		defer func() { _ = w.Close() }()
		if err := w.Add(filepath.Dir(r.file)); err != nil {
			r.log.WarnContext(ctx, "changes of the configuration are noticed late", "error", err)
		}
		changes, failures = w.Events, w.Errors
	}
	ticker := time.NewTicker(poll)
	defer ticker.Stop()
	written := time.NewTimer(0) // what changed since the file was first read
	defer written.Stop()
	var first time.Time // of the changes that written waits for
	changed := func() {
		if first.IsZero() {
			first = time.Now()
		}
		if time.Since(first) < poll { // a program that never stops writing keeps nobody from looking
			written.Reset(settle)
		}
	}
	for {
		select {
		case <-ctx.Done():
			return
		case e, ok := <-changes:
			if !ok {
				changes = nil
			} else if filepath.Base(e.Name) == filepath.Base(r.file) {
				changed()
			}
		case err := <-failures:
			if err != nil {
				r.log.WarnContext(ctx, "watching the configuration", "error", err)
			} else {
				failures = nil
			}
		case <-ticker.C:
			if waits := (*trust.UnconfirmedError)(nil); r.stamp() != r.seen || errors.As(r.wrong.change, &waits) {
				changed()
			}
			r.lookAtKeys(ctx)
			r.lookAtFlows(ctx)
		case <-r.asked:
			r.look(ctx)
			r.lookAtKeys(ctx)
			r.lookAtFlows(ctx)
		case <-written.C:
			first = time.Time{}
			r.look(ctx)
		}
	}
}

// again makes run look at the file soon.
func (r *reloader) again() {
	select {
	case r.asked <- struct{}{}:
	default: // it will
	}
}

func (r *reloader) stamp() filestamp.Stamp {
	info, _ := os.Stat(r.file) // it has the zero stamp then
	return filestamp.Of(info)
}

// look reads the file and applies it if it has changed. A file that a program may have
// just written is read again later; until then only a change that a person accepts counts.
func (r *reloader) look(ctx context.Context) {
	still := r.steady(r.file)
	seen := r.stamp()
	text, err := config.Read(r.file)
	if !still() {
		before, known := r.before(r.file)
		if !known || bytes.Equal(before, r.text) {
			r.wait(ctx, seen)
			return
		}
		text, err = before, nil // a person has accepted a change
	}
	switch {
	case errors.Is(err, fs.ErrNotExist) && !r.found: // there is still none
		r.seen, r.waits = seen, false
		return
	case err == nil && bytes.Equal(text, r.text) && r.wrong.file == nil && r.wrong.change == nil:
		r.seen, r.waits = seen, false
		return
	case err == nil && len(bytes.TrimSpace(text)) == 0:
		err = config.Error{File: r.file, Message: "the file is empty"}
	case err == nil:
		change := r.apply(ctx, text)
		if errors.Is(change, errUnsteady) {
			r.wait(ctx, seen)
			return
		}
		r.text, r.found, r.wrong.change = text, true, change
	}
	if r.seen, r.waits, r.wrong.file = seen, false, err; err != nil {
		r.wrong.change = nil // it was about a file that is no more
	}
	if news := r.report(err == nil); news != "" {
		r.log.ErrorContext(ctx, "the changed configuration cannot be used; the previous rules and skills stay in effect", "error", news)
	}
}

// report puts what is wrong into the status, and returns it if that is new. Applied means
// that what was read last was to be put in effect.
func (r *reloader) report(applied bool) (news string) {
	before, now := r.status.Load(), api.Configuration{File: r.file, Restart: r.restart}
	if err := errors.Join(r.wrong.file, r.wrong.flows, r.wrong.change); err != nil {
		now.Error = err.Error()
	}
	if now.Since = before.Since; applied && r.wrong.change == nil {
		now.Since = time.Now()
	}
	r.status.Store(&now)
	if now.Error == before.Error {
		return ""
	}
	return now.Error
}

// lookAtKeys puts the file of API keys in effect if it has changed, unless a program runs
// that could have written it.
func (r *reloader) lookAtKeys(ctx context.Context) {
	if r.app.state.Shared != nil { // followKeys does it
		return
	}
	still := r.steady(r.app.Workspace.KeysFile())
	changed, err := r.app.state.Keys.Reload(still)
	says := ""
	switch {
	case err != nil:
		if says = err.Error(); says != r.keys {
			r.log.ErrorContext(ctx, "the changed API keys cannot be used; the previous ones stay in effect", "error",
				says)
		}
	case changed:
		r.log.InfoContext(ctx, "API keys were changed by hand and are in effect", "keys", len(r.app.state.Keys.List()))
	}
	r.keys = says
}

// followKeys puts in effect what other etui change of the API keys, until ctx ends.
func (a *App) followKeys(ctx context.Context) {
	a.state.Keys.Run(ctx, func(err error) {
		a.settings.Log.ErrorContext(ctx, "the API keys cannot be read; the previous ones stay in effect", "error", err)
	})
}

// lookAtFlows puts changed files of workflows in effect, unless a program runs that could
// have written them. Then, or if one of them cannot be used, what was in effect stays.
func (r *reloader) lookAtFlows(ctx context.Context) {
	still := r.steady(r.app.Workspace.FlowFolder())
	now, err := r.app.Workspace.FlowStamps()
	if !still() {
		return
	}
	changed := err == nil && (now != r.flows || r.behind || r.wrong.flows != nil)
	if !changed && err == nil {
		return
	}
	if changed {
		change := r.apply(ctx, r.text)
		if errors.Is(change, errUnsteady) {
			return
		}
		r.flows, r.wrong.change = now, change
	}
	r.wrong.flows = err
	if news := r.report(changed); news != "" {
		r.log.ErrorContext(ctx, "the changed workflows cannot be used; the previous ones stay in effect", "error", news)
	}
}

// wait leaves a changed file for the next look.
func (r *reloader) wait(ctx context.Context, seen filestamp.Stamp) {
	if seen == r.seen || r.waits {
		return
	}
	r.waits = true
	r.log.WarnContext(ctx, "the configuration has changed while a command runs that could have done it; it is looked at again when the command has ended. If it is yours, etui config apply puts it in effect now", "file", r.file)
}

// errUnsteady says that a program runs that could have written the workflows which were read.
var errUnsteady = errors.New("a command runs that could have changed the workflows")

// apply puts a configuration in effect, with the files of workflows as they are now. While a
// program runs that could have written these, the workflows in effect stay.
func (r *reloader) apply(ctx context.Context, text []byte) error {
	still := r.steady(r.app.Workspace.FlowFolder())
	c, err := config.Parse(r.file, text, r.environ)
	if err == nil {
		err = r.app.Workspace.CheckTrust(text)
	}
	if err != nil {
		return err
	}
	behind := !still()
	var p *rulebook.Book
	if behind {
		p, err = rulebook.CompileRules(c, r.app.Config.Workflows.Load())
	} else if err = c.AddFlows(r.app.Workspace.Dir, r.environ); err == nil {
		p, err = rulebook.Compile(c) // it reads the scripts of workflows
	}
	if !behind && !still() {
		return errUnsteady
	}
	if err != nil {
		return err
	}
	wrong := nameset.Check(c, r.registry.Catalog(), r.skills.table.Snapshot())
	if err := wrong.Err(); err != nil {
		return err
	}
	if err := errors.Join( // those in use stay known
		r.secrets.Set("the changed "+r.file, c.Secrets()...),
		r.secrets.Mark("the changed secrets of "+r.file, c.Hidden...),
	); err != nil {
		return err
	}
	// A skill that the new rules leave to skills.allow and skills.deny is never open to the
	// old ones, nor the other way round.
	r.skills.control.Restrict(r.limits, state.Limits(c))
	if err := p.Apply(r.registry, r.app.Config.Workflows); err != nil {
		r.skills.control.Restrict(r.limits)
		return fmt.Errorf("%s: %w", r.file, err)
	}
	r.behind, r.limits = behind, state.Limits(c)
	r.skills.control.Restrict(r.limits)
	r.replaceSkills(ctx, c)
	for _, warning := range append(wrong.Warnings(),
		p.Warnings(r.registry.Catalog(), r.app.state.Keys, len(r.app.Workspace.Config.Channels) > 0)...) {
		r.log.WarnContext(ctx, "configuration", "warning", warning)
	}
	r.log.InfoContext(ctx, "configuration changed: its rules and skills are in effect", "rules",
		len(c.Visibility.Rules)+len(c.Policy.Rules), "toolsets", len(c.Skills.Toolsets))
	if keys := config.Restart(r.served, c); !slices.Equal(keys, r.restart) {
		if r.restart = keys; len(keys) > 0 {
			r.log.WarnContext(ctx, "these keys of the configuration have changed and take effect at the next start",
				"keys", strings.Join(keys, ", "))
		}
	}
	return nil
}

// check says what is wrong with a text for the configuration, to people who must not read the environment: the value
// of a variable is not in the error. Nothing changes.
func (r *reloader) check(text []byte) error {
	if err := r.secrets.Redactor().Whole(string(text)); err != nil {
		return err
	}
	_, wrong := r.compile(r.environ, text)
	if wrong == nil {
		return nil
	}
	unnamed := make([]string, len(r.environ))
	for i, line := range r.environ {
		name, _, _ := strings.Cut(line, "=")
		unnamed[i] = name + "=${" + name + "}"
	}
	_, shown := r.compile(unnamed, text)
	if shown == nil {
		shown = errors.New("")
	}
	known := map[string]bool{}
	for line := range strings.SplitSeq(wrong.Error(), "\n") {
		place, _, _ := strings.Cut(line, ": ")
		known[place] = true
	}
	says := slices.DeleteFunc(strings.Split(shown.Error(), "\n"), func(line string) bool { // only what is wrong in any case
		place, _, _ := strings.Cut(line, ": ")
		return !known[place]
	})
	if len(says) == 0 {
		return errors.New("the value of an environment variable is wrong; etui config validate on the gateway's machine says which")
	}
	return errors.New(strings.Join(says, "\n"))
}

// write replaces the configuration's text, and has it looked at.
func (r *reloader) write(path string, text []byte) error {
	defer r.again()
	return config.Write(path, text)
}

// switched returns a text for the configuration with a tool switched on or off.
func (r *reloader) switched(text []byte, tool string, on bool) ([]byte, error) {
	if err := r.check(text); err != nil { // it keeps the values of variables for itself
		return nil, err
	}
	return config.SwitchTool(r.file, text, r.environ, tool, on)
}

// compile reads a text for the configuration in an environment.
func (r *reloader) compile(environ []string, text []byte) (*rulebook.Book, error) {
	c, err := config.Parse(r.file, text, environ)
	if err != nil {
		return nil, err
	}
	if err := c.AddFlows(r.app.Workspace.Dir, environ); err != nil {
		return nil, err
	}
	book, err := rulebook.Compile(c)
	if err != nil {
		return nil, err
	}
	return book, nameset.Check(c, r.registry.Catalog(), r.skills.table.Snapshot()).Err()
}

// books returns what is in effect, and what a text would put into effect, each with the same tools. Nothing
// changes.
func (r *reloader) books(text string) (now, other preview.Book, err error) {
	if err := r.check([]byte(text)); err != nil {
		return now, other, err
	}
	book, err := r.compile(r.environ, []byte(text))
	if err != nil { // a file that it names has just changed
		return now, other, errors.New("the configuration cannot be used; etui config validate on the gateway's machine says why")
	}
	apart := r.registry.Wrap(func(t tool.Tool) tool.Tool { return t })
	bookOf := func(c *catalog.Catalog) preview.Book {
		return preview.Book{Catalog: c, Users: rulebook.Of(c).Users(), Decide: rulebook.Decide}
	}
	now = bookOf(apart.Catalog())
	err = book.Apply(apart, &workflow.Table{})
	return now, bookOf(apart.Catalog()), err
}

// otherwise returns what a text would put into effect.
func (r *reloader) otherwise(text string) (preview.Book, error) {
	_, other, err := r.books(text)
	return other, err
}

// preview says what the rules of a text would have meant for past turns.
func (r *reloader) preview(ctx context.Context, text string, past []inspect.PastTurn) (preview.Result, error) {
	now, other, err := r.books(text)
	if err != nil {
		return preview.Result{}, err
	}
	return preview.Compare(ctx, now, other, func(agent string) string {
		now, err := r.gateway.Agents().Status(agent)
		if err != nil { // the agent is gone
			return ""
		}
		return now.Groups
	}, past)
}

// replaceSkills gives agents whose active skill is gone the one that the configuration
// now names for them.
func (r *reloader) replaceSkills(ctx context.Context, c *config.Config) {
	for _, name := range r.gateway.Agents().Roster.Names() {
		now, err := r.gateway.Agents().Status(name)
		active := now.Skill
		_, there := r.registry.Catalog().Skill(active)
		_, known := r.skills.table.Snapshot().Get(active)
		if err != nil || there || known { // one that is only disabled is not replaced by more tools
			continue
		}
		skill := c.Workflow.DefaultSkill
		for _, a := range c.Agents {
			if a.Name == name {
				skill = cmp.Or(a.Skill, skill)
			}
		}
		if err := r.gateway.Agents().Roster.SetSkill(ctx, name, skill); err != nil {
			r.log.ErrorContext(ctx, "the agent's skill has gone, and it has no tools now", "agent", name, "skill",
				active, "error", err)
			continue
		}
		r.log.WarnContext(ctx, "the agent's skill has gone", "agent", name, "skill", active, "now", skill)
	}
}
