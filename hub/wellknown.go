package hub

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
)

// WellKnown is a site that publishes its skills under /.well-known, as the Agent
// Skills discovery says.
type WellKnown struct{ *remote }

// NewWellKnown returns the registry of a site.
func NewWellKnown(name string, c HTTPConfig) (*WellKnown, error) {
	r, err := newRemote(name, "", c)
	return &WellKnown{r}, err
}

// Name returns the registry's name.
func (w *WellKnown) Name() string { return w.name }

// wellKnownPaths are where an index may be, the newer one first.
var wellKnownPaths = []string{"agent-skills", "skills"}

// index is what a site publishes: with digests, or in the older form with files.
type index struct {
	Skills []struct {
		Name        string   `json:"name"`
		Description string   `json:"description"`
		Type        string   `json:"type"`
		URL         string   `json:"url"`
		Digest      string   `json:"digest"`
		Files       []string `json:"files"`
	} `json:"skills"`
	at *url.URL
}

// maxFilesOfIndex bounds the files of a skill in the older form.
const maxFilesOfIndex = 500

// index gets the first index that there is.
func (w *WellKnown) index(ctx context.Context) (*index, error) {
	for _, path := range wellKnownPaths {
		address := w.at(nil, ".well-known", path, "index.json")
		found := &index{}
		err := w.json(ctx, address, found)
		if status(err) == http.StatusNotFound {
			continue
		}
		if err != nil {
			return nil, err
		}
		found.at, err = url.Parse(address)
		return found, err
	}
	return nil, w.unavailable(fmt.Errorf("%s has no /.well-known/agent-skills/index.json", w.base))
}

// Search looks at the index.
func (w *WellKnown) Search(ctx context.Context, text string, limit int) ([]Found, error) {
	all, err := w.index(ctx)
	if err != nil {
		return nil, err
	}
	var list []Found
	for _, s := range all.Skills {
		if checkSlug(s.Name) == nil {
			list = append(list, Found{Registry: w.name, Name: s.Name, Description: s.Description})
		}
	}
	return Best(list, text, limit), nil
}

// Resolve finds a skill in the index.
func (w *WellKnown) Resolve(ctx context.Context, ref Ref) (*Release, error) {
	if err := checkSlug(ref.Name); err != nil {
		return nil, refused("%w", err)
	}
	all, err := w.index(ctx)
	if err != nil {
		return nil, err
	}
	for _, s := range all.Skills {
		if s.Name != ref.Name {
			continue
		}
		release := &Release{Ref: Ref{Name: ref.Name}, Verdict: Unjudged}
		if s.URL == "" {
			return release, w.listed(release, all, s.Files)
		}
		address, err := all.at.Parse(s.URL)
		digest, ok := strings.CutPrefix(s.Digest, "sha256:")
		if err != nil || !ok || !sha256Hex(digest) {
			return nil, refused("the index of %s has no usable address and digest for %s", w.name, ref.Name)
		}
		release.Source, release.Digest = address.String(), digest
		release.downloads = []download{{url: address.String(), digest: digest}}
		switch s.Type {
		case "skill-md":
			release.downloads[0].path = manifestFile
		case "archive":
		default:
			return nil, refused("the index of %s says that %s is of type %q, which is not understood", w.name, ref.Name, s.Type)
		}
		return release, nil
	}
	return nil, notFound(w.name, ref)
}

// listed takes the files of the older form, which come without digests.
func (w *WellKnown) listed(r *Release, all *index, files []string) error {
	if len(files) > maxFilesOfIndex || !slices.Contains(files, manifestFile) {
		return refused("the index of %s lists no %s for %s, or too many files", w.name, manifestFile, r.Name)
	}
	for _, f := range files {
		if err := checkPath(f); err != nil {
			return refused("%w", err)
		}
		address := all.at.JoinPath("..", r.Name, f).String()
		r.downloads = append(r.downloads, download{url: address, path: f})
	}
	r.Source = all.at.JoinPath("..", r.Name).String()
	return nil
}

// Download gets the archive or the files.
func (w *WellKnown) Download(ctx context.Context, r *Release, into *os.Root, progress func(done, total int64)) error {
	left := int64(maxArchive)
	for _, d := range r.downloads {
		if d.path == "" {
			return w.save(ctx, d, into, ArchiveName, maxArchive, progress)
		}
		as := FilesName + "/" + d.path
		if err := w.save(ctx, d, into, as, left, progress); err != nil {
			return err
		}
		info, err := into.Stat(as)
		if err != nil {
			return err
		}
		left -= info.Size()
	}
	return nil
}
