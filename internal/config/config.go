// Package config reads etui.yaml and the environment.
//
// Everything is checked before anything starts: a key that does not exist, a
// value of the wrong kind, a missing environment variable are errors with file,
// line and column. Nothing starts half-configured.
package config

import (
	"fmt"
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
	Listen     string     `yaml:"listen" default:"127.0.0.1:3884" help:"Address of the gateway. Other than loopback addresses need api.key."`
	State      string     `yaml:"state" help:"Folder of the database. Default: a folder for this workspace under the user's state folder."`
	Demo       bool       `yaml:"demo" help:"Add the demo's tools, served by a small service inside etui."`
	Log        Log        `yaml:"log" help:"What is logged, to standard error."`
	API        API        `yaml:"api" help:"Who may talk to the gateway over HTTP."`
	Models     []Model    `yaml:"models" help:"Language models. Default: what OPENAI_API_KEY, OPENAI_BASE_URL or ANTHROPIC_API_KEY allow, else the offline model."`
	Agents     []Agent    `yaml:"agents" help:"Who answers. The first one is the default. Default: one agent named main."`
	Admin      string     `yaml:"admin" default:"127.0.0.1:3885" help:"Loopback address of the admin API where listen is none; else it is at listen. Empty: no admin API there."`
	Skills     Skills     `yaml:"skills" help:"Abilities that come and go while etui runs, see skills.md. A plain list stands for toolsets."`
	Sandbox    Sandbox    `yaml:"sandbox" help:"How programs run that skills bring and models ask for."`
	Workflow   Workflow   `yaml:"workflow" help:"How skills are used."`
	Visibility Visibility `yaml:"visibility" help:"Who may see which tools, see docs/visibility.md. Changes take effect while etui serves."`
	Policy     Policy     `yaml:"policy" help:"Which calls of visible tools may run, see docs/policy.md. Changes take effect while etui serves."`
	Tools      Tools      `yaml:"tools" help:"The tools that etui brings, and which are switched off."`
	Selection  Selection  `yaml:"selection" help:"How much of the tools reaches the model."`
	Recommend  Recommend  `yaml:"recommend" help:"Order tools and skills by more than their words: by the channel and by what was used before."`
	Embeddings Embeddings `yaml:"embeddings" help:"Compare questions and tools by their meaning, too. Without a model, words alone count."`
	Usage      Usage      `yaml:"usage" help:"What is kept of past turns, and what is learnt from it."`
	Limits     Limits     `yaml:"limits" help:"Bounds of messages, turns and calls."`
	Sessions   Sessions   `yaml:"sessions" help:"Which messages belong to one conversation."`
}

// Log says what is logged.
type Log struct {
	Level string `yaml:"level" default:"info" enum:"debug,info,warn,error" help:"The least important level that is logged."`
	JSON  bool   `yaml:"json" help:"Log lines of JSON."`
}

// API says who may talk to the gateway.
type API struct {
	Key   secret.Value `yaml:"key" help:"Bearer token that HTTP clients must present. Use ${NAME}. Whoever has it is trusted to say which user a message is from."`
	Hosts []string     `yaml:"hosts" help:"Host names under which clients address the gateway, beside localhost and IP addresses."`
}

// Model is a language model.
type Model struct {
	Name      string                  `yaml:"name" required:"true" help:"How agents name it."`
	Provider  string                  `yaml:"provider" required:"true" enum:"openai,anthropic,offline" help:"openai is any server with OpenAI's chat completions."`
	Model     string                  `yaml:"model" help:"What the provider calls it."`
	BaseURL   string                  `yaml:"base_url" help:"Where the provider is, for servers of your own: http://127.0.0.1:11434/v1."`
	APIKey    secret.Value            `yaml:"api_key" help:"Use ${NAME}."`
	Window    int                     `yaml:"window" help:"How many tokens a request and its answer may have together. 0: unknown."`
	MaxTokens int                     `yaml:"max_tokens" help:"Bound of an answer, in tokens. 0: the provider's."`
	Headers   map[string]secret.Value `yaml:"headers" help:"Sent with every request."`
	Timeout   time.Duration           `yaml:"timeout" default:"60s" help:"How long the model may take to begin an answer."`
	CacheLife time.Duration           `yaml:"cache_life" negative:"true" help:"How long the provider keeps the beginning of a request for the next one. Default: 5m for anthropic, 1h for openai. -1s: not at all."`
	Mode      string                  `yaml:"mode" enum:"auto,direct,preselect,bridge,native" help:"How the tools reach this model. Default: selection.mode."`
	Retries   int                     `yaml:"retries" default:"2" help:"How often a request is tried again after 429, 5xx and lost connections."`
}

