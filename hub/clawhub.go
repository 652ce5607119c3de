package hub

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
)

// clawhubURL is the public ClawHub.
const clawhubURL = "https://clawhub.ai"

// ClawHub is a registry that speaks ClawHub's HTTP API.
type ClawHub struct{ *remote }

// NewClawHub returns a registry with ClawHub's API.
func NewClawHub(name string, c HTTPConfig) (*ClawHub, error) {
	r, err := newRemote(name, clawhubURL, c)
	return &ClawHub{r}, err
}

// Name returns the registry's name.
func (c *ClawHub) Name() string { return c.name }

type clawOwner struct {
	Handle string `json:"handle"`
}

// Search asks the registry.
func (c *ClawHub) Search(ctx context.Context, text string, limit int) ([]Found, error) {
	if strings.TrimSpace(text) == "" {
		return c.browse(ctx, limit)
	}
	var answer struct {
		Results []struct {
			Slug    string     `json:"slug"`
			Name    string     `json:"displayName"`
			Summary string     `json:"summary"`
			Version string     `json:"version"`
			Handle  string     `json:"ownerHandle"`
			Owner   *clawOwner `json:"owner"`
		} `json:"results"`
	}
	if err := c.json(ctx, c.at(url.Values{"q": {text}, "limit": {strconv.Itoa(limit)}}, "api", "v1", "search"), &answer); err != nil {
		return nil, err
	}
	var list []Found
	for _, r := range answer.Results {
		if checkSlug(r.Slug) != nil {
			continue // it could not be installed
		}
		f := Found{Registry: c.name, Name: r.Slug, Owner: r.Handle, Version: r.Version, Description: cmp.Or(r.Summary, r.Name)}
		if f.Owner == "" && r.Owner != nil {
			f.Owner = r.Owner.Handle
		}
		list = append(list, f)
	}
	return list[:min(len(list), limit)], nil
}

// browse lists what is new, for who looks for nothing in particular.
func (c *ClawHub) browse(ctx context.Context, limit int) ([]Found, error) {
	var answer struct {
		Items []struct {
			Slug    string `json:"slug"`
			Summary string `json:"summary"`
			Latest  *struct {
				Version string `json:"version"`
			} `json:"latestVersion"`
		} `json:"items"`
	}
	if err := c.json(ctx, c.at(url.Values{"limit": {strconv.Itoa(limit)}}, "api", "v1", "skills"), &answer); err != nil {
		return nil, err
	}
	var list []Found
	for _, r := range answer.Items {
		if checkSlug(r.Slug) != nil {
			continue
		}
		f := Found{Registry: c.name, Name: r.Slug, Description: r.Summary}
		if r.Latest != nil {
			f.Version = r.Latest.Version
		}
		list = append(list, f)
	}
	return list[:min(len(list), limit)], nil
}

type clawSkill struct {
	Skill *struct {
		Slug string `json:"slug"`
	} `json:"skill"`
	Latest *struct {
		Version string `json:"version"`
	} `json:"latestVersion"`
	Owner      *clawOwner      `json:"owner"`
	Moderation *clawModeration `json:"moderation"`
}

// clawModeration is there for skills that were flagged.
type clawModeration struct {
	Suspicious bool     `json:"isSuspicious"`
	Blocked    bool     `json:"isMalwareBlocked"`
	Verdict    string   `json:"verdict"`
	Codes      []string `json:"reasonCodes"`
	Summary    string   `json:"summary"`
}

func (m *clawModeration) verdict() (Verdict, string) {
	if m == nil {
		return Clean, ""
	}
	why := cmp.Or(excerpt(m.Summary), excerpt(strings.Join(m.Codes, ", ")))
	switch {
	case m.Blocked, m.Verdict == "malicious":
		return Malicious, why
	case m.Suspicious, m.Verdict == "suspicious":
		return Suspicious, why
	case m.Verdict == "clean", m.Verdict == "":
		return Clean, why
	}
	return "", why
}

// Resolve asks for the skill's moderation, its version and its files. Each of
// them has to be learnt: what is not known may not be installed.
func (c *ClawHub) Resolve(ctx context.Context, ref Ref) (*Release, error) {
	var s clawSkill
	err := c.json(ctx, c.of(ref), &s)
	switch {
	case status(err) == http.StatusNotFound, status(err) == http.StatusGone, err == nil && s.Skill == nil:
		return nil, notFound(c.name, ref)
	case err != nil:
		return nil, fmt.Errorf("whether %s may be installed is not known: %w", ref, err)
	}
	release := &Release{Ref: ref, Source: c.of(ref)}
	release.Verdict, release.Reason = s.Moderation.verdict()
	if release.Owner == "" && s.Owner != nil {
		release.Owner = s.Owner.Handle
	}
	if release.Version == "" && s.Latest != nil {
		release.Version = s.Latest.Version
	}
	if release.Verdict == Malicious {
		return release, nil
	}
	if release.Version == "" {
		return release, c.handed(ctx, release)
	}
	release.downloads = []download{{url: c.at(release.query("slug", ref.Name, "version", release.Version), "api", "v1", "download")}}
	return release, c.version(ctx, release)
}

// of is the address of a skill, or of something of it.
func (c *ClawHub) of(ref Ref, more ...string) string {
	return c.at(ref.query(), append([]string{"api", "v1", "skills", ref.Name}, more...)...)
}

// query names the owner, where one is known, and what else is asked.
func (r Ref) query(pairs ...string) url.Values {
	q := url.Values{}
	if r.Owner != "" {
		q.Set("ownerHandle", r.Owner)
	}
	for i := 0; i+1 < len(pairs); i += 2 {
		q.Set(pairs[i], pairs[i+1])
	}
	return q
}

