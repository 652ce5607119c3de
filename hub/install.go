package hub

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/etui-run/etui/internal/nearest"
	"github.com/etui-run/etui/skill"
)

// Config says what an [Installer] works with.
type Config struct {
	// Folder is where skills are installed. It is made when it is missing.
	Folder string
	// Registries are asked in this order.
	Registries []Source
	// Roots are the certificates that signatures of a registry's skills must lead
	// to, by its name; a skill without a signature has a flag there. Without any,
	// signatures are held against the files, but nobody's is trusted.
	Roots map[string]*x509.CertPool
	// Now is the time; nil means time.Now.
	Now func() time.Time
	// Log is told what is installed and removed; nil discards.
	Log *slog.Logger
}

// Installer installs, updates and removes skills in a folder. It is safe for
// concurrent use; changes are made one at a time, those of other processes
// included.
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

// Options say how a skill is installed.
type Options struct {
	// Force replaces a skill that is already there, or whose files were changed.
	Force bool
	// Accept says yes to flags and to the verdict Suspicious.
	Accept bool
	// Progress is called with each step, and with the bytes of the download; Total
	// is 0 while unknown. May be nil. It must not block.
	Progress func(Progress)
}

// Progress is how far an installation is.
type Progress struct {
	Name        string
	Step        string // resolve, download, check or done
	Done, Total int64
}

func (o Options) report(name, step string, done, total int64) {
	if o.Progress != nil {
		o.Progress(Progress{name, step, done, total})
	}
}

// Registry returns a registry by its name.
func (in *Installer) Registry(name string) (Source, error) {
	var names []string
	for _, r := range in.c.Registries {
		if r.Name() == name {
			return r, nil
		}
		names = append(names, r.Name())
	}
	return nil, fmt.Errorf("there is no registry %q%s", name, nearest.Hint(name, slices.Values(names)))
}

// Lookup finds what a person's or a model's words for a skill mean: a name,
// @owner/name, or owner/repository@name for a Git registry. An empty registry
// means the first one that has the skill; one that does not answer ends the
// search, so that another's skill is never taken instead.
func (in *Installer) Lookup(ctx context.Context, registry, words, version string) (Source, Ref, error) {
	ref, git, err := parse(words, version)
	if err != nil {
		return nil, ref, err
	}
	candidates := in.c.Registries
	if registry != "" {
		r, err := in.Registry(registry)
		if err != nil {
			return nil, ref, err
		}
		candidates = []Source{r}
	}
	var asked []string
	for _, r := range candidates {
		if _, is := r.(*Git); is != git {
			continue
		}
		_, err := r.Resolve(ctx, ref)
		if err == nil {
			return r, ref, nil
		}
		if !errors.Is(err, skill.ErrNotFound) {
			return nil, ref, err
		}
		asked = append(asked, r.Name())
	}
	if len(asked) == 0 {
		return nil, ref, fmt.Errorf("%s: %w: no registry takes such names; see skills.registries in etui.yaml", words, skill.ErrNotFound)
	}
	return nil, ref, fmt.Errorf("%s: %w in %s; etui skills find WORDS looks for others", words, skill.ErrNotFound, strings.Join(asked, ", "))
}

// parse reads how people name skills.
func parse(words, version string) (ref Ref, git bool, err error) {
	words = strings.TrimSpace(words)
	ref = Ref{Name: words, Version: version}
	if rest, ok := strings.CutPrefix(words, "@"); ok {
		ref.Owner, ref.Name, ok = strings.Cut(rest, "/")
		if !ok || checkSlug(strings.ToLower(ref.Owner)) != nil {
			return ref, false, fmt.Errorf("%s names no skill; write @owner/name", shown(words))
		}
	} else if strings.Contains(words, "/") {
		git = true
		ref.Owner, ref.Name, _ = strings.Cut(words, "@")
		if strings.Count(ref.Owner, "/") != 1 || checkPath(ref.Owner) != nil {
			return ref, true, fmt.Errorf("%s names no skill; write owner/repository@name", shown(words))
		}
	}
	if git && ref.Name == "" {
		return ref, git, nil // the only one of the repository
	}
	return ref, git, checkSlug(ref.Name)
}

// Install installs a skill from a registry. The error wraps [ErrInstalled],
// [ErrRefused], [ErrUnavailable] or skill.ErrNotFound, or is a [*NeedsYesError];
// the folder is then as it was before.
func (in *Installer) Install(ctx context.Context, r Source, ref Ref, o Options) (*Installed, error) {
	p, err := enter(ctx, in.c.Folder)
	if err != nil {
		return nil, err
	}
	done, err := in.install(ctx, p, r, ref, o)
	return done, errors.Join(err, p.leave())
}