// What Timeout and Retries of a model are when nothing is said.
const (
	DefaultTimeout = time.Minute
	DefaultRetries = 2
)

// Agent answers messages.
type Agent struct {
	Name         string   `yaml:"name" required:"true" help:"How messages address it."`
	Model        string   `yaml:"model" help:"Name of its model. Default: the first one."`
	Fallback     []string `yaml:"fallback" help:"Models that are asked in turn when the one before is not available."`
	Instructions string   `yaml:"instructions" help:"Who the agent is and how it works."`
	Groups       string   `yaml:"groups" help:"Groups whose tools it has, as in file,shell. Default: all."`
	Skill        string   `yaml:"skill" help:"Skill that is active until another is chosen. Default: workflow.default_skill."`
	Skills       []string `yaml:"skills" help:"The only skills that the model is told of. Empty: all."`
	Strategy     string   `yaml:"strategy" default:"full" enum:"full,lite,custom" help:"How much context a turn is given. lite leaves out memory, skills and runtime facts."`
	Mode         string   `yaml:"mode" enum:"auto,direct,preselect,bridge,native" help:"How the tools reach its model. Default: that of its model."`
	Workspace    string   `yaml:"workspace" help:"Folder that its file tools and commands see, and that its memory is in, instead of the workspace. It must be there. Default: the workspace."`
}

// Skills says where skills come from and which of them may be used.
type Skills struct {
	Dir        Paths      `yaml:"dir" help:"Folder of skills inside the workspace, or a list of them. Default: skills, .agents/skills and .claude/skills. SKILLS_DIR is read, too, with : between folders."`
	Global     Paths      `yaml:"global" help:"Folders outside the workspace that hold skills for all workspaces; ~/ is the home folder. Default: ~/.etui/skills and ~/.agents/skills. An empty list: none."`
	Toolsets   []Toolset  `yaml:"toolsets" help:"Skills that are nothing but named toolsets. The skill full, all tools, always exists."`
	Allow      []string   `yaml:"allow" help:"The only skills of folders that may be enabled, as names or patterns such as db_*. Default: all. Changes take effect while etui serves."`
	Deny       []string   `yaml:"deny" help:"Skills of folders that may not be enabled, whatever allow says. Changes take effect while etui serves."`
	Local      []string   `yaml:"local" help:"Private and loopback addresses that skills may reach: 127.0.0.1:8081, 10.0.0.0/8 or 10.0.0.0/8:443; * is any port."`
	Env        []string   `yaml:"env" help:"Variables of etui's own, such as OPENAI_API_KEY, that files of skills may use as ${NAME}. Others may be used without."`
	Registries []Registry `yaml:"registries" help:"Where skills are found and installed from. Default: clawhub, of clawhub.ai, and github, of type git. An empty list: nowhere."`
	Model      string     `yaml:"model" default:"off" enum:"off,find,install" help:"Which of find_skills and install_skill the model gets: none, the first, or both."`
}

// Registry is where skills are found and installed from.
type Registry struct {
	Name  string       `yaml:"name" required:"true" help:"What commands call it."`
	Type  string       `yaml:"type" required:"true" enum:"clawhub,wellknown,git,folder" help:"clawhub is ClawHub's API, wellknown a site with /.well-known/agent-skills, git archives of repositories, folder a local folder."`
	URL   string       `yaml:"url" help:"Where it is: a site, a folder's path, or for git the address of archives with {repository} and {version} in it. Default: the public one of its type."`
	Token secret.Value `yaml:"token" help:"Sent as bearer token, to that site only. Use ${NAME}."`
	Roots []string     `yaml:"roots" help:"Files of certificates (PEM) that signatures must lead to; a skill without one needs a yes. Default: signatures are held against the files, but nobody's is trusted."`

	Repositories []string `yaml:"repositories" help:"Of git: the repositories, as owner/name, that searches look through; at most 5."`
}

