// Package console is the web page for the person who runs etui, and keeps who signed in to it, and the
// page for those who ask. Both are built from src with `make console`, and their files are in dist. They read and change
// everything through the HTTP API.
package console

import (
	"embed"
	"io/fs"
	"net/http"
	"path"
	"strings"

	"github.com/klauspost/compress/gzhttp"
)

//go:embed all:dist
var built embed.FS

// Path is where the page is.
const Path = "/console"

// ChatPath is where the page for those who ask is.
const ChatPath = "/chat"

// policy lets a page load its own files and talk to its own gateway, and nothing else. Sites may frame
// it; none means that nobody may.
func policy(host string, sites []string) string {
	framers := "'none'"
	if len(sites) > 0 {
		framers = strings.Join(sites, " ")
	}
	return "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; " +
		"connect-src 'self'" + host + "; frame-ancestors " + framers +
		"; base-uri 'none'; form-action 'none'; require-trusted-types-for 'script'; trusted-types default dompurify"
}

// guard sets the headers that keep a page apart from others.
func guard(h http.Header, policy string, framed bool) {
	h.Set("Content-Security-Policy", policy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cache-Control", "no-cache")
	if !framed {
		h.Set("X-Frame-Options", "DENY")
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
	}
}

// ServeHTTP answers with a file of the page; every address below Path that is no file is a view of it.
func (c *Console) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	name := strings.Trim(strings.TrimPrefix(r.URL.Path, Path), "/")
	guard(w.Header(), policy("", nil), false)
	if name == "schema.json" && c.Schema != nil {
		w.Header().Set("Content-Type", "application/json")
		gzhttp.GzipHandler(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			_, _ = w.Write(c.Schema) // the client may have gone
		})).ServeHTTP(w, r)
		return
	}
	if strings.HasPrefix(name, "assets/") { // their names change with their content
		w.Header().Set("Cache-Control", "public, max-age=31536000, immutable")
	} else if _, err := fs.Stat(built, path.Join("dist", name)); err != nil || name == "" {
		name = "index.html"
	}
	serve(w, r, name)
}

// serve answers with a built file, compressed for browsers that accept it. Nothing else goes out compressed: the
// length of an answer with a secret would tell of it.
func serve(w http.ResponseWriter, r *http.Request, name string) {
	gzhttp.GzipHandler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.ServeFileFS(w, r, built, path.Join("dist", name))
	})).ServeHTTP(w, r)
}

// Chat answers with the page for those who ask, which talks to the gateway's own API.
func Chat(w http.ResponseWriter, r *http.Request) {
	guard(w.Header(), policy("", nil), false)
	serve(w, r, "chat.html")
}

// ChannelChat answers with the same page at the address of a web channel, whose protocol it speaks there.
// The sites may frame it.
func ChannelChat(w http.ResponseWriter, r *http.Request, sites []string) {
	socket := " ws://" + r.Host + " wss://" + r.Host // older browsers do not count these as 'self'
	guard(w.Header(), policy(socket, sites), len(sites) > 0)
	serve(w, r, "chat.html")
}
