package app

import (
	"cmp"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"

	"github.com/etui-run/etui/catalog"
	"github.com/etui-run/etui/cmd/internal/config"
	"github.com/etui-run/etui/internal/nearest"
	"github.com/etui-run/etui/internal/pdf"
	"github.com/etui-run/etui/model"
	"github.com/etui-run/etui/model/anthropic"
	"github.com/etui-run/etui/model/offline"
	"github.com/etui-run/etui/model/openai"
	"github.com/etui-run/etui/model/script"
	"github.com/etui-run/etui/secret"
	"github.com/etui-run/etui/selection"
	"github.com/etui-run/etui/tool"
)

// newModel makes a model. This is the one list of adapters: a new one costs its
// folder and a line here.
func newModel(file string, m config.Model, registry *catalog.Registry, pdfs *pdf.Reader, log *slog.Logger) (model.Model,
	error) {
	transport := model.TransportConfig{Timeout: m.Timeout, Retries: m.Retries}
	if m.Retries == 0 {
		transport.Retries = -1
	}
	headers := make(map[string]string, len(m.Headers))
	for name, value := range m.Headers {
		headers[name] = string(value)
	}
	adapters := map[string]func() (model.Model, error){
		"openai": func() (model.Model, error) {
			return openai.New(openai.Config{
				Model: m.Model, Name: m.Provider + "/" + m.Model, BaseURL: m.BaseURL, APIKey: string(m.APIKey),
				Window: m.Window, MaxTokens: m.MaxTokens, CacheLife: m.CacheLife, Price: model.Price(m.Price),
				Blind: m.Blind, PDF: pdfs.Text, KeyFrom: m.KeyFrom,
				Schemas: strings.TrimSuffix(m.Schemas, "auto"), Verbatim: !m.TextCalls, Retries: transport.Retries,
				Headers: headers, Log: log, Transport: model.Transport(transport),
			})
		},
		"anthropic": func() (model.Model, error) {
			return anthropic.New(anthropic.Config{
				Model: m.Model, BaseURL: m.BaseURL, APIKey: string(m.APIKey), Window: m.Window, MaxTokens: m.MaxTokens,
				CacheLife: m.CacheLife, Price: model.Price(m.Price), Blind: m.Blind, PDF: pdfs.Text, KeyFrom: m.KeyFrom,
				Deferral: m.Mode == string(selection.Native), Verbatim: !m.TextCalls, Retries: transport.Retries,
				Log: log, Headers: headers, Transport: model.Transport(transport),
			})
		},
		"scripted": func() (model.Model, error) { return script.Read(config.Abs(file, m.Script)) },
		"offline": func() (model.Model, error) {
			return offline.New(offline.Config{Lookup: func(name string) (tool.Definition, bool) {
				e, ok := registry.Catalog().Get(name)
				if !ok {
					return tool.Definition{}, false
				}
				return e.Definition, true
			}}), nil
		},
	}
	adapter, ok := adapters[m.Provider]
	if s, isService := config.ServiceOf(m.Provider); !ok && isService {
		adapter, ok = adapters["openai"], s.BaseURL != ""
	}
	if !ok {
		return nil, fmt.Errorf("there is no provider %q%s", m.Provider,
			nearest.Hint(m.Provider, slices.Values(slices.Sorted(maps.Keys(adapters)))))
	}
	return adapter()
}

// modelsOf chooses the models that the environment allows, and says why.
func modelsOf(environment func(string) string) (models []config.Model, why string) {
	getenv := func(name string) string { return strings.TrimSpace(environment(name)) } // a line break ends a key from a file
	m := config.Model{Name: "offline", Provider: "offline"}
	why = "no language model is set up"
	switch key, url := getenv("OPENAI_API_KEY"), getenv("OPENAI_BASE_URL"); {
	case key != "" || url != "":
		why = "OPENAI_API_KEY is set"
		if key == "" {
			why = "OPENAI_BASE_URL is set"
		}
		m = config.Model{KeyFrom: "the environment variable OPENAI_API_KEY", Name: "openai", Provider: "openai",
			Model: cmp.Or(getenv("OPENAI_MODEL"), UsualModel("openai")), BaseURL: url, APIKey: secret.Value(key)}
	case getenv("ANTHROPIC_API_KEY") != "":
		why = "ANTHROPIC_API_KEY is set"
		m = config.Model{
			Name: "anthropic", Provider: "anthropic", Model: cmp.Or(getenv("ANTHROPIC_MODEL"), UsualModel("anthropic")),
			BaseURL: getenv("ANTHROPIC_BASE_URL"), APIKey: secret.Value(getenv("ANTHROPIC_API_KEY")), Window: 200_000,
			KeyFrom: "the environment variable ANTHROPIC_API_KEY",
		}
	}
	m.Timeout, m.Retries, m.TextCalls = config.DefaultTimeout, config.DefaultRetries, true
	return []config.Model{m}, why
}

// Provider returns the provider and the model that the environment allows: openai,
// anthropic, a URL, or offline.
func Provider(getenv func(string) string) (provider, model string) {
	models, _ := modelsOf(getenv)
	m := models[0]
	if m.Provider == "openai" && m.BaseURL != "" {
		return m.BaseURL, m.Model
	}
	return m.Provider, m.Model
}

// UsualModel returns the model that is taken where none is named.
func UsualModel(provider string) string {
	if s, ok := config.ServiceOf(provider); ok {
		return s.Model
	}
	return UsualModel("openai")
}
