package config

import (
	"cmp"
	"fmt"
	"net"
	"path/filepath"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"

	"github.com/etui-run/etui/internal/form"
	"github.com/etui-run/etui/secret"
)

// Service is a provider of models that a configuration can name.
type Service struct {
	Name string
	// BaseURL is the address of its API, which is OpenAI's; empty leaves it to the adapter of the
	// same name.
	BaseURL string
	// Keys are the environment variables with its key: the first one that is set is used.
	Keys []string
	// Model is one of its models, for those who name none.
	Model string
	// Local says that it runs on this machine and needs no key.
	Local bool
}

// Services lists them. A new one costs a line here, and a word in [Model].
func Services() []Service {
	return []Service{
		{Name: "openai", Keys: []string{"OPENAI_API_KEY"}, Model: "gpt-5.4-mini"},
		{Name: "anthropic", Keys: []string{"ANTHROPIC_API_KEY"}, Model: "claude-sonnet-5-5"},
		{"gemini", "https://generativelanguage.googleapis.com/v1beta/openai",
			[]string{"GEMINI_API_KEY", "GOOGLE_API_KEY"}, "gemini-flash-latest", false},
		{"openrouter", "https://openrouter.ai/api/v1", []string{"OPENROUTER_API_KEY"}, "openrouter/auto", false},
		{"ollama", "http://127.0.0.1:11434/v1", []string{"OLLAMA_API_KEY"}, "qwen3", true},
		{"lmstudio", "http://127.0.0.1:1234/v1", []string{"LMSTUDIO_API_KEY"}, "qwen3", true},
		{"deepseek", "https://api.deepseek.com/v1", []string{"DEEPSEEK_API_KEY"}, "deepseek-chat", false},
		{"mistral", "https://api.mistral.ai/v1", []string{"MISTRAL_API_KEY"}, "mistral-medium-latest", false},
		{"groq", "https://api.groq.com/openai/v1", []string{"GROQ_API_KEY"}, "openai/gpt-oss-120b", false},
		{"moonshot", "https://api.moonshot.ai/v1", []string{"MOONSHOT_API_KEY"}, "kimi-k2.6", false},
		{"xai", "https://api.x.ai/v1", []string{"XAI_API_KEY"}, "grok-4", false},
	}
}

// ServiceOf returns a service by its name.
func ServiceOf(name string) (Service, bool) {
	all := Services()
	if i := slices.IndexFunc(all, func(s Service) bool { return s.Name == name }); i >= 0 {
		return all[i], true
	}
	return Service{}, false
}

// Start says how a service on this machine is started; empty for others.
func (s Service) Start() string {
	return map[string]string{
		"ollama":   "start it with: ollama serve; ollama pull NAME fetches a model. Another address is base_url, or OLLAMA_HOST",
		"lmstudio": "start its server with: lms server start, or in its window; another address is base_url",
	}[s.Name]
}

// ServiceNames lists the names of the services, as in a sentence.
func ServiceNames() string {
	var names []string
	for _, s := range Services() {
		names = append(names, s.Name)
	}
	return strings.Join(names, ", ")
}

// Key returns the variable with the service's key, and the key; empty if none is set, then with the
// usual variable.
func (s Service) Key(getenv func(string) string) (name string, key secret.Value) {
	for _, name := range s.Keys {
		if key := strings.TrimSpace(getenv(name)); key != "" {
			return name, secret.Value(key)
		}
	}
	return s.Keys[0], ""
}

// Address returns the service's address. That of Ollama may be in a variable, as its own programs read
// it.
func (s Service) Address(getenv func(string) string) string {
	host := getenv("OLLAMA_HOST")
	if s.Name != "ollama" || host == "" {
		return s.BaseURL
	}
	scheme, rest, ok := strings.Cut(host, "://")
	if !ok {
		scheme, rest = "http", host
	}
	rest = strings.TrimRight(rest, "/")
	name, port, err := net.SplitHostPort(rest)
	if err != nil {
		name, port = strings.Trim(rest, "[]"), "11434"
	}
	if name == "" || name == "0.0.0.0" || name == "::" { // it listens there
		name = "127.0.0.1"
	}
	return scheme + "://" + net.JoinHostPort(name, cmp.Or(port, "11434")) + "/v1"
}

// complete gives the models of services their addresses, and their keys from the environment. A key
// goes to the service's own address only. OpenAI's and Anthropic's models name theirs.
func (c *Config) complete(file string, root *yaml.Node, getenv func(string) string) {
	for i := range c.Models {
		m := &c.Models[i]
		m.KeyFrom = keyFrom(file, find(root, "models", i), m.Name)
		if s, ok := ServiceOf(m.Provider); ok && s.BaseURL != "" && m.BaseURL == "" {
			m.BaseURL = s.Address(getenv)
			if m.APIKey == "" {
				var name string
				if name, m.APIKey = s.Key(getenv); m.APIKey != "" {
					m.KeyFrom = "the environment variable " + name
				} else {
					m.KeyFrom += ", or set the environment variable " + name
				}
			}
		}
	}
}

// keyFrom says where a model's key is, or where to write one.
func keyFrom(file string, n *yaml.Node, name string) string {
	at := fmt.Sprintf("line %d of %s", n.Line, filepath.Base(file))
	key := form.Get(n, "api_key")
	if key == nil {
		return fmt.Sprintf("no key was sent: write api_key: ${NAME} to the model %s, %s", name, at)
	}
	from := fmt.Sprintf("api_key of the model %s, line %d of %s", name, key.Line, filepath.Base(file))
	if variables := form.Variables(key.Value); len(variables) > 0 {
		from += ": " + strings.Join(variables, " ")
	}
	return from
}
