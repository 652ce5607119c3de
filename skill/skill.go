// Package skill holds abilities that come and go while etui runs.
//
// A [Skill] is a named ability in a folder of files, in the configuration or in
// Go code. It brings one or more of: a callable, which runs where its [Provider]
// says; instructions, which the model reads when it takes the skill up
// ([Guide]); a toolset, the only tools that are shown while it is active
// ([Details.Tools]); tools of its own ([Server]).
//
// [Open] is the way in for most programs: it loads a folder, publishes its skills
// in a catalog, where they take part in selection like any tool, and follows
// changes. Its parts can be used alone. A [Table] is the registry: readers take no
// lock and never wait, changes are made one at a time, and each is logged with who
// made it and why. A [Loader] fills it from files; if a file breaks, the last good
// version of its skill stays in effect, with the error beside it. [Publish] puts
// the enabled skills of a table into a catalog.
//
// Packages catalog and selection decide who may use a skill, by the tools that it
// is or brings.
package skill

import (
	"context"
	"encoding/json"
	"time"

	"github.com/etui-run/etui/tool"
)

// Skill is an ability that a model can use. It is safe for concurrent use. A
// changed skill is a new Skill that replaces the old one: what the methods but
// Execute return never changes.
type Skill interface {
	// Name is unique among the skills in effect.
	Name() string
	// Description tells a model what the skill does and when to use it.
	Description() string
	// Parameters is the JSON Schema of the arguments; nil means no arguments.
	Parameters() ParameterSchema
	// Execute runs the skill and waits until it ends. args is a JSON object that
	// fits Parameters; the result marshals as JSON. The error wraps one of the
	// sentinels of this package, or counts as ErrExecutionFailed. Its text goes to
	// the model and must not hold a secret.
	Execute(ctx context.Context, args json.RawMessage) (any, error)
}

// ParameterSchema is a JSON Schema (draft 2020-12) of type object.
type ParameterSchema = json.RawMessage

// Registry knows the skills, by name. [Table] is the one that etui uses.
type Registry interface {
	// Register adds a skill, in state [Loaded]. If it replaces one of the same
	// name, it takes over the state, too.
	Register(skill Skill) error
	// Unregister removes a skill, or returns ErrNotFound. A skill that it shadowed
	// takes its place.
	Unregister(name string) error
	// Enable lets models use a skill, or returns ErrNotFound.
	Enable(name string) error
	// Disable stops a skill from being used, or returns ErrNotFound.
	Disable(name string) error
	// Get returns a skill, or ErrNotFound. One that may not be used comes with a [StateError].
	Get(name string) (Skill, error)
	// List returns all skills, by name.
	List() []Skill
	// ListEnabled returns the skills that may be used, by name.
	ListEnabled() []Skill
	// ToTools returns the definitions of the skills that may be used, by name.
	// They marshal into OpenAI's function-calling shape, to the same bytes in
	// every process.
	ToTools() []tool.Definition
}

// Provider makes skills of one kind from their files.
type Provider interface {
	// Load makes a skill, without running it and without sending anything. The
	// error says what is wrong in the config and names the key.
	Load(config Config) (Skill, error)
	// Type is what a file says under "provider".
	Type() string
}

// DetailedSkill is a skill that says more about itself than the contract asks for.
type DetailedSkill interface {
	Skill
	Details() Details
}

// Details describe a skill beyond the contract. The zero value says nothing.
type Details struct {
	// Provider is where the skill's execution comes from: the type of a
	// [Provider], "markdown" for a SKILL.md, or empty for a skill of the program.
	Provider string
	// Risk is what a call can do to the world. Empty means tool.Write.
	Risk tool.Risk
	// Replay says how a call may be repeated, as in tool.Definition.
	Replay tool.Replay
	// Timeout is how long the host lets a call take, as in tool.Definition. Providers end
	// a call a little earlier, so that their own words about it arrive.
	Timeout time.Duration
	// Version tells versions of a skill apart, as in "1.2"; may be empty.
	Version string
	// Groups, Channels, Aliases, Examples, Translations and Body are as in
	// tool.Definition.
	Groups, Channels, Aliases, Examples []string
	Translations                        map[string]string
	Body                                string
	// Tools are the only tools that are shown while the skill is active: names,
	// or group: and a group. Nil means that taking it up changes no toolset.
	Tools []string
	// Allowed are calls that need no approval while the skill is active, if the operator's policy agrees, as
	// in catalog.Skill.
	Allowed []string
	// Hidden keeps the skill from models: only people take it up.
	Hidden bool
	// Unmet are the requirements that this machine does not meet, as sentences.
	// With any, the skill is loaded but not enabled.
	Unmet []string
	// Warnings point out what is odd about the skill's files, as sentences.
	Warnings []string
}

// DetailsOf returns what a skill says about itself.
func DetailsOf(s Skill) Details {
	if d, ok := s.(DetailedSkill); ok {
		return d.Details()
	}
	return Details{}
}

// Guide is a skill that brings instructions: executing it returns them as text.
type Guide interface {
	Skill
	// Read returns a file of the skill, by its path below the skill's folder; the
	// empty path is the instructions. Nothing outside the folder is read.
	Read(ctx context.Context, file string) (string, error)
}

// Server is a skill that brings tools of its own, which may change. The skill
// itself is then the toolset of them.
type Server interface {
	Skill
	// Run keeps the tools up to date until ctx ends, and calls changed after every
	// change. It is called once, while the skill is enabled.
	Run(ctx context.Context, changed func())
	// Tools are the tools that it brings now. While the server is away they stay,
	// and fail with ErrProviderUnavailable.
	Tools() []tool.Tool
}
