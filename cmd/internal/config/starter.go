package config

import (
	"fmt"
	"strings"

	"github.com/etui-run/etui/internal/plainjson"
	"github.com/etui-run/etui/phrase"
)

// Starter is what a first configuration says.
type Starter struct {
	// Language is the language of the comments.
	Language string
	// Instructions say what the agent does.
	Instructions string
	// Provider is the name of a [Service] or offline, or the URL of a server with OpenAI's
	// chat completions API.
	Provider string
	// Model is the provider's name of the model. The offline model has none.
	Model string
	// Key is the environment variable with the provider's key. KeySet says that it is
	// set: otherwise the file names it in a comment, because a variable that is not set
	// is an error.
	Key    string
	KeySet bool
	// ReadOnly hides the tools that change something.
	ReadOnly bool
}

// Text returns the file, with a comment for what a reader may want to add.
func (s Starter) Text() []byte {
	var b strings.Builder
	note := func(indent, text string) {
		for line := range strings.Lines(text) {
			b.WriteString(indent + "# " + line)
		}
		b.WriteString("\n")
	}
	b.WriteString("# yaml-language-server: $schema=" + SchemaURL + "\n")
	note("", phrase.In(s.Language,
		"The configuration of etui. \"etui config validate\" checks it, and\n\"etui config schema\" prints all keys. Without this file each has its default."))
	b.WriteString("\nmodels:\n  - name: main\n")
	provider := s.Provider
	if strings.Contains(provider, "://") {
		provider = "openai"
	}
	fmt.Fprintf(&b, "    provider: %s\n", provider)
	if provider != "offline" {
		fmt.Fprintf(&b, "    model: %s\n", quoted(s.Model))
	} else {
		note("    ", phrase.In(s.Language, "It is no language model: it calls the tool that fits best."))
	}
	if provider != s.Provider {
		fmt.Fprintf(&b, "    base_url: %s\n", quoted(s.Provider))
	}
	key := fmt.Sprintf("api_key: ${%s}", s.Key)
	switch service, _ := ServiceOf(s.Provider); {
	case service.Local:
	case service.BaseURL != "":
		note("    ", phrase.In(s.Language, "The key is in the environment variable %s.", s.Key))
	case s.Key != "" && s.KeySet:
		b.WriteString("    " + key + " ")
		note("", phrase.In(s.Language, "an environment variable"))
	case s.Key != "" && provider != s.Provider:
		note("    ", phrase.In(s.Language, "If the server needs a key, set the environment variable and remove the #:")+
			"\n"+key)
	case s.Key != "":
		note("    ", phrase.In(s.Language, "Set the environment variable, then remove the # here:")+"\n"+key)
	}
	fmt.Fprintf(&b, "\nagents:\n  - name: main\n    instructions: %s\n\n", quoted(s.Instructions))
	if s.ReadOnly {
		note("", phrase.In(s.Language, "The agent sees only tools that read."))
		b.WriteString("visibility:\n  default: {write: deny, destructive: deny}\n")
	} else {
		note("", phrase.In(s.Language, "Who may see which tools. These two lines would leave only tools that read:")+
			"\nvisibility:\n  default: {write: deny, destructive: deny}")
	}
	b.WriteString("\n")
	note("", phrase.In(s.Language, "Where the gateway listens. An address that others can reach needs api.key.")+
		"\nlisten: 127.0.0.1:3884")
	return []byte(b.String())
}

// quoted writes a text as YAML on one line.
func quoted(text string) string {
	raw, _ := plainjson.Encode(strings.ReplaceAll(text, "${", "$ {")) // a text is always JSON, and JSON is YAML
	return string(raw)
}
