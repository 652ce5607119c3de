// Package config reads etui.yaml and the environment.
//
// Everything is checked before anything starts: unknown keys, values of the wrong
// kind and missing environment variables are errors with file, line and column.
package config

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v4"

	"github.com/etui-run/etui/internal/form"
	"github.com/etui-run/etui/secret"
)

// Config is the content of etui.yaml. The help texts are the reference in
// docs/configuration.md and in the JSON Schema.
type Config struct {
	Listen string       `yaml:"listen" default:"127.0.0.1:3884" help:"Address of the gateway. An address that others can reach needs api.key."`
	State  string       `yaml:"state" help:"Folder of the database. Default: a folder for this workspace under the user's state folder."`
	Store  secret.Value `yaml:"store" help:"PostgreSQL database that keeps the conversations, for several etui that share the work: postgres://user:${DB_PASSWORD}@host:5432/name. Default: a file in the state folder."`
	// Hidden are values that are secrets whatever they look like.
	Hidden        []secret.Value `yaml:"secrets" help:"Values that are hidden everywhere, even if they look like a placeholder or an ordinary word, which keys of models may be. Use ${NAME}. Further ones take effect while etui serves."`
	Demo          bool           `yaml:"demo" help:"Add the demo's tools, served by a small service inside etui."`
	Log           Log            `yaml:"log" help:"What etui logs, to standard error."`
	API           API            `yaml:"api" help:"Who may talk to the gateway over HTTP."`
	Models        []Model        `yaml:"models" help:"Language models. Default: the one that OPENAI_API_KEY, OPENAI_BASE_URL or ANTHROPIC_API_KEY give access to, else the offline model."`
	Agents        []Agent        `yaml:"agents" help:"Agents that answer messages. The first one is the default. Default: one agent named main."`
	Admin         string         `yaml:"admin" default:"127.0.0.1:3885" help:"Loopback address of the admin API if listen is not a loopback address; otherwise the API is at listen. Empty: no admin API there."`
	Skills        Skills         `yaml:"skills" help:"Abilities that come and go while etui runs, see skills.md. A plain list means toolsets."`
	Sandbox       Sandbox        `yaml:"sandbox" help:"How etui runs the programs of skills and of the exec tool."`
	Workflow      Workflow       `yaml:"workflow" help:"Which skill is active at first; and a workflow, as in workflows. Changes take effect while etui serves."`
	Workflows     []Flow         `yaml:"workflows" help:"Work in phases, see workflows.md. Files workflows/NAME.yaml in the workspace have one each. Changes take effect while etui serves."`
	Users         []User         `yaml:"users" help:"The people whom etui knows, see people.md. Changes take effect while etui serves."`
	Visibility    Visibility     `yaml:"visibility" help:"Who may see which tools, see docs/visibility.md. Changes take effect while etui serves."`
	Policy        Policy         `yaml:"policy" help:"Which calls of visible tools may run, see docs/policy.md. Changes take effect while etui serves."`
	Tools         Tools          `yaml:"tools" help:"The built-in tools, and the tools that are switched off."`
	Selection     Selection      `yaml:"selection" help:"How many tools reach the model."`
	Recommend     Recommend      `yaml:"recommend" help:"Order tools and skills by more than their words: also by the channel and by earlier use."`
	Transcription Transcription  `yaml:"transcription" help:"Write down what people say in voice messages. Without a model, agents learn only that there is one."`
	Embeddings    Embeddings     `yaml:"embeddings" help:"Also compare questions and tools by their meaning. Without a model, only words count."`
	Enrich        Enrich         `yaml:"enrich" help:"Let a model write what people call a tool and how they ask for it: see enrich.md."`
	Usage         Usage          `yaml:"usage" help:"What etui keeps of past turns and learns from them."`
	Limits        Limits         `yaml:"limits" help:"Limits of messages, turns and calls."`
	Channels      []Channel      `yaml:"channels" help:"Where people talk to the agents, see channels.md."`
	Heartbeat     Heartbeat      `yaml:"heartbeat" help:"Say what HEARTBEAT.md in the workspace says, again and again: see schedule.md."`
	Sessions      Sessions       `yaml:"sessions" help:"Which messages belong to one conversation, and how long it is kept."`

	Memory Memory `yaml:"memory" help:"What agents remember between conversations, see memory.md."`

	// Names are the names of tools, groups and skills in it.
	Names []Name `yaml:"-"`
}

// Log says what etui logs.
type Log struct {
	Level string `yaml:"level" default:"info" enum:"debug,info,warn,error" help:"The lowest level that is logged."`
	JSON  bool   `yaml:"json" help:"Log JSON, one object a line."`
}

// API says who may talk to the gateway.
type API struct {
	Key      secret.Value      `yaml:"key" help:"Bearer token of an operator. Use ${NAME}. With it, every client needs a key: this one, which may also say whom a message is from, or one of etui keys."`
	Hosts    []string          `yaml:"hosts" help:"Host names by which clients may address the gateway, besides localhost and IP addresses."`
	Issuer   string            `yaml:"issuer" help:"Address of an OAuth authorization server whose access tokens let people in: the user with the identity oauth:SUBJECT. Needs api.url."`
	Audience string            `yaml:"audience" help:"For whom these tokens must be made. Default: api.url and /mcp."`
	Claim    string            `yaml:"claim" default:"sub" help:"The claim of these tokens that names the person, as in email."`
	Origins  []string          `yaml:"origins" help:"Sites whose pages may use the routes of people, as in https://app.example.com, always with an API key. Default: none."`
	A2A      map[string]string `yaml:"a2a" help:"Agents that other agents reach by the Agent2Agent protocol, with what each is for, as in main: Answers questions about invoices. Everybody who reaches the gateway can read that. Default: none."`
	AGUI     bool              `yaml:"agui" help:"Whether pages reach the agents by the AG-UI protocol, at /agui/AGENT."`
	Models   map[string]string `yaml:"models" help:"Further names of agents for clients that ask for a model, as in gpt-5: main."`
	URL      string            `yaml:"url" help:"Address by which people's browsers reach the gateway, as in https://etui.example.com: links to log in to MCP servers lead back there. Default: the address of listen, for browsers on this machine."`
	Console  Console           `yaml:"console" help:"Let people sign in to the console from other machines, see console.md. Default: only this machine."`
}

