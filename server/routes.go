package server

import (
	"net/http"
	"slices"

	"github.com/etui-run/etui/server/admin"
	"github.com/etui-run/etui/server/api"
	"github.com/etui-run/etui/server/openai"
)

// Access says who may use a route. The zero value is [Client].
type Access int

// The kinds of access.
const (
	// Client: with the key, if one is configured.
	Client Access = iota
	// Open: without a key.
	Open
	// Operator: with the key, if one is configured, and from a program on this
	// machine: at a loopback address, by a name for it, and not through a proxy.
	Operator
)

func (a Access) String() string { return [...]string{"client", "open", "operator"}[a] }

// Route is something that the server does.
type Route struct {
	// Pattern has a method and a path, as [http.ServeMux] reads it.
	Pattern string
	Access  Access
	// Does says in a few words what comes in and what goes out.
	Does string

	handle http.HandlerFunc
}

// Routes lists everything that the server does, with who may use it.
func (s *Server) Routes() []Route { return slices.Clone(s.routes) }

// table lists all routes. The mux, the guard and the documentation follow it.
func table(s *Server, chat *openai.API, own *api.API, skills *admin.API) []Route {
	return []Route{
		{"GET /healthz", Open, "whether the process is up", s.live},
		{"GET /readyz", Open, "whether it can answer: the store can be read", s.ready},

		{"GET /v1/models", Client, "the agents, as models", chat.Models},
		{"POST /v1/chat/completions", Client, `OpenAI's chat completions; "model" names the agent`, chat.Completions},

		{"POST /api/chat", Client, "a Message in, a line of JSON for each Event out", own.Chat},
		{"POST /api/select", Client, "a Question in, an Answer out: what a message would get", own.Select},
		{"POST /api/why", Client, "a Look in: what earlier messages of a conversation got", own.Why},
		{"GET /api/status", Client, "agents, cache breaks, rules in effect, configuration", own.Status},
		{"GET /api/tools", Client, "every tool, shadowed ones too", own.Tools},
		{"POST /api/tools/{name}", Client, "a CallRequest in, the result of the tool out", own.Call},
		{"POST /api/tools/{name}/judge", Client, "a CallRequest in: what would become of the call", own.Judge},
		{"GET /api/skills", Client, "the toolsets, and which one is active: ?agent=", own.Toolsets},
		{"PUT /api/skills", Client, `make a toolset active: {"agent": "", "skill": ""}`, own.SetToolset},
		{"GET /api/agents", Client, "an AgentStatus for each agent", own.Agents},
		{"PUT /api/agents/{name}", Client, "a Control in, the AgentStatus out", own.Control},
		{"GET /api/usage", Client, "the record of past turns: ?agent= ?user= ?limit=", own.PastTurns},
		{"DELETE /api/usage", Client, "erase it: ?user=, or ?everybody=true", own.Forget},

		{"GET /admin/skills", Operator, "every skill, and the files that give none", skills.List},
		{"GET /admin/skills/{name}", Operator, "one skill", skills.Show},
		{"POST /admin/skills/reload", Operator, "read the files again: a report", skills.Reload},
		{"POST /admin/skills/{name}/{change}", Operator, "enable, disable, use (a version) or approve (held back tools): a Change in, the skill out", skills.Change},
		{"DELETE /admin/skills/{name}", Operator, "stop taking it from where it comes from now", skills.Change},
		{"GET /admin/skills/{name}/calls", Operator, "what it did: ?user= ?outcome= ?limit=", skills.Calls},
		{"GET /admin/calls", Operator, "what all skills did", skills.Calls},
		{"GET /admin/audit", Operator, "which calls were allowed and refused: ?tool= ?user= ?denied= ?limit=", skills.Audit},
	}
}
