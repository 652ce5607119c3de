package server

import (
	"net/http"
	"slices"

	"github.com/etui-run/etui/console"
	"github.com/etui-run/etui/server/a2a"
	"github.com/etui-run/etui/server/admin"
	"github.com/etui-run/etui/server/agui"
	"github.com/etui-run/etui/server/anthropic"
	"github.com/etui-run/etui/server/api"
	"github.com/etui-run/etui/server/mcp"
	"github.com/etui-run/etui/server/openai"
	"github.com/etui-run/etui/server/responses"
	"github.com/etui-run/etui/skill/mcp/oauth"
)

// Access says who may use a route. Each kind includes those after it. The zero value is
// [Operator]: a route is nobody else's until the table says so.
type Access int

// The kinds of access. Where no key is configured, every program may do what needs one,
// but for the routes of operators: those answer only programs on this machine.
const (
	// Operator: an operator with its key, from a program on this machine: at a loopback
	// address, by a name for it, and not through a proxy.
	Operator Access = iota
	// Client: a key that may speak for others, or an operator's.
	Client
	// Person: any key. A message with a person's key is from that person.
	Person
	// Open: without a key.
	Open
)

func (a Access) String() string { return [...]string{"operator", "client", "person", "open"}[a] }

// AccessOf returns who may use the route of a request, [Operator] where there is none.
func AccessOf(r *http.Request) Access {
	mux, access := http.NewServeMux(), map[string]Access{}
	for _, route := range table(&Server{}, doors{}, &api.API{}, nil) { // nothing is handled
		mux.HandleFunc(route.Pattern, route.handle)
		access[route.Pattern] = route.Access
	}
	_, pattern := mux.Handler(r)
	return access[pattern]
}

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

// toChannel is the route of what is posted to a channel: the only one that pages of other
// sites can use, where the channel allows it.
const toChannel = "POST /channels/{channel}"

// doors are the APIs of others.
type doors struct {
	openai    *openai.API
	anthropic *anthropic.API
	responses *responses.API
	mcp       *mcp.Server
	a2a       *a2a.Server
	agui      *agui.Server
}

// models lists the agents in the form of the API that the client speaks.
func (d doors) models(w http.ResponseWriter, r *http.Request) {
	if anthropic.Asks(r) {
		d.anthropic.Models(w, r)
		return
	}
	d.openai.Models(w, r)
}

// model answers with one of them.
func (d doors) model(w http.ResponseWriter, r *http.Request) {
	if anthropic.Asks(r) {
		d.anthropic.Model(w, r)
		return
	}
	d.openai.Model(w, r)
}