// Console says who may sign in to the console from other machines.
type Console struct {
	URL          string       `yaml:"url" help:"Address at which browsers reach the console behind a proxy that speaks TLS, as in https://etui.example.com. Needs keys or issuer. Default: none."`
	Keys         bool         `yaml:"keys" help:"Whether operators' API keys, and api.key, sign in there, as owners."`
	Issuer       string       `yaml:"issuer" help:"Address of an OpenID Connect provider that signs people in there. It sends browsers back to url and /console/back."`
	ClientID     string       `yaml:"client_id" help:"ID that the provider gave for the console."`
	ClientSecret secret.Value `yaml:"client_secret" help:"Secret that the provider gave. Use ${NAME}."`
	Scopes       []string     `yaml:"scopes" help:"Scopes to ask for beside openid, email and profile, as in groups."`
	RoleClaim    string       `yaml:"role_claim" help:"Claim that has viewer, operator or owner, or a list with one of them. Default: none."`
	GroupsClaim  string       `yaml:"groups_claim" default:"groups" help:"Claim that has the groups of the person."`
	Owners       []string     `yaml:"owners" help:"Verified email addresses of owners, and groups as in group:admins."`
	Operators    []string     `yaml:"operators" help:"The same for operators."`
	Viewers      []string     `yaml:"viewers" help:"The same for viewers."`
}

// Model is a language model.
type Model struct {
	Name      string                  `yaml:"name" required:"true" help:"Name by which agents refer to it."`
	Provider  string                  `yaml:"provider" required:"true" enum:"openai,anthropic,gemini,openrouter,ollama,lmstudio,deepseek,mistral,groq,moonshot,xai,offline,scripted" hint:"; vLLM, llama.cpp and other servers with OpenAI's API are openai, with their address as base_url" help:"openai is any server with OpenAI's chat completions API; those after anthropic have an address, and a key in the environment, see models.md; scripted plays the answers of a file, for tests and first looks."`
	Model     string                  `yaml:"model" help:"The provider's name of the model."`
	BaseURL   string                  `yaml:"base_url" help:"URL of the provider, for a server of your own: http://127.0.0.1:8080/v1."`
	APIKey    secret.Value            `yaml:"api_key" help:"Use ${NAME}."`
	Window    int                     `yaml:"window" help:"How many tokens a request and its answer may have together. 0: unknown."`
	MaxTokens int                     `yaml:"max_tokens" help:"Limit of an answer, in tokens. 0: the provider's."`
	Headers   map[string]secret.Value `yaml:"headers" help:"Sent with every request."`
	Timeout   time.Duration           `yaml:"timeout" default:"60s" help:"How long the model may take to begin an answer."`
	CacheLife time.Duration           `yaml:"cache_life" negative:"true" help:"How long the provider caches the beginning of a request. Default: 5m for anthropic, 1h for openai. -1s: not at all."`
	Price     Price                   `yaml:"price" help:"What a million tokens cost, in any currency: for the cost of workflows and of etui tools enrich."`
	Script    string                  `yaml:"script" help:"scripted: file with its answers, see workflows.md."`
	Mode      string                  `yaml:"mode" enum:"auto,direct,preselect,bridge,native" help:"How the tools reach this model. Default: selection.mode."`
	TextCalls bool                    `yaml:"text_calls" default:"true" help:"An answer that is nothing but a call of a tool, written as text, is a call."`
	Schemas   string                  `yaml:"schemas" enum:"auto,openai,strict,anthropic,gemini,moonshot,local,plain" help:"How a server with OpenAI's API is told the parameters of tools, see models.md. Default: as the server and the model are known to want it."`
	Blind     bool                    `yaml:"blind" help:"The model takes neither pictures nor PDFs: it reads about them instead."`
	Retries   int                     `yaml:"retries" default:"2" help:"How often a request is retried after 429, 5xx and lost connections."`
	// KeyFrom says where the key comes from, for the error of one that the provider refuses.
	KeyFrom string `yaml:"-"`
}

// Price is what a million tokens cost.
type Price struct {
	Input      float64 `yaml:"input" max:"100000" help:"Tokens of a request."`
	Output     float64 `yaml:"output" max:"100000" help:"Tokens of an answer."`
	CacheRead  float64 `yaml:"cache_read" max:"1" help:"What a token costs that the provider's cache has, as a share of input. Default: 0.1."`
	CacheWrite float64 `yaml:"cache_write" max:"10" help:"What a token costs that goes into that cache, as a share of input. Default: 1.25 for anthropic, else 1."`
}

// The defaults of a model's Timeout and Retries.
const (
	DefaultTimeout = time.Minute
	DefaultRetries = 2
)

