package hubtest

import (
	"fmt"
	"maps"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

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
			"score": 0.5, "slug": k.Name, "displayName": k.Name, "summary": k.Summary, "version": v.Number,
			"updatedAt":   born,
			"ownerHandle": k.Owner, "owner": object{"handle": k.Owner, "displayName": k.Owner, "image": nil},
		})
	}
	answer(w, object{"results": results})
}

func (k Skill) object() object {
	v, _ := k.latest()
	return object{
		"slug": k.Name, "displayName": k.Name, "summary": k.Summary, "tags": object{"latest": v.Number},
		"stats":     object{},
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

func (s *Server) skill(w http.ResponseWriter, _ *http.Request, k Skill) {
	var moderation any
	if k.Verdict != "" && k.Verdict != "clean" {
		moderation = object{
			"isSuspicious": k.Verdict == "suspicious", "isMalwareBlocked": k.Verdict == "malicious",
			"verdict":     k.Verdict,
			"reasonCodes": []string{k.Verdict + ".test"}, "summary": "Detected: " + k.Verdict + ".test",
			"engineVersion": "v2.0.0", "updatedAt": born,
		}
	}
	answer(w, object{
		"skill": k.object(), "latestVersion": k.latestObject(), "metadata": nil,
		"owner": object{"handle": k.Owner, "displayName": k.Owner, "image": nil}, "moderation": moderation,
	})
}

func (s *Server) versions(w http.ResponseWriter, _ *http.Request, k Skill) {
	items := []object{}
	for _, v := range slices.Backward(k.Versions) {
		items = append(items, object{"version": v.Number, "createdAt": born, "changelog": "",
			"changelogSource": "user"})
	}
	answer(w, object{"items": items, "nextCursor": nil})
}

func (s *Server) version(w http.ResponseWriter, r *http.Request, k Skill) {
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
		files = append(files, object{"path": name, "size": len(listed[name]), "sha256": Digest([]byte(listed[name])),
			"contentType": "text/plain"})
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

// commit is the commit of every repository.
const commit = "0123456789abcdef0123456789abcdef01234567"

func (s *Server) install(w http.ResponseWriter, r *http.Request, k Skill) {
	v, ok := k.latest()
	switch {
	case ok:
		answer(w, object{"ok": true, "slug": k.Name, "installKind": "archive",
			"archive": object{"version": v.Number, "downloadUrl": "/api/v1/download?slug=" + url.QueryEscape(k.Name)}})
	case k.Repository == "":
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusLocked)
		answer(w, object{"ok": false, "slug": k.Name, "reason": "github_verification_pending",
			"message": "Still being scanned.", "status": 423})
	default:
		answer(w, object{"ok": true, "slug": k.Name, "installKind": "github", "github": object{
			"repo": k.Repository, "path": k.Folder, "commit": commit, "contentHash": s.contentHash(k),
			"sourceUrl":  base(r) + "/" + k.Repository,
			"archiveUrl": base(r) + "/archive/" + k.Repository + "/" + commit,
		}})
	}
}

// contentHash is the digest of the skill's folder. Its order is that of
// JavaScript's localeCompare for lower-case names only.
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

func (s *Server) file(w http.ResponseWriter, r *http.Request, k Skill) {
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

// resolve answers which version has files with a fingerprint.
func (s *Server) resolve(w http.ResponseWriter, r *http.Request, k Skill) {
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
	names := slices.SortedFunc(maps.Keys(files),
		func(a, b string) int { return strings.Compare(strings.ToLower(a), strings.ToLower(b)) })
	var lines []string
	for _, name := range names {
		lines = append(lines, name+":"+Digest([]byte(files[name])))
	}
	return Digest([]byte(strings.Join(lines, "\n")))
}

func (s *Server) download(w http.ResponseWriter, r *http.Request, k Skill) {
	if k.Verdict == "malicious" {
		http.Error(w, "This skill has been flagged as malicious.", http.StatusForbidden)
		return
	}
	v, ok := k.latest()
	if n := r.URL.Query().Get("version"); n != "" {
		v, ok = k.version(n)
	}
	if !ok {
		http.Error(w, "Version not found", http.StatusNotFound)
		return
	}
	w.Header().Set("Content-Type", "application/zip")
	w.Header().Set("Content-Disposition",
		mime.FormatMediaType("attachment", map[string]string{"filename": k.Name + "-" + v.Number + ".zip"}))
	_, _ = w.Write(v.archive())
}

func (v Version) archive() []byte {
	if v.Archive != nil {
		return v.Archive
	}
	return Zip(v.Files)
}
