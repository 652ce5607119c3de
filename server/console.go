package server

import (
	"cmp"
	"errors"
	"net/http"

	"github.com/etui-run/etui/console"
	"github.com/etui-run/etui/server/wire"
)

// ConsoleLink asks for a link by which a browser signs in to the console.
type ConsoleLink struct {
	// Role is viewer, operator or owner; empty means owner.
	Role string `json:"role,omitempty"`
	// Name says who signs in, in the audit.
	Name string `json:"name,omitempty"`
}

// MadeLink has the path of the link, whose end the browser does not send.
type MadeLink struct {
	Path string `json:"path"`
}

// SignIn signs a browser in, with the secret of a link.
type SignIn struct {
	Secret string `json:"secret"`
}

// ConsolePath returns the path of a link that signs an owner in to the console, once.
func (s *Server) ConsolePath(name string) string {
	return console.Path + "/#" + s.console.Link(console.Person{Name: name, Role: console.Owner})
}

func (s *Server) consoleLink(w http.ResponseWriter, r *http.Request) {
	var in ConsoleLink
	if !wire.Read(w, r, &in) {
		return
	}
	role, err := console.ParseRole(in.Role)
	if err != nil {
		wire.Refuse(w, http.StatusBadRequest, err.Error())
		return
	}
	p := console.Person{Name: cmp.Or(in.Name, wire.CallerOf(r).Key, "an operator"), Role: role}
	s.config.Log.InfoContext(r.Context(), "link to the console made", "name", p.Name, "role", p.Role)
	wire.Reply(w, http.StatusOK, MadeLink{console.Path + "/#" + s.console.Link(p)})
}

func (s *Server) signIn(w http.ResponseWriter, r *http.Request) {
	var in SignIn
	if !wire.Read(w, r, &in) {
		return
	}
	who, err := s.console.Redeem(w, r, in.Secret)
	if err != nil {
		wire.RefuseField(w, http.StatusGone, "used_link", "secret", err.Error())
		return
	}
	s.config.Log.InfoContext(r.Context(), "signed in to the console", "name", who.Name, "role", who.Role)
	wire.Reply(w, http.StatusOK, who)
}

func (s *Server) signedIn(w http.ResponseWriter, r *http.Request) {
	who, _ := s.console.Who(r) // empty says that nobody is
	wire.Reply(w, http.StatusOK, who)
}

func (s *Server) signOut(w http.ResponseWriter, r *http.Request) {
	s.console.SignOut(w, r)
	w.WriteHeader(http.StatusNoContent)
}

// allows reports whether somebody who signed in may use a route.
func allows(role console.Role, pattern string) bool {
	switch pattern {
	case "POST /api/whoami", "POST /api/select", "POST /api/why", "POST /api/memory", "POST /api/tools/{name}/judge", "POST /admin/configuration/check", "POST /console/session", "DELETE /console/session":
		return true
	case "POST /admin/keys", "DELETE /admin/keys/{name}", "DELETE /admin/users/{user}", "DELETE /api/usage", "POST /admin/console", "PUT /admin/configuration", "POST /admin/configuration/undo":
		return role == console.Owner
	}
	return role != console.Viewer || len(pattern) > 4 && pattern[:4] == "GET "
}

// file returns the configuration's file; where there is none to edit, it answers why.
func (s *Server) file(w http.ResponseWriter) (*console.File, bool) {
	if s.config.File == nil {
		wire.Refuse(w, http.StatusNotImplemented, "this program has no configuration to edit")
	}
	return s.config.File, s.config.File != nil
}

func (s *Server) readFile(w http.ResponseWriter, r *http.Request) {
	f, ok := s.file(w)
	if _, fine := wire.Query(w, r); ok && fine {
		text, err := f.Now()
		wire.Answer(w, text, err)
	}
}

func (s *Server) checkFile(w http.ResponseWriter, r *http.Request) {
	var in console.Edit
	if f, ok := s.file(w); ok && wire.Read(w, r, &in) {
		wire.Reply(w, http.StatusOK, f.Look(in.Text))
	}
}

func (s *Server) saveFile(w http.ResponseWriter, r *http.Request) {
	var in console.Edit
	if f, ok := s.file(w); ok && wire.Read(w, r, &in) {
		text, err := f.Save(in)
		s.saved(w, r, text, err, "saved")
	}
}

func (s *Server) undoFile(w http.ResponseWriter, r *http.Request) {
	var in console.Edit
	if f, ok := s.file(w); ok && wire.Read(w, r, &in) {
		text, err := f.Undo(in.Base)
		s.saved(w, r, text, err, "taken back")
	}
}

// saved answers after a change of the file, and logs who made it.
func (s *Server) saved(w http.ResponseWriter, r *http.Request, text console.Text, err error, how string) {
	switch {
	case errors.Is(err, console.ErrChanged):
		wire.Refuse(w, http.StatusConflict, err.Error())
	case errors.Is(err, console.ErrWrong):
		wire.Refuse(w, http.StatusBadRequest, err.Error())
	case err != nil:
		wire.Fail(w, err)
	default:
		s.config.Log.InfoContext(r.Context(), "configuration "+how+" in the console", "by", cmp.Or(wire.CallerOf(r).Key, "an operator"), "file", text.File)
		wire.Reply(w, http.StatusOK, text)
	}
}