// Agent answers messages.
type Agent struct {
	Name         string   `yaml:"name" required:"true" help:"Name by which messages address it."`
	Model        string   `yaml:"model" help:"Name of its model. Default: the first one."`
	Fallback     []string `yaml:"fallback" help:"Models to try in order when the one before fails, see docs/models.md."`
	Instructions string   `yaml:"instructions" help:"Instructions for the agent: what it is and how it works. client: those of the client that brings the message lead, and what etui adds follows."`
	Groups       string   `yaml:"groups" help:"Groups of tools that it may use, as in file,shell. Default: all."`
	Skill        string   `yaml:"skill" help:"Skill that is active until another is chosen. Default: workflow.default_skill."`
	Skills       []string `yaml:"skills" help:"The only skills that the model sees. Empty: all; [none]: no skill."`
	Strategy     string   `yaml:"strategy" default:"full" enum:"full,lite,custom" help:"How much context a turn gets. lite leaves out memory, skills and runtime facts."`
	Custom       Custom   `yaml:"custom" help:"What the strategy custom includes."`
	Mode         string   `yaml:"mode" enum:"auto,direct,preselect,bridge,native" help:"How the tools reach its model. Default: that of its model."`
	Steer        bool     `yaml:"steer" help:"Take what the user writes during a turn into that turn, after its next calls. Default: it waits for a turn of its own."`
	ClientTools  string   `yaml:"client_tools" default:"all" enum:"all,selected,none" help:"Which tools that a client brings with its request the model sees, see client-tools.md: all, or those that fit the message (selected). none refuses such requests."`
	Chores       Chores   `yaml:"chores" help:"Requests that chat clients send by themselves, as for a title, see openai-clients.md. Default: they are answered like others."`
	Workspace    string   `yaml:"workspace" help:"Existing folder for its file tools, commands and memory. Default: the workspace."`
	Spawn        Spawn    `yaml:"spawn" help:"Sub-agents that it may start with the tool spawn, see subagents.md. Default: none."`
}

// ClientInstructions in place of the instructions of an agent lets those of the client lead.
const ClientInstructions = "client"

// Chores are requests that chat clients send by themselves.
type Chores struct {
	Model string   `yaml:"model" help:"Name of the model that answers them, without tools and without a session."`
	Match []string `yaml:"match" help:"Regular expressions for the beginning of such a request, or of its system prompt, beside those of the clients that etui knows."`
}

// Spawn bounds the sub-agents of an agent.
type Spawn struct {
	AtOnce int           `yaml:"at_once" help:"How many sub-agents of a conversation work at once. 0: the agent starts none."`
	Number int           `yaml:"number" default:"8" help:"How many it may start for one message of the user, also while their results come."`
	Depth  int           `yaml:"depth" default:"1" help:"How deep they may be nested. 1: sub-agents start none themselves."`
	Agents []string      `yaml:"agents" help:"The agents that it may start. Default: itself."`
	Steps  int           `yaml:"steps" help:"How often a sub-agent may ask the model in one turn. Default: limits.steps."`
	Time   time.Duration `yaml:"time" default:"10m" help:"How long it may work; it does not count while it waits for an approval."`
	Tokens int           `yaml:"tokens" default:"200000" help:"How many tokens it may use, requests and answers together, as the provider counts them."`
}

// Custom says what the strategy custom includes. A message may leave out more.
type Custom struct {
	Memory  bool `yaml:"memory" default:"true" help:"What the agent remembers."`
	Runtime bool `yaml:"runtime" default:"true" help:"Time, channel and user."`
}

// Skills says where skills come from and which of them may be used.
type Skills struct {
	Dir        Paths      `yaml:"dir" help:"Folder of skills inside the workspace, or a list of them. Default: skills, .agents/skills and .claude/skills. The variable SKILLS_DIR sets it, too, with : between folders."`
	Global     Paths      `yaml:"global" help:"Folders outside the workspace with skills for all workspaces; ~/ is the home folder. Default: ~/.etui/skills and ~/.agents/skills. An empty list: none."`
	Toolsets   []Toolset  `yaml:"toolsets" help:"Named toolsets. The toolset full, with all tools, always exists. Changes take effect while etui serves."`
	Allow      []string   `yaml:"allow" help:"The only skills of folders that may be enabled, as names or patterns such as db_*. Default: all. Changes take effect while etui serves."`
	Deny       []string   `yaml:"deny" help:"Skills of folders that may not be enabled, whatever allow says. Changes take effect while etui serves."`
	Local      []string   `yaml:"local" help:"Private and loopback addresses that skills may reach: 127.0.0.1:8081, 10.0.0.0/8 or 10.0.0.0/8:443; * is any port."`
	Env        []string   `yaml:"env" help:"Variables of etui's own, such as OPENAI_API_KEY, that skill files may use as ${NAME}. Other variables need no permission."`
	Registries []Registry `yaml:"registries" help:"Where etui finds skills and installs them from. Default: clawhub, of clawhub.ai, and github, of type git. An empty list: nowhere."`
	Model      string     `yaml:"model" default:"off" enum:"off,find,install" help:"Which of find_skills and install_skill the model gets: neither, the first, or both."`
}

// Registry is a place to find skills and install them from.
type Registry struct {
	Name  string       `yaml:"name" required:"true" help:"Name of the registry in commands."`
	Type  string       `yaml:"type" required:"true" enum:"clawhub,wellknown,git,folder" help:"clawhub is ClawHub's API, wellknown a site with /.well-known/agent-skills, git archives of repositories, folder a local folder."`
	URL   string       `yaml:"url" help:"URL of a site, path of a folder, or for git the address of archives with {repository} and {version} in it. Default: the public one of its type."`
	Token secret.Value `yaml:"token" help:"Bearer token, sent only to that site. Use ${NAME}."`
	Roots []string     `yaml:"roots" help:"Files of root certificates (PEM) for signatures; installing a skill without a trusted signature needs a confirmation. Default: signatures are checked against the files, but no signer is trusted."`

	Repositories []string `yaml:"repositories" help:"For git: the repositories to search, as owner/name; at most 5."`
}

