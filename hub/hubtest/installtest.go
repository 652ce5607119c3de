// Package hubtest is a registry for tests. It speaks ClawHub's HTTP API,
// publishes a well-known index, and gives repositories as archives, so well that
// the clients which people use every day work against it.
package hubtest

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"mime"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strings"
	"sync"
	"time"
)

// Skill is a skill that the registry has.
type Skill struct {
	Name, Owner, Summary string
	// Versions are its versions, the newest last. Without any it is one that the
	// registry hands over to a repository.
	Versions []Version
	// Verdict is clean, suspicious or malicious; empty means clean.
	Verdict string
	// Repository, as owner/name, and Folder are where a skill without versions is.
	Repository, Folder string
}

// Version is a version of a skill.
type Version struct {
	Number string
	Files  map[string]string
	// Archive replaces the archive that is made of the files. May be nil.
	Archive []byte
	// Listed replaces the files whose digests are listed. May be nil.
	Listed map[string]string
	// Scan is what scanners say of it; empty means nothing.
	Scan string
}

// Manifest is a SKILL.md.
func Manifest(name, description string) string {
	return fmt.Sprintf("---\nname: %s\ndescription: %s\n---\n# %s\nSay hello.\n", name, description, name)
}

// Server is the registry. Its fields may be changed with Set only. It is safe for
// concurrent use.
type Server struct {
	mu           sync.Mutex
	skills       []Skill
	repositories map[string]map[string]string
	failures     []failure
	older        bool
	requests     []string
	mux          *http.ServeMux
}

// failure is an answer that is given instead of the right one.
type failure struct {
	prefix string
	status int
	header http.Header
	body   string
	left   int
}

// New returns a registry with some skills.
func New(skills ...Skill) *Server {
	s := &Server{skills: skills, repositories: map[string]map[string]string{}, mux: http.NewServeMux()}
	for pattern, handler := range map[string]http.HandlerFunc{
		"GET /.well-known/clawhub.json":                s.discovery,
		"GET /api/v1/search":                           s.search,
		"GET /api/v1/skills":                           s.list,
		"GET /api/v1/skills/{slug}":                    s.skill,
		"GET /api/v1/skills/{slug}/versions":           s.versions,
		"GET /api/v1/skills/{slug}/versions/{version}": s.version,
		"GET /api/v1/skills/{slug}/install":            s.install,
		"GET /api/v1/skills/{slug}/file":               s.file,
		"GET /api/v1/resolve":                          s.resolve,
		"GET /api/v1/download":                         s.download,
		"GET /.well-known/agent-skills/index.json":     s.index,
		"GET /.well-known/agent-skills/{name}":         s.artifact,
		"GET /.well-known/skills/index.json":           s.olderIndex,
		"GET /.well-known/skills/{name}/{file...}":     s.olderFile,
		"GET /archive/{owner}/{name}/{version}":        s.archive,
	} {
		s.mux.HandleFunc(pattern, handler)
	}
	return s
}

// Set replaces the skills.
func (s *Server) Set(skills ...Skill) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.skills = skills
}

// SetRepository gives a repository, as owner/name, its files.
func (s *Server) SetRepository(name string, files map[string]string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.repositories[name] = files
}

// Older makes the well-known index the older one, with files and no digests.
func (s *Server) Older(older bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.older = older
}

// Fail answers the next n requests whose paths begin with a prefix with a status.
func (s *Server) Fail(prefix string, n, status int, header http.Header, body string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.failures = append(s.failures, failure{prefix, status, header, body, n})
}

// Requests returns what was asked for, as paths with their queries.
func (s *Server) Requests() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.requests)
}

// ServeHTTP answers a request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if f := s.failing(r); f != nil {
		maps.Copy(w.Header(), f.header)
		http.Error(w, f.body, f.status)
		return
	}
	w.Header().Set("RateLimit-Limit", "600")
	w.Header().Set("RateLimit-Remaining", "599")
	s.mux.ServeHTTP(w, r)
}

func (s *Server) failing(r *http.Request) *failure {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests = append(s.requests, r.URL.RequestURI())
	for i := range s.failures {
		if f := &s.failures[i]; f.left > 0 && strings.HasPrefix(r.URL.Path, f.prefix) {
			f.left--
			return f
		}
	}
	return nil
}

