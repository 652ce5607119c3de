package archive

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"os"
	"path"
	"strings"

	"github.com/etui-run/etui/phrase"
)

const (
	// Manifest is the file that makes a folder a skill.
	Manifest = "SKILL.md"
	// Record is the file that etui keeps in the folder of an installed skill. A
	// package cannot bring one.
	Record = ".skill-origin.json"
)

// Extract writes the files of a skill's package and returns their SHA-256 in
// hexadecimal. It writes nothing unless all headers are in order: it refuses a
// package in which a name is unsafe on any system or two names mean one file on
// some system, and one that is no skill. If every entry is below one folder with
// the skill's name, or with any name when slug is empty, that folder is removed.
// packed is the archive's size; 0 means that it does not limit the files'.
func Extract(ctx context.Context, a Archive, slug string, packed int64, into *os.Root) (map[string]string, error) {
	paths, err := plan(a.Entries(), slug, packed)
	if err != nil {
		return nil, err
	}
	return Copy(ctx, a, paths, into)
}

// Copy writes the entries of an archive to the given paths and returns the
// files' digests. An empty path leaves an entry out.
func Copy(ctx context.Context, a Archive, paths []string, into *os.Root) (map[string]string, error) {
	list := a.Entries()
	var total int64
	for i, e := range list {
		if paths[i] != "" {
			total += e.Size
		}
	}
	if total > maxUnpacked {
		return nil, phrase.Errorf("its files have more than %s together", MB(maxUnpacked))
	}
	for i, e := range list {
		if e.Folder && paths[i] != "" {
			if err := into.MkdirAll(paths[i], 0o755); err != nil {
				return nil, err
			}
		}
	}
	files := map[string]string{}
	err := a.Each(func(i int, content io.Reader) error {
		if ctx.Err() != nil || paths[i] == "" {
			return ctx.Err()
		}
		digest, err := Write(into, paths[i], list[i].Executable, content)
		files[paths[i]] = digest
		return err
	})
	return files, err
}

// Write makes a new file and the folders above it, and returns its digest.
func Write(into *os.Root, name string, executable bool, content io.Reader) (digest string, err error) {
	if err := into.MkdirAll(path.Dir(name), 0o755); err != nil {
		return "", err
	}
	mode := os.FileMode(0o644)
	if executable {
		mode = 0o755
	}
	f, err := into.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return "", err
	}
	h := sha256.New()
	_, err = io.Copy(io.MultiWriter(f, h), content)
	return hex.EncodeToString(h.Sum(nil)), errors.Join(err, f.Close())
}

// plan returns where each entry goes below the skill's folder; an empty path
// leaves it out.
func plan(entries []Entry, slug string, packed int64) ([]string, error) {
	if len(entries) > maxEntries {
		return nil, tooMany(maxEntries)
	}
	paths := make([]string, len(entries))
	var total int64
	for i, e := range entries {
		if leftOut(e.Name) {
			continue
		}
		paths[i] = strings.TrimPrefix(e.Name, "./")
		if err := CheckPath(paths[i]); err != nil {
			return nil, err
		}
		if e.Size > maxFile {
			return nil, phrase.Errorf("%s has %s, at most %s are allowed", Quote(e.Name), MB(e.Size), MB(maxFile))
		}
		total += e.Size
	}
	if packed > 0 && total > freeRatio && total/packed > maxRatio {
		return nil, phrase.Errorf("it grows by more than %d times when it is unpacked", maxRatio)
	}
	if err := distinct(entries, paths); err != nil {
		return nil, err
	}
	strip(entries, paths, slug)
	for i, p := range paths {
		if p == Manifest && !entries[i].Folder {
			return paths, nil
		}
	}
	return nil, phrase.Errorf("it has no %s at its top", Manifest)
}

// leftOut reports files that systems add by themselves, and etui's own record.
func leftOut(name string) bool {
	base := path.Base(name)
	return strings.HasPrefix(name, "__MACOSX/") || name == "__MACOSX" || base == ".DS_Store" || base == Record
}

// strip removes the one folder around the whole package.
func strip(entries []Entry, paths []string, slug string) {
	top := ""
	for i, p := range paths {
		if p == "" {
			continue
		}
		first, _, inside := strings.Cut(p, "/")
		if !inside && !entries[i].Folder || top != "" && first != top || slug != "" && first != slug {
			return
		}
		top = first
	}
	for i, p := range paths {
		paths[i] = strings.TrimPrefix(strings.TrimPrefix(p, top), "/")
	}
}