// Sandbox says how programs run.
type Sandbox struct {
	Mode    string   `yaml:"mode" default:"auto" enum:"auto,strong,landlock,seatbelt,none,off" help:"How programs are isolated, see sandbox.md. auto takes the strongest of strong, landlock (Linux) and seatbelt (macOS) that works here, and refuses to run programs if none does. none runs no programs. off isolates nothing: programs have all your rights."`
	Require string   `yaml:"require" enum:"strong,landlock" help:"Start only with at least this isolation; landlock includes seatbelt. Default: start in any mode."`
	Network []string `yaml:"network" help:"Hosts that commands of the exec tool may reach by HTTP and HTTPS, as name, name:port or *.name, in the modes strong and landlock; private addresses also need skills.local. Default: none."`
	KeepNew bool     `yaml:"keep_new" help:"Leave new repositories, and new files that other programs trust, where a command put them, see sandbox.md. Default: they are moved aside."`
	Read    []string `yaml:"read" help:"Folders outside /usr that isolated programs may read and run programs from, as absolute paths or with ~/: /opt/node-22, ~/.nvm/versions. Default: none."`
}

// Paths are paths of files: one, or a list of them.
type Paths []string

// Toolset is a named toolset.
type Toolset struct {
	Name        string   `yaml:"name" required:"true" help:"Name by which it is chosen."`
	Description string   `yaml:"description" help:"Shown to the model and to users."`
	Tools       []string `yaml:"tools" help:"Names of tools, or group: and a group. Empty: all."`
	Aliases     []string `yaml:"aliases" help:"Other names and phrases that people use for it, in any language. Only the ranking reads them."`
	Examples    []string `yaml:"examples" help:"Questions that it is meant for, in any language. Only the ranking reads them."`
	Channels    []string `yaml:"channels" help:"The only channels on which it exists, as in telegram. Empty: all."`
	Type        string   `yaml:"type" help:"Accepted in files of other programs, and not used."`
	Params      Foreign  `yaml:"params" help:"Accepted in files of other programs, and not used."`
}

// Foreign is a value of another program, of any kind. It is accepted and not kept.
type Foreign string

// Workflow says which skill is active at first. With phases it is a workflow, too.
type Workflow struct {
	DefaultSkill string `yaml:"default_skill" also:"defaultSkill,default-skill" default:"full" help:"Skill that is active until another is chosen. Files of other programs may write defaultSkill or default-skill. A change takes effect at the next start."`

	Name        string     `yaml:"name" default:"main" help:"Name of the workflow, if it has phases."`
	Description string     `yaml:"description" help:"What it does, for people."`
	Limits      FlowLimits `yaml:"limits" help:"Limits of a run."`
	Phases      []Phase    `yaml:"phases" help:"Phases of the workflow, see workflows."`
	Script      string     `yaml:"script" help:"As in workflows."`
	FilePlace   `yaml:"-"`
}

// Flow is a workflow: work in phases.
type Flow struct {
	Name        string     `yaml:"name" help:"Name by which messages and etui run call it. Default: that of the file workflows/NAME.yaml; in etui.yaml it is required."`
	Description string     `yaml:"description" help:"What it does, for people."`
	Limits      FlowLimits `yaml:"limits" help:"Limits of a run: rounds (default: 200) and tokens."`
	Phases      []Phase    `yaml:"phases" required:"true" help:"Its phases. The first one begins."`
	Script      string     `yaml:"script" help:"File beside this one with answers that are played where the model is the offline model, so that people can see the workflow without a key."`
	FilePlace   `yaml:"-"`
}

// Phase is a phase of a workflow.
type Phase struct {
	Name         string     `yaml:"name" required:"true" help:"Name of the phase."`
	Skill        string     `yaml:"skill" help:"Skill or toolset whose tools it has. Default, and if it or one of its tools is missing: full, with a warning."`
	Instructions string     `yaml:"instructions" help:"What the model reads when the phase begins."`
	Model        string     `yaml:"model" help:"Name of the model that answers in it. Default: the agent's."`
	Limits       FlowLimits `yaml:"limits" help:"Limits of a visit of the phase: rounds (default: 16), tokens, and visits (default: 8)."`
	Next         []Next     `yaml:"next" help:"What ends the phase. The first condition that holds counts."`
	Otherwise    string     `yaml:"otherwise" help:"Phase that begins when a limit is reached, or done or failed. Default: the run ends with the outcome limit."`
	FilePlace    `yaml:"-"`
}

// Next is a way from a phase to another one.
type Next struct {
	When string `yaml:"when" help:"Condition in CEL over what happened in the phase, see workflows.md: results, calls, failures, round, visit, tokens, reply, files, finished and others. Default: finished, which holds when the model says so with finish_phase."`
	To   string `yaml:"to" required:"true" help:"Phase that begins then, or done or failed, which end the run."`

	ConditionPlace `yaml:"-"`
}

// FlowLimits bound a phase or a run.
type FlowLimits struct {
	Rounds int `yaml:"rounds" help:"How many answers the model may give."`
	Visits int `yaml:"visits" help:"How often the phase may begin."`
	Tokens int `yaml:"tokens" help:"How many tokens may be used, requests and answers together. Default: any number."`
}

// Visibility says who may see which tools.
type Visibility struct {
	Default Defaults `yaml:"default" help:"What applies to tools that no allow rule names."`
	Rules   []Rule   `yaml:"rules" help:"Each has allow or deny. Deny wins; a tool that allow rules name is visible if one of them applies."`
}

// Defaults say, by risk, whether a tool is visible if no rule decides.
type Defaults struct {
	Read        string `yaml:"read" default:"allow" enum:"allow,deny" help:"Tools that only read."`
	Write       string `yaml:"write" default:"allow" enum:"allow,deny" help:"Tools that change something."`
	Destructive string `yaml:"destructive" default:"allow" enum:"allow,deny" help:"Tools whose effects cannot be undone."`
}

