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
)

// githubArchives is where GitHub gives a repository as an archive.
const githubArchives = "https://github.com/{repository}/archive/{version}.tar.gz"

// Git is a host of Git repositories that gives them as archives over HTTP. A
// skill of it is named owner/repository@name.
type Git struct {
	*remote
	template     string
	repositories []string
}

// NewGit returns the registry of a Git host. The URL of the config is where
// archives are, with {repository} and {version} in it; empty means GitHub's.
// Searches look through the given repositories, as owner/name, or through the one
// that they name.
func NewGit(name string, c HTTPConfig, repositories ...string) (*Git, error) {
	template := cmp.Or(c.URL, githubArchives)
	if !strings.Contains(template, "{repository}") {
		return nil, fmt.Errorf("registry %s: its url needs {repository} and {version}, as in %s", name, githubArchives)
	}
	c.URL, _, _ = strings.Cut(template, "{")
	r, err := newRemote(name, "", c)
	return &Git{remote: r, template: template, repositories: repositories}, err
}

// Name returns the registry's name.
func (g *Git) Name() string { return g.name }

// archiveAddress fills a template.
func archiveAddress(template, repository, version string) string {
	owner, name, _ := strings.Cut(repository, "/")
	return strings.NewReplacer("{repository}", url.PathEscape(owner)+"/"+url.PathEscape(name), "{version}", url.PathEscape(cmp.Or(version, "HEAD"))).Replace(template)
}

// maxRepositories bounds how many repositories a search downloads.
const maxRepositories = 5

// Search downloads the repositories and looks at their skills.
func (g *Git) Search(ctx context.Context, text string, limit int) ([]Found, error) {
	repositories := g.repositories
	if first, rest, _ := strings.Cut(strings.TrimSpace(text), " "); strings.Count(first, "/") == 1 && checkPath(first) == nil {
		repositories, text = []string{first}, rest
	}
	var list []Found
	for _, repository := range repositories[:min(len(repositories), maxRepositories)] {
		err := g.opened(ctx, Ref{Owner: repository}, func(a archive, _ *os.Root) error {
			found, err := skillsIn(a)
			for _, s := range found {
				list = append(list, Found{Registry: g.name, Owner: repository, Name: s.name, Description: s.description})
			}
			return err
		})
		if err != nil {
			return nil, fmt.Errorf("%s: %w", repository, err)
		}
	}
	return Best(list, text, limit), nil
}

// opened downloads a repository's archive into a temporary folder, and calls f
// with its manifests.
func (g *Git) opened(ctx context.Context, ref Ref, f func(archive, *os.Root) error) (err error) {
	dir, err := os.MkdirTemp("", "etui-install-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	if err := g.save(ctx, download{url: archiveAddress(g.template, ref.Owner, ref.Version)}, root, ArchiveName, maxArchive, nil); err != nil {
		return err
	}
	file, err := root.Open(ArchiveName)
	if err != nil {
		return err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return err
	}
	a, err := openArchive(file, info.Size(), manifests)
	if err != nil {
		return refused("%w", err)
	}
	return f(a, root)
}

// manifests takes the SKILL.md files of a repository's archive.
func manifests(name string) (string, bool) {
	_, rest, ok := strings.Cut(strings.TrimPrefix(name, "./"), "/")
	return rest, ok && path.Base(rest) == manifestFile && checkPath(rest) == nil
}

// inRepository is a skill of a repository.
type inRepository struct{ name, description, folder string }

// skillsIn reads the manifests of an archive. Those that cannot be read, or whose
// names cannot be those of skills, are left out.
func skillsIn(a archive) (list []inRepository, err error) {
	entries := a.entries()
	err = a.each(func(i int, content io.Reader) error {
		if entries[i].size > maxManifest {
			return nil
		}
		raw, err := io.ReadAll(content)
		if err != nil {
			return err
		}
		name, description, err := readManifest(raw)
		if err == nil && checkSlug(name) == nil {
			folder := path.Dir(entries[i].name)
			if folder == "." {
				folder = ""
			}
			list = append(list, inRepository{name, description, folder})
		}
		return nil
	})
	return list, err
}

// Resolve downloads the repository and finds the skill in it. Without a name,
// the repository has to hold just one.
func (g *Git) Resolve(ctx context.Context, ref Ref) (*Release, error) {
	if strings.Count(ref.Owner, "/") != 1 || checkPath(ref.Owner) != nil || strings.ContainsAny(ref.Version, "\\:?#") {
		return nil, refused("%s names no repository; write owner/repository@name", shown(ref.Owner))
	}
	address := archiveAddress(g.template, ref.Owner, ref.Version)
	release := &Release{Ref: ref, Source: address, Verdict: Unjudged, Repository: true, downloads: []download{{url: address}}}
	err := g.opened(ctx, ref, func(a archive, root *os.Root) error {
		list, err := skillsIn(a)
		if err != nil {
			return refused("%w", err)
		}
		all := list
		list = slices.DeleteFunc(slices.Clone(list), func(s inRepository) bool { return ref.Name != "" && s.name != ref.Name })
		switch {
		case len(list) == 0:
			return notFound(g.name, ref)
		case len(list) > 1 && ref.Name == "":
			return refused("%s holds %d skills: %s; write %s@name", ref.Owner, len(all), names(all), ref.Owner)
		}
		release.Name, release.Folder = list[0].name, list[0].folder
		release.Digest, err = digestOf(root, ArchiveName)
		return err
	})
	if code := status(err); code == http.StatusNotFound {
		err = notFound(g.name, ref)
	}
	if err != nil {
		return nil, err
	}
	release.downloads[0].digest = release.Digest
	return release, nil
}

// names lists some skills for a message.
func names(list []inRepository) string {
	var words []string
	for _, s := range list[:min(len(list), 20)] {
		words = append(words, s.name)
	}
	if len(list) > 20 {
		words = append(words, "…")
	}
	return strings.Join(words, ", ")
}

// Download gets the repository's archive.
func (g *Git) Download(ctx context.Context, r *Release, into *os.Root, progress func(done, total int64)) error {
	return g.save(ctx, r.downloads[0], into, ArchiveName, maxArchive, progress)
}
