package hub

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"os"
	"strings"
	"time"

	"github.com/etui-run/etui/hub/internal/archive"
	"github.com/etui-run/etui/phrase"
	"github.com/etui-run/etui/scan"
)

// Options say how to install a skill.
type Options struct {
	// Force replaces a skill that exists, or whose files were changed, and lets an
	// update that names the skill go back to a lower version.
	Force bool
	// Accept accepts flags and the verdict Suspicious.
	Accept bool
	// Only, when not empty, is the Sum of an [Offer]: other files are refused.
	Only string
	// Progress is called at each step and during the download. May be nil. It must
	// not block.
	Progress func(Progress)
}

// Progress is the state of an installation. Done and Total are bytes of the
// download; Total is 0 while unknown.
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

// Install installs a skill from a source. The error wraps [ErrInstalled],
// [ErrRefused], [ErrUnavailable] or skill.ErrNotFound, or is a [*NeedsYesError];
// the folder is then as it was before.
func (in *Installer) Install(ctx context.Context, s Source, ref Ref, o Options) (done *Installation, err error) {
	err = in.alone(ctx, func(p *place) error {
		done, err = in.install(ctx, p, s, ref, o)
		return err
	})
	return done, err
}

func (in *Installer) install(ctx context.Context, p *place, s Source, ref Ref, o Options) (*Installation, error) {
	if err := free(p, ref.Name, o); err != nil {
		return nil, err
	}
	release, err := in.resolve(ctx, p, s, ref, o)
	if err != nil {
		return nil, err
	}
	origin, flags, err := in.prepare(ctx, p, s, release, o)
	if err != nil {
		return nil, err
	}
	origin.Wanted = ref.Version
	if err := free(p, origin.Name, o); err != nil {
		return nil, err // the name may come from the package
	}
	if o.Only != "" && o.Only != sumOf(origin.Files) {
		return nil, refused("the files of %s are others than those that somebody looked at; look again", origin.Name)
	}
	if err := consent(release, origin, flags, o); err != nil {
		return nil, err
	}
	return in.commit(p, origin, o)
}

// free reports that a name is taken.
func free(p *place, name string, o Options) error {
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
	return phrase.Errorf("%s: %w; update it, or replace it with --force", name, ErrInstalled)
}

// resolve asks the source and acts on its verdict.
func (in *Installer) resolve(ctx context.Context, p *place, s Source, ref Ref, o Options) (*Release, error) {
	o.report(ref.Name, "resolve", 0, 0)
	r, err := s.Resolve(ctx, ref)
	if err != nil {
		return nil, err
	}
	switch r.Verdict {
	case Clean, Unjudged, Suspicious:
		return r, nil
	case Malicious:
		removed, err := in.withdraw(p, s.Name(), r)
		return nil, errors.Join(refused("%s calls %s malicious%s%s", s.Name(), r.Ref, inBrackets(r.Reason),
			phrase.Text(removed)), err)
	}
	return nil, refused("%s does not say whether %s may be trusted", s.Name(), r.Ref)
}

// withdraw removes an installed skill that its source now calls malicious.
func (in *Installer) withdraw(p *place, source string, r *Release) (removed string, err error) {
	o, err := readOrigin(p.Root, r.Name)
	if err != nil {
		return "", err
	}
	if o == nil || o.Registry != source || o.Owner != "" && r.Owner != "" && !strings.EqualFold(o.Owner, r.Owner) {
		return "", nil // another skill of that name
	}
	if err := p.take(r.Name); err != nil {
		return "", phrase.Errorf("removing the skill %s: %w; remove it by hand", r.Name, err)
	}
	in.c.Log.Warn("malicious skill removed", "skill", r.Name, "registry", source, "reason", r.Reason)
	return "; the installed one is removed", nil
}

// prepare downloads, unpacks and checks a release in the hidden folder.
func (in *Installer) prepare(ctx context.Context, p *place, s Source, r *Release, o Options) (*Origin, []scan.Flag,
	error) {
	from, err := p.open(incoming)
	if err != nil {
		return nil, nil, err
	}
	defer from.Close()
	folder, err := p.open(fresh)
	if err != nil {
		return nil, nil, err
	}
	defer folder.Close()
	err = s.Download(ctx, r, from, func(done, total int64) { o.report(r.Name, "download", done, total) })
	if err != nil {
		return nil, nil, phrase.Errorf("%s from %s: %w", cmp.Or(r.String(), r.Location), s.Name(), err)
	}
	o.report(r.Name, "check", 0, 0)
	origin, err := in.check(ctx, from, s.Name(), r, folder)
	if err != nil {
		return nil, nil, phrase.Errorf("%s from %s: %w", cmp.Or(r.String(), r.Location), s.Name(), refused("%w", err))
	}
	flags, err := scan.Files(folder.FS())
	if origin.Signature == Unsigned && in.c.Roots[s.Name()] != nil {
		// Otherwise removing the signature would hide a change.
		flags = append(flags, scan.Flag{File: signatureFile, Rule: "unsigned",
			Why: "it is missing, and the skills of " + s.Name() + " should be signed"})
	}
	return origin, flags, err
}

