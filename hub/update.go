package hub

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/etui-run/etui/hub/scan"
)

// The states of an update.
const (
	Updated  = "updated"
	Current  = "current" // there is nothing newer
	Held     = "pinned"
	Skipped  = "skipped" // it needs Options.Accept or Options.Force
	Withdrew = "removed" // its source now calls it malicious
	Failed   = "failed"
)

// Outcome is the result of an update for one skill.
type Outcome struct {
	Name  string `json:"name"`
	State string `json:"state"`
	From  string `json:"from,omitempty"`
	To    string `json:"to,omitempty"`
	// Err is why the skill is Skipped, Withdrew or Failed.
	Err error `json:"-"`
	// Why is the text of Err.
	Why string `json:"why,omitempty"`
}

// Update brings skills to their newest version; without names, all that were
// installed from a source. A skill that cannot be updated does not stop the
// others. Skills whose files were changed here are skipped unless Options.Force
// is set. Pinned skills are removed when they turn out to be malicious, and
// otherwise left alone.
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
	s, err := in.sourceOf(old)
	if err != nil {
		return err
	}
	release, err := in.resolve(ctx, p, s, Ref{Owner: old.Owner, Name: old.Name, Version: old.Wanted}, o)
	if err != nil {
		if _, gone := p.Lstat(out.Name); errors.Is(gone, fs.ErrNotExist) {
			out.State = Withdrew
		}
		return err
	}
	intact := !o.Force && len(one.Changed) == 0
	switch {
	case old.Pinned:
		out.State = Held
		return nil
	case intact && same(old, release):
		out.State, out.To = Current, release.Version
		return nil
	}
	out.To = release.Version
	origin, flags, err := in.prepare(ctx, p, s, release, o)
	if err != nil {
		return err
	}
	out.To = origin.Version
	switch {
	case intact && len(drift(old.Files, origin.Files)) == 0:
		out.State = Current
		return nil
	case len(one.Changed) > 0 && !o.Force:
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
	if _, err = in.commit(p, origin, o); err == nil {
		out.State = Updated
	}
	return err
}

// sourceOf returns the source of an installed skill.
func (in *Installer) sourceOf(o *Origin) (Source, error) {
	if o.Registry == fileName {
		return NewFile(o.Location)
	}
	return in.source(o.Registry)
}

// same reports whether a release is the installed one, if it can be told without
// a download.
func same(o *Origin, r *Release) bool {
	if r.Version == "" && r.Digest == "" || o.Version != r.Version || r.Digest != "" && o.Digest != "sha256:"+r.Digest {
		return false
	}
	return r.Files == nil || !slices.ContainsFunc(drift(r.Files, o.Files), func(name string) bool { return name != registryMeta })
}

// unseen returns the flags that were not accepted yet. A flag that has only
// moved to another line is not new.
func unseen(flags, accepted []scan.Flag) (list []scan.Flag) {
	for _, f := range flags {
		if !slices.ContainsFunc(accepted, func(a scan.Flag) bool { a.Line = f.Line; return a == f }) {
			list = append(list, f)
		}
	}
	return list
}
