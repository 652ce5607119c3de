package server

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/etui-run/etui/console"
	"github.com/etui-run/etui/identity"
	"github.com/etui-run/etui/message"
	"github.com/etui-run/etui/phrase"
	"github.com/etui-run/etui/secret"
	"github.com/etui-run/etui/server/anthropic"
	"github.com/etui-run/etui/server/mcp"
	"github.com/etui-run/etui/server/wire"
)

// serve returns a handler of the routes that some kinds of access have, behind
// the guard.
func (s *Server) serve(has func(Access) bool) http.Handler {
	mux := http.NewServeMux()
	access := map[string]Access{"": Person} // of patterns; "" is that of a request that matches none
	for _, r := range s.routes {
		if has(r.Access) {
			mux.HandleFunc(r.Pattern, r.handle)
			access[r.Pattern] = r.Access
		}
	}
	cross := http.NewCrossOriginProtection()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		pace(w, r)
		id := "req_" + rand.Text()
		w.Header().Set("X-Request-Id", id)
		w.Header().Set("Request-Id", id) // as Anthropic calls it
		connection := w
		out := &answer{ResponseWriter: w, secrets: s.engine.Agents().Secrets(), shape: shapeOf(r),
			language: phrase.Match(r.Header.Get("Accept-Language"))}
		w = out
		if len(r.TransferEncoding) > 0 {
			// Content-Length may have been there, too, which net/http does not tell. Two
			// lengths are how requests are smuggled past a proxy, so nothing follows this one.
			w.Header().Set("Connection", "close")
		}
		page := s.foreign(r)
		if page {
			w.Header().Add("Vary", "Origin")
			w.Header().Set("Access-Control-Allow-Origin", r.Header.Get("Origin"))
			w.Header().Set("Access-Control-Expose-Headers", "Retry-After, X-Request-Id")
			if r.Method == http.MethodOptions && r.Header.Get("Access-Control-Request-Method") != "" {
				preflight(w, r, func(r *http.Request) bool {
					_, pattern := mux.Handler(r)
					return pattern != "" && access[pattern] == Person
				})
				return
			}
		}
		_, pattern := mux.Handler(r)
		needed, from := access[pattern], peer(r)
		if needed != Open && presented(r) != "" && s.wrong.floods(from) {
			w.Header().Set("Retry-After", "1")
			wire.Refuse(w, http.StatusTooManyRequests, "too many wrong API keys from this address")
			return
		}
		if needed != Open || strings.HasSuffix(pattern, " /console/session") { // no page has it as a frame, a script or a style, and no browser keeps it
			w.Header().Set("X-Content-Type-Options", "nosniff")
			w.Header().Set("X-Frame-Options", "DENY")
			w.Header().Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'")
			w.Header().Set("Cache-Control", "no-store")
		}
		c, known := s.caller(r)
		if page && (presented(r) == "" || s.config.Key == "" && !s.needed()) {
			known = false // a program on this machine may need no key, but a page always does
		}
		if needed == Operator && c.Role == "" && presented(r) == "" && r.Header.Get("Sec-Fetch-Site") == "same-origin" {
			known = false // so does the console
		}
		out.operator = known && c.Operator
		switch {
		case strings.ContainsRune(r.URL.Path, 0) || strings.Contains(r.URL.RawQuery, "%00"):
			wire.Refuse(w, http.StatusBadRequest, "the address contains a NUL character")
		case !s.ownHost(r.Host):
			wire.Refuse(w, http.StatusMisdirectedRequest,
				fmt.Sprintf("%q is not a name of this gateway; add it to api.hosts in etui.yaml", r.Host))
		case crosses(cross, r, needed) && !s.trusts(pattern, r) && (!page || needed != Person):
			wire.Refuse(w, http.StatusForbidden, "requests from other sites' pages are refused")
		case needed != Open && !known:
			if presented(r) != "" {
				s.wrong.wait(r.Context(), from)
			}
			s.challenge(w, r)
			wire.Refuse(w, http.StatusUnauthorized,
				"a valid API key is needed as bearer token"+
					map[bool]string{true: ", since the request comes from the page of another site"}[page])
		case needed != Open && !may(c, needed):
			wire.Refuse(w, http.StatusForbidden,
				fmt.Sprintf("this API key may not do that: it takes the key of an operator%s",
					map[bool]string{true: ", or one that may speak for others"}[needed == Client]))
		case c.Role != "" && !allows(console.Role(c.Role), pattern):
			if pattern != "" {
				_ = s.note(r, c, pattern, false) // it is refused in any case
			}
			wire.Refuse(w, http.StatusForbidden, "the role "+c.Role+" may not do that")
		case needed == Operator && !local(r) && (c.Role == "" || !s.console.Elsewhere(r)):
			wire.Refuse(w, http.StatusForbidden,
				"the admin API answers only programs on its own machine, at a loopback address and without a proxy")
		default:
			// Room for the longest message, as JSON escapes it, its history, and pictures
			// as base64.
			if pattern != toChannel { // the host bounds deliveries
				body := &largeBody{ReadCloser: http.MaxBytesReader(connection, r.Body,
					int64(8*s.engine.Agents().MaxMessage()+8<<20+message.MaxPictureBytes/3*4)), ctx: r.Context(),
					larges: &s.larges, client: c.Key}
				defer body.end()
				r.Body = body
			}
			if pattern == "" {
				unmatched(w, r, mux)
				return
			}
			if c.Role != "" && !reads(pattern) {
				if err := s.note(r, c, pattern, true); err != nil {
					wire.Fail(w, fmt.Errorf("the audit cannot be written, and nothing was changed: %w", err))
					return
				}
			}
			mux.ServeHTTP(w, r.WithContext(wire.WithCaller(r.Context(), c)))
		}
	})
}