// Rule lets callers see tools, or hides tools from them.
type Rule struct {
	Name   string   `yaml:"name" help:"Name of the rule in messages."`
	Allow  []string `yaml:"allow" help:"Tools: names, patterns such as db_*, or group:, source:, risk: or skill: and a name."`
	Deny   []string `yaml:"deny" help:"Tools to hide, written in the same way."`
	When   string   `yaml:"when" help:"Condition in CEL over user.id, user.roles, user.groups, platform.roles, channel, chat, agent, session, skill, time and attrs. Default: always."`
	Reason string   `yaml:"reason" help:"Shown to operators when the rule hides a tool."`

	ConditionPlace `yaml:"-"`
}

// Policy says which calls of visible tools may run.
type Policy struct {
	Default   CallDefaults `yaml:"default" help:"What applies to tools if no rule decides."`
	Skills    []string     `yaml:"skills" help:"Skills whose allowed-tools need no approval while they are active, where the default asks: names, or patterns such as *. Default: none."`
	Approvals Approvals    `yaml:"approvals" help:"Calls that rules ask about, see docs/approvals.md."`
	Rules     []CallRule   `yaml:"rules" help:"Each has allow, ask or deny. Deny wins over ask, and ask over allow; a tool that allow rules name may be called if one of them applies."`
}

// Approvals says who may approve calls, and for how long they wait.
type Approvals struct {
	Expire time.Duration  `yaml:"expire" default:"24h" help:"How long a call or a question waits for an answer. After that it is refused. A change takes effect with the next start."`
	Rules  []ApprovalRule `yaml:"rules" help:"Who may approve calls of which tools, and is asked. Tools that no rule names: the one who asked. Operators always may."`
}

// ApprovalRule lets people approve calls of tools, or keeps them from it.
type ApprovalRule struct {
	Name   string        `yaml:"name" help:"Name of the rule in messages."`
	Allow  []string      `yaml:"allow" help:"Tools: names, patterns such as db_*, or group:, source:, risk: or skill: and a name."`
	Ask    []string      `yaml:"ask" help:"The same: the one who asked decides."`
	Deny   []string      `yaml:"deny" help:"The same: answers do not count."`
	Users  []string      `yaml:"users" help:"With allow: people under users who may decide."`
	Roles  []string      `yaml:"roles" help:"With allow: so may people with one of these roles."`
	Chats  []string      `yaml:"chats" help:"With allow: so may everybody who writes in one of these chats, which is asked as a whole: the name of a channel, and of the chat, or the platform's ID of it, as in slack:#ops."`
	After  time.Duration `yaml:"after" help:"How long a call has to wait before the people of this rule are asked. Default: they are asked at once."`
	Remind time.Duration `yaml:"remind" help:"How often they are asked again while the call waits, at most ten times. Default: never."`
	When   string        `yaml:"when" help:"Condition in CEL as in visibility.rules, over the one who answers, with attrs.asker for the one who asked. Default: always."`
	Reason string        `yaml:"reason" help:"For whoever reads the rules."`

	ConditionPlace `yaml:"-"`
}

// CallDefaults say, by risk, whether a tool may be called if no rule decides.
type CallDefaults struct {
	Read        string `yaml:"read" default:"allow" enum:"allow,ask,deny" help:"Tools that only read."`
	Write       string `yaml:"write" default:"allow" enum:"allow,ask,deny" help:"Tools that change something."`
	Destructive string `yaml:"destructive" default:"allow" enum:"allow,ask,deny" help:"Tools whose effects cannot be undone."`
}

// CallRule allows calls of tools, asks about them or denies them.
type CallRule struct {
	Name   string   `yaml:"name" help:"Name of the rule in messages."`
	Allow  []string `yaml:"allow" help:"Tools: names, patterns such as db_*, or group:, source:, risk: or skill: and a name."`
	Ask    []string `yaml:"ask" help:"The same: calls wait for an approval, see docs/approvals.md."`
	Deny   []string `yaml:"deny" help:"The same: calls are refused."`
	When   string   `yaml:"when" help:"Condition in CEL over user.id, user.roles, user.groups, platform.roles, channel, chat, agent, session, skill, time and attrs, and of the call over args, command.programs and command.risks. Default: always."`
	Reason string   `yaml:"reason" help:"Shown to operators when the rule decides."`

	ConditionPlace `yaml:"-"`
}

// FilePlace knows where it begins in the file.
type FilePlace struct{ Place Position }

// SetSource notes the place.
func (p *FilePlace) SetSource(in *form.Reader, n *yaml.Node) { p.Place = in.Position(n) }

// ConditionPlace is a rule or a way: it knows where it begins, and where its condition does.
type ConditionPlace struct{ Place, WhenPlace Position }

// SetSource notes the places. It refuses an empty condition, with which the rule would always apply.
func (c *ConditionPlace) SetSource(in *form.Reader, n *yaml.Node) {
	c.Place = in.Position(n)
	when := find(n, "when")
	if when != n && strings.TrimSpace(when.Value) == "" {
		in.Fail(when, "when", "the condition is empty; leave when out for a rule that always applies")
	}
	c.WhenPlace = in.Position(when)
	switch {
	case c.WhenPlace.Line == 0:
	case when.Style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0:
		c.WhenPlace.Line, c.WhenPlace.Column = when.Line+1, 0 // the text begins below
	case when.Style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle) != 0:
		c.WhenPlace.Column++
	}
}

