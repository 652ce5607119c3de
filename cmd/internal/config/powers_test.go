package config

import (
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/etui-run/etui/internal/form"
)

func TestPowers(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][]string{
		"": nil,
		"log: {level: debug}\nlisten: 127.0.0.1:1\nsandbox: {mode: strong, keep_new: false}\nagents: [{name: a, workspace: sub}]": nil,
		"sandbox: {mode: off}":                              {"sandbox.mode: off"},
		"listen: 0.0.0.0:1\nstate: x":                       {"listen: 0.0.0.0:1", "state: x"},
		"agents: [{name: a, instructions: 'hi ${A} ${B}'}]": {"agents: instructions: ${A} ${B}"},
		"models:\n- {name: m, provider: openai, base_url: 'http://u:p@h/v1', api_key: '${K}'}\n- {name: n, provider: offline}":   {"models: provider: openai, base_url: http://...@h/v1, api_key: ${K}"},
		"models:\n- &m {name: m, base_url: 'http://h', api_key: '${K}'}\n- {<<: *m, base_url: 'http://other'}":                   {"models: base_url: http://h, api_key: ${K}", "models: base_url: http://other, api_key: ${K}"},
		"skills: {local: [10.0.0.0/8], model: install}\nsandbox: {network: [a, b]}":                                              {"skills.local: 10.0.0.0/8", "skills.model: install", "sandbox.network: a", "sandbox.network: b"},
		"skills: {dir: ~/x, registries: [{name: a, type: git, url: 'https://h'}]}":                                               {"skills.dir: ~/x", "skills.registries: url: https://h"},
		"channels: [{type: slack, token: '${T}'}]":                                                                               {"channels: type: slack, token: ${T}"},
		"models: [{name: m, provider: deepseek, model: x}, {name: n, provider: offline}, {name: o, provider: openai, model: x}]": {"models: provider: deepseek"},
		"models: [{name: m, provider: ollama, model: x, base_url: 'http://10.0.0.9/v1'}]":                                        {"models: provider: ollama, base_url: http://10.0.0.9/v1"},
		"policy: {rules: [{deny: [x], reason: '${SECRET}'}]}":                                                                    {"policy.rules: reason: ${SECRET}"},
	} {
		got, err := Powers("etui.yaml", []byte(text))
		slices.Sort(got)
		slices.Sort(want)
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%s\ngot  %q, %v\nwant %q", text, got, err, want)
		}
	}
	if _, err := Powers("etui.yaml", []byte("a: [")); err == nil {
		t.Error("no error for a text that is no YAML")
	}
}

// harmless are the keys of texts that do nothing to the machine of somebody else, whatever their value. A
// new key belongs here or among the powers.
const harmless = `log.level secrets api.key api.hosts api.audience api.claim api.models api.a2a api.agui api.console.client_id api.console.client_secret api.console.scopes admin
	models.name models.model models.api_key models.headers models.script models.mode models.schemas
	agents.name agents.client_tools agents.chores.* agents.model agents.fallback agents.instructions agents.groups agents.skill agents.skills agents.strategy agents.mode agents.spawn.agents
	skills.toolsets.name skills.toolsets.description skills.toolsets.tools skills.toolsets.aliases skills.toolsets.examples skills.toolsets.channels skills.toolsets.type skills.toolsets.params
	skills.allow skills.deny skills.registries.name skills.registries.type skills.registries.token skills.registries.repositories
	sandbox.require workflow.* workflows.* users.* visibility.* policy.*
	tools.disabled tools.search.perplexity tools.search.brave tools.mode
	selection.mode selection.pinned recommend.mode recommend.model embeddings.model embeddings.api_key embeddings.query_prefix embeddings.passage_prefix embeddings.dimensions
	enrich.mode enrich.model enrich.languages usage.share transcription.model transcription.api_key
	channels.name channels.token channels.app_token channels.user_token channels.secret channels.key channels.corp channels.bot channels.app_id channels.region channels.nick channels.origins channels.calls channels.agents channels.account
	channels.rooms channels.address channels.authserv_id channels.workflows channels.allow channels.groups channels.overhear channels.language channels.refusal channels.bindings.*
	heartbeat.agent heartbeat.user sessions.scope sessions.summary_model`

func TestEveryKeyIsJudged(t *testing.T) {
	t.Parallel()
	known := strings.Fields(harmless)
	all := map[string]bool{}
	texts(reflect.TypeFor[Config](), "", all)
	for _, key := range slices.Sorted(maps.Keys(all)) {
		first, _, _ := strings.Cut(key, ".")
		second := key
		if parts := strings.Split(key, "."); len(parts) > 2 {
			second = strings.Join(parts[:2], ".")
		}
		if powers[key] == nil && !slices.Contains(known, key) && !slices.Contains(known, first+".*") && !slices.Contains(known, second+".*") {
			t.Errorf("%s is neither among the powers nor among the harmless keys", key)
		}
	}
	for key := range powers {
		if !all[key] && !slices.Contains([]string{"sandbox.keep_new", "api.console.keys"}, key) {
			t.Errorf("there is no key %s", key)
		}
	}
}

// texts collects the keys of a type that hold texts.
func texts(t reflect.Type, path string, all map[string]bool) {
	switch t.Kind() {
	case reflect.Slice, reflect.Map:
		texts(t.Elem(), path, all)
	case reflect.String:
		all[path] = true
	case reflect.Struct:
		for key, f := range form.Fields(t) {
			texts(f.Type, strings.TrimPrefix(path+"."+key, "."), all)
		}
	}
}
