package hub

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"slices"
	"strings"

	"github.com/etui-run/etui/hub/internal/archive"
	"github.com/etui-run/etui/internal/printable"
	"github.com/etui-run/etui/phrase"
	"github.com/etui-run/etui/scan"
	"github.com/etui-run/etui/skill"
	"github.com/etui-run/etui/skill/markdown"
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
// is set, and so are skills whose source gives a lower version, unless they are
// also among the names. Pinned skills are removed when they turn out to be malicious, and
// otherwise left alone.
func (in *Installer) Update(ctx context.Context, o Options, names ...string) ([]Outcome, error) {
	named := len(names) > 0
	if !named {
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
		err := in.alone(ctx, func(p *place) error { return in.update(ctx, p, &out, o, named) })
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

// update updates one skill. named reports that somebody asked for this one.
func (in *Installer) update(ctx context.Context, p *place, out *Outcome, o Options, named bool) error {
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
	case older(p, old, origin) && (!o.Force || !named):
		out.State = Skipped
		return lower(p, one, origin)
	case len(one.Changed) > 0 && !o.Force:
		out.State = Skipped
		return phrase.Errorf("%s: %w: %s; replace them with --force", out.Name, ErrChanged, printable.List(one.Changed))
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

// older reports that a fresh skill has a lower version than the installed one, in its
// source or in its SKILL.md: a source may give an old package under a new number, and a
// tag of Git may move back.
func older(p *place, old, origin *Origin) bool {
	return !isCommit(old.Version) && !isCommit(origin.Version) &&
		skill.CompareVersions(origin.Version, old.Version) < 0 ||
		skill.CompareVersions(ownVersion(p, fresh), ownVersion(p, old.Name)) < 0
}

// isCommit reports a commit of Git, which is neither higher nor lower than another.
func isCommit(version string) bool {
	return len(version) == 40 && strings.Trim(version, "0123456789abcdef") == ""
}

// ownVersion returns the version that the SKILL.md in a folder gives; empty if it gives
// none or cannot be read.
func ownVersion(p *place, folder string) string {
	text, err := skill.ReadFile(p.Root, folder+"/"+archive.Manifest, maxManifest)
	if err != nil {
		return ""
	}
	d, _, _ := markdown.Parse(folder, text)
	return d.Version
}

// lower is the refusal of an older skill.
func lower(p *place, one Installation, origin *Origin) error {
	describe := func(o *Origin, folder string) string {
		version, own := cmp.Or(o.Version, "no version"), ownVersion(p, folder)
		if own != "" && own != o.Version {
			version += " (" + own + " in its SKILL.md)"
		}
		return printable.Line(version, maxExcerpt)
	}
	text := ""
	if len(one.Changed) > 0 {
		text = ", which also replaces the files that were changed here: " + printable.List(one.Changed)
	}
	return phrase.Errorf("%s: %w: %s, and %s is installed; to go back: etui skills update %[1]s --force%[5]s",
		one.Name, ErrOlder, describe(origin, fresh), describe(one.Origin, one.Name), text)
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
	return r.Files == nil || !slices.ContainsFunc(drift(r.Files, o.Files),
		func(name string) bool { return name != registryMeta })
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
