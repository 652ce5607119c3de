package server

import (
	"crypto/sha256"
	"crypto/subtle"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"

	"github.com/etui-run/etui/secret"
	"github.com/etui-run/etui/server/wire"
)

// serve returns a handler of the routes that some kinds of access have, behind
// the guard.
func (s *Server) serve(has func(Access) bool) http.Handler {
	mux := http.NewServeMux()
	access := map[string]Access{} // of patterns; a request that matches none is a Client's
	for _, r := range s.routes {
		if has(r.Access) {
			mux.HandleFunc(r.Pattern, r.handle)
			access[r.Pattern] = r.Access
		}
	}
	cross := http.NewCrossOriginProtection()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, pattern := mux.Handler(r)
		switch may := access[pattern]; {
		case !s.ownHost(r.Host):
			wire.Refuse(w, http.StatusMisdirectedRequest, fmt.Sprintf("%q is not a name of this gateway; add it to api.hosts in etui.yaml", r.Host))
		case cross.Check(r) != nil:
			wire.Refuse(w, http.StatusForbidden, "requests from other sites' pages are refused")
		case may != Open && !s.hasKey(r):
			wire.Refuse(w, http.StatusUnauthorized, "a valid API key is needed as bearer token")
		case may == Operator && !local(r):
			wire.Refuse(w, http.StatusForbidden, "the admin API answers only programs on its own machine, at a loopback address and without a proxy")
		default:
			// Room for the longest message, as JSON escapes it, and its history.
			r.Body = http.MaxBytesReader(w, r.Body, int64(8*s.engine.MaxMessage()+8<<20))
			mux.ServeHTTP(&answer{w, s.engine.Secrets()}, r)
		}
	})
}

// ownHost reports whether a name is one of the server's own.
func (s *Server) ownHost(host string) bool {
	name := strings.ToLower(hostname(host))
	return name == "" || name == "localhost" || net.ParseIP(name) != nil || slices.Contains(s.config.Hosts, name)
}

// hasKey reports whether a request has the key, or needs none. It takes the same
// time for every wrong key.
func (s *Server) hasKey(r *http.Request) bool {
	want := sha256.Sum256([]byte("Bearer " + s.config.Key))
	got := sha256.Sum256([]byte(r.Header.Get("Authorization")))
	return s.config.Key == "" || subtle.ConstantTimeCompare(want[:], got[:]) == 1
}

// forwarding are the headers in which proxies name their clients.
var forwarding = []string{"Forwarded", "X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto", "X-Forwarded-Port", "X-Real-Ip", "X-Envoy-External-Address", "Cf-Connecting-Ip", "True-Client-Ip", "Via"}

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
	secrets *secret.Known
}

func (a *answer) Write(p []byte) (int, error) {
	if _, err := a.ResponseWriter.Write(a.secrets.Redactor().JSON(p)); err != nil {
		return 0, err
	}
	return len(p), nil
}

// Unwrap lets [http.ResponseController] flush.
func (a *answer) Unwrap() http.ResponseWriter { return a.ResponseWriter }
