package server

import (
	_ "embed"
	"html/template"
	"net/http"
	"strings"

	"github.com/etui-run/etui/phrase"
	"github.com/etui-run/etui/server/wire"
)

//go:embed page.html
var pageText string

//go:embed openapi.json
var openapiText []byte

// openapi answers with the description of all routes.
func (s *Server) openapi(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(openapiText) // the client may have gone
}

// page answers a browser that opens the address, with a text that is the same for everybody who reads its
// language.
func (s *Server) page(w http.ResponseWriter, r *http.Request) {
	if !strings.Contains(r.Header.Get("Accept"), "text/html") {
		wire.RefuseField(w, http.StatusNotFound, wire.NoRoute, "",
			"there is no route GET /; POST /v1/chat/completions talks to an agent")
		return
	}
	page, err := template.New("page").Funcs(template.FuncMap{
		"chinese": func() bool { return phrase.Match(r.Header.Get("Accept-Language")) == phrase.Chinese },
	}).Parse(pageText)
	if err != nil {
		wire.Fail(w, err)
		return
	}
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Security-Policy",
		"default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'")
	h.Set("Vary", "Accept-Language")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	_ = page.Execute(w, r.Host) // the client may have gone
}

// noPicture answers browsers that look for the picture of a page.
func (s *Server) noPicture(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Cache-Control", "max-age=86400")
	w.WriteHeader(http.StatusNoContent)
}