// User is a person.
type User struct {
	Name       string            `yaml:"name" required:"true" help:"Unique name of the person, which is user.id in rules."`
	Identities []string          `yaml:"identities" help:"How channels call the person: telegram:42, slack:U7. key:laptop is the API key of that name. Each belongs to one user."`
	Roles      []string          `yaml:"roles" help:"Roles, for user.roles in rules."`
	Groups     []string          `yaml:"groups" help:"Groups of people, for user.groups in rules."`
	Attrs      map[string]string `yaml:"attrs" help:"Named texts, for attrs in rules: plan: vip."`
	Language   string            `yaml:"language" enum:"en,zh" help:"Language of etui's own words to the person, such as questions for an approval. Default: the one in which the person writes, then the one that the platform names."`
	// Place is where the user begins.
	Place Position `yaml:"-"`
}

// SetSource notes the place of the user.
func (u *User) SetSource(in *form.Reader, n *yaml.Node) { u.Place = in.Position(n) }

// Tools says which tools etui has.
type Tools struct {
	Builtin  bool     `yaml:"builtin" default:"true" help:"The built-in tools: files of the workspace, the web, time, arithmetic; see builtin-tools.md."`
	Disabled []string `yaml:"disabled" help:"Tools that are switched off: names, or group: and a group. A name that does not exist stops etui: the tool that was meant would stay on. Changes take effect while etui serves."`
	Read     []string `yaml:"read" help:"Existing folders beside the workspace that the file tools and commands may read and not change, as in [~/docs, ../shared-notes]; at most 10. Default: none."`
	Local    []string `yaml:"local" help:"Private and loopback addresses that web_fetch may reach, as in skills.local."`
	Search   Search   `yaml:"search" help:"Services that web_search asks, in the order of these keys; if one fails, the next one. Without any there is no web_search."`
}

// Search says which services search the web.
type Search struct {
	Perplexity secret.Value `yaml:"perplexity" help:"Key of Perplexity's search API. Use ${NAME}."`
	Brave      secret.Value `yaml:"brave" help:"Key of Brave's search API. Use ${NAME}."`
	SearXNG    string       `yaml:"searxng" help:"URL of a SearXNG that answers in JSON: https://search.lan."`
	DuckDuckGo bool         `yaml:"duckduckgo" help:"Read DuckDuckGo's results page. It needs no key and refuses frequent requests."`
}

// Selection limits what is sent.
type Selection struct {
	Off         bool     `yaml:"off" help:"Declare every tool that the caller may use, whatever the modes say."`
	Mode        string   `yaml:"mode" default:"auto" enum:"auto,direct,preselect,bridge,native" help:"How the tools reach the model; see docs/delivery.md."`
	Directory   int      `yaml:"directory" negative:"true" default:"400" help:"How many tokens the list of all tools in the system prompt may have. -1: no list."`
	Skills      int      `yaml:"skills" default:"1500" help:"How many tokens the list of skills in the system prompt may have, at most 5 % of the model's window. Other skills are mentioned with the messages that they fit."`
	Limit       int      `yaml:"limit" default:"8" help:"How many tools are sent for a question, not counting pinned ones."`
	Budget      int      `yaml:"budget" default:"3000" help:"How many tokens their definitions may have together."`
	WindowShare float64  `yaml:"window_share" default:"0.1" help:"The share of the model's window that they may take."`
	Direct      int      `yaml:"direct" negative:"true" default:"12" help:"Mode auto sends up to so many tools without choosing, if they fit the budget. -1: never."`
	Pinned      []string `yaml:"pinned" help:"Tools that are always sent: names, or group: and a group."`
}

// Recommend orders tools and skills.
type Recommend struct {
	Mode    string        `yaml:"mode" default:"off" enum:"off,rules,model" help:"rules scores from 0 to 100 by the four weights; model also asks a model when the best scores are close. Both show the model only the skills that fit the question, or all if none does."`
	Channel int           `yaml:"channel" default:"40" help:"Weight of a match with the question's channel. The weights are shares of their sum."`
	Keyword int           `yaml:"keyword" default:"30" help:"Weight of a match with the question's words."`
	History int           `yaml:"history" default:"20" help:"Weight of frequent use in the conversation."`
	Recency int           `yaml:"recency" default:"10" help:"Weight of recent use."`
	Model   string        `yaml:"model" help:"Name of the model that mode model asks; an inexpensive one will do."`
	Timeout time.Duration `yaml:"timeout" default:"2s" help:"How long the model may take. After that the rules decide."`
}

// Transcription says which server writes recordings down.
type Transcription struct {
	BaseURL string       `yaml:"base_url" help:"URL of a server with OpenAI's API for transcriptions, as in http://127.0.0.1:8000/v1. Default: OpenAI's."`
	Model   string       `yaml:"model" help:"The server's name of the model, as in whisper-1. Empty: no transcriptions."`
	APIKey  secret.Value `yaml:"api_key" help:"Use ${NAME}."`
}

// Embeddings compare meanings.
type Embeddings struct {
	BaseURL string        `yaml:"base_url" help:"URL of a server with OpenAI's embeddings API, as in http://127.0.0.1:11434/v1. Default: OpenAI's."`
	Model   string        `yaml:"model" help:"The server's name of the model. Empty: no embeddings."`
	APIKey  secret.Value  `yaml:"api_key" help:"Use ${NAME}."`
	Timeout time.Duration `yaml:"timeout" default:"300ms" help:"How long a question waits for its vector. After that only words count."`
	// Prefixes are written as they are, with the space at the end.
	QueryPrefix   string `yaml:"query_prefix" help:"What begins questions, for models that were trained with it, as in \"query: \" for E5."`
	PassagePrefix string `yaml:"passage_prefix" help:"What begins the texts of tools, as in \"passage: \" for E5."`
	Dimensions    int    `yaml:"dimensions" help:"How many numbers of each vector are used, for models whose vectors can be shortened. Default: all."`
}