// table lists all routes. The mux, the guard and the documentation follow it.
func table(s *Server, d doors, own *api.API, skills *admin.API) []Route {
	return []Route{
		{"GET /healthz", Open, "whether the process is up", s.live},
		{"GET /readyz", Open, "whether it can answer: messages are accepted, and the store can be read; and, with ?channel=, whether that channel runs in this etui", s.ready},

		{"GET /{$}", Open, "for browsers: a page that says what this is and how to ask", s.page},
		{"GET " + console.Path, Open, "the console, a page for operators", s.console.ServeHTTP},
		{"GET " + console.Path + "/{view...}", Open, "its files and views", s.console.ServeHTTP},
		{"GET " + console.Path + "/session", Open, "who is signed in to it", s.entrance.signedIn},
		{"POST " + console.Path + "/session", Open, "a SignIn in, a cookie out", s.entrance.signIn},
		{"POST " + console.Path + "/provider", Open,
			"{} in, the address out where a person signs in at the OpenID Connect provider", s.entrance.toProvider},
		{"DELETE " + console.Path + "/session", Open,
			"sign out; a SignedOut out, which says where the session at the provider ends", s.entrance.signOut},
		{"GET " + console.ChatPath, Open, "a page to talk to the agents", console.Chat},
		{"GET /admin/configuration", Operator, "the configuration's file, without secrets", s.editor.read},
		{"PUT /admin/configuration", Operator, "an Edit in, the file out; 409 if somebody else changed it meanwhile",
			s.editor.save},
		{"POST /admin/configuration/check", Operator, "an Edit in, what is wrong with it out", s.editor.check},
		{"POST /admin/configuration/preview", Operator,
			"an Edit in, what its rules would have meant for the latest turns out", s.trial.alone(s.preview)},
		{"POST /admin/configuration/undo", Operator, "the base in, the file before the last save out", s.editor.undo},
		{"POST /admin/tools/{name}/{change}", Operator,
			"enable or disable a tool, or group:NAME, in the configuration: a ToolChange in, the file out; 409 if somebody else changed it meanwhile", s.editor.switchTool},
		{"POST /admin/console", Operator, "a ConsoleLink in, a MadeLink out, which signs a browser in once",
			s.entrance.link},

		{"GET /openapi.json", Open, "these routes as an OpenAPI document", s.openapi},
		{"GET /favicon.ico", Open, "nothing: etui's pages have no picture, and browsers ask for one", s.noPicture},
		{"GET " + oauth.BackPath, Open,
			"where browsers come back to from a login at an MCP server, with a state that is good once", s.logIn},
		{"GET " + oauth.DocumentPath, Open, "what etui is, for the authorization servers of MCP servers", s.logIn},

		{"GET " + resourcePath, Open, "who gives access tokens for /mcp, where api.issuer is set", s.resource},
		{"GET " + resourcePath + "/{path...}", Open, "the same, at the address that clients derive from the resource's",
			s.resource},

		{"GET /v1/models", Person, "the agents, as models of OpenAI's API, or of Anthropic's for its clients",
			d.models},
		{"GET /v1/models/{id}", Person, "one agent, as a model, in the same forms", d.model},
		{"POST /v1/chat/completions", Person, `OpenAI's chat completions; "model" names the agent`,
			d.openai.Completions},
		{"POST /v1/completions", Person, "the older form of these: a prompt in, a text out", d.openai.Texts},
		{"POST /v1/responses", Person, `OpenAI's responses; "model" names the agent`, d.responses.Create},
		{"GET /v1/responses/{id}", Person, "a response that was stored for the client", d.responses.Get},
		{"DELETE /v1/responses/{id}", Person, "delete it", d.responses.Delete},
		{"POST /v1/responses/{id}/cancel", Person, "end one that runs in the background", d.responses.Cancel},
		{"GET /v1/responses/{id}/input_items", Person, "the items of its input: ?limit= ?after= ?order=",
			d.responses.InputItems},
		{"POST /v1/conversations", Person, "a name for a conversation of responses that etui keeps",
			d.responses.Converse},
		{"POST /v1/embeddings", Person, "OpenAI's embeddings, passed on to the embeddings server of the configuration",
			s.config.Embeddings.ServeHTTP},
		{"POST /v1/messages", Person, `Anthropic's messages; "model" names the agent`, d.anthropic.Messages},
		{"POST /v1/messages/count_tokens", Person, "the same request in, about how many tokens it has out",
			d.anthropic.CountTokens},

		{"POST " + mcp.Path, Person, "the Model Context Protocol: tools that are found by what they do, and skills; ?skill= a toolset", d.mcp.ServeHTTP},
		{"POST " + mcp.Path + "/{agent}", Person, "the same for one agent", d.mcp.ServeHTTP},

		{"GET /.well-known/agent-card.json", Open, "the A2A card of the first agent that api.a2a offers", d.a2a.First},
		{"GET " + a2a.Path + "/{agent}/.well-known/agent-card.json", Open, "the A2A card of one agent", d.a2a.Card},
		{"POST " + a2a.Path + "/{agent}", Person, "the Agent2Agent protocol, for the agents of api.a2a",
			d.a2a.ServeHTTP},
		{"POST " + agui.Path + "/{agent}", Person,
			"the AG-UI protocol, where api.agui is true: a run in, a stream of its events out", d.agui.ServeHTTP},

		{"POST /api/chat", Person, "a Message in, a line of JSON for each Event out", own.Chat},
		{"POST /api/whoami", Person, "a Message without a text in, who its sender is out", own.Whoami},
		{"POST /api/command", Person, "a Message with a command such as /status in, a Reply out", own.Command},
		{"POST /api/select", Person, "a Question in, an Answer out: what a message would get", own.Select},
		{"POST /api/why", Person, "a Look in: what earlier messages of a conversation got", own.Why},
		{"GET /api/status", Client, "agents and cache breaks; for operators also rules in effect, the configuration, workflows and those that run", own.Status},
		{"GET /api/tools", Person, "the tools that the sender may see; for operators every tool, shadowed ones too: ?name= ?brief=", own.Tools},
		{"POST /api/tools/{name}", Person, "a CallRequest in, the result of the tool out, or its question", own.Call},
		{"POST /api/tools/{name}/judge", Person, "a CallRequest in: what would become of the call", own.Judge},
		{"GET /api/skills", Person, "the toolsets that the sender may see, for operators all, and which one is active: ?agent=", own.Toolsets},
		{"GET /api/workflows", Person, "the workflows that a message can begin", own.Workflows},
		{"PUT /api/skills", Operator, `make a toolset active: {"agent": "", "skill": ""}`, own.SetToolset},
		{"GET /api/agents", Client, "an AgentStatus for each agent", own.Agents},
		{"PUT /api/agents/{name}", Operator, "a Control in, the AgentStatus out", own.Control},
		{"GET /api/usage", Operator, "the record of past turns: ?agent= ?user= ?limit=", own.PastTurns},
		{"DELETE /api/usage", Operator, "erase it: ?user=, or ?everybody=true", own.Forget},
		{"GET /api/sessions", Person, "the conversations of a person, newest first: ?user= ?part= ?limit= ?after=",
			own.Conversations.List},
		{"GET /api/sessions/{key}", Person, "one of them, its newest messages or those after ?skip=: ?user= ?limit=",
			own.Conversations.Show},
		{"DELETE /api/sessions/{key}", Person, "delete one of them: ?user=", own.Conversations.Delete},
		{"POST /api/sessions/{key}/stop", Person, "stop its running turn, or the one that waits: {} in; ?user=",
			own.Conversations.Stop},
		{"POST /api/memory", Person, "a MemoryLook in, what is remembered in its conversation out; with a query, what of it fits", own.Memory},
		{"PUT /api/memory", Person, "a MemoryEdit in, the Edited text out", own.EditMemory},
		{"GET /api/approvals", Person,
			"the calls and questions that a person may answer, and with theirs those of the person that others answer: ?user=", own.OwnApprovals},
		{"POST /api/approvals/{id}", Person, "an OwnAnswer in, what was answered out; its conversation goes on",
			own.AnswerOwn},

		{"GET /admin/keys", Operator, "the API keys: names, powers and whose they are", s.listKeys},
		{"POST /admin/keys", Operator, "a NewKey in, the MadeKey out, which shows the key once", s.addKey},
		{"DELETE /admin/keys/{name}", Operator, "revoke a key", s.revokeKey},

		{"GET /channels/{channel}", Open, "the webhook of a channel, which checks its platform's signature",
			s.config.Channels.ServeHTTP},
		{toChannel, Open, "the same: what the platform delivers", s.config.Channels.ServeHTTP},
		{"GET /admin/channels", Operator, "the ChannelStatus", s.listChannels},
		{"POST /admin/channels/pair", Operator, "a Code in: let in whoever has it", s.pairChannel},
		{"DELETE /admin/channels/{name}/people/{user}", Operator, "take back what a code gave", s.unpairChannel},
		{"POST /admin/channels/{name}/send", Operator, "a ChannelMessage in: say it in a chat", s.sayChannel},
		{"POST /admin/channels/{name}/test", Operator, "ask the platform for the account: {} in, a ChannelAccount out",
			s.testChannel},

		{"GET /metrics", Operator, "counters and latencies in Prometheus' text format", s.metrics},
		{"GET /admin/sessions", Operator, "all conversations: ?user= ?part= ?key= ?limit= ?after=", own.All.List},
		{"GET /admin/sessions/{key}", Operator, "any of them: ?skip= ?limit=", own.All.Show},
		{"DELETE /admin/sessions/{key}", Operator, "delete it", own.All.Delete},
		{"POST /admin/sessions/{key}/stop", Operator, "stop its turn: {} in", own.All.Stop},
		{"GET /admin/turns", Operator,
			"the latest turns of all conversations, with what they were sent, took and cost: ?limit=", own.Turns},
		{"GET /admin/files/{sha256}", Operator, "a picture or PDF of a message, with its bytes in data", own.All.File},
		{"GET /admin/approvals", Operator, "all Approvals: what waits, and what counts always", own.Approvals},
		{"POST /admin/approvals/{id}", Operator, "an ApprovalAnswer in, which always counts", own.Answer},
		{"DELETE /admin/approvals/{id}", Operator, "revoke an approval that counts always", own.Revoke},
		{"GET /admin/ranking", Operator,
			"the weights of the ranking and the recommender: by default, before the last change, and now",
			own.Ranker.Weights},
		{"POST /admin/ranking/evaluate", Operator, "Questions with their tools in, how the ranking does on them out",
			s.trial.alone(own.Ranker.Evaluate)},
		{"POST /admin/ranking/examples", Operator,
			"an Example for a tool in, its texts before and after out; save writes it", own.Ranker.AddExample},
		{"GET /admin/tasks", Operator, "every Task, in the order in which they run next", own.Tasks},
		{"POST /admin/tasks", Operator, "a Task in, and out with its id", own.AddTask},
		{"POST /admin/tasks/{id}/{change}", Operator, "pause, resume or run it now: {} in, the Task out",
			own.ChangeTask},
		{"DELETE /admin/tasks/{id}", Operator, "remove it", own.RemoveTask},
		{"GET /admin/running", Operator,
			"the turns that run in this process: channel, tools called so far and tokens so far", own.RunningTurns},
		{"GET /admin/inbox", Operator, "the messages that are parked or wait: ?limit=", own.Inbox},
		{"GET /admin/inbox/{id}", Operator, "one of them", own.InboxItem},
		{"POST /admin/inbox/{id}/retry", Operator, "take up a parked one again: {} in", own.RetryItem},
		{"DELETE /admin/inbox/{id}", Operator, "drop a parked one", own.DropItem},
		{"GET /admin/people", Operator, "the people of the configuration", s.listPeople},
		{"DELETE /admin/users/{user}", Operator, "forget a person: counts of what was removed out", s.forgetUser},
		{"GET /admin/skills", Operator, "every skill, and the files that give none", skills.List},
		{"GET /admin/skills/{name}", Operator, "one skill", skills.Show},
		{"POST /admin/skills/reload", Operator, "read the files again: a report", skills.Reload},
		{"GET /admin/registries", Operator, "skills that can be installed: ?query= ?registry=", skills.Find},
		{"POST /admin/skills/offer", Operator, "a Package in, what installing it would write and warn of out",
			skills.Offer},
		{"POST /admin/skills/install", Operator, "a Package with the sum of its offer in, the installed skill out",
			skills.Install},
		{"POST /admin/skills/{name}/{change}", Operator,
			"enable, disable, use (a version) or approve (held back tools): a Change in, the skill out", skills.Change},
		{"DELETE /admin/skills/{name}", Operator, "stop taking it from where it comes from now", skills.Change},
		{"GET /admin/skills/{name}/calls", Operator, "what it did: ?user= ?outcome= ?limit=", skills.Calls},
		{"GET /admin/calls", Operator, "what all skills did: ?user= ?outcome= ?limit=", skills.Calls},
		{"GET /admin/audit", Operator, "which calls were allowed and refused: ?tool= ?user= ?denied= ?limit=",
			skills.Audit},
		{"GET /admin/audit/verify", Operator,
			"a Verdict out: whether the audit's chain of hashes is unbroken; ?head= compares one that was kept",
			skills.Verify},
	}
}
