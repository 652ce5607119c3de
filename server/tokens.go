package server

import (
	"net/http"
	"strings"

	"github.com/etui-run/etui/server/mcp"
	"github.com/etui-run/etui/server/token"
	"github.com/etui-run/etui/server/wire"
)

// tokenChannel is the channel of the identities of people in tokens, and the name of their key.
const tokenChannel = "oauth"

// resourcePath is where clients read who gives tokens for a resource, see RFC 9728.
const resourcePath = "/.well-known/oauth-protected-resource"

// tokenOf returns the person who comes in with a token, if it counts and names a user.
func (s *Server) tokenOf(r *http.Request, raw string) (wire.Caller, bool) {
	if !token.IsJWT(raw) {
		return wire.Caller{}, false
	}
	subject, err := s.config.Tokens.Verify(r.Context(), raw)
	if err != nil {
		s.config.Log.InfoContext(r.Context(), "a token was refused", "error", err)
		return wire.Caller{}, false
	}
	user := s.users().ByIdentity(tokenChannel + ":" + subject)
	if user == nil {
		s.config.Log.InfoContext(r.Context(), "a token names nobody of users", "identity", tokenChannel+":"+subject)
		return wire.Caller{}, false
	}
	return wire.Caller{Key: tokenChannel, User: user.Name}, true
}

// challenge says that a key is needed, and tells the clients of protocols that log in by themselves where to
// begin.
func (s *Server) challenge(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("WWW-Authenticate", "Bearer")
	if s.config.Tokens != nil && s.config.URL != "" && protected(r.URL.Path) {
		w.Header().Set("WWW-Authenticate", `Bearer resource_metadata="`+s.config.URL+resourcePath+mcp.Path+`"`)
	}
}

func protected(path string) bool { return path == mcp.Path || strings.HasPrefix(path, mcp.Path+"/") }

// resource says who gives tokens for the routes of MCP.
func (s *Server) resource(w http.ResponseWriter, r *http.Request) {
	path := strings.TrimPrefix(r.URL.Path, resourcePath)
	if s.config.Tokens == nil || path != "" && !protected(path) {
		wire.Refuse(w, http.StatusNotFound, "no issuer of tokens is configured for this: api.issuer")
		return
	}
	wire.Reply(w, http.StatusOK, map[string]any{
		"resource": s.config.URL + mcp.Path, "authorization_servers": []string{s.config.Tokens.Issuer()},
		"bearer_methods_supported": []string{"header"}, "resource_name": "etui",
	})
}