// find returns a skill, or answers that there is none.
func (s *Server) find(w http.ResponseWriter, r *http.Request, slug string) (Skill, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	owner := r.URL.Query().Get("ownerHandle")
	for _, k := range s.skills {
		if k.Name == slug && (owner == "" || strings.EqualFold(owner, k.Owner)) {
			return k, true
		}
	}
	http.Error(w, "Skill not found", http.StatusNotFound)
	return Skill{}, false
}

func (s *Server) all() []Skill {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.skills)
}

type object = map[string]any

func answer(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(v) // the client went away
}

func base(r *http.Request) string { return "http://" + r.Host }

// born is when everything here was made.
var born = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC).UnixMilli()

func (s *Server) discovery(w http.ResponseWriter, r *http.Request) {
	answer(w, object{"apiBase": base(r), "authBase": base(r), "minCliVersion": "0.1.0"})
}

func (k Skill) latest() (Version, bool) {
	if len(k.Versions) == 0 {
		return Version{}, false
	}
	return k.Versions[len(k.Versions)-1], true
}

func (k Skill) version(number string) (Version, bool) {
	for _, v := range k.Versions {
		if v.Number == number {
			return v, true
		}
	}
	return Version{}, false
}

func (s *Server) search(w http.ResponseWriter, r *http.Request) {
	results := []object{}
	query := strings.ToLower(r.URL.Query().Get("q"))
	for _, k := range s.all() {
		if !strings.Contains(strings.ToLower(k.Name+" "+k.Summary), query) {
			continue
		}
		v, _ := k.latest()
		results = append(results, object{
			"score": 0.5, "slug": k.Name, "displayName": k.Name, "summary": k.Summary, "version": v.Number, "updatedAt": born,
			"ownerHandle": k.Owner, "owner": object{"handle": k.Owner, "displayName": k.Owner, "image": nil},
		})
	}
	answer(w, object{"results": results})
}

func (k Skill) object() object {
	v, _ := k.latest()
	return object{
		"slug": k.Name, "displayName": k.Name, "summary": k.Summary, "tags": object{"latest": v.Number}, "stats": object{},
		"createdAt": born, "updatedAt": born, "latestVersion": k.latestObject(), "metadata": nil,
	}
}

func (k Skill) latestObject() any {
	v, ok := k.latest()
	if !ok {
		return nil
	}
	return object{"version": v.Number, "createdAt": born, "changelog": ""}
}

func (s *Server) list(w http.ResponseWriter, _ *http.Request) {
	items := []object{}
	for _, k := range s.all() {
		items = append(items, k.object())
	}
	answer(w, object{"items": items, "nextCursor": nil})
}

func (s *Server) skill(w http.ResponseWriter, r *http.Request) {
	k, ok := s.find(w, r, r.PathValue("slug"))
	if !ok {
		return
	}
	var moderation any
	if k.Verdict != "" && k.Verdict != "clean" {
		moderation = object{
			"isSuspicious": k.Verdict == "suspicious", "isMalwareBlocked": k.Verdict == "malicious", "verdict": k.Verdict,
			"reasonCodes": []string{k.Verdict + ".test"}, "summary": "Detected: " + k.Verdict + ".test", "engineVersion": "v2.0.0", "updatedAt": born,
		}
	}
	answer(w, object{
		"skill": k.object(), "latestVersion": k.latestObject(), "metadata": nil,
		"owner": object{"handle": k.Owner, "displayName": k.Owner, "image": nil}, "moderation": moderation,
	})
}

func (s *Server) versions(w http.ResponseWriter, r *http.Request) {
	k, ok := s.find(w, r, r.PathValue("slug"))
	if !ok {
		return
	}
	items := []object{}
	for _, v := range slices.Backward(k.Versions) {
		items = append(items, object{"version": v.Number, "createdAt": born, "changelog": "", "changelogSource": "user"})
	}
	answer(w, object{"items": items, "nextCursor": nil})
}