// Enrich says who writes texts about tools, for the ranking.
type Enrich struct {
	Mode      string   `yaml:"mode" default:"off" enum:"off,auto" help:"auto: while etui serves, a model writes about new and changed tools. off: only etui tools enrich does."`
	Model     string   `yaml:"model" help:"The model that writes, by its name in models. Default: the first one."`
	Budget    int      `yaml:"budget" default:"200000" help:"How many tokens auto may use in a day."`
	Languages []string `yaml:"languages" help:"The languages that people write in, as in [English, Chinese], which is the default."`
}

// Usage says what etui keeps of past turns.
type Usage struct {
	Keep  bool   `yaml:"keep" help:"Keep questions, without addresses, numbers and keys, and the tools that answered them: see usage.md."`
	Vote  bool   `yaml:"vote" default:"true" help:"Let past questions vote for the tools that answered them."`
	Share string `yaml:"share" default:"agent" enum:"agent,user" help:"Whether a user's questions vote for all users of the agent or only for this user."`
	Days  int    `yaml:"days" default:"90" help:"How many days a turn is kept. At most 5000 turns of each agent are."`
	Tune  bool   `yaml:"tune" default:"true" help:"Fit the weights of the ranking to the turns that are kept, each hour when there are 150 new ones, and use them when they are better by more than chance: see usage.md. Never with guests."`
	// Guests are senders without a name.
	Guests bool `yaml:"guests" help:"Keep the turns of guests, too, and let them vote. Anybody can be a guest."`
}

// Limits limits messages, turns and calls.
type Limits struct {
	Message       Size          `yaml:"message" default:"256KiB" help:"How long a message may be."`
	Waiting       int           `yaml:"waiting" default:"32" help:"How many messages of one conversation may wait for their turn."`
	Turns         int           `yaml:"turns" default:"256" help:"How many turns run at once, over all conversations. As many more may wait; the next one is refused. Guests have at most a quarter of all these places, each account and each API key half, each sender a quarter; people under users always get in. On channels, 2,048 messages more of people whom etui does not know wait in the store."`
	Steps         int           `yaml:"steps" default:"16" help:"How often one turn may ask the model."`
	Call          time.Duration `yaml:"call" default:"1m" help:"How long a call may take whose tool has no time limit of its own."`
	Result        Size          `yaml:"result" default:"32KiB" help:"How much of a result the model reads."`
	Skill         Size          `yaml:"skill" default:"64KiB" help:"How much of a skill's instructions, or of a file beside them, the model reads at once."`
	HistoryTokens int           `yaml:"history_tokens" default:"24000" help:"About how many tokens of a conversation are sent."`
}

// Channel is an account on a platform where people talk to the agents.
type Channel struct {
	Name      string       `yaml:"name" help:"Name of the account, in commands and as attrs.account in rules. Default: the type."`
	Type      string       `yaml:"type" required:"true" enum:"discord,email,feishu,irc,matrix,mattermost,slack,telegram,web,webhook,wecom" help:"The platform. Each has a page in channels.md, which says which keys it takes."`
	Token     secret.Value `yaml:"token" help:"What the platform gave for the account; email, irc: the password of the account; feishu: the Verification Token, for deliveries over HTTP. Use ${NAME}."`
	AppToken  secret.Value `yaml:"app_token" help:"slack: the app-level token, for Socket Mode. Use ${NAME}."`
	UserToken secret.Value `yaml:"user_token" help:"slack: a person's token, for reminders. Use ${NAME}."`
	Secret    secret.Value `yaml:"secret" help:"What signs deliveries: slack's signing secret, webhook's whsec_ (two, with a space between, while you change it); web: what your backend signs tokens with (also two); wecom: the application's secret; feishu: the App Secret; irc: the password of the server. Use ${NAME}."`
	Key       secret.Value `yaml:"key" help:"wecom: the EncodingAESKey; feishu: the Encrypt Key, for deliveries over HTTP. Use ${NAME}."`
	URL       string       `yaml:"url" help:"Address of the API; webhook: where replies go; irc: the server, as in ircs://irc.example.org:6697; email: the IMAP server, as in imaps://imap.example.org, with a mailbox other than INBOX as path; matrix: the homeserver, as in https://matrix.example.org; mattermost: the server, as in https://chat.example.org. Default: the platform's own."`
	Webhook   string       `yaml:"webhook" help:"telegram: the public URL of this channel, https://HOST/channels/NAME. Default: etui fetches the messages itself."`
	Corp      string       `yaml:"corp" help:"wecom: the ID of the company."`
	App       int          `yaml:"app" help:"wecom: the AgentId of the application."`
	Bot       string       `yaml:"bot" help:"wecom: the ID of an AI bot (智能机器人), which connects by itself and needs only its secret, in place of an application."`
	AppID     string       `yaml:"app_id" help:"feishu: the App ID, cli_."`
	Region    string       `yaml:"region" enum:"feishu,lark" help:"feishu: feishu for open.feishu.cn, lark for open.larksuite.com. Default: feishu."`
	Nick      string       `yaml:"nick" help:"irc: the name to take."`
	Guests    bool         `yaml:"guests" help:"web: let people in without a token."`
	Origins   []string     `yaml:"origins" help:"web: the sites whose pages may connect, and frame the ready page, as in https://shop.example.com. Default: none."`
	Calls     string       `yaml:"calls" enum:"people,all,none" help:"web: who is shown the calls of tools, with their arguments and results: people with a token, guests too (all), or nobody. Default: people."`
	Agents    []string     `yaml:"agents" help:"web: the agents among which people choose. Default: they do not, and the bindings decide."`
	Page      bool         `yaml:"page" help:"web: serve a ready chat page to browsers, at /channels/NAME."`
	Account   string       `yaml:"account" help:"The account to log in to. Default: irc: the nick; email: the address."`
	Rooms     []string     `yaml:"rooms" help:"irc: the channels to join."`

	SMTP       string `yaml:"smtp" help:"email: the server that sends, as in smtps://smtp.example.org."`
	Address    string `yaml:"address" help:"email: the agent's own address, also with a name: Helper <helper@example.org>."`
	AuthServID string `yaml:"authserv_id" help:"email: the name with which the receiving server begins its Authentication-Results. Only mail that these prove is answered."`
	Unproven   bool   `yaml:"unproven" help:"email: also take mail that nothing proves. Its senders have IDs that begin with unproven/."`

	Workflows map[string]secret.Value `yaml:"workflows" help:"slack: workflows that the agent may start, by name: the URL of each one's webhook. Use ${NAME}."`

	Allow     []string      `yaml:"allow" help:"Who may write directly: the platform's IDs of people, users for the people of users, or * for everybody. Default: nobody."`
	Groups    []string      `yaml:"groups" help:"The groups in which it answers: the platform's IDs of chats, their names, as in #ops, on discord, matrix, mattermost and slack, or * for all. Everybody there may write. Default: none."`
	Overhear  []string      `yaml:"overhear" help:"Groups whose messages before a mention the model gets as material: at most 50 of the last day, from memory. Each is written here as under groups, and there, too. Default: none."`
	Always    bool          `yaml:"always" help:"Answer every message of these groups. Default: those that mention it."`
	Pairing   bool          `yaml:"pairing" help:"Give strangers who write directly a code, with which etui channels pair lets them in."`
	Refusal   string        `yaml:"refusal" help:"What other strangers are told, once an hour. Default: nothing."`
	Whole     bool          `yaml:"whole" help:"Send answers only when they are complete. Default: where the platform can edit messages, people see them grow."`
	Merge     time.Duration `yaml:"merge" help:"Answer what a person writes in a row together: how long the next message is awaited, as in 2s, up to 10s. Default: each message at once."`
	Language  string        `yaml:"language" enum:"en,zh" help:"Language of etui's own words to people of whom neither users nor the platform says which one they read. Default: Chinese for those who write it, English for others."`
	PerMinute int           `yaml:"per_minute" default:"20" help:"How many messages of one person are taken in a minute."`
	Bindings  []Binding     `yaml:"bindings" help:"Which agent answers whom. The first one that matches counts. Default: the first agent answers everybody."`

	FilePlace `yaml:"-"`
}

