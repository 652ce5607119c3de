package admin

import (
	"context"
	"errors"
	"net/http"

	"github.com/etui-run/etui/hub"
	"github.com/etui-run/etui/server/wire"
)

// Registry finds, checks and installs packages of skills, as [hub.Installer] does.
type Registry interface {
	Find(ctx context.Context, source, text string, limit int) ([]hub.Match, []error)
	Lookup(ctx context.Context, source, words, version string) (hub.Source, hub.Ref, error)
	Offer(ctx context.Context, s hub.Source, ref hub.Ref, o hub.Options) (hub.Offer, error)
	Install(ctx context.Context, s hub.Source, ref hub.Ref, o hub.Options) (*hub.Installation, error)
}

// FoundSkills are skills of registries.
type FoundSkills struct {
	Skills []FoundSkill `json:"skills"`
	// Failed are registries that did not answer, and why.
	Failed []string `json:"failed,omitempty"`
}

// FoundSkill is a skill of a registry. Words are what a [Package] takes as its name.
type FoundSkill struct {
	hub.Match
	Words string `json:"words"`
}

// Package names a skill of a registry, or the address of a Git repository or of a folder in it.
type Package struct {
	Name     string `json:"name"`
	Registry string `json:"registry,omitempty"`
	Version  string `json:"version,omitempty"`
	// Sum is that of the offer which a person looked at: other files are not installed.
	Sum string `json:"sum,omitempty"`
	// Accept accepts what a person should look at first, and Force replaces a skill that is there.
	Accept bool `json:"accept,omitempty"`
	Force  bool `json:"force,omitempty"`
}

// Find answers with the [FoundSkills] that fit the query.
func (a *API) Find(w http.ResponseWriter, r *http.Request) {
	q, ok := wire.Query(w, r, "query", "registry")
	if !ok || !a.installs(w) {
		return
	}
	found, errs := a.config.Registry.Find(r.Context(), q.Get("registry"), q.Get("query"), hub.MaxFound)
	list := FoundSkills{Skills: []FoundSkill{}}
	for _, f := range found {
		list.Skills = append(list.Skills, FoundSkill{f, f.Words()})
	}
	for _, err := range errs {
		list.Failed = append(list.Failed, err.Error())
	}
	wire.Reply(w, http.StatusOK, list)
}

// Offer answers with the [hub.Offer] of a [Package]; nothing is installed.
func (a *API) Offer(w http.ResponseWriter, r *http.Request) {
	var p Package
	if s, ref, ok := a.lookup(w, r, &p); ok {
		offer, err := a.config.Registry.Offer(r.Context(), s, ref, hub.Options{Force: p.Force})
		a.installed(w, offer, err)
	}
}

// Install answers with the [hub.Installation] of a [Package].
func (a *API) Install(w http.ResponseWriter, r *http.Request) {
	var p Package
	s, ref, ok := a.lookup(w, r, &p)
	if !ok {
		return
	}
	if p.Sum == "" {
		wire.RefuseField(w, http.StatusBadRequest, "invalid_request", "sum",
			"look at what would be installed first: POST /admin/skills/offer gives the sum")
		return
	}
	done, err := a.config.Registry.Install(r.Context(), s, ref,
		hub.Options{Force: p.Force, Accept: p.Accept, Only: p.Sum})
	if err == nil {
		by := wire.CallerOf(r).Name()
		a.config.Log.InfoContext(r.Context(), "skill installed", "skill", done.Name, "by", by)
		if a.config.Reload != nil {
			_, err = a.config.Reload(r.Context(), by, "the skill "+done.Name+" was installed")
		}
	}
	a.installed(w, done, err)
}

func (a *API) installs(w http.ResponseWriter) bool {
	if a.config.Registry == nil {
		wire.Refuse(w, http.StatusNotImplemented, "this program installs no skills")
	}
	return a.config.Registry != nil
}

// lookup reads a package and finds it. When it cannot, it answers why.
func (a *API) lookup(w http.ResponseWriter, r *http.Request, p *Package) (s hub.Source, ref hub.Ref, ok bool) {
	if !wire.Read(w, r, p) || !a.installs(w) {
		return s, ref, false
	}
	if p.Name == "" || hub.IsFile(p.Name) {
		wire.RefuseField(w, http.StatusBadRequest, "invalid_request", "name",
			"name a skill of a registry, or the address of a repository; etui skills install takes files")
		return s, ref, false
	}
	s, ref, err := a.config.Registry.Lookup(r.Context(), p.Registry, p.Name, p.Version)
	if err != nil {
		a.installed(w, nil, err)
	}
	return s, ref, err == nil
}

// installed answers with what was found or installed.
func (a *API) installed(w http.ResponseWriter, done any, err error) {
	var ask *hub.NeedsYesError
	switch {
	case err == nil:
		wire.Reply(w, http.StatusOK, done)
	case errors.Is(err, hub.ErrInstalled), errors.As(err, &ask):
		wire.Refuse(w, http.StatusConflict, err.Error())
	case errors.Is(err, hub.ErrUnavailable):
		wire.Refuse(w, http.StatusBadGateway, err.Error())
	default: // refused, not found, or not a name
		wire.Refuse(w, http.StatusBadRequest, err.Error())
	}
}