func (s *Server) version(w http.ResponseWriter, r *http.Request) {
	k, ok := s.find(w, r, r.PathValue("slug"))
	if !ok {
		return
	}
	v, ok := k.version(r.PathValue("version"))
	if !ok {
		http.Error(w, "Version not found", http.StatusNotFound)
		return
	}
	listed := v.Files
	if v.Listed != nil {
		listed = v.Listed
	}
	files := []object{}
	for _, name := range slices.Sorted(maps.Keys(listed)) {
		files = append(files, object{"path": name, "size": len(listed[name]), "sha256": Digest([]byte(listed[name])), "contentType": "text/plain"})
	}
	var scan any
	if v.Scan != "" {
		scan = object{"status": v.Scan, "hasWarnings": false}
	}
	answer(w, object{
		"version": object{"version": v.Number, "createdAt": born, "changelog": "", "files": files, "security": scan},
		"skill":   object{"slug": k.Name, "displayName": k.Name},
	})
}

// commit is that of every repository.
const commit = "0123456789abcdef0123456789abcdef01234567"

func (s *Server) install(w http.ResponseWriter, r *http.Request) {
	k, ok := s.find(w, r, r.PathValue("slug"))
	if !ok {
		return
	}
	v, ok := k.latest()
	switch {
	case ok:
		answer(w, object{"ok": true, "slug": k.Name, "installKind": "archive", "archive": object{"version": v.Number, "downloadUrl": "/api/v1/download?slug=" + url.QueryEscape(k.Name)}})
	case k.Repository == "":
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusLocked)
		answer(w, object{"ok": false, "slug": k.Name, "reason": "github_verification_pending", "message": "Still being scanned.", "status": 423})
	default:
		answer(w, object{"ok": true, "slug": k.Name, "installKind": "github", "github": object{
			"repo": k.Repository, "path": k.Folder, "commit": commit, "contentHash": s.contentHash(k), "sourceUrl": base(r) + "/" + k.Repository,
			"archiveUrl": base(r) + "/archive/" + k.Repository + "/" + commit,
		}})
	}
}

// contentHash is that of the skill's folder, whose names are in the order of
// JavaScript's localeCompare only as long as they are lower case.
func (s *Server) contentHash(k Skill) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var names []string
	for name := range s.repositories[k.Repository] {
		if rest, ok := strings.CutPrefix(name, k.Folder+"/"); ok {
			names = append(names, rest)
		}
	}
	slices.SortFunc(names, func(a, b string) int { return strings.Compare(strings.ToLower(a), strings.ToLower(b)) })
	var lines []string
	for _, name := range names {
		text := s.repositories[k.Repository][k.Folder+"/"+name]
		lines = append(lines, fmt.Sprintf("%s\x00%d\x00%s", name, len(text), Digest([]byte(text))))
	}
	return Digest([]byte(strings.Join(lines, "\n")))
}

