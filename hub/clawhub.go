package hub

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/etui-run/etui/hub/internal/archive"
	"github.com/etui-run/etui/internal/printable"
	"github.com/etui-run/etui/phrase"
)

// clawhubURL is the public ClawHub.
const clawhubURL = "https://clawhub.ai"

// ClawHub is a registry with ClawHub's HTTP API.
type ClawHub struct{ *remote }

// NewClawHub returns the source of a registry with ClawHub's API.
func NewClawHub(name string, c HTTPConfig) (*ClawHub, error) {
	r, err := newRemote(name, clawhubURL, c)
	return &ClawHub{r}, err
}

type (
	clawOwner struct {
		Handle string `json:"handle"`
	}
	clawVersion struct {
		Version string `json:"version"`
	}
	// clawFound is a skill in a search or in the list of new skills.
	clawFound struct {
		Slug    string      `json:"slug"`
		Name    string      `json:"displayName"`
		Summary string      `json:"summary"`
		Version string      `json:"version"`
		Latest  clawVersion `json:"latestVersion"`
		Handle  string      `json:"ownerHandle"`
		Owner   clawOwner   `json:"owner"`
	}
	// clawModeration describes skills that were flagged.
	clawModeration struct {
		Suspicious bool     `json:"isSuspicious"`
		Blocked    bool     `json:"isMalwareBlocked"`
		Verdict    string   `json:"verdict"`
		Codes      []string `json:"reasonCodes"`
		Summary    string   `json:"summary"`
	}
	// handOff is where ClawHub sends its clients for a skill that it does not keep.
	handOff struct {
		Repo        string `json:"repo"`
		Path        string `json:"path"`
		Commit      string `json:"commit"`
		ContentHash string `json:"contentHash"`
		SourceURL   string `json:"sourceUrl"`
		ArchiveURL  string `json:"archiveUrl"`
	}
)

// Search asks the registry. An empty text lists what is new.
func (c *ClawHub) Search(ctx context.Context, text string, limit int) ([]Match, error) {
	query, path := url.Values{"limit": {strconv.Itoa(limit)}}, "skills"
	if strings.TrimSpace(text) != "" {
		query.Set("q", text)
		path = "search"
	}
	var answer struct {
		Results []clawFound `json:"results"`
		Items   []clawFound `json:"items"`
	}
	if err := c.json(ctx, c.at(query, "api", "v1", path), &answer); err != nil {
		return nil, err
	}
	var list []Match
	for _, r := range slices.Concat(answer.Results, answer.Items) {
		if checkSlug(r.Slug) == nil { // otherwise it could not be installed
			list = append(list, Match{
				Registry: c.name, Name: r.Slug, Owner: cmp.Or(r.Handle, r.Owner.Handle),
				Version: cmp.Or(r.Version, r.Latest.Version), Description: cmp.Or(r.Summary, r.Name),
			})
		}
	}
	return list[:min(len(list), limit)], nil
}

func (m clawModeration) verdict() (Verdict, string) {
	why := printable.Line(cmp.Or(m.Summary, strings.Join(m.Codes, ", ")), maxExcerpt)
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

// Resolve asks for the skill's moderation, its version and its files. If one of
// them is unknown, the skill may not be installed.
func (c *ClawHub) Resolve(ctx context.Context, ref Ref) (*Release, error) {
	var s struct {
		Skill      *clawFound     `json:"skill"`
		Latest     clawVersion    `json:"latestVersion"`
		Owner      clawOwner      `json:"owner"`
		Moderation clawModeration `json:"moderation"`
	}
	err := c.json(ctx, c.of(ref), &s)
	switch {
	case status(err) == http.StatusNotFound, status(err) == http.StatusGone, err == nil && s.Skill == nil:
		return nil, notFound(c.name, ref)
	case err != nil:
		return nil, phrase.Errorf("whether %s may be installed is unknown: %w", ref, err)
	}
	r := &Release{Ref: ref, Location: c.of(ref)}
	r.Verdict, r.Reason = s.Moderation.verdict()
	r.Owner = cmp.Or(r.Owner, s.Owner.Handle)
	r.Version = cmp.Or(r.Version, s.Latest.Version)
	switch {
	case r.Verdict == Malicious:
		return r, nil
	case r.Version == "":
		return r, c.handed(ctx, r)
	}
	query := r.query()
	query.Set("slug", r.Name)
	query.Set("version", r.Version)
	r.downloads = []download{{url: c.at(query, "api", "v1", "download")}}
	return r, c.version(ctx, r)
}

// of returns the address of a skill, or of a part of it.
func (c *ClawHub) of(ref Ref, more ...string) string {
	return c.at(ref.query(), append([]string{"api", "v1", "skills", ref.Name}, more...)...)
}

// query names the owner, if there is one.
func (r Ref) query() url.Values {
	q := url.Values{}
	if r.Owner != "" {
		q.Set("ownerHandle", r.Owner)
	}
	return q
}

// version asks for the digests of a version's files and for the scanners' verdict.
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
		return phrase.Errorf("the files of %s are unknown: %w", r.Ref, err)
	}
	for _, f := range answer.Version.Files {
		if digest := strings.ToLower(f.SHA256); sha256Hex(digest) {
			if r.Files == nil {
				r.Files = map[string]string{}
			}
			r.Files[f.Path] = digest
		}
	}
	if scanned := answer.Version.Security; scanned != nil && scanned.Status != "clean" {
		// A scan that did not end well is a reason to look.
		why := "the state of its scan is " + printable.Line(scanned.Status, maxExcerpt)
		r.Verdict = Suspicious
		switch scanned.Status {
		case "malicious":
			r.Verdict = Malicious
			fallthrough
		case "suspicious":
			why = "its scanners say so"
		}
		r.Reason = cmp.Or(r.Reason, why)
	}
	if r.Files == nil && r.Verdict != Malicious { // what was judged could be another package
		return phrase.Errorf("the files of %s are unknown: %w", r.Ref,
			c.unavailable(phrase.Errorf("it lists no digests")))
	}
	return nil
}