// Sandbox says how programs run.
type Sandbox struct {
	Mode    string   `yaml:"mode" default:"auto" enum:"auto,strong,landlock,seatbelt,none,off" help:"How programs are kept from the machine, see sandbox.md. auto takes the strongest of strong, landlock (Linux) and seatbelt (macOS) that works here, and runs none where there is none. none runs none. off isolates nothing: programs have all your rights."`
	Require string   `yaml:"require" enum:"strong,landlock" help:"Start only if programs are isolated at least so; landlock stands for seatbelt, too. Default: start in any mode."`
	Network []string `yaml:"network" help:"Hosts that commands of the exec tool may reach by HTTP and HTTPS, as name, name:port or *.name, in the modes strong and landlock; private addresses need skills.local, too. Default: none."`
	Read    []string `yaml:"read" help:"Folders outside /usr that all isolated programs may read and run from, as absolute paths or with ~/: /opt/node-22, ~/.nvm/versions. Default: none."`
}

// Paths are paths of files: one, or a list of them.
type Paths []string

// Toolset is a named toolset.
type Toolset struct {
	Name        string   `yaml:"name" required:"true" help:"How it is chosen."`
	Description string   `yaml:"description" help:"Told to the model and to users."`
	Tools       []string `yaml:"tools" help:"Names of tools, or group: and a group. Empty: all."`
	Aliases     []string `yaml:"aliases" help:"Other names and phrases that people use for it, in any language. Only the ranking reads them."`
	Examples    []string `yaml:"examples" help:"Questions that it is for, in any language. Only the ranking reads them."`
	Channels    []string `yaml:"channels" help:"Channels that it is made for. Empty: none in particular."`
}

// Workflow says how skills are used.
type Workflow struct {
	DefaultSkill string `yaml:"default_skill" default:"full" help:"Skill that is active until another is chosen."`
}

// Visibility says who may see which tools.
type Visibility struct {
	Default Defaults `yaml:"default" help:"What holds for the tools that no allow rule names."`
	Rules   []Rule   `yaml:"rules" help:"Each has allow or deny. Deny wins; a tool that allow rules name is visible where one of them holds."`
}

// Defaults say, by risk, who may see a tool when no rule does.
type Defaults struct {
	Read        string `yaml:"read" default:"allow" enum:"allow,deny" help:"Tools that only look."`
	Write       string `yaml:"write" default:"allow" enum:"allow,deny" help:"Tools that change something."`
	Destructive string `yaml:"destructive" default:"allow" enum:"allow,deny" help:"Tools whose work cannot be undone."`
}

// Rule lets callers see tools, or hides tools from them.
type Rule struct {
	Name   string   `yaml:"name" help:"What messages call it."`
	Allow  []string `yaml:"allow" help:"Tools: names, patterns such as db_*, or group:, source:, risk: or skill: and a name."`
	Deny   []string `yaml:"deny" help:"The same, for hiding them."`
	When   string   `yaml:"when" help:"Condition in CEL over user.id, user.roles, channel, chat, agent, session, skill, time and attrs. Default: always."`
	Reason string   `yaml:"reason" help:"Shown to operators where the rule hides a tool."`
	// Place and WhenPlace are where the rule and its condition begin.
	Place     Position `yaml:"-"`
	WhenPlace Position `yaml:"-"`
}

// Filled notes the places of the rule.
func (r *Rule) Filled(in *form.Reader, n *yaml.Node) {
	r.Place, r.WhenPlace = rulePlaces(in, n, r.When)
}

// Policy says which calls of visible tools may run.
type Policy struct {
	Default CallDefaults `yaml:"default" help:"What holds for tools about which no rule decides."`
	Rules   []CallRule   `yaml:"rules" help:"Each has allow, ask or deny. Deny wins over ask, and ask over allow; a tool that allow rules name may be called where one of them holds."`
}

