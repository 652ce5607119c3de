package server

import (
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"strings"

	"github.com/etui-run/etui/audit"
	"github.com/etui-run/etui/console"
	"github.com/etui-run/etui/inspect"
	"github.com/etui-run/etui/server/wire"
)

// ConsolePath returns the path of a link that signs an owner in to the console, once.
func (s *Server) ConsolePath(name string) string {
	return console.Path + "/#" + s.console.Link(console.Person{Name: name, Role: console.Owner})
}

// allows reports whether somebody who signed in may use a route. An owner alone may use those that
// change something and are not named here.
func allows(role console.Role, pattern string) bool {
	switch pattern {
	case "POST /api/whoami", "POST /api/select", "POST /api/why", "POST /api/memory", "POST /api/tools/{name}/judge",
		"POST /admin/configuration/check", "POST /console/session", "DELETE /console/session", "POST /console/provider",
		"POST /admin/configuration/preview", "POST /admin/ranking/evaluate":
		return true
	case "POST /api/chat", "POST /api/command", "POST /api/tools/{name}", "PUT /api/skills", "PUT /api/agents/{name}",
		"PUT /api/memory",
		"DELETE /api/sessions/{key}", "POST /api/sessions/{key}/stop", "DELETE /admin/sessions/{key}",
		"POST /admin/sessions/{key}/stop",
		"POST /api/approvals/{id}", "POST /admin/approvals/{id}", "DELETE /admin/approvals/{id}",
		"POST /admin/tasks", "POST /admin/tasks/{id}/{change}", "DELETE /admin/tasks/{id}",
		"POST /admin/inbox/{id}/retry", "DELETE /admin/inbox/{id}",
		"POST /admin/channels/{name}/send", "POST /admin/channels/{name}/test",
		"POST /admin/skills/reload", "POST /admin/ranking/examples", "POST /admin/skills/{name}/{change}",
		"DELETE /admin/skills/{name}":
		return role != console.Viewer
	}
	return role == console.Owner || strings.HasPrefix(pattern, "GET ")
}

// reads reports whether a route changes nothing.
func reads(pattern string) bool { return allows(console.Viewer, pattern) }

// note records a change of somebody who signed in, before it is made, and one that a role may not make.
func (s *Server) note(r *http.Request, c wire.Caller, pattern string, allowed bool) error {
	d := audit.Decision{Time: s.engine.Now(), Channel: "console", User: c.Key, Tool: pattern, Risk: "destructive",
		Allowed: allowed}
	if !allowed {
		d.Stage, d.Reason = "policy", "the role "+c.Role+" may not do that"
	}
	args, _ := json.Marshal(map[string]string{"address": r.URL.RequestURI()}) // texts always marshal
	return s.config.Skills.Calls.Keep(r.Context(), d, args)
}

// editor answers requests about the configuration's file.
type editor struct {
	file *console.File
	log  *slog.Logger
}

// known reports whether there is a file; where there is none, it answers that.
func (e editor) known(w http.ResponseWriter) bool {
	if e.file == nil {
		wire.Refuse(w, http.StatusNotImplemented, "this program has no configuration to edit")
	}
	return e.file != nil
}

func (e editor) read(w http.ResponseWriter, r *http.Request) {
	if _, ok := wire.Query(w, r); ok && e.known(w) {
		text, err := e.file.Now()
		if role := wire.CallerOf(r).Role; role != "" && role != string(console.Owner) {
			text.Base = "" // only who saves needs it, and a secret that is hidden in the text could be guessed by its hash
		}
		wire.Answer(w, text, err)
	}
}

func (e editor) check(w http.ResponseWriter, r *http.Request) {
	var in console.Edit
	if wire.Read(w, r, &in) && e.known(w) {
		wire.Reply(w, http.StatusOK, e.file.Look(in.Text))
	}
}

// preview answers with what another text would have meant for the latest turns.
func (s *Server) preview(w http.ResponseWriter, r *http.Request) {
	var in console.Edit
	if !wire.Read(w, r, &in) || !s.editor.known(w) {
		return
	}
	if s.config.Preview == nil {
		wire.Refuse(w, http.StatusNotImplemented, "this program cannot say what other rules would have meant")
		return
	}
	if problems := s.editor.file.Look(in.Text).Problems; len(problems) > 0 {
		wire.Refuse(w, http.StatusBadRequest, strings.Join(problems, "\n"))
		return
	}
	past, err := inspect.New(s.engine).Turns(r.Context(), maxPreviewed)
	if err != nil {
		wire.Fail(w, err)
		return
	}
	found, err := s.config.Preview(r.Context(), in.Text, past)
	wire.Answer(w, found, err)
}

// maxPreviewed is how many past turns a preview looks at.
const maxPreviewed = 100

func (e editor) save(w http.ResponseWriter, r *http.Request) {
	var in console.Edit
	if wire.Read(w, r, &in) && e.known(w) {
		text, err := e.file.Save(in)
		e.saved(w, r, text, err, "saved")
	}
}

func (e editor) undo(w http.ResponseWriter, r *http.Request) {
	var in console.Edit
	if wire.Read(w, r, &in) && e.known(w) {
		text, err := e.file.Undo(in.Base)
		e.saved(w, r, text, err, "taken back")
	}
}

// ToolChange says which text of the configuration somebody saw who switches a tool on or off.
type ToolChange struct {
	Base string `json:"base"`
}

// switchTool adds the tool {name}, or "group:" and a group, to tools.disabled, or takes it out.
func (e editor) switchTool(w http.ResponseWriter, r *http.Request) {
	var in ToolChange
	change := r.PathValue("change")
	switch {
	case !wire.Read(w, r, &in) || !e.known(w):
	case change != "enable" && change != "disable":
		wire.Refuse(w, http.StatusNotFound, "a tool is changed by enable or disable")
	case e.file.Switch == nil:
		wire.Refuse(w, http.StatusNotImplemented, "this program cannot switch tools on and off")
	default:
		text, err := e.file.SwitchTool(in.Base, r.PathValue("name"), change == "enable")
		e.saved(w, r, text, err, change+" "+r.PathValue("name"))
	}
}

// saved answers after a change of the file, and logs who made it.
func (e editor) saved(w http.ResponseWriter, r *http.Request, text console.Text, err error, how string) {
	switch {
	case errors.Is(err, console.ErrChanged):
		wire.Refuse(w, http.StatusConflict, err.Error())
	case errors.Is(err, console.ErrWrong):
		wire.Refuse(w, http.StatusBadRequest, err.Error())
	case err != nil:
		wire.Fail(w, err)
	default:
		e.log.InfoContext(r.Context(), "configuration changed in the console", "how", how, "by",
			wire.CallerOf(r).Name(), "file", text.File)
		wire.Reply(w, http.StatusOK, text)
	}
}
