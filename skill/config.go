package skill

import (
	"cmp"
	"os"
	"time"

	"github.com/etui-run/etui/tool"
)

// Config is the content of a skill's YAML file. [ParseYAML] has checked names,
// ranges and spellings and replaced ${NAME} in headers, env and auth; the provider checks
// the rest. The zero value of a field means that the file does not have the key.
//
// ParseYAML reads the tags, and so does the reference in the docs; "of" names the
// providers that a key belongs to.
type Config struct {
	Name        string `yaml:"name" required:"true" help:"How the model calls it: 1 to 64 letters, digits, '_' and '-'."`
	Description string `yaml:"description" required:"true" help:"What it does and when to use it, for the model."`
	Provider    string `yaml:"provider" help:"Where it runs: builtin, http, mcp, wasm or command. Without one, the skill is a toolset."`

	// Of http, and of mcp where the server is reached over HTTP.
	Endpoint string            `yaml:"endpoint" of:"http,mcp" help:"URL that is called. Without a path, http takes /execute. ${NAME} in its query is taken from the environment."`
	Headers  map[string]Secret `yaml:"headers" of:"http,mcp" help:"Sent with every request. ${NAME} is taken from the environment."`
	Auth     Auth              `yaml:"auth" of:"mcp" help:"How etui logs in to a service that wants OAuth. Without it etui mcp login NAME logs in for all."`
	// Of http: how a call becomes requests. Without these it is sent as JSON with POST.
	Method string            `yaml:"method" of:"http" enum:"GET,POST,PUT,PATCH,DELETE" help:"Method of the request. Default: POST."`
	Send   map[string]string `yaml:"send" of:"http" help:"Where arguments go, by name: path, query, header or body, then perhaps the name that the service knows, and comma, space or pipe to join a list, as in tags: query filter[tags] comma. Only body is the whole body. An argument whose name is in braces in the endpoint's path goes there. Default: the query for GET and DELETE, else a field of the body."`
	Body   string            `yaml:"body" of:"http" enum:"json,form,multipart" help:"How the body is written. Default: json."`
	Paging Paging            `yaml:"paging" of:"http" help:"How the further pages of a list are fetched. Default: one request."`
	Health string            `yaml:"health" of:"http,mcp" help:"Path or URL that answers GET with 200 while the service is up. Default: no check."`

	// Of command, and of mcp where the server is a program.
	Command []string          `yaml:"command" of:"command,mcp" help:"Program and arguments. Nothing goes through a shell."`
	Env     map[string]Secret `yaml:"env" of:"command,mcp" help:"Environment of the program, which gets nothing else of etui's environment. ${NAME} is taken from the environment."`

	Network []string `yaml:"network" of:"command,mcp" help:"Hosts that the program may reach by HTTP and HTTPS, as name, name:port or *.name, in the sandbox modes strong and landlock. Default: none."`

	// Of mcp where the server is a program: folders of the machine, as absolute paths or
	// beginning with ~/.
	Read  []string `yaml:"read" of:"mcp" help:"Folders that the server's program may read, as absolute paths or with ~/. Default: none but the folder of this file."`
	Write []string `yaml:"write" of:"mcp" help:"Folders that it may also write. Default: none but its private one."`

	// Of wasm.
	Module string `yaml:"module" of:"wasm" help:"WebAssembly module (WASI preview 1), below the folder of this file."`
	Memory int    `yaml:"memory" of:"wasm" min:"1" max:"1024" help:"Mebibytes of memory that it may use, 1 to 1024. Default: 64."`

	// Of builtin.
	Function string `yaml:"function" of:"builtin" help:"Name of the Go function that runs. Default: the skill's name."`

	// Of mcp: which tools of the server are used.
	Include []string `yaml:"include" of:"mcp" help:"The only tools of the server to use, as names or patterns such as db_*. Default: all."`
	Exclude []string `yaml:"exclude" of:"mcp" help:"Tools of the server to leave out."`

	// Of mcp: see package tool/consult.
	Sampling bool `yaml:"sampling" of:"mcp" help:"Lets the server ask the agent's model while one of its calls runs: with its own words alone, at most 8 times in a turn, 64 KiB a question and 2000 tokens an answer. Default: false."`

	// Timeout is 1 s to 120 s; the default is 30 s.
	Timeout time.Duration `yaml:"timeout" min:"1" max:"120" default:"30" help:"Seconds that a call may take, 1 to 120. Default: 30."`
	// RiskLevel is Write by default.
	RiskLevel tool.Risk `yaml:"risk_level" enum:"read,write,destructive" default:"write" help:"What a call can do to the world: read, write or destructive. Default: write."`
	// Replay may be empty: see tool.Definition.
	Replay     tool.Replay     `yaml:"replay" enum:"safe,keyed,never" help:"How a call may be repeated when its outcome is unknown: safe, keyed (with the same idempotency key) or never. Default: safe for read, else never."`
	Parameters ParameterSchema `yaml:"parameters" help:"JSON Schema of the arguments, of type object. Default: no arguments."`

	Version      string            `yaml:"version" help:"Tells versions apart that exist side by side; the highest is in effect."`
	Enabled      *bool             `yaml:"enabled" help:"false: loaded, but off until somebody enables it. Default: true."`
	Tools        []string          `yaml:"tools" help:"The only tools that are shown while the skill is active: names, or group: and a group."`
	Groups       []string          `yaml:"groups" help:"Tags that searches, agents and rules find it by."`
	Channels     []string          `yaml:"channels" help:"The only channels on which it exists, as in telegram. Default: all."`
	Aliases      []string          `yaml:"aliases" help:"Other names and phrases that people use for it, in any language. Only the ranking reads them."`
	Examples     []string          `yaml:"examples" help:"Questions that it answers, in any language. Only the ranking reads them."`
	Translations map[string]string `yaml:"translations" help:"The description in other languages, by tag (zh). Only people and the ranking read them."`

	// Address is Endpoint with the variables of its query; empty for a skill without a file.
	Address Secret `yaml:"-"`

	// Expanded are the values that replaced ${NAME}. They are kept out of errors and
	// results: see [Config.Redactor].
	Expanded []Secret `yaml:"-"`

	// File is the name of the skill's file in messages. Folder is the folder of that
	// file: providers open files below it only. It is closed after Load returns. Both
	// are zero for a skill without a file.
	File   string   `yaml:"-"`
	Folder *os.Root `yaml:"-"`

	lines map[string]int `yaml:"-"` // of the file, by key
}