func (in *Installer) install(ctx context.Context, p *place, r Source, ref Ref, o Options) (*Installed, error) {
	if err := in.free(p, ref.Name, o); err != nil {
		return nil, err
	}
	release, err := in.resolve(ctx, p, r, ref, o)
	if err != nil {
		return nil, err
	}
	origin, flags, err := in.prepare(ctx, p, r, release, o)
	if err != nil {
		return nil, fmt.Errorf("%s from %s: %w", ref, r.Name(), err)
	}
	origin.Wanted = ref.Version
	if err := in.free(p, origin.Name, o); err != nil {
		return nil, err // the package itself may have told its name
	}
	if err := consent(release, origin, flags, o); err != nil {
		return nil, err
	}
	return in.commit(p, origin, o)
}

// free reports that a name is taken.
func (in *Installer) free(p *place, name string, o Options) error {
	if name == "" {
		return nil
	}
	if err := checkSlug(name); err != nil {
		return refused("%w", err)
	}
	if _, err := p.Lstat(name); errors.Is(err, fs.ErrNotExist) || err == nil && o.Force {
		return nil
	} else if err != nil {
		return err
	}
	return fmt.Errorf("%s: %w; update it, or replace it with --force", name, ErrInstalled)
}

// resolve asks the registry, and acts on its verdict.
func (in *Installer) resolve(ctx context.Context, p *place, r Source, ref Ref, o Options) (*Release, error) {
	o.report(ref.Name, "resolve", 0, 0)
	release, err := r.Resolve(ctx, ref)
	if err != nil {
		return nil, err
	}
	switch release.Verdict {
	case Clean, Unjudged, Suspicious:
		return release, nil
	case Malicious:
		removed, err := in.withdraw(p, r.Name(), release)
		return nil, errors.Join(refused("%s calls %s malicious%s%s", r.Name(), release.Ref, reason(release), removed), err)
	}
	return nil, refused("%s does not say whether %s may be trusted", r.Name(), release.Ref)
}

func reason(r *Release) string {
	if r.Reason == "" {
		return ""
	}
	return " (" + r.Reason + ")"
}

// withdraw removes an installed skill that its registry now calls malicious.
func (in *Installer) withdraw(p *place, registry string, r *Release) (removed string, err error) {
	o, err := readOrigin(p.Root, r.Name)
	if err != nil {
		return "", err
	}
	if o == nil || o.Registry != registry || o.Owner != "" && r.Owner != "" && !strings.EqualFold(o.Owner, r.Owner) {
		return "", nil // another skill of that name
	}
	if err := p.take(r.Name); err != nil {
		return "", fmt.Errorf("removing the skill %s: %w; remove it by hand", r.Name, err)
	}
	in.c.Log.Warn("malicious skill removed", "skill", r.Name, "registry", registry, "reason", r.Reason)
	return "; the installed one is removed", nil
}

// prepare downloads a release, and takes and checks it apart into the fresh
// folder.
func (in *Installer) prepare(ctx context.Context, p *place, r Source, release *Release, o Options) (*Origin, []Flag, error) {
	if err := errors.Join(p.Mkdir(incoming, 0o700), p.Mkdir(fresh, 0o755)); err != nil {
		return nil, nil, err
	}
	into, err := p.OpenRoot(incoming)
	if err != nil {
		return nil, nil, err
	}
	defer into.Close()
	if err := r.Download(ctx, release, into, func(done, total int64) { o.report(release.Name, "download", done, total) }); err != nil {
		return nil, nil, err
	}
	o.report(release.Name, "check", 0, 0)
	skill, err := p.OpenRoot(fresh)
	if err != nil {
		return nil, nil, err
	}
	defer skill.Close()
	digest, files, err := unpack(ctx, into, release, skill)
	if err != nil {
		return nil, nil, refused("%w", err)
	}
	origin := &Origin{
		Registry: r.Name(), Source: release.Source, Name: release.Name, Owner: release.Owner, Version: release.Version,
		Digest: digest, Files: files, Verdict: release.Verdict, Installed: in.c.Now().UTC().Truncate(time.Second),
	}
	if err := checkFiles(release, skill, files); err != nil {
		return nil, nil, refused("%w", err)
	}
	if origin.Name, err = checkManifest(skill, release.Name); err != nil {
		return nil, nil, refused("%w", err)
	}
	if origin.Signature, origin.Signer, err = in.checkSignature(r.Name(), skill, files); err != nil {
		return nil, nil, refused("%w", err)
	}
	flags, err := Scan(skill.FS())
	if origin.Signature == Unsigned && in.c.Roots[r.Name()] != nil {
		// Whoever changes a signed package could leave the signature out.
		flags = append(flags, Flag{File: signatureFile, Rule: "unsigned", Why: "it is missing, and the skills of " + r.Name() + " should be signed"})
	}
	return origin, flags, err
}

