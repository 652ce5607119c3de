package hub

import (
	"context"
	"fmt"
	"os"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/etui-run/etui/hub/internal/archive"
	"github.com/etui-run/etui/phrase"
	"github.com/etui-run/etui/scan"
	"github.com/etui-run/etui/skill"
)

// Source is a place that skills come from. It is safe for concurrent use.
type Source interface {
	// Name is the source's name in commands and in the record of a skill.
	Name() string
	// Search returns at most limit skills that match a text, the best first.
	Search(ctx context.Context, text string, limit int) ([]Match, error)
	// Resolve returns what a reference means now. It returns skill.ErrNotFound if
	// nothing has that name. After any other error it is unknown whether the skill
	// may be installed, so it may not.
	Resolve(ctx context.Context, ref Ref) (*Release, error)
	// Download brings a release into a folder: either one archive, named
	// [ArchiveName], or the skill's files below the folder [FilesName], and no more
	// than 50 MB. It reports bytes to progress, which may be nil; total is 0 while
	// unknown.
	Download(ctx context.Context, r *Release, into *os.Root, progress func(done, total int64)) error
}

// The names of what Download brings.
const (
	ArchiveName = "archive"
	FilesName   = "files"
)

// Ref names a skill within a source.
type Ref struct {
	// Owner is the publisher, for sources that have owners; for [Git] it is the
	// repository, as owner/name. May be empty.
	Owner string
	Name  string
	// Version is the wanted one; empty means the newest. For [Git] it is a branch,
	// a tag or a commit.
	Version string
	// Folder is the place of the skill in the repository, for [Git]. May be empty.
	Folder string
}

func (r Ref) String() string {
	text := r.Name
	if r.Owner != "" {
		text = "@" + r.Owner + "/" + r.Name
	}
	return versioned(text, r.Version)
}

// versioned is a name with its version, if there is one.
func versioned(name, version string) string { return strings.TrimSpace(name + " " + version) }

// parse reads how people name skills. repository reports a name of [Git].
func parse(words, version string) (ref Ref, repository bool, err error) {
	words = strings.TrimSpace(words)
	ref = Ref{Name: words, Version: version}
	if rest, ok := strings.CutPrefix(words, "@"); ok {
		ref.Owner, ref.Name, ok = strings.Cut(rest, "/")
		if !ok || checkSlug(strings.ToLower(ref.Owner)) != nil {
			return ref, false, phrase.Errorf("%s names no skill; write @owner/name", archive.Quote(words))
		}
	} else if strings.Contains(words, "/") {
		text, branch, _ := strings.Cut(words, "#")
		if ref, err = parsePath(text, branch, version); err != nil || ref.Name == "" {
			return ref, true, err // without a name, the only skill there
		}
		repository = true
	}
	return ref, repository, checkSlug(ref.Name)
}

// isRepository reports a name of the form owner/name.
func isRepository(name string) bool {
	return strings.Count(name, "/") == 1 && archive.CheckPath(name) == nil
}

// checkSlug reports what is wrong with a skill's name, which becomes a folder's.
func checkSlug(slug string) error {
	bad := func(r rune) bool {
		return r != '-' && r != '_' && !unicode.IsDigit(r) && (!unicode.IsLetter(r) || unicode.IsUpper(r))
	}
	switch {
	case slug == "":
		return phrase.Errorf("the skill has no name")
	case utf8.RuneCountInString(slug) > 64, strings.ContainsFunc(slug, bad), archive.CheckPath(slug) != nil:
		return phrase.Errorf("%s cannot be the name of a skill: it has 1 to 64 lower-case letters, digits, '-' and '_'",
			archive.Quote(slug))
	}
	return nil
}

// Match is a skill that a search has found.
type Match struct {
	Registry    string `json:"registry,omitempty"` // the source's name
	Name        string `json:"name"`
	Owner       string `json:"owner,omitempty"`
	Version     string `json:"version,omitempty"`
	Description string `json:"description,omitempty"`
	Installed   bool   `json:"installed,omitempty"`
}

// Words returns the name under which [Installer.Lookup] finds the skill.
func (f Match) Words() string {
	switch {
	case f.Owner == "":
		return f.Name
	case strings.Contains(f.Owner, "/"):
		return f.Owner + "@" + f.Name
	}
	return "@" + f.Owner + "/" + f.Name
}

// Verdict is what a source knows about a skill's intentions.
type Verdict string

// The verdicts. A source that judges nothing returns Unjudged. The empty verdict
// is one that was not understood.
const (
	Clean      Verdict = "clean"
	Unjudged   Verdict = "unjudged"
	Suspicious Verdict = "suspicious"
	Malicious  Verdict = "malicious"
)

// Release is one version of a skill in a source.
type Release struct {
	Ref
	// Location is the URL or path that it comes from.
	Location string
	Verdict  Verdict
	// Reason explains the verdict. May be empty.
	Reason string
	// Digest is the SHA-256 of the archive, and Files are those of the files below
	// the skill's folder, in hexadecimal. Empty means that the source offers none.
	Digest string
	Files  map[string]string
	// Content is the digest of all files together that ClawHub gives for skills
	// from GitHub. Empty means none.
	Content string
	// Repository means that the archive holds a repository, and Folder is the
	// skill's place in it.
	Repository bool
	Folder     string

	downloads []download
}

// download is one thing to fetch: an archive or, with a path, a file.
type download struct {
	url, path, digest string
}

// The reasons why a skill is not installed. An error of this package wraps one of
// them or skill.ErrNotFound, or is a [*NeedsYesError].
var (
	// ErrInstalled means that the skill exists; Options.Force replaces it.
	ErrInstalled = phrase.Errorf("it is already installed")
	// ErrChanged means that its files were changed after it was installed;
	// Options.Force replaces them.
	ErrChanged = phrase.Errorf("its files were changed here")
	// ErrOlder means that its source now gives a lower version than the one that is
	// installed; Options.Force takes it in an update that names the skill.
	ErrOlder = phrase.Errorf("its source gives a lower version")
	// ErrRefused means that the package is malicious, damaged or not the one that
	// was described.
	ErrRefused = phrase.Errorf("refused")
	// ErrUnavailable means that the source did not answer as it should.
	ErrUnavailable = phrase.Errorf("the registry is not available")
)

// NeedsYesError reports that a person has to look at a skill before it is
// installed.
type NeedsYesError struct {
	Name    string
	Verdict Verdict
	Reason  string
	Flags   []scan.Flag
}

func (e *NeedsYesError) Error() string {
	return e.In(phrase.English)
}

// In says it in a language.
func (e *NeedsYesError) In(lang string) string {
	text := phrase.In(lang, "%s is not installed: somebody has to look at it first", e.Name)
	if e.Verdict == Suspicious {
		text += phrase.In(lang, "; its registry calls it suspicious%s", inBrackets(e.Reason).In(lang))
	}
	for _, f := range e.Flags {
		text += "\n  " + phrase.Reword(lang, f.String())
	}
	return text
}

// inBrackets is a reason, or nothing, behind what it is the reason of.
type inBrackets string

func (b inBrackets) String() string { return b.In(phrase.English) }

func (b inBrackets) In(lang string) string {
	if b == "" {
		return ""
	}
	return phrase.In(lang, " (%s)", string(b))
}

func refused(format string, args ...any) error {
	return fmt.Errorf("%w: %w", ErrRefused, phrase.Errorf(format, args...))
}

func notFound(source string, ref Ref) error {
	return phrase.Errorf("%s in %s: %w", ref, source, skill.ErrNotFound)
}
