// Package hubtest is a server of skills for tests. It has ClawHub's HTTP API, a
// well-known index, and archives of repositories. ClawHub's own client and the
// skills client work with it.
package hubtest

import (
	"cmp"
	"encoding/json"
	"maps"
	"net/http"
	"path"
	"slices"
	"strings"
	"sync"
	"time"
)

// Skill is a skill of the server.
type Skill struct {
	Name, Owner, Summary string
	// Versions are its versions, the newest last. A skill without versions is in a
	// repository.
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
	// Archive replaces the archive of the files. May be nil.
	Archive []byte
	// Listed replaces the files whose digests the server lists. May be nil.
	Listed map[string]string
	// Scan is the scanners' verdict; empty means none.
	Scan string
}

// Server is an HTTP handler. It is safe for concurrent use.
type Server struct {
	mu           sync.Mutex
	skills       []Skill
	repositories map[string]map[string]string
	failures     []failure
	older        bool
	mux          *http.ServeMux
}

// failure is an answer instead of the right one.
type failure struct {
	prefix string
	status int
	header http.Header
	body   string
	left   int
}

// New returns a server with some skills.
func New(skills ...Skill) *Server {
	s := &Server{skills: skills, repositories: map[string]map[string]string{}, mux: http.NewServeMux()}
	for pattern, handler := range map[string]http.HandlerFunc{
		"GET /.well-known/clawhub.json":                s.discovery,
		"GET /api/v1/search":                           s.search,
		"GET /api/v1/skills":                           s.list,
		"GET /api/v1/skills/{slug}":                    s.find(s.skill),
		"GET /api/v1/skills/{slug}/versions":           s.find(s.versions),
		"GET /api/v1/skills/{slug}/versions/{version}": s.find(s.version),
		"GET /api/v1/skills/{slug}/install":            s.find(s.install),
		"GET /api/v1/skills/{slug}/file":               s.find(s.file),
		"GET /api/v1/resolve":                          s.find(s.resolve),
		"GET /api/v1/download":                         s.find(s.download),
		"GET /.well-known/agent-skills/index.json":     s.index,
		"GET /.well-known/agent-skills/{slug}":         s.find(s.artifact),
		"GET /.well-known/skills/index.json":           s.olderIndex,
		"GET /.well-known/skills/{slug}/{file...}":     s.find(s.olderFile),
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

// Older makes the well-known index the older one, which has files but no digests.
func (s *Server) Older(older bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.older = older
}

// Fail answers the next n requests with a status, if their paths begin with a
// prefix.
func (s *Server) Fail(prefix string, n, status int, header http.Header, body string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.failures = append(s.failures, failure{prefix, status, header, body, n})
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
	for i := range s.failures {
		if f := &s.failures[i]; f.left > 0 && strings.HasPrefix(r.URL.Path, f.prefix) {
			f.left--
			return f
		}
	}
	return nil
}

// find returns a handler that calls f with the skill that a request names, or
// answers 404.
func (s *Server) find(f func(http.ResponseWriter, *http.Request, Skill)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		q := r.URL.Query()
		slug := cmp.Or(r.PathValue("slug"), q.Get("slug"))
		slug = strings.TrimSuffix(slug, path.Ext(slug))
		for _, k := range s.all() {
			if owner := q.Get("ownerHandle"); k.Name == slug && (owner == "" || strings.EqualFold(owner, k.Owner)) {
				f(w, r, k)
				return
			}
		}
		http.Error(w, "Skill not found", http.StatusNotFound)
	}
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