// handed asks how to install a skill without versions.
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
		return refused("%s does not give %s: %s", c.name, r.Ref, printable.Line(answer.Message, maxExcerpt))
	case answer.Kind == "archive" && answer.Archive.DownloadURL != "":
		address, err := c.base.Parse(answer.Archive.DownloadURL)
		if err != nil {
			return c.unavailable(err)
		}
		r.Version = answer.Archive.Version
		r.downloads = []download{{url: address.String()}}
		return c.version(ctx, r)
	case answer.Kind == "github":
		r.Version = answer.GitHub.Commit
		return r.fromGitHub(answer.GitHub)
	}
	return c.unavailable(phrase.Errorf("it gives %s as %q, which is not supported", r.Ref, answer.Kind))
}

// fromGitHub makes the release a folder of a repository.
func (r *Release) fromGitHub(h handOff) error {
	if !isRepository(h.Repo) || archive.CheckPath(h.Commit) != nil || strings.Contains(h.Commit, "/") ||
		h.Path != "" && archive.CheckPath(h.Path) != nil {
		return phrase.Errorf("%w: it gives %s as a repository that cannot exist", ErrUnavailable, r.Ref)
	}
	r.Repository, r.Folder = true, strings.Trim(h.Path, "/")
	r.Location = cmp.Or(h.SourceURL, "https://github.com/"+h.Repo)
	r.Content = strings.ToLower(h.ContentHash)
	r.downloads = []download{{url: cmp.Or(h.ArchiveURL, archiveAddress(githubArchives, h.Repo, h.Commit))}}
	return nil
}

// Download gets the archive, or follows a hand-off to a repository.
func (c *ClawHub) Download(ctx context.Context, r *Release, into *os.Root, progress func(done, total int64)) error {
	d := r.downloads[0]
	if r.Repository {
		return c.saveArchive(ctx, d, into, progress)
	}
	response, err := c.get(ctx, d.url)
	if code := status(err); code == http.StatusForbidden || code == http.StatusGone {
		return refused("%w", err)
	}
	if err != nil {
		return err
	}
	if kind, _, _ := mime.ParseMediaType(response.Header.Get("Content-Type")); kind != "application/json" {
		return c.keep(response, d, into, ArchiveName, archive.MaxPacked, progress)
	}
	var h handOff
	err = json.NewDecoder(io.LimitReader(response.Body, maxAnswer)).Decode(&h)
	response.Body.Close()
	if err != nil {
		return c.unavailable(err)
	}
	if err := r.fromGitHub(h); err != nil {
		return err
	}
	return c.saveArchive(ctx, r.downloads[0], into, progress)
}

// contentHash returns the digest of all files of a skill, as ClawHub computes it
// for a folder on GitHub: a line for each file that is not hidden, with its path,
// size and SHA-256.
func contentHash(folder *os.Root, files map[string]string) (string, error) {
	var names []string
	for name := range files {
		if !strings.Contains("/"+name, "/.") && !strings.Contains("/"+name, "/node_modules/") {
			names = append(names, name)
		}
	}
	slices.SortFunc(names, collate)
	lines := make([]string, len(names))
	for i, name := range names {
		info, err := folder.Stat(name)
		if err != nil {
			return "", err
		}
		lines[i] = fmt.Sprintf("%s\x00%d\x00%s", name, info.Size(), files[name])
	}
	sum := sha256.Sum256([]byte(strings.Join(lines, "\n")))
	return hex.EncodeToString(sum[:]), nil
}

// order is that of ASCII in the root collation of Unicode: marks, digits, letters
// regardless of case.
const order = " _-,;:!?.'\"()[]{}@*/\\&#%`^+<=>|~$0123456789abcdefghijklmnopqrstuvwxyz"

// collate compares ASCII names as JavaScript's localeCompare does. Other
// characters come after ASCII, by their numbers.
func collate(a, b string) int {
	rank := func(r rune) int {
		if i := strings.IndexRune(order, r); i >= 0 {
			return i
		}
		return len(order) + int(r)
	}
	folded := func(s string) []rune { return []rune(strings.ToLower(s)) }
	return cmp.Or(
		slices.CompareFunc(folded(a), folded(b), func(x, y rune) int { return rank(x) - rank(y) }),
		strings.Compare(b, a), // lower case comes first
	)
}
