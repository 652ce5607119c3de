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
)

// originFile is the record of an installed skill, in its folder.
const originFile = ".skill-origin.json"

// maxOrigin bounds the record that is read.
const maxOrigin = 4 << 20

// Origin says where an installed skill came from, and what it was then.
type Origin struct {
	Registry string `json:"registry"`
	// Source is the URL or path that it came from.
	Source  string `json:"source"`
	Name    string `json:"slug"`
	Owner   string `json:"owner,omitempty"`
	Version string `json:"version,omitempty"`
	// Wanted is the version that was asked for; empty for the newest.
	Wanted string `json:"wanted,omitempty"`
	// Digest is the SHA-256 of the archive, as sha256: and hexadecimal; empty for
	// a skill that came in files. Files has that of each file.
	Digest    string            `json:"digest,omitempty"`
	Files     map[string]string `json:"files"`
	Signature SignatureState    `json:"signature"`
	Signer    string            `json:"signer,omitempty"`
	Verdict   Verdict           `json:"verdict"`
	// Accepted are the flags that somebody said yes to.
	Accepted  []Flag    `json:"accepted,omitempty"`
	Installed time.Time `json:"installed"`
	// Pinned skills are left out of updates.
	Pinned bool `json:"pinned,omitempty"`
}

// ref is how the skill is named in its registry.
func (o *Origin) ref() Ref { return Ref{Owner: o.Owner, Name: o.Name, Version: o.Wanted} }

// Installed is a skill in the folder. Origin is nil for one that was not
// installed from a registry.
type Installed struct {
	Name   string  `json:"name"`
	Origin *Origin `json:"origin,omitempty"`
	// Changed are the files that differ from what was installed: changed, added
	// or gone, by name.
	Changed []string `json:"changed,omitempty"`
}

// readOrigin reads the record of a skill. A skill without one gives nil.
func readOrigin(root *os.Root, name string) (*Origin, error) {
	f, err := root.Open(name + "/" + originFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	raw, err := io.ReadAll(io.LimitReader(f, maxOrigin))
	if err != nil {
		return nil, err
	}
	o := &Origin{}
	if err := json.Unmarshal(raw, o); err != nil {
		return nil, fmt.Errorf("%s/%s is damaged: %w; install the skill again with --force", name, originFile, err)
	}
	return o, nil
}

// writeOrigin writes the record of a skill, whole or not at all.
func writeOrigin(root *os.Root, folder string, o *Origin) error {
	raw, err := json.MarshalIndent(o, "", "  ")
	if err != nil {
		return err
	}
	fresh := folder + "/" + originFile + ".new"
	if err := root.WriteFile(fresh, append(raw, '\n'), 0o644); err != nil {
		return err
	}
	return root.Rename(fresh, folder+"/"+originFile)
}

// digests returns the SHA-256 of every file of a skill's folder. What a skill
// makes while it is used - caches of Python, packages of Node.js - is left out.
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
		case d.IsDir(), name == originFile:
			return nil
		case len(files) >= maxEntries:
			return tooMany(maxEntries)
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

// drift lists the files that differ between two sets of digests, by name.
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
