package config

import "testing"

// TestServices: a provider that is named has its address, and its key from the environment.
func TestServices(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, model, url, key string
		environ               []string
	}{
		{"Gemini", "provider: gemini", "https://generativelanguage.googleapis.com/v1beta/openai", "k2", []string{"GOOGLE_API_KEY=k2"}},
		{"the first variable", "provider: gemini", "https://generativelanguage.googleapis.com/v1beta/openai", "k1", []string{"GOOGLE_API_KEY=k2", "GEMINI_API_KEY= k1 \n"}},
		{"a key of the file", "provider: deepseek, api_key: mine", "https://api.deepseek.com/v1", "mine", []string{"DEEPSEEK_API_KEY=other"}},
		{"no key for another address", "provider: groq, base_url: 'http://10.0.0.1/v1'", "http://10.0.0.1/v1", "", []string{"GROQ_API_KEY=k"}},
		{"no key for OpenAI that the file does not name", "provider: openai", "", "", []string{"OPENAI_API_KEY=k"}},
		{"Ollama", "provider: ollama", "http://127.0.0.1:11434/v1", "", nil},
		{"Ollama elsewhere", "provider: ollama", "http://gpu:11434/v1", "", []string{"OLLAMA_HOST=gpu"}},
		{"Ollama that listens everywhere", "provider: ollama", "http://127.0.0.1:9/v1", "", []string{"OLLAMA_HOST=0.0.0.0:9"}},
		{"Ollama by URL", "provider: ollama", "https://o.example.com:443/v1", "", []string{"OLLAMA_HOST=https://o.example.com:443/"}},
	} {
		got, err := Parse("etui.yaml", []byte("models: [{name: m, model: x, "+c.model+"}]"), c.environ)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if m := got.Models[0]; m.BaseURL != c.url || string(m.APIKey) != c.key {
			t.Errorf("%s: %s, %q", c.name, m.BaseURL, string(m.APIKey))
		}
	}
	for _, s := range Services() {
		if _, err := Parse("etui.yaml", []byte("models: [{name: m, model: x, provider: "+s.Name+"}]"), nil); err != nil {
			t.Error(err)
		}
	}
}

// TestKeyFrom: where a key comes from, for the error of one that is refused.
func TestKeyFrom(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"models:\n  - {name: m, model: x, provider: openai}":                                         "no key was sent: write api_key: ${NAME} to the model m, line 2 of etui.yaml",
		"models:\n  - name: m\n    model: x\n    provider: openai\n    api_key: \"${GROQ_API_KEY}\"": "api_key of the model m, line 5 of etui.yaml: ${GROQ_API_KEY}",
		"models: [{name: m, model: x, provider: openai, api_key: tr0ub4dor}]":                        "api_key of the model m, line 1 of etui.yaml",
		"models: [{name: m, model: x, provider: groq}]":                                              "the environment variable GROQ_API_KEY",
		"models: [{name: m, model: x, provider: xai}]":                                               "no key was sent: write api_key: ${NAME} to the model m, line 1 of etui.yaml, or set the environment variable XAI_API_KEY",
	} {
		got, err := Parse("/w/etui.yaml", []byte(text), []string{"GROQ_API_KEY=k"})
		if err != nil || got.Models[0].KeyFrom != want {
			t.Errorf("%s:\ngot  %+v, %v\nwant %s", text, got, err, want)
		}
	}
}