// crosses reports whether the page of another site sends a request, with a GET, too, unless the route is open or
// the request is that of a link. A picture's has no origin, and the page reads no answer, but each would cost work.
func crosses(cross *http.CrossOriginProtection, r *http.Request, needed Access) bool {
	mode := r.Header.Get("Sec-Fetch-Mode")
	if needed != Open && (r.Header.Get("Origin") != "" || mode != "" && mode != "navigate") &&
		r.Method != http.MethodOptions {
		asked := *r
		asked.Method = http.MethodPost
		r = &asked
	}
	return cross.Check(r) != nil
}

// foreign reports whether a request comes from a page of a site that may use the API.
func (s *Server) foreign(r *http.Request) bool {
	return slices.Contains(s.config.Origins, r.Header.Get("Origin")) &&
		!s.console.Elsewhere(r) // that is the console itself
}

// preflight answers a browser that asks whether a page may send a request. What the page sends is
// checked again.
func preflight(w http.ResponseWriter, r *http.Request, allowed func(*http.Request) bool) {
	asked := r.Clone(r.Context())
	if asked.Method = r.Header.Get("Access-Control-Request-Method"); allowed(asked) {
		w.Header().Set("Access-Control-Allow-Methods", asked.Method)
		w.Header().Set("Access-Control-Allow-Headers", r.Header.Get("Access-Control-Request-Headers"))
		w.Header().Set("Access-Control-Max-Age", "600")
		if r.Header.Get("Access-Control-Request-Private-Network") == "true" {
			w.Header().Set("Access-Control-Allow-Private-Network", "true")
		}
	}
	w.WriteHeader(http.StatusNoContent)
}

// trusts reports whether a request of another site's page is for a channel that lets that
// site in.
func (s *Server) trusts(pattern string, r *http.Request) bool {
	name, ok := strings.CutPrefix(r.URL.Path, "/channels/")
	return ok && pattern == toChannel && s.config.Channels.Trusts(name, r.Header.Get("Origin"))
}

// unmatched refuses a request that no route matches. The mux knows whether it is the
// path or the method.
func unmatched(w http.ResponseWriter, r *http.Request, mux *http.ServeMux) {
	found := &status{header: http.Header{}}
	mux.ServeHTTP(found, r)
	if found.code == http.StatusMethodNotAllowed {
		w.Header().Set("Allow", found.header.Get("Allow"))
		wire.Refuse(w, found.code, fmt.Sprintf("%s does not take the method %s; it takes %s", r.URL.Path, r.Method,
			found.header.Get("Allow")))
		return
	}
	wire.RefuseField(w, http.StatusNotFound, wire.NoRoute, "",
		fmt.Sprintf("there is no route %s %s; clients of OpenAI use POST /v1/chat/completions, POST /v1/completions, POST /v1/responses, POST /v1/conversations and GET /v1/models, those of Anthropic POST /v1/messages and POST /v1/messages/count_tokens, those of MCP POST /mcp, and etui's own is POST /api/chat", r.Method, r.URL.Path))
}

// status keeps the status of an answer and drops the rest.
type status struct {
	header http.Header
	code   int
}

func (s *status) Header() http.Header         { return s.header }
func (s *status) WriteHeader(code int)        { s.code = code }
func (s *status) Write(p []byte) (int, error) { return len(p), nil }

// ownHost reports whether a name is one of the server's own.
func (s *Server) ownHost(host string) bool {
	name := strings.ToLower(hostname(host))
	return name == "localhost" || net.ParseIP(name) != nil || slices.Contains(s.config.Hosts, name)
}

