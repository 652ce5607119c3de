package hub

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/etui-run/etui/hub/internal/archive"
	"github.com/etui-run/etui/internal/printable"
	"github.com/etui-run/etui/phrase"
)

// githubArchives is where GitHub gives a repository as an archive.
const githubArchives = "https://github.com/{repository}/archive/{version}.tar.gz"

// maxRepositories bounds how many repositories a search downloads.
const maxRepositories = 5

// Git is a host of Git repositories that gives them as archives over HTTP. Its
// skills are named owner/repository@name.
type Git struct {
	*remote
	template     string
	repositories []string
}

// NewGit returns the source of a Git host. The config's URL is the address of an
// archive with {repository} and {version} in it; empty means GitHub's. Searches
// look through the given repositories, as owner/name, or through the one that
// begins their text.
func NewGit(name string, c HTTPConfig, repositories ...string) (*Git, error) {
	template := cmp.Or(c.URL, githubArchives)
	if !strings.Contains(template, "{repository}") {
		return nil, phrase.Errorf("registry %s: its url needs {repository} and {version}, as in %s", name,
			githubArchives)
	}
	c.URL, _, _ = strings.Cut(template, "{")
	r, err := newRemote(name, "", c)
	return &Git{remote: r, template: template, repositories: repositories}, err
}

// archiveAddress fills a template.
func archiveAddress(template, repository, version string) string {
	owner, name, _ := strings.Cut(repository, "/")
	return strings.NewReplacer("{repository}", url.PathEscape(owner)+"/"+url.PathEscape(name), "{version}",
		url.PathEscape(cmp.Or(version, "HEAD"))).Replace(template)
}

// Search downloads the repositories and reads their manifests.
func (g *Git) Search(ctx context.Context, text string, limit int) ([]Match, error) {
	repositories := g.repositories
	if first, rest, _ := strings.Cut(strings.TrimSpace(text), " "); isRepository(first) {
		repositories, text = []string{first}, rest
	}
	var list []Match
	for _, repository := range repositories[:min(len(repositories), maxRepositories)] {
		found, _, err := g.skills(ctx, archiveAddress(g.template, repository, ""))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", repository, err)
		}
		for _, s := range found {
			list = append(list, Match{Registry: g.name, Owner: repository, Name: s.name, Description: s.description})
		}
	}
	return Best(list, text, limit), nil
}

// inRepository is a skill of a repository.
type inRepository struct{ name, description, folder string }

// skills downloads an archive into a temporary folder. It returns the skills in
// it and its digest.
func (g *Git) skills(ctx context.Context, address string) (list []inRepository, digest string, err error) {
	dir, err := os.MkdirTemp("", "etui-install-")
	if err != nil {
		return nil, "", err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, "", err
	}
	defer root.Close()
	if err := g.saveArchive(ctx, download{url: address}, root, nil); err != nil {
		return nil, "", err
	}
	digest, err = digestOf(root, ArchiveName)
	if err != nil {
		return nil, "", err
	}
	err = withArchive(root, manifests, func(a archive.Archive, _ int64) error {
		list, err = skillsIn(a)
		return err
	})
	if err != nil {
		return nil, "", refused("%w", err)
	}
	return list, digest, nil
}

// manifests takes the SKILL.md files of a repository's archive.
func manifests(name string) (string, bool) {
	rest, ok := archive.Below("")(name)
	return rest, ok && path.Base(rest) == archive.Manifest && archive.CheckPath(rest) == nil
}

// skillsIn reads the manifests of an archive. It leaves out those that cannot be
// read and those with an invalid name.
func skillsIn(a archive.Archive) (list []inRepository, err error) {
	entries := a.Entries()
	err = a.Each(func(i int, content io.Reader) error {
		if entries[i].Size > maxManifest {
			return nil
		}
		raw, err := io.ReadAll(content)
		if err != nil {
			return err
		}
		name, description, err := readManifest(raw)
		if err == nil && checkSlug(name) == nil {
			folder := strings.TrimSuffix(strings.TrimSuffix(entries[i].Name, archive.Manifest), "/")
			list = append(list, inRepository{name, description, folder})
		}
		return nil
	})
	return list, err
}

// Resolve downloads the repository and finds the skill in it. Without a name, the
// repository must hold exactly one.
func (g *Git) Resolve(ctx context.Context, ref Ref) (*Release, error) {
	if !isRepository(ref.Owner) || strings.ContainsAny(ref.Version, "\\:?#") {
		return nil, refused("%s names no repository; write owner/repository@name", archive.Quote(ref.Owner))
	}
	r := &Release{Ref: ref, Location: archiveAddress(g.template, ref.Owner, ref.Version), Verdict: Unjudged,
		Repository: true}
	all, digest, err := g.skills(ctx, r.Location)
	if err != nil && status(err) != http.StatusNotFound {
		return nil, err
	}
	if ref.Folder != "" {
		all = slices.DeleteFunc(all, func(s inRepository) bool {
			return s.folder != ref.Folder && !strings.HasPrefix(s.folder, ref.Folder+"/")
		})
	}
	i := slices.IndexFunc(all, func(s inRepository) bool { return ref.Name == "" || s.name == ref.Name })
	switch {
	case i < 0:
		return nil, notFound(g.name, ref)
	case ref.Name == "" && len(all) > 1:
		var names []string
		for _, s := range all {
			names = append(names, s.name)
		}
		return nil, refused("%s holds %d skills: %s; write %s@name", ref.Owner, len(all), printable.First(names, 20),
			ref.Owner)
	}
	r.Name, r.Folder, r.Digest = all[i].name, all[i].folder, digest
	r.downloads = []download{{url: r.Location, digest: digest}}
	return r, nil
}

// Download gets the repository's archive.
func (g *Git) Download(ctx context.Context, r *Release, into *os.Root, progress func(done, total int64)) error {
	return g.saveArchive(ctx, r.downloads[0], into, progress)
}
