package hub

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/etui-run/etui/skill"
)

// Source is a place that skills come from. It is safe for concurrent use.
type Source interface {
	// Name is what commands and the record of an installed skill call it.
	Name() string
	// Search returns at most limit skills that fit a text, the best first.
	Search(ctx context.Context, text string, limit int) ([]Found, error)
	// Resolve says what a reference stands for now. It returns skill.ErrNotFound
	// where nothing has that name. Any other error means that it is not known
	// whether the skill may be installed, and so it may not.
	Resolve(ctx context.Context, ref Ref) (*Release, error)
	// Download brings a release into a folder: either one archive, named
	// [ArchiveName], or the skill's files below the folder [FilesName]. It brings
	// no more than 50 MB. progress is told of bytes; total is 0 while unknown.
	Download(ctx context.Context, r *Release, into *os.Root, progress func(done, total int64)) error
}

// What Download brings.
const (
	ArchiveName = "archive"
	FilesName   = "files"
)

// Ref names a skill within a registry.
type Ref struct {
	// Owner is who published it, for registries that know owners; for [Git] it is
	// the repository, as owner/name. May be empty.
	Owner string
	Name  string
	// Version is the wanted one; empty means the newest. For [Git] it is a branch,
	// a tag or a commit.
	Version string
}

func (r Ref) String() string {
	text := r.Name
	if r.Owner != "" {
		text = "@" + r.Owner + "/" + r.Name
	}
	if r.Version != "" {
		text += " " + r.Version
	}
	return text
}

// Found is a skill that a search has found.
type Found struct {
	Registry    string `json:"registry,omitempty"`
	Name        string `json:"name"`
	Owner       string `json:"owner,omitempty"`
	Version     string `json:"version,omitempty"`
	Description string `json:"description,omitempty"`
	Installed   bool   `json:"installed,omitempty"`
}

// Verdict is what a registry has found out about a skill.
type Verdict string

// The verdicts. A registry that judges nothing says Unjudged. The empty verdict
// is that of a registry which judges, but whose verdict is not understood.
const (
	Clean      Verdict = "clean"
	Unjudged   Verdict = "unjudged"
	Suspicious Verdict = "suspicious"
	Malicious  Verdict = "malicious"
)

// Release is one version of a skill in a registry.
type Release struct {
	Ref
	// Source says where it comes from: a URL or a path.
	Source  string
	Verdict Verdict
	// Reason is what the registry says about its verdict. May be empty.
	Reason string
	// Digest is the SHA-256 of the archive, and Files those of the files below the
	// skill's folder, in hexadecimal. What is empty is not offered.
	Digest string
	Files  map[string]string
	// Content is the digest of all files together that ClawHub tells with
	// skills from GitHub. Empty: not offered.
	Content string
	// Repository means that the archive holds a repository, and Folder is the
	// skill's place in it.
	Repository bool
	Folder     string

	downloads []download
}

// download is one thing to be fetched. Without a path it is an archive.
type download struct {
	url, path, digest string
}

// The reasons why a skill is not installed. Errors of this package wrap them,
// skill.ErrNotFound, or are a [*NeedsYesError].
var (
	// ErrInstalled: Options.Force replaces it.
	ErrInstalled = errors.New("it is already installed")
	// ErrChanged: its files were changed after it was installed; Options.Force
	// replaces them.
	ErrChanged = errors.New("its files were changed here")
	// ErrRefused: the package is malicious, damaged or not what it says it is.
	ErrRefused = errors.New("refused")
	// ErrUnavailable: the registry did not answer as it should.
	ErrUnavailable = errors.New("the registry is not available")
)

// NeedsYesError says that a person has to look at a skill before it is installed.
type NeedsYesError struct {
	Name    string
	Verdict Verdict
	Reason  string
	Flags   []Flag
}

func (e *NeedsYesError) Error() string {
	text := fmt.Sprintf("%s is not installed: somebody has to look at it first", e.Name)
	if e.Verdict == Suspicious {
		text += "; its registry calls it suspicious"
		if e.Reason != "" {
			text += " (" + e.Reason + ")"
		}
	}
	for _, f := range e.Flags {
		text += "\n  " + f.String()
	}
	return text
}

// refused says why a package is not taken.
func refused(format string, args ...any) error {
	return fmt.Errorf("%w: %w", ErrRefused, fmt.Errorf(format, args...))
}

func notFound(registry string, ref Ref) error {
	return fmt.Errorf("%s in %s: %w", ref, registry, skill.ErrNotFound)
}
