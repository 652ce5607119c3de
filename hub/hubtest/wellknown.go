package hubtest

import (
	"maps"
	"net/http"
	"slices"
	"strings"
)

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
		list = append(list, object{"name": k.Name, "description": k.Summary, "type": kind, "url": name,
			"digest": "sha256:" + Digest(content)})
	}
	answer(w, object{"$schema": "https://schemas.agentskills.io/discovery/0.2.0/schema.json", "skills": list})
}

func (s *Server) artifact(w http.ResponseWriter, r *http.Request, k Skill) {
	v, _ := k.latest()
	if strings.HasSuffix(r.URL.Path, ".md") {
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
			list = append(list, object{"name": k.Name, "description": k.Summary,
				"files": slices.Sorted(maps.Keys(v.Files))})
		}
	}
	answer(w, object{"skills": list})
}

func (s *Server) olderFile(w http.ResponseWriter, r *http.Request, k Skill) {
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