func (s *Server) file(w http.ResponseWriter, r *http.Request) {
	k, ok := s.find(w, r, r.PathValue("slug"))
	if !ok {
		return
	}
	v, ok := k.version(r.URL.Query().Get("version"))
	if !ok {
		v, _ = k.latest()
	}
	text, ok := v.Files[r.URL.Query().Get("path")]
	if !ok {
		http.Error(w, "File not found", http.StatusNotFound)
		return
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	_, _ = w.Write([]byte(text))
}

// resolve tells which version has certain files.
func (s *Server) resolve(w http.ResponseWriter, r *http.Request) {
	k, ok := s.find(w, r, r.URL.Query().Get("slug"))
	if !ok {
		return
	}
	var match any
	for _, v := range k.Versions {
		if fingerprint(v.Files) == r.URL.Query().Get("hash") {
			match = object{"version": v.Number}
		}
	}
	var latest any
	if v, ok := k.latest(); ok {
		latest = object{"version": v.Number}
	}
	answer(w, object{"match": match, "latestVersion": latest})
}

func fingerprint(files map[string]string) string {
	names := slices.SortedFunc(maps.Keys(files), func(a, b string) int { return strings.Compare(strings.ToLower(a), strings.ToLower(b)) })
	var lines []string
	for _, name := range names {
		lines = append(lines, name+":"+Digest([]byte(files[name])))
	}
	return Digest([]byte(strings.Join(lines, "\n")))
}

func (s *Server) download(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	k, ok := s.find(w, r, q.Get("slug"))
	if !ok {
		return
	}
	if k.Verdict == "malicious" {
		http.Error(w, "This skill has been flagged as malicious.", http.StatusForbidden)
		return
	}
	v, ok := k.latest()
	if n := q.Get("version"); n != "" {
		v, ok = k.version(n)
	}
	if !ok {
		http.Error(w, "Version not found", http.StatusNotFound)
		return
	}
	w.Header().Set("Content-Type", "application/zip")
	w.Header().Set("Content-Disposition", mime.FormatMediaType("attachment", map[string]string{"filename": k.Name + "-" + v.Number + ".zip"}))
	_, _ = w.Write(v.archive())
}

func (v Version) archive() []byte {
	if v.Archive != nil {
		return v.Archive
	}
	return Zip(v.Files)
}

func (s *Server) index(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	older := s.older
	s.mu.Unlock()
	if older {
		http.NotFound(w, r)
		return
	}
	list := []object{}
	for _, k := range s.all() {
		v, ok := k.latest()
		if !ok {
			continue
		}
		kind, name, content := "archive", k.Name+".zip", v.archive()
		if text, one := v.Files["SKILL.md"]; one && len(v.Files) == 1 && v.Archive == nil {
			kind, name, content = "skill-md", k.Name+".md", []byte(text)
		}
		list = append(list, object{"name": k.Name, "description": k.Summary, "type": kind, "url": name, "digest": "sha256:" + Digest(content)})
	}
	answer(w, object{"$schema": "https://schemas.agentskills.io/discovery/0.2.0/schema.json", "skills": list})
}

func (s *Server) artifact(w http.ResponseWriter, r *http.Request) {
	name := r.PathValue("name")
	k, ok := s.find(w, r, strings.TrimSuffix(name, path.Ext(name)))
	if !ok {
		return
	}
	v, _ := k.latest()
	if strings.HasSuffix(name, ".md") {
		w.Header().Set("Content-Type", "text/markdown; charset=utf-8")
		_, _ = w.Write([]byte(v.Files["SKILL.md"]))
		return
	}
	w.Header().Set("Content-Type", "application/zip")
	_, _ = w.Write(v.archive())
}

func (s *Server) olderIndex(w http.ResponseWriter, _ *http.Request) {
	list := []object{}
	for _, k := range s.all() {
		if v, ok := k.latest(); ok {
			list = append(list, object{"name": k.Name, "description": k.Summary, "files": slices.Sorted(maps.Keys(v.Files))})
		}
	}
	answer(w, object{"skills": list})
}

func (s *Server) olderFile(w http.ResponseWriter, r *http.Request) {
	k, ok := s.find(w, r, r.PathValue("name"))
	if !ok {
		return
	}
	v, _ := k.latest()
	text, ok := v.Files[r.PathValue("file")]
	if !ok {
		http.NotFound(w, r)
		return
	}
	_, _ = w.Write([]byte(text))
}

func (s *Server) archive(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	files, ok := s.repositories[r.PathValue("owner")+"/"+r.PathValue("name")]
	s.mu.Unlock()
	if !ok {
		http.NotFound(w, r)
		return
	}
	top := map[string]string{}
	for name, text := range files {
		top[r.PathValue("name")+"-main/"+name] = text
	}
	w.Header().Set("Content-Type", "application/gzip")
	_, _ = w.Write(Tar(top))
}

// Zip makes a zip archive of files, the same one every time.
func Zip(files map[string]string) []byte {
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for _, name := range slices.Sorted(maps.Keys(files)) {
		f, err := z.CreateHeader(&zip.FileHeader{Name: name, Method: zip.Deflate})
		if err == nil {
			_, err = f.Write([]byte(files[name]))
		}
		must(err)
	}
	must(z.Close())
	return b.Bytes()
}

// Tar makes a tar.gz archive of files, the same one every time.
func Tar(files map[string]string) []byte {
	var b bytes.Buffer
	g := gzip.NewWriter(&b)
	t := tar.NewWriter(g)
	for _, name := range slices.Sorted(maps.Keys(files)) {
		must(t.WriteHeader(&tar.Header{Name: name, Typeflag: tar.TypeReg, Mode: 0o644, Size: int64(len(files[name]))}))
		_, err := t.Write([]byte(files[name]))
		must(err)
	}
	must(t.Close())
	must(g.Close())
	return b.Bytes()
}

// must is for what cannot fail in memory.
func must(err error) {
	if err != nil {
		panic(err)
	}
}

// Digest is the SHA-256 of a content, in hexadecimal.
func Digest(content []byte) string {
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:])
}
