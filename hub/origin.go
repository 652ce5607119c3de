package hub

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"time"

	"github.com/etui-run/etui/hub/internal/archive"
	"github.com/etui-run/etui/phrase"
	"github.com/etui-run/etui/scan"
	"github.com/etui-run/etui/skill"
	"github.com/etui-run/etui/skill/markdown"
)

const (
	maxOrigin      = 4 << 20 // bytes of the record of a skill
	maxManifest    = 1 << 20 // bytes of a SKILL.md
	maxDescription = 1024    // characters of a description, by the standard
	maxFiles       = 5000    // files of an installed skill
)

// Origin is the record of an installed skill: where it came from, and what it was
// then.
type Origin struct {
	Registry string `json:"registry"` // the source's name
	// Location is the URL or path that it came from.
	Location string `json:"source"`
	Name     string `json:"slug"`
	Owner    string `json:"owner,omitempty"`
	// Version is the source's, or else the one in the SKILL.md.
	Version string `json:"version,omitempty"`
	// Wanted is the version that was asked for; empty means the newest.
	Wanted string `json:"wanted,omitempty"`
	// Digest is the SHA-256 of the archive, as sha256: and hexadecimal; empty for
	// a skill that came as files. Files has the digest of each file.
	Digest    string            `json:"digest,omitempty"`
	Files     map[string]string `json:"files"`
	Signature SignatureState    `json:"signature"`
	Signer    string            `json:"signer,omitempty"`
	Verdict   Verdict           `json:"verdict"`
	// Accepted are the flags that somebody has accepted.
	Accepted  []scan.Flag `json:"accepted,omitempty"`
	Installed time.Time   `json:"installed"`
	// Pinned skills are not updated.
	Pinned bool `json:"pinned,omitempty"`
}

// Installation is a skill in the folder. Origin is nil if it was not installed from a
// source.
type Installation struct {
	Name   string  `json:"name"`
	Origin *Origin `json:"origin,omitempty"`
	// Changed are the files that were changed, added or removed since, by name.
	Changed []string `json:"changed,omitempty"`
}

// readOrigin reads the record of a skill; nil if it has none.
func readOrigin(root *os.Root, name string) (*Origin, error) {
	raw, err := skill.ReadFile(root, name+"/"+archive.Record, maxOrigin)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	o := &Origin{}
	if err := json.Unmarshal(raw, o); err != nil {
		return nil, phrase.Errorf("%s/%s is damaged: %w; install the skill again with --force", name, archive.Record,
			err)
	}
	return o, nil
}

// writeOrigin writes the record of a skill in one step.
func writeOrigin(root *os.Root, folder string, o *Origin) error {
	raw, err := json.MarshalIndent(o, "", "  ")
	if err != nil {
		return err
	}
	fresh := folder + "/" + archive.Record + ".new"
	if err := root.WriteFile(fresh, append(raw, '\n'), 0o644); err != nil {
		return err
	}
	return root.Rename(fresh, folder+"/"+archive.Record)
}

// digests returns the SHA-256 of every file of a skill's folder. It leaves out what
// a skill makes while it is used: caches of Python, packages of Node.js.
func digests(root *os.Root, folder string) (map[string]string, error) {
	files := map[string]string{}
	sub, err := root.OpenRoot(folder)
	if err != nil {
		return nil, err
	}
	defer sub.Close()
	err = fs.WalkDir(sub.FS(), ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && slices.Contains([]string{"__pycache__", "node_modules", ".venv"}, d.Name()):
			return fs.SkipDir
		case d.IsDir(), name == archive.Record:
			return nil
		case len(files) >= maxFiles:
			return phrase.Errorf("it has too many files")
		case !d.Type().IsRegular():
			files[name] = "link" // never what was installed
			return nil
		}
		files[name], err = digestOf(sub, name)
		return err
	})
	return files, err
}

func digestOf(root *os.Root, name string) (string, error) {
	f, err := root.Open(name)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// drift returns the files that differ between two sets of digests, by name.
func drift(was, is map[string]string) (names []string) {
	for name, digest := range is {
		if was[name] != digest {
			names = append(names, name)
		}
	}
	for name := range was {
		if _, ok := is[name]; !ok {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// readManifest reads a SKILL.md as leniently as the loader does.
func readManifest(text []byte) (name, description string, err error) {
	d, _, err := markdown.Parse("", text)
	return d.Name, d.Description, err
}

// checkManifest checks a package's SKILL.md and returns the skill's name and version. If
// want is not empty, the name must be that one.
func checkManifest(folder *os.Root, want string) (name, version string, err error) {
	text, err := skill.ReadFile(folder, archive.Manifest, maxManifest)
	if err != nil {
		return "", "", fmt.Errorf("%s: %w", archive.Manifest, err)
	}
	d, _, err := markdown.Parse("", text)
	length := len([]rune(d.Description))
	switch {
	case err != nil:
	case d.Ambiguous != nil:
		// The source may have judged the other name or description.
		err = *d.Ambiguous
	case checkSlug(d.Name) != nil:
		err = checkSlug(d.Name)
	case want != "" && d.Name != want:
		err = phrase.Errorf("it names the skill %s, not %s: a skill must not take another's place",
			archive.Quote(d.Name), archive.Quote(want))
	case length > maxDescription:
		err = phrase.Errorf("the description has %d characters, at most %d are allowed", length, maxDescription)
	}
	if err != nil {
		return "", "", fmt.Errorf("%s: %w", archive.Manifest, err)
	}
	return d.Name, d.Version, nil
}