// CallDefaults say, by risk, whether a tool may be called when no rule does.
type CallDefaults struct {
	Read        string `yaml:"read" default:"allow" enum:"allow,ask,deny" help:"Tools that only look."`
	Write       string `yaml:"write" default:"allow" enum:"allow,ask,deny" help:"Tools that change something."`
	Destructive string `yaml:"destructive" default:"allow" enum:"allow,ask,deny" help:"Tools whose work cannot be undone."`
}

// CallRule lets calls of tools through, or does not.
type CallRule struct {
	Name   string   `yaml:"name" help:"What messages call it."`
	Allow  []string `yaml:"allow" help:"Tools: names, patterns such as db_*, or group:, source:, risk: or skill: and a name."`
	Ask    []string `yaml:"ask" help:"The same: calls need an approval. Until approvals can be given they are refused."`
	Deny   []string `yaml:"deny" help:"The same: calls are refused."`
	When   string   `yaml:"when" help:"Condition in CEL over user.id, user.roles, channel, chat, agent, session, skill, time and attrs, and of the call over args, command.programs and command.risks. Default: always."`
	Reason string   `yaml:"reason" help:"Shown to operators where the rule decides."`
	// Place and WhenPlace are where the rule and its condition begin.
	Place     Position `yaml:"-"`
	WhenPlace Position `yaml:"-"`
}

// Filled notes the places of the rule.
func (r *CallRule) Filled(in *form.Reader, n *yaml.Node) {
	r.Place, r.WhenPlace = rulePlaces(in, n, r.When)
}

// rulePlaces notes where a rule and its condition are. A condition that is there and
// says nothing is a mistake: the rule would always hold.
func rulePlaces(r *form.Reader, n *yaml.Node, condition string) (place, whenPlace Position) {
	place = r.Position(n)
	when := find(n, "when")
	if when != n && strings.TrimSpace(condition) == "" {
		r.Fail(when, "when", "the condition is empty; leave when out for a rule that always holds")
	}
	whenPlace = r.Position(when)
	switch {
	case whenPlace.Line == 0:
	case when.Style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0:
		whenPlace.Line, whenPlace.Column = when.Line+1, 0 // the text begins below
	case when.Style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle) != 0:
		whenPlace.Column++
	}
	return place, whenPlace
}

// Tools says which tools etui brings.
type Tools struct {
	Builtin  bool     `yaml:"builtin" default:"true" help:"The built-in tools: files of the workspace, the web, time, arithmetic; see builtin-tools.md."`
	Disabled []string `yaml:"disabled" help:"Tools that nobody may use, by name or as group: and a group."`
	Local    []string `yaml:"local" help:"Private and loopback addresses that web_fetch may reach, as in skills.local."`
	Search   Search   `yaml:"search" help:"What web_search asks, in the order of these keys; the next one when one fails. Without any there is no web_search."`
}

// Search says which services search the web.
type Search struct {
	Perplexity secret.Value `yaml:"perplexity" help:"Key of Perplexity's search API. Use ${NAME}."`
	Brave      secret.Value `yaml:"brave" help:"Key of Brave's search API. Use ${NAME}."`
	SearXNG    string       `yaml:"searxng" help:"Where a SearXNG is that answers in JSON: https://search.lan."`
	DuckDuckGo bool         `yaml:"duckduckgo" help:"Read DuckDuckGo's results page. It needs no key, and refuses who asks often."`
}

// Selection bounds what is sent.
type Selection struct {
	Off         bool     `yaml:"off" help:"Declare every tool that the caller may use, as without a selection, whatever the modes say."`
	Mode        string   `yaml:"mode" default:"auto" enum:"auto,direct,preselect,bridge,native" help:"How the tools reach the model; see docs/delivery.md."`
	Directory   int      `yaml:"directory" negative:"true" default:"400" help:"How many tokens the list of all tools in the system prompt may have. -1: no list."`
	Skills      int      `yaml:"skills" default:"1500" help:"How many tokens the list of skills in the system prompt may have, at most 5 % of the model's window. What it leaves out is told with the messages that it fits."`
	Limit       int      `yaml:"limit" default:"8" help:"How many tools are sent for a question, pinned ones not counted."`
	Budget      int      `yaml:"budget" default:"3000" help:"How many tokens their definitions may have together."`
	WindowShare float64  `yaml:"window_share" default:"0.1" help:"The part of the model's window that they may take."`
	Direct      int      `yaml:"direct" negative:"true" default:"12" help:"Up to how many tools mode auto sends without choosing, if they fit the budget. -1: never."`
	Pinned      []string `yaml:"pinned" help:"Tools that are sent always, by name or as group: and a group."`
}

