package config

import (
	"fmt"
	"strings"

	"github.com/etui-run/etui/internal/plainjson"
)

// Starter is what a first configuration says.
type Starter struct {
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
	b.WriteString("# yaml-language-server: $schema=" + SchemaURL + "\n")
	b.WriteString(`# The configuration of etui. "etui config validate" checks it, and
# "etui config schema" prints all keys. Without this file each has its default.

models:
  - name: main
`)
	provider := s.Provider
	if strings.Contains(provider, "://") {
		provider = "openai"
	}
	fmt.Fprintf(&b, "    provider: %s\n", provider)
	if provider != "offline" {
		fmt.Fprintf(&b, "    model: %s\n", quoted(s.Model))
	} else {
		b.WriteString("    # It is no language model: it calls the tool that fits best.\n")
	}
	if provider != s.Provider {
		fmt.Fprintf(&b, "    base_url: %s\n", quoted(s.Provider))
	}
	switch service, _ := ServiceOf(s.Provider); {
	case service.Local:
	case service.BaseURL != "":
		fmt.Fprintf(&b, "    # The key is in the environment variable %s.\n", s.Key)
	case s.Key != "" && s.KeySet:
		fmt.Fprintf(&b, "    api_key: ${%s} # an environment variable\n", s.Key)
	case s.Key != "" && provider != s.Provider:
		fmt.Fprintf(&b, "    # If the server needs a key, set the environment variable and remove the #:\n    # api_key: ${%s}\n", s.Key)
	case s.Key != "":
		fmt.Fprintf(&b, "    # Set the environment variable, then remove the # here:\n    # api_key: ${%s}\n", s.Key)
	}
	fmt.Fprintf(&b, "\nagents:\n  - name: main\n    instructions: %s\n", quoted(s.Instructions))
	if s.ReadOnly {
		b.WriteString(`
# The agent sees only tools that read.
visibility:
  default: {write: deny, destructive: deny}
`)
	} else {
		b.WriteString(`
# Who may see which tools. These two lines would leave only tools that read:
# visibility:
#   default: {write: deny, destructive: deny}
`)
	}
	b.WriteString(`
# Where the gateway listens. An address that others can reach needs api.key.
# listen: 127.0.0.1:3884
`)
	return []byte(b.String())
}

// quoted writes a text as YAML on one line.
func quoted(text string) string {
	raw, _ := plainjson.Encode(strings.ReplaceAll(text, "${", "$ {")) // a text is always JSON, and JSON is YAML
	return string(raw)
}