// presented returns the key that a client presents, as a bearer token. Anthropic's clients have a
// header of their own for it. Two are no key.
func presented(r *http.Request) string {
	said, own := strings.Join(r.Header.Values("Authorization"), ", "), r.Header.Values("X-Api-Key")
	if said == "" && len(own) == 1 && own[0] != "" {
		return "Bearer " + own[0]
	}
	return said
}

// caller returns who the client of a request is, and whether it may come in. It takes the
// same time for every wrong key.
func (s *Server) caller(r *http.Request) (wire.Caller, bool) {
	all := wire.Caller{ForOthers: true, Operator: true}
	said := presented(r)
	if who, ok := s.console.Who(r); ok && said == "" && (local(r) || s.console.Elsewhere(r)) {
		return wire.Caller{ForOthers: true, Operator: true, Key: who.Name, Role: string(who.Role)}, true
	}
	if s.config.Key == "" && (!s.needed() || said == "" && local(r)) {
		return all, true
	}
	isKey := same(said, s.config.Key)
	isKey = same(said, s.config.Local) || isKey
	token, bearer := strings.CutPrefix(said, "Bearer ")
	key, known := s.config.Keys.Find(token)
	if isKey {
		return all, true
	}
	if bearer && !known && s.config.Tokens != nil {
		return s.tokenOf(r, token)
	}
	user, usable := s.users().Owner(key)
	if !bearer || !known || !usable {
		return wire.Caller{}, false
	}
	c := wire.Caller{
		Key: key.Name, ForOthers: key.ForOthers, Operator: key.Operator, NoClientTools: key.NoClientTools,
	}
	if user != nil {
		c.User = user.Name
	}
	return c, true
}

// same reports whether a client presents a key, in the same time for every wrong one.
func same(said, key string) bool {
	want, got := sha256.Sum256([]byte("Bearer "+key)), sha256.Sum256([]byte(said))
	return subtle.ConstantTimeCompare(want[:], got[:]) == 1 && key != ""
}

// needed reports whether clients need a key or a token.
func (s *Server) needed() bool { return s.config.Keys.Needed() || s.config.Tokens != nil }

func (s *Server) users() *identity.Users {
	if s.config.Users == nil {
		return nil
	}
	return s.config.Users()
}

// may reports whether a client may use a route, wherever it is.
func may(c wire.Caller, a Access) bool {
	return a >= Person || c.Operator || a == Client && c.ForOthers
}

// forwarding are the headers in which proxies name their clients.
var forwarding = []string{"Forwarded", "X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto", "X-Forwarded-Port",
	"X-Real-Ip", "X-Envoy-External-Address", "Cf-Connecting-Ip", "True-Client-Ip", "Via"}

// local reports whether a request came straight from a program on this machine.
func local(r *http.Request) bool {
	address, _ := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	proxied := slices.ContainsFunc(forwarding, func(name string) bool { return len(r.Header.Values(name)) > 0 })
	return !proxied && address != nil && loopback(address.String()) && loopback(r.Host)
}

func loopback(address string) bool {
	host := hostname(address)
	ip := net.ParseIP(host)
	return strings.EqualFold(host, "localhost") || ip != nil && ip.IsLoopback()
}

// hostname cuts the port and the brackets off an address.
func hostname(address string) string {
	if host, _, err := net.SplitHostPort(address); err == nil {
		return host
	}
	return strings.Trim(address, "[]")
}

// answer hides secrets in everything that is written, errors included. It relies
// on each piece of JSON being written at once.
type answer struct {
	http.ResponseWriter
	secrets  *secret.Set
	operator bool
	language string // of the client's person
	// shape writes a refusal in the form of the client's protocol; nil means OpenAI's.
	shape func(status int, p wire.Problem) any
}

// shapeOf returns the form in which the client of a request reads refusals.
func shapeOf(r *http.Request) func(status int, p wire.Problem) any {
	switch {
	case anthropic.Asks(r):
		return anthropic.Problem
	case protected(r.URL.Path):
		return mcp.Problem
	}
	return nil
}

// Shape implements [wire.Shaper].
func (a *answer) Shape(status int, p wire.Problem) any {
	if a.shape != nil {
		return a.shape(status, p)
	}
	return p
}

// Whole implements [wire.Whole].
func (a *answer) Whole() bool { return a.operator }

// Language implements [wire.Speaker].
func (a *answer) Language() string { return a.language }

func (a *answer) Write(p []byte) (int, error) {
	_ = http.NewResponseController(a.ResponseWriter).SetWriteDeadline(time.Now().Add(slowest)) // not every writer has one
	if _, err := a.ResponseWriter.Write(a.secrets.Redactor().JSON(p)); err != nil {
		return 0, err
	}
	return len(p), nil
}

// Unwrap lets [http.ResponseController] flush.
func (a *answer) Unwrap() http.ResponseWriter { return a.ResponseWriter }
