// Package console is the web page for the person who runs etui, and keeps who signed in to it. The
// page is built from src with `make console`, and its files are in dist. It reads and changes
// everything through the HTTP API.
package console

import (
	"embed"
	"io/fs"
	"net/http"
	"strings"
)

//go:embed all:dist
var built embed.FS

// Path is where the page is.
const Path = "/console"

// policy lets the page load its own files and talk to its own gateway, and nothing else.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; " +
	"connect-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'; require-trusted-types-for 'script'; trusted-types default dompurify"

// ServeHTTP answers with a file of the page; every address below Path that is no file is a view of it.
func (c *Console) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	files, err := fs.Sub(built, "dist")
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	h := w.Header()
	h.Set("Content-Security-Policy", policy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Frame-Options", "DENY")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	name := strings.Trim(strings.TrimPrefix(r.URL.Path, Path), "/")
	h.Set("Cache-Control", "no-cache")
	if strings.HasPrefix(name, "assets/") { // their names change with their content
		h.Set("Cache-Control", "public, max-age=31536000, immutable")
	} else if _, err := fs.Stat(files, name); err != nil || name == "" {
		name = "index.html"
	}
	http.ServeFileFS(w, r, files, name)
}