// version learns the digests of a version's files, and what scanners said of it.
func (c *ClawHub) version(ctx context.Context, r *Release) error {
	var answer struct {
		Version *struct {
			Files []struct {
				Path   string `json:"path"`
				SHA256 string `json:"sha256"`
			} `json:"files"`
			Security *struct {
				Status string `json:"status"`
			} `json:"security"`
		} `json:"version"`
	}
	err := c.json(ctx, c.of(r.Ref, "versions", r.Version), &answer)
	switch {
	case status(err) == http.StatusNotFound, err == nil && answer.Version == nil:
		return notFound(c.name, r.Ref)
	case err != nil:
		return fmt.Errorf("what %s holds is not known: %w", r.Ref, err)
	}
	for _, f := range answer.Version.Files {
		if digest := strings.ToLower(f.SHA256); sha256Hex(digest) {
			if r.Files == nil {
				r.Files = map[string]string{}
			}
			r.Files[f.Path] = digest
		}
	}
	if scan := answer.Version.Security; scan != nil {
		r.scanned(scan.Status)
	}
	return nil
}

// scanned adds what the scanners say of a version. A scan that has not ended well
// is a reason to look.
func (r *Release) scanned(status string) {
	switch status {
	case "clean":
	case "malicious":
		r.Verdict, r.Reason = Malicious, cmp.Or(r.Reason, "its scanners say so")
	case "suspicious":
		r.Verdict, r.Reason = Suspicious, cmp.Or(r.Reason, "its scanners say so")
	default:
		r.Verdict, r.Reason = Suspicious, cmp.Or(r.Reason, "the state of its scan is "+excerpt(status))
	}
}

// handOff is where ClawHub sends its clients for a skill that it does not keep.
type handOff struct {
	Repo        string `json:"repo"`
	Path        string `json:"path"`
	Commit      string `json:"commit"`
	ContentHash string `json:"contentHash"`
	SourceURL   string `json:"sourceUrl"`
	ArchiveURL  string `json:"archiveUrl"`
}

// handed asks how a skill without versions is installed.
func (c *ClawHub) handed(ctx context.Context, r *Release) error {
	var answer struct {
		OK      bool   `json:"ok"`
		Kind    string `json:"installKind"`
		Message string `json:"message"`
		Archive struct {
			Version     string `json:"version"`
			DownloadURL string `json:"downloadUrl"`
		} `json:"archive"`
		GitHub handOff `json:"github"`
	}
	err := c.json(ctx, c.of(r.Ref, "install"), &answer)
	var failed *statusError
	if errors.As(err, &failed) && json.Unmarshal(failed.body, &answer) == nil && answer.Message != "" {
		err = nil // a refusal comes with its reason
	}
	switch {
	case err != nil:
		return err
	case !answer.OK:
		return refused("%s does not give %s: %s", c.name, r.Ref, excerpt(answer.Message))
	case answer.Kind == "archive" && answer.Archive.DownloadURL != "":
		address, err := c.base.Parse(answer.Archive.DownloadURL)
		if err != nil {
			return c.unavailable(err)
		}
		r.Version = answer.Archive.Version
		r.downloads = []download{{url: address.String()}}
		return c.version(ctx, r)
	case answer.Kind == "github":
		return r.fromGitHub(answer.GitHub)
	}
	return c.unavailable(fmt.Errorf("it hands %s over as %q, which is not understood", r.Ref, answer.Kind))
}

// fromGitHub makes the release a folder of a repository.
func (r *Release) fromGitHub(h handOff) error {
	if strings.Count(h.Repo, "/") != 1 || checkPath(h.Repo) != nil || checkPath(h.Commit) != nil || strings.Contains(h.Commit, "/") || h.Path != "" && checkPath(h.Path) != nil {
		return fmt.Errorf("%w: it hands %s over to a repository that cannot be", ErrUnavailable, r.Ref)
	}
	r.Repository, r.Folder = true, strings.Trim(h.Path, "/")
	r.Version = h.Commit
	r.Source = cmp.Or(h.SourceURL, "https://github.com/"+h.Repo)
	r.Content = strings.ToLower(h.ContentHash)
	r.downloads = []download{{url: cmp.Or(h.ArchiveURL, archiveAddress(githubArchives, h.Repo, h.Commit))}}
	return nil
}

// Download gets the archive, or follows where the registry sends its clients.
func (c *ClawHub) Download(ctx context.Context, r *Release, into *os.Root, progress func(done, total int64)) error {
	d := r.downloads[0]
	if r.Repository {
		return c.save(ctx, d, into, ArchiveName, maxArchive, progress)
	}
	response, err := c.get(ctx, d.url)
	if code := status(err); code == http.StatusForbidden || code == http.StatusGone {
		return refused("%w", err)
	}
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if kind, _, _ := mime.ParseMediaType(response.Header.Get("Content-Type")); kind != "application/json" {
		return c.keep(response, into, progress)
	}
	var h handOff
	if err := json.NewDecoder(io.LimitReader(response.Body, maxAnswer)).Decode(&h); err != nil {
		return c.unavailable(err)
	}
	version, files := r.Version, r.Files
	if err := r.fromGitHub(h); err != nil {
		return err
	}
	r.Version, r.Files = version, files
	return c.save(ctx, r.downloads[0], into, ArchiveName, maxArchive, progress)
}

// keep writes an answer that has begun.
func (c *ClawHub) keep(response *http.Response, into *os.Root, progress func(done, total int64)) error {
	counted := &counter{r: io.LimitReader(response.Body, maxArchive+1), total: max(response.ContentLength, 0), report: progress}
	if _, err := write(into, ArchiveName, false, counted); err != nil {
		return c.unavailable(err)
	}
	if counted.done > maxArchive {
		return refused("the archive has more than %s", megabytes(maxArchive))
	}
	return nil
}