// check unpacks a download into the skill's folder and compares it with the
// release. It returns the skill's record.
func (in *Installer) check(ctx context.Context, from *os.Root, source string, r *Release, folder *os.Root) (*Origin,
	error) {
	digest, files, err := unpack(ctx, from, r, folder)
	if err != nil {
		return nil, err
	}
	if err := checkFiles(r, folder, files); err != nil {
		return nil, err
	}
	name, version, err := checkManifest(folder, r.Name)
	if err != nil {
		return nil, err
	}
	signature, signer, err := in.checkSignature(source, folder, files)
	return &Origin{
		Registry: source, Location: r.Location, Name: name, Owner: r.Owner, Version: cmp.Or(r.Version, version),
		Digest: digest, Files: files,
		Signature: signature, Signer: signer, Verdict: r.Verdict, Installed: in.c.Now().UTC().Truncate(time.Second),
	}, err
}

// unpack returns the digest of the archive, if there is one, and those of the
// files.
func unpack(ctx context.Context, from *os.Root, r *Release, into *os.Root) (digest string, files map[string]string,
	err error) {
	if _, err := from.Stat(ArchiveName); errors.Is(err, fs.ErrNotExist) {
		folder, err := from.OpenRoot(FilesName)
		if err != nil {
			return "", nil, phrase.Errorf("nothing was downloaded")
		}
		defer folder.Close()
		a, err := archive.OpenFolder(folder.FS())
		if err != nil {
			return "", nil, err
		}
		files, err = archive.Extract(ctx, a, r.Name, 0, into)
		return "", files, err
	}
	if digest, err = digestOf(from, ArchiveName); err != nil {
		return "", nil, err
	}
	if r.Digest != "" && digest != r.Digest {
		return "", nil, phrase.Errorf("the archive is not the one that the registry describes: its digest is %s, not %s", digest, r.Digest)
	}
	var part archive.Part
	if r.Repository {
		part = archive.Below(r.Folder)
	}
	err = withArchive(from, part, func(a archive.Archive, size int64) error {
		if r.Repository {
			size = 0 // the archive holds more than the skill
		}
		files, err = archive.Extract(ctx, a, r.Name, size, into)
		return err
	})
	return "sha256:" + digest, files, err
}

// withArchive calls f with an archive that was downloaded, and its size.
func withArchive(root *os.Root, part archive.Part, f func(archive.Archive, int64) error) error {
	file, err := root.Open(ArchiveName)
	if err != nil {
		return err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return err
	}
	a, err := archive.Open(file, info.Size(), part)
	if err != nil {
		return err
	}
	return f(a, info.Size())
}

// registryMeta is a file that ClawHub adds to archives.
const registryMeta = "_meta.json"

// checkFiles compares the files with the digests that the source offers.
func checkFiles(r *Release, folder *os.Root, files map[string]string) error {
	if r.Content != "" {
		if content, err := contentHash(folder, files); err != nil || content != r.Content {
			return phrase.Errorf("the files differ from the ones that the registry judged: the digest over all of them is another")
		}
	}
	if r.Files == nil {
		return nil
	}
	for _, name := range drift(r.Files, files) {
		switch want, got := r.Files[name], files[name]; {
		case got == "":
			return phrase.Errorf("%s is missing from the package", archive.Quote(name))
		case want == "" && name != registryMeta:
			return phrase.Errorf("%s is in the package, but not among the files that the registry lists",
				archive.Quote(name))
		case want != "":
			return phrase.Errorf("%s is not the one that the registry describes: its digest is %s, not %s",
				archive.Quote(name), got, want)
		}
	}
	return nil
}

// consent asks for a person's consent if it is needed.
func consent(r *Release, origin *Origin, flags []scan.Flag, o Options) error {
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
func (in *Installer) commit(p *place, origin *Origin, o Options) (*Installation, error) {
	if err := writeOrigin(p.Root, fresh, origin); err != nil {
		return nil, err
	}
	if err := p.put(origin.Name); err != nil {
		return nil, phrase.Errorf("putting the skill %s in place: %w", origin.Name, err)
	}
	in.c.Log.Info("skill installed", "skill", origin.Name, "registry", origin.Registry, "version", origin.Version,
		"source", origin.Location)
	o.report(origin.Name, "done", 0, 0)
	return &Installation{Name: origin.Name, Origin: origin}, nil
}