// consent asks for a yes where one is needed.
func consent(r *Release, origin *Origin, flags []Flag, o Options) error {
	if o.Accept {
		origin.Accepted = flags
		return nil
	}
	if len(flags) > 0 || r.Verdict == Suspicious {
		return &NeedsYesError{Name: origin.Name, Verdict: r.Verdict, Reason: r.Reason, Flags: flags}
	}
	return nil
}

// commit puts the checked skill in place.
func (in *Installer) commit(p *place, origin *Origin, o Options) (*Installed, error) {
	if err := writeOrigin(p.Root, fresh, origin); err != nil {
		return nil, err
	}
	if err := p.put(origin.Name); err != nil {
		return nil, fmt.Errorf("putting the skill %s in place: %w", origin.Name, err)
	}
	in.c.Log.Info("skill installed", "skill", origin.Name, "registry", origin.Registry, "version", origin.Version, "source", origin.Source)
	o.report(origin.Name, "done", 0, 0)
	return &Installed{Name: origin.Name, Origin: origin}, nil
}

// unpack takes what was downloaded apart into the skill's folder. It returns the
// archive's digest, unless there was none, and those of the files.
func unpack(ctx context.Context, from *os.Root, r *Release, into *os.Root) (digest string, files map[string]string, err error) {
	f, err := from.Open(ArchiveName)
	if errors.Is(err, fs.ErrNotExist) {
		sub, err := from.OpenRoot(FilesName)
		if err != nil {
			return "", nil, errors.New("nothing came")
		}
		defer sub.Close()
		a, err := openFolder(sub.FS())
		if err != nil {
			return "", nil, err
		}
		files, err = extract(ctx, a, r.Name, 0, into)
		return "", files, err
	}
	if err != nil {
		return "", nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return "", nil, err
	}
	if digest, err = digestOf(from, ArchiveName); err != nil {
		return "", nil, err
	}
	if r.Digest != "" && digest != r.Digest {
		return "", nil, fmt.Errorf("the archive is not the one that the registry describes: its digest is %s, not %s", digest, r.Digest)
	}
	a, err := openArchive(f, info.Size(), r.part())
	if err != nil {
		return "", nil, err
	}
	name, packed := r.Name, info.Size()
	if r.Repository {
		packed = 0 // the archive holds much else
	}
	files, err = extract(ctx, a, name, packed, into)
	return "sha256:" + digest, files, err
}

// part is what is taken of the release's archive.
func (r *Release) part() part {
	if !r.Repository {
		return nil
	}
	return below(r.Folder)
}

// extract writes a package's files. Nothing is written unless all of its headers
// are in order.
func extract(ctx context.Context, a archive, name string, packed int64, into *os.Root) (map[string]string, error) {
	list := a.entries()
	paths, err := plan(list, name, packed)
	if err != nil {
		return nil, err
	}
	for i, e := range list {
		if e.folder && paths[i] != "" {
			if err := into.MkdirAll(paths[i], 0o755); err != nil {
				return nil, err
			}
		}
	}
	files := map[string]string{}
	err = a.each(func(i int, content io.Reader) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		if paths[i] == "" {
			return nil
		}
		if err := into.MkdirAll(path.Dir(paths[i]), 0o755); err != nil {
			return err
		}
		digest, err := write(into, paths[i], list[i].executable, content)
		files[paths[i]] = digest
		return err
	})
	return files, err
}

// checkFiles holds the files against the digests that the registry offers.
func checkFiles(r *Release, folder *os.Root, files map[string]string) error {
	if r.Content != "" {
		if content, err := contentHash(folder, files); err != nil || content != r.Content {
			return errors.New("the files are not those that the registry has judged: the digest of all of them differs")
		}
	}
	if r.Files == nil {
		return nil
	}
	for _, name := range drift(r.Files, files) {
		switch want, got := r.Files[name], files[name]; {
		case got == "":
			return fmt.Errorf("%s is missing from the package", shown(name))
		case want == "" && name != registryMeta:
			return fmt.Errorf("%s is in the package, but not among the files that the registry lists", shown(name))
		case want != "":
			return fmt.Errorf("%s is not the one that the registry describes: its digest is %s, not %s", shown(name), got, want)
		}
	}
	return nil
}

// registryMeta is a file that ClawHub adds to archives.
const registryMeta = "_meta.json"
