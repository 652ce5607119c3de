package hub

import (
	"context"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"

	"github.com/etui-run/etui/hub/internal/archive"
	"github.com/etui-run/etui/phrase"
)

// WellKnown is a site that publishes its skills under /.well-known, as the
// discovery of Agent Skills describes.
type WellKnown struct{ *remote }

// NewWellKnown returns the source of a site.
func NewWellKnown(name string, c HTTPConfig) (*WellKnown, error) {
	r, err := newRemote(name, "", c)
	return &WellKnown{r}, err
}

// index is what a site publishes: with digests, or in the older form with files.
type index struct {
	Skills []indexEntry `json:"skills"`
	at     *url.URL
}

type indexEntry struct {
	Name        string   `json:"name"`
	Description string   `json:"description"`
	Type        string   `json:"type"`
	URL         string   `json:"url"`
	Digest      string   `json:"digest"`
	Files       []string `json:"files"`
}

// maxFilesOfIndex bounds the files of a skill in the older form.
const maxFilesOfIndex = 500

// index gets the newer index or, where there is none, the older one.
func (w *WellKnown) index(ctx context.Context) (*index, error) {
	for _, folder := range []string{"agent-skills", "skills"} {
		address := w.at(nil, ".well-known", folder, "index.json")
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
	return nil, w.unavailable(phrase.Errorf("%s has no /.well-known/agent-skills/index.json", w.base))
}

// Search searches the index.
func (w *WellKnown) Search(ctx context.Context, text string, limit int) ([]Match, error) {
	all, err := w.index(ctx)
	if err != nil {
		return nil, err
	}
	var list []Match
	for _, s := range all.Skills {
		if checkSlug(s.Name) == nil {
			list = append(list, Match{Registry: w.name, Name: s.Name, Description: s.Description})
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
	i := slices.IndexFunc(all.Skills, func(s indexEntry) bool { return s.Name == ref.Name })
	if i < 0 {
		return nil, notFound(w.name, ref)
	}
	s := all.Skills[i]
	r := &Release{Ref: Ref{Name: ref.Name}, Verdict: Unjudged}
	if s.URL == "" {
		return r, w.listed(r, all, s.Files)
	}
	address, err := all.at.Parse(s.URL)
	digest, ok := strings.CutPrefix(s.Digest, "sha256:")
	if err != nil || !ok || !sha256Hex(digest) {
		return nil, refused("the index of %s has no usable address and digest for %s", w.name, ref.Name)
	}
	r.Location, r.Digest = address.String(), digest
	r.downloads = []download{{url: r.Location, digest: digest}}
	switch s.Type {
	case "skill-md":
		r.downloads[0].path = archive.Manifest
	case "archive":
	default:
		return nil, refused("the index of %s gives %s the type %q, which is not supported", w.name, ref.Name, s.Type)
	}
	return r, nil
}

// listed takes the files of the older form, which have no digests.
func (w *WellKnown) listed(r *Release, all *index, files []string) error {
	if len(files) > maxFilesOfIndex || !slices.Contains(files, archive.Manifest) {
		return refused("the index of %s lists no %s for %s, or too many files", w.name, archive.Manifest, r.Name)
	}
	for _, f := range files {
		if err := archive.CheckPath(f); err != nil {
			return refused("%w", err)
		}
		r.downloads = append(r.downloads, download{url: all.at.JoinPath("..", r.Name, f).String(), path: f})
	}
	r.Location = all.at.JoinPath("..", r.Name).String()
	return nil
}

// Download gets the archive or the files.
func (w *WellKnown) Download(ctx context.Context, r *Release, into *os.Root, progress func(done, total int64)) error {
	left := int64(archive.MaxPacked)
	for _, d := range r.downloads {
		if d.path == "" {
			return w.saveArchive(ctx, d, into, progress)
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