// Paging says how a GET fetches a list that comes in pages. The zero value fetches one page.
type Paging struct {
	Items    string `yaml:"items" help:"Where the list is in an answer, as in data.items. Default: the answer is the list."`
	Next     string `yaml:"next" help:"Where an answer names the next page: link, for the header Link, or a place in the answer, as in meta.next, with a URL of the same service or a value for query."`
	Query    string `yaml:"query" help:"Query parameter that chooses the page: it gets the value at next, or without next it counts."`
	Count    string `yaml:"count" enum:"pages,items" default:"pages" help:"Whether query counts pages, from 1, or the items before a page, from 0. An argument of its name says where to begin. Default: pages."`
	MaxPages int    `yaml:"max_pages" min:"1" max:"50" default:"10" help:"Pages of one call at most, 1 to 50. Default: 10."`
}

// IsZero reports whether nothing is said.
func (p Paging) IsZero() bool { return p == Paging{} }

// Auth says how etui logs in to an MCP server that is a service. The zero value works where the
// authorization server registers clients by itself.
type Auth struct {
	Login          string   `yaml:"login" enum:"shared,person,client" help:"Whose login calls use: shared, that of etui mcp login NAME; person, the caller's own, for which the chat gets a link; client, etui's own, by client_id and client_secret. Default: shared."`
	ClientID       Secret   `yaml:"client_id" help:"Id of a client that was registered by hand. Default: etui registers one. ${NAME} is taken from the environment."`
	ClientSecret   Secret   `yaml:"client_secret" help:"Its secret, if it has one. Use ${NAME}. It needs issuer."`
	Issuer         string   `yaml:"issuer" help:"URL of the authorization server that client_secret is for. etui logs in at its host, or where its own metadata say over TLS."`
	ClientDocument string   `yaml:"client_document" help:"https URL of a client-id metadata document that describes etui. It is used where the authorization server supports it."`
	Scopes         []string `yaml:"scopes" help:"Scopes to ask for. Default: those that the server asks for."`
}

// The values of Auth.Login; empty means SharedLogin.
const (
	SharedLogin = "shared"
	PersonLogin = "person"
	ClientLogin = "client"
)

// IsZero reports whether nothing is said.
func (a Auth) IsZero() bool {
	return a.Login == "" && a.ClientID == "" && a.ClientSecret == "" && a.Issuer == "" && a.ClientDocument == "" &&
		a.Scopes == nil
}

// URL is the address of the service, which may hold a secret.
func (c *Config) URL() string { return cmp.Or(string(c.Address), c.Endpoint) }

// Line returns the line of a key such as "provider"; 0 if the file does not have it.
func (c *Config) Line(key string) int { return c.lines[key] }

// Details returns what the config says beyond the contract.
func (c *Config) Details() Details {
	return Details{
		Provider: c.Provider, Risk: c.RiskLevel, Replay: c.Replay, Timeout: c.timeout() + 2*time.Second,
		Version: c.Version, Groups: c.Groups, Channels: c.Channels,
		Aliases: c.Aliases, Examples: c.Examples, Translations: c.Translations, Tools: c.Tools,
	}
}

func (c *Config) timeout() time.Duration {
	return min(cmp.Or(c.Timeout, DefaultTimeout), MaxTimeout)
}

// Described is a skill as its config describes it. Providers embed it in their skills.
type Described struct {
	name, description string
	parameters        ParameterSchema
	// More is what Details returns.
	More Details
	// Timeout bounds a call; Redactor hides the config's secrets.
	Timeout  time.Duration
	Redactor Redactor
}

// Describe returns what c says about a skill of a provider.
func (c *Config) Describe(provider string) Described {
	more := c.Details()
	more.Provider = provider
	return Described{c.Name, c.Description, c.Parameters, more, c.timeout(), c.Redactor()}
}

// Name returns the skill's name.
func (d *Described) Name() string { return d.name }

// Description returns what the skill does.
func (d *Described) Description() string { return d.description }

// Parameters returns the schema of the arguments.
func (d *Described) Parameters() ParameterSchema { return d.parameters }

// Details returns the rest of what is known about the skill.
func (d *Described) Details() Details { return d.More }

// The bounds of a call's time.
const (
	DefaultTimeout = 30 * time.Second
	MaxTimeout     = 120 * time.Second
)

// MaxResult is how many bytes of JSON a skill's result may have. A provider stops
// reading there and returns ErrExecutionFailed.
const MaxResult = 1 << 20