// Recommend orders tools and skills.
type Recommend struct {
	Mode    string        `yaml:"mode" default:"off" enum:"off,rules,model" help:"rules scores from 0 to 100 by the four weights; model asks a model besides, when the best ones are close. With both, the model is told only of the skills that fit the question, or of all when none does."`
	Channel int           `yaml:"channel" default:"40" help:"Weight of being made for the question's channel. The weights are shares of their sum."`
	Keyword int           `yaml:"keyword" default:"30" help:"Weight of fitting the question's words."`
	History int           `yaml:"history" default:"20" help:"Weight of how often it was used in the conversation."`
	Recency int           `yaml:"recency" default:"10" help:"Weight of how long ago that was."`
	Model   string        `yaml:"model" help:"Name of the model that mode model asks; an inexpensive one will do."`
	Timeout time.Duration `yaml:"timeout" default:"2s" help:"How long it may take. After that the rules decide."`
}

// Embeddings compare meanings.
type Embeddings struct {
	BaseURL   string        `yaml:"base_url" help:"Where a server with OpenAI's embeddings API is, as in http://127.0.0.1:11434/v1. Default: OpenAI's."`
	Model     string        `yaml:"model" help:"What the server calls the model. Empty: no embeddings."`
	APIKey    secret.Value  `yaml:"api_key" help:"Use ${NAME}."`
	Weight    float64       `yaml:"weight" default:"0.5" help:"How much the likeness in meaning counts beside the words, from 0 to 1."`
	Threshold float64       `yaml:"threshold" default:"0.4" help:"From which likeness on, 0 to 1, a tool is a candidate that its words do not make one. Which is high depends on the model."`
	Timeout   time.Duration `yaml:"timeout" default:"300ms" help:"How long a question waits for its vector. After that words alone count."`
}

// Usage says what is kept of past turns.
type Usage struct {
	Keep  bool   `yaml:"keep" help:"Keep what was asked, without addresses, numbers and keys, and which tools answered: see usage.md."`
	Vote  bool   `yaml:"vote" default:"true" help:"Let past questions vote for the tools that answered them."`
	Share string `yaml:"share" default:"agent" enum:"agent,user" help:"For whom a user's questions vote: for all users of the agent, or for this user alone."`
	Days  int    `yaml:"days" default:"90" help:"For how many days a turn is kept. Of each agent at most 5000 are."`
}

// Limits bounds messages, turns and calls.
type Limits struct {
	Message       Size          `yaml:"message" default:"256KiB" help:"How long a message may be."`
	Waiting       int           `yaml:"waiting" default:"32" help:"How many messages of one conversation may wait for their turn."`
	Steps         int           `yaml:"steps" default:"16" help:"How often one turn asks the model."`
	Call          time.Duration `yaml:"call" default:"1m" help:"How long one call may take."`
	Result        Size          `yaml:"result" default:"32KiB" help:"How much of a result the model reads."`
	Skill         Size          `yaml:"skill" default:"64KiB" help:"How much of a skill's instructions, or of a file beside them, the model reads at once."`
	HistoryTokens int           `yaml:"history_tokens" default:"24000" help:"About how much of a conversation is sent."`
}

// Sessions says which messages belong together.
type Sessions struct {
	Scope string            `yaml:"scope" default:"channel-peer" enum:"main,peer,channel-peer,account-channel-peer" help:"How finely direct messages are kept apart."`
	Links map[string]string `yaml:"links" help:"One name for a person on several channels: telegram:42 maps to alice."`
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

// MarshalText writes the size as it is written in the file.
func (s Size) MarshalText() ([]byte, error) { return []byte(s.String()), nil }
