package hub

import (
	"context"
	"crypto/x509"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/etui-run/etui/hub/internal/archive"
	"github.com/etui-run/etui/internal/printable"
	"github.com/etui-run/etui/phrase"
	"github.com/etui-run/etui/skill"
)

// Config configures an [Installer].
type Config struct {
	// Folder is where skills are installed. It is made if it is missing.
	Folder string
	// Sources are asked in this order.
	Sources []Source
	// Roots are the certificates that the signatures of a source's skills must lead
	// to, by the source's name; there, a skill without a signature gets a flag.
	// Without roots a signature must match the files, but its signer is not trusted.
	Roots map[string]*x509.CertPool
	// Now returns the time; nil means time.Now.
	Now func() time.Time
	// Log gets what is installed and removed; nil discards.
	Log *slog.Logger
}

// Installer installs, updates and removes skills in a folder. It is safe for
// concurrent use. One installer at a time changes the folder, also across
// processes.
type Installer struct{ c Config }

// New returns an Installer.
func New(c Config) *Installer {
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	return &Installer{c}
}

// source returns a source by its name.
func (in *Installer) source(name string) (Source, error) {
	var names []string
	for _, s := range in.c.Sources {
		if s.Name() == name {
			return s, nil
		}
		names = append(names, s.Name())
	}
	return nil, phrase.Errorf("there is no registry %q%s", name, phrase.Near(name, slices.Values(names)))
}

// sources returns the named source; all for an empty name.
func (in *Installer) sources(name string) ([]Source, error) {
	if name == "" {
		return in.c.Sources, nil
	}
	s, err := in.source(name)
	return []Source{s}, err
}

// Lookup finds the skill that a person or a model names: name, @owner/name, or,
// for [Git], owner/repository@name or the address of a repository or of a folder in it. An empty source means the first one that has
// the skill. A source that does not answer ends the search, so that another's
// skill is never taken instead.
func (in *Installer) Lookup(ctx context.Context, source, words, version string) (Source, Ref, error) {
	if words = pasted(words); isAddress(words) {
		return in.lookupAddress(ctx, source, words, version)
	}
	ref, repository, err := parse(words, version)
	if err != nil {
		return nil, ref, err
	}
	candidates, err := in.sources(source)
	if err != nil {
		return nil, ref, err
	}
	var asked []string
	for _, s := range candidates {
		if _, is := s.(*Git); is != repository {
			continue
		}
		_, err := s.Resolve(ctx, ref)
		if err == nil {
			return s, ref, nil
		}
		if !errors.Is(err, skill.ErrNotFound) {
			return nil, ref, err
		}
		asked = append(asked, s.Name())
	}
	if len(asked) == 0 {
		return nil, ref, phrase.Errorf("%s: %w: no registry takes such names; see skills.registries in etui.yaml",
			words, skill.ErrNotFound)
	}
	return nil, ref, phrase.Errorf("%s: %w in %s; etui skills find WORDS looks for others", words, skill.ErrNotFound,
		strings.Join(asked, ", "))
}

// lookupAddress finds the skill at the address of a repository. Only a registry of its host is asked:
// the same name belongs to somebody else on another one.
func (in *Installer) lookupAddress(ctx context.Context, source, words, version string) (Source, Ref, error) {
	a, err := parseAddress(words, version)
	if err != nil {
		return nil, a.ref, err
	}
	candidates, err := in.sources(source)
	if err != nil {
		return nil, a.ref, err
	}
	for _, s := range candidates {
		if g, ok := s.(*Git); ok && g.hosts(a.host) {
			_, err := s.Resolve(ctx, a.ref)
			return s, a.ref, err
		}
	}
	return nil, a.ref, phrase.Errorf("%s: %w: no registry is for %s; add %s to skills.registries in etui.yaml, beside those that you use", words, skill.ErrNotFound, a.host, a.line())
}

// List returns the skills in the folder by name, with the files that were changed
// since they were installed. A missing folder has no skills.
func (in *Installer) List(ctx context.Context) ([]Installation, error) {
	root, err := os.OpenRoot(in.c.Folder)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, phrase.Errorf("opening the folder of skills: %w", err)
	}
	defer root.Close()
	entries, err := fs.ReadDir(root.FS(), ".")
	if err != nil {
		return nil, err
	}
	var list []Installation
	for _, d := range entries {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if !d.IsDir() || strings.HasPrefix(d.Name(), ".") {
			continue
		}
		if _, err := root.Stat(d.Name() + "/" + archive.Manifest); err != nil {
			continue
		}
		one, err := inspect(root, d.Name())
		if err != nil {
			one = Installation{Name: d.Name(), Changed: []string{archive.Record}}
		}
		list = append(list, one)
	}
	return list, nil
}

// inspect reads what is known about an installed skill.
func inspect(root *os.Root, name string) (Installation, error) {
	one := Installation{Name: name}
	o, err := readOrigin(root, name)
	if err != nil || o == nil {
		return one, err
	}
	now, err := digests(root, name)
	if err != nil {
		return one, err
	}
	one.Origin, one.Changed = o, drift(o.Files, now)
	return one, nil
}

// installed returns a skill that was installed from a source.
func installed(p *place, name string) (Installation, error) {
	if err := checkSlug(name); err != nil {
		return Installation{}, err
	}
	if _, err := p.Lstat(name); errors.Is(err, fs.ErrNotExist) {
		return Installation{}, phrase.Errorf("%s: %w is installed", name, skill.ErrNotFound)
	}
	one, err := inspect(p.Root, name)
	if err == nil && one.Origin == nil {
		err = phrase.Errorf("%s was not installed from a registry: it has no %s", name, archive.Record)
	}
	return one, err
}

// Remove removes an installed skill. If its files were changed, it returns ErrChanged,
// unless Options.Force is set. It leaves a skill alone that was not installed from a
// source.
func (in *Installer) Remove(ctx context.Context, name string, o Options) error {
	return in.alone(ctx, func(p *place) error {
		one, err := installed(p, name)
		if err != nil {
			return err
		}
		if len(one.Changed) > 0 && !o.Force {
			return phrase.Errorf("%s: %w: %s; remove them, too, with --force", name, ErrChanged,
				printable.List(one.Changed))
		}
		if err := p.take(name); err != nil {
			return phrase.Errorf("removing the skill %s: %w", name, err)
		}
		in.c.Log.Info("skill removed", "skill", name)
		return nil
	})
}

// Pin excludes a skill from updates, or includes it again.
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

// alone calls f with the folder locked.
func (in *Installer) alone(ctx context.Context, f func(*place) error) error {
	p, err := enter(ctx, in.c.Folder)
	if err != nil {
		return err
	}
	return errors.Join(f(p), p.leave())
}
