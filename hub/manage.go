package hub

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/etui-run/etui/skill"
)

// List returns the skills in the folder, by name, with what was changed since
// they were installed. A folder that does not exist has none.
func (in *Installer) List(ctx context.Context) ([]Installed, error) {
	root, err := os.OpenRoot(in.c.Folder)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("opening the folder of skills: %w", err)
	}
	defer root.Close()
	entries, err := fs.ReadDir(root.FS(), ".")
	if err != nil {
		return nil, err
	}
	var list []Installed
	for _, d := range entries {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if !d.IsDir() || strings.HasPrefix(d.Name(), ".") {
			continue
		}
		if _, err := root.Stat(d.Name() + "/" + manifestFile); err != nil {
			continue
		}
		one, err := inspect(root, d.Name())
		if err != nil {
			one = Installed{Name: d.Name(), Changed: []string{originFile}}
		}
		list = append(list, one)
	}
	return list, nil
}

// inspect reads what is known about an installed skill.
func inspect(root *os.Root, name string) (Installed, error) {
	one := Installed{Name: name}
	o, err := readOrigin(root, name)
	if err != nil || o == nil {
		return one, err
	}
	is, err := digests(root, name)
	if err != nil {
		return one, err
	}
	one.Origin, one.Changed = o, drift(o.Files, is)
	return one, nil
}

// installed returns a skill that was installed from a registry.
func installed(p *place, name string) (Installed, error) {
	if err := checkSlug(name); err != nil {
		return Installed{}, err
	}
	if _, err := p.Lstat(name); errors.Is(err, fs.ErrNotExist) {
		return Installed{}, fmt.Errorf("%s: %w is installed", name, skill.ErrNotFound)
	}
	one, err := inspect(p.Root, name)
	if err == nil && one.Origin == nil {
		err = fmt.Errorf("%s was not installed from a registry: it has no %s", name, originFile)
	}
	return one, err
}

// Remove removes an installed skill, whatever its files have become. A skill
// that was not installed from a registry is left alone.
func (in *Installer) Remove(ctx context.Context, name string) error {
	return in.alone(ctx, func(p *place) error {
		if _, err := installed(p, name); err != nil {
			return err
		}
		if err := p.take(name); err != nil {
			return fmt.Errorf("removing the skill %s: %w", name, err)
		}
		in.c.Log.Info("skill removed", "skill", name)
		return nil
	})
}

// Pin keeps a skill from being updated, or lets it be updated again.
func (in *Installer) Pin(ctx context.Context, name string, pinned bool) error {
	return in.alone(ctx, func(p *place) error {
		one, err := installed(p, name)
		if err != nil || one.Origin.Pinned == pinned {
			return err
		}
		one.Origin.Pinned = pinned
		return writeOrigin(p.Root, name, one.Origin)
	})
}

// alone runs f while nobody else changes the folder.
func (in *Installer) alone(ctx context.Context, f func(*place) error) error {
	p, err := enter(ctx, in.c.Folder)
	if err != nil {
		return err
	}
	return errors.Join(f(p), p.leave())
}

// The outcomes of an update.
const (
	Updated  = "updated"
	Current  = "current" // there is nothing newer
	Held     = "pinned"
	Skipped  = "skipped" // it needs somebody's yes, or --force
	Withdrew = "removed" // its registry calls it malicious now
	Failed   = "failed"
)

// Outcome is what became of one skill in an update.
type Outcome struct {
	Name  string `json:"name"`
	State string `json:"state"`
	From  string `json:"from,omitempty"`
	To    string `json:"to,omitempty"`
	// Err says why the skill is Skipped, Removed or Failed.
	Err error `json:"-"`
	// Why is the text of Err.
	Why string `json:"why,omitempty"`
}

// Update brings skills to their newest version; without names, all that were
// installed from a registry. One skill that cannot be updated does not keep the
// others: its Outcome says why. Skills whose files were changed here are skipped
// unless Options.Force is set. Pinned skills stay as they are, but those that
// turned out to be malicious are removed, too.
func (in *Installer) Update(ctx context.Context, o Options, names ...string) ([]Outcome, error) {
	if len(names) == 0 {
		list, err := in.List(ctx)
		if err != nil {
			return nil, err
		}
		for _, one := range list {
			if one.Origin != nil {
				names = append(names, one.Name)
			}
		}
	}
	var outcomes []Outcome
	for _, name := range names {
		out := Outcome{Name: name, State: Failed}
		err := in.alone(ctx, func(p *place) error { return in.update(ctx, p, &out, o) })
		if err != nil {
			out.Err, out.Why = err, err.Error()
		}
		outcomes = append(outcomes, out)
		if ctx.Err() != nil {
			return outcomes, ctx.Err()
		}
	}
	return outcomes, nil
}

// update updates one skill.
func (in *Installer) update(ctx context.Context, p *place, out *Outcome, o Options) error {
	one, err := installed(p, out.Name)
	if err != nil {
		return err
	}
	old := one.Origin
	out.From = old.Version
	r, err := in.registryOf(old)
	if err != nil {
		return err
	}
	release, err := in.resolve(ctx, p, r, old.ref(), o)
	if err != nil {
		if _, gone := p.Lstat(out.Name); errors.Is(gone, fs.ErrNotExist) {
			out.State = Withdrew
		}
		return err
	}
	out.To = release.Version
	switch {
	case old.Pinned:
		out.State, out.To = Held, ""
		return nil
	case !o.Force && same(old, release) && len(one.Changed) == 0:
		out.State = Current
		return nil
	}
	origin, flags, err := in.prepare(ctx, p, r, release, o)
	if err != nil {
		return fmt.Errorf("%s from %s: %w", release.Ref, r.Name(), err)
	}
	out.To = origin.Version
	if !o.Force && len(one.Changed) == 0 && len(drift(old.Files, origin.Files)) == 0 {
		out.State = Current
		return nil
	}
	if len(one.Changed) > 0 && !o.Force {
		out.State = Skipped
		return fmt.Errorf("%s: %w: %s; replace them with --force", out.Name, ErrChanged, strings.Join(one.Changed, ", "))
	}
	if err := consent(release, origin, unseen(flags, old.Accepted), o); err != nil {
		out.State = Skipped
		return err
	}
	if !o.Accept {
		origin.Accepted = flags // all of them were accepted before
	}
	origin.Wanted = old.Wanted
	_, err = in.commit(p, origin, o)
	if err == nil {
		out.State = Updated
	}
	return err
}

// registryOf is where an installed skill came from.
func (in *Installer) registryOf(o *Origin) (Source, error) {
	if o.Registry == localName {
		return NewFile(o.Source)
	}
	return in.Registry(o.Registry)
}

// same reports that a release is the installed one, as far as it tells.
func same(o *Origin, r *Release) bool {
	if r.Version == "" && r.Digest == "" {
		return false
	}
	return o.Version == r.Version && (r.Digest == "" || o.Digest == "sha256:"+r.Digest) && (r.Files == nil || len(withoutMeta(drift(r.Files, o.Files))) == 0)
}

func withoutMeta(names []string) []string {
	var list []string
	for _, name := range names {
		if name != registryMeta {
			list = append(list, name)
		}
	}
	return list
}

// unseen are the flags that nobody has accepted yet. A flag that has only moved
// to another line is not new.
func unseen(flags, accepted []Flag) (list []Flag) {
	seen := map[Flag]bool{}
	for _, f := range accepted {
		f.Line = 0
		seen[f] = true
	}
	for _, f := range flags {
		at := f
		at.Line = 0
		if !seen[at] {
			list = append(list, f)
		}
	}
	return list
}
