package server

import (
	"net/http"

	"github.com/etui-run/etui/server/wire"
)

// PersonStatus is a person of the configuration.
type PersonStatus struct {
	Name string `json:"name"`
	// Identities are the accounts that are this person.
	Identities []string          `json:"identities,omitempty"`
	Roles      []string          `json:"roles,omitempty"`
	Groups     []string          `json:"groups,omitempty"`
	Attrs      map[string]string `json:"attrs,omitempty"`
	Language   string            `json:"language,omitempty"`
}

func (s *Server) listPeople(w http.ResponseWriter, r *http.Request) {
	if _, ok := wire.Query(w, r); !ok {
		return
	}
	list := []PersonStatus{}
	for _, u := range s.users().All() {
		list = append(list, PersonStatus{u.Name, u.Identities, u.Roles, u.Groups, u.Attrs, u.Language})
	}
	wire.Reply(w, http.StatusOK, list)
}