// HasNames reports whether the names or IDs of chats on a platform can be as #ops.
func HasNames(platform string) bool {
	return slices.Contains([]string{"discord", "irc", "matrix", "mattermost", "slack", "webhook"}, platform)
}

// account is what distinguishes the accounts of a platform.
func (c *Channel) account() string {
	return fmt.Sprintf("%q", []any{c.Type, string(c.Token), string(c.Secret), c.URL, c.Corp, c.App, c.Bot, c.AppID,
		c.Nick, c.Account})
}

// Binding chooses how the messages of a place are answered.
type Binding struct {
	Chat     string `yaml:"chat" help:"ID of the chat, or its name, as under groups. Default: every one."`
	User     string `yaml:"user" help:"The platform's ID of the person. Default: everybody."`
	Agent    string `yaml:"agent" help:"Agent that answers. Default: the first one."`
	Skill    string `yaml:"skill" help:"Skill or toolset that is active. Default: the agent's."`
	Strategy string `yaml:"strategy" enum:"full,lite,custom" help:"How much context a turn gets. Default: the agent's."`
}

// Heartbeat says how often HEARTBEAT.md is said.
type Heartbeat struct {
	Interval time.Duration `yaml:"interval" help:"How often, as in 30m; at least 1m. Default: never."`
	Agent    string        `yaml:"agent" help:"Agent that answers. Default: the first one."`
	User     string        `yaml:"user" help:"Whose rights it has: a user of users. Default: those of somebody without a name."`
}

// Memory says what agents remember between conversations.
type Memory struct {
	Days int `yaml:"days" default:"3" help:"The notes of how many recent days each turn reads, today among them."`
}

// Sessions says which messages belong to one conversation, and how long it is kept.
type Sessions struct {
	Keep         time.Duration `yaml:"keep" help:"How long a conversation is kept after its last message, as in 90d: see sessions.md. Default: until it is deleted."`
	Scope        string        `yaml:"scope" default:"peer" enum:"main,peer,channel-peer,account-channel-peer" help:"How finely direct messages are separated. peer: each person has one conversation with an agent, on all channels. channel-peer: one on each channel. main: everybody shares one."`
	SummaryModel string        `yaml:"summary_model" help:"Name of the model that summarizes what a conversation has become too long to send; an inexpensive one will do. Default: the agent's. A model of the provider offline makes an extract, without a request."`
}

// Size is a number of bytes, written as 256KiB, 1MiB or a plain number.
type Size int

var units = []struct {
	suffix string
	bytes  int
}{{"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}, {"kB", 1000}, {"MB", 1_000_000}, {"B", 1}, {"", 1}}

// ParseSize reads a size.
func ParseSize(text string) (Size, error) {
	for _, u := range units {
		if number, ok := strings.CutSuffix(text, u.suffix); ok {
			n, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
			if err != nil || n < 0 || n*float64(u.bytes) > 1<<40 {
				break
			}
			return Size(n * float64(u.bytes)), nil
		}
	}
	return 0, fmt.Errorf("%q is not a size such as 256KiB", text)
}

func (s Size) String() string {
	for _, u := range []int{2, 1, 0} {
		if b := Size(units[u].bytes); s >= b && s%b == 0 {
			return fmt.Sprintf("%d%s", s/b, units[u].suffix)
		}
	}
	return strconv.Itoa(int(s))
}

// MarshalText writes the size as in the file.
func (s Size) MarshalText() ([]byte, error) { return []byte(s.String()), nil }
