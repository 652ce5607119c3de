package main

import (
	"bytes"
	"cmp"
	"embed"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"

	"github.com/etui-run/etui/catalog"
	"github.com/etui-run/etui/model"
	"github.com/etui-run/etui/model/anthropic"
	"github.com/etui-run/etui/model/openai"
	"github.com/etui-run/etui/model/script"
	"github.com/etui-run/etui/rules"
	"github.com/etui-run/etui/sandbox"
	"github.com/etui-run/etui/workflow"
)

//go:embed etui.yaml workflows
var builtIn embed.FS

// workspace is what etui.yaml and workflows/ say. Its keys mean what they mean for etui; of
// those, it has what this program needs, and refuses others.
type workspace struct {
	models   []modelConfig
	skills   []catalog.Skill
	flows    []workflow.Workflow
	standard string // the skill that is active when none is named
	mode     sandbox.Mode
	read     []string
}

type modelConfig struct {
	Name      string            `yaml:"name"`
	Provider  string            `yaml:"provider"`
	Model     string            `yaml:"model"`
	BaseURL   string            `yaml:"base_url"`
	APIKey    string            `yaml:"api_key"`
	Window    int               `yaml:"window"`
	MaxTokens int               `yaml:"max_tokens"`
	Headers   map[string]string `yaml:"headers"`
	Script    string            `yaml:"script"`
	Price     struct {
		Input      float64 `yaml:"input"`
		Output     float64 `yaml:"output"`
		CacheRead  float64 `yaml:"cache_read"`
		CacheWrite float64 `yaml:"cache_write"`
	} `yaml:"price"`
}

type skillConfig struct {
	Name        string         `yaml:"name"`
	Description string         `yaml:"description"`
	Type        string         `yaml:"type"`
	Params      map[string]any `yaml:"params"`
	Tools       []string       `yaml:"tools"`
}

type limits struct {
	Rounds int `yaml:"rounds"`
	Visits int `yaml:"visits"`
	Tokens int `yaml:"tokens"`
}

type flowConfig struct {
	Name         string  `yaml:"name"`
	Description  string  `yaml:"description"`
	Limits       limits  `yaml:"limits"`
	Phases       []phase `yaml:"phases"`
	DefaultSkill string  `yaml:"defaultSkill"`
	Dashed       string  `yaml:"default-skill"`
	Underlined   string  `yaml:"default_skill"`
}

type phase struct {
	Name         string `yaml:"name"`
	Skill        string `yaml:"skill"`
	Instructions string `yaml:"instructions"`
	Model        string `yaml:"model"`
	Limits       limits `yaml:"limits"`
	Otherwise    string `yaml:"otherwise"`
	Next         []struct {
		When string `yaml:"when"`
		To   string `yaml:"to"`
	} `yaml:"next"`
}

const maxConfig = 1 << 20

// openWorkspace reads the workspace in a folder; an empty name means the built-in one.
func openWorkspace(dir string) (*workspace, error) {
	var files fs.FS = builtIn
	if dir != "" {
		files = os.DirFS(dir)
	}
	var c struct {
		Models    []modelConfig `yaml:"models"`
		Skills    []skillConfig `yaml:"skills"`
		Workflow  flowConfig    `yaml:"workflow"`
		Workflows []flowConfig  `yaml:"workflows"`
		Sandbox   struct {
			Mode string   `yaml:"mode"`
			Read []string `yaml:"read"`
		} `yaml:"sandbox"`
	}
	if _, err := decode(files, "etui.yaml", dir, &c); err != nil {
		return nil, err
	}
	w := &workspace{models: c.Models, mode: sandbox.Mode(c.Sandbox.Mode), read: c.Sandbox.Read}
	for i := range w.models {
		if m := &w.models[i]; m.Script != "" && !filepath.IsAbs(m.Script) {
			m.Script = filepath.Join(dir, m.Script)
		}
	}
	for _, s := range c.Skills {
		w.skills = append(w.skills, catalog.Skill{Name: s.Name, Description: s.Description, Tools: s.Tools})
	}
	w.standard = cmp.Or(c.Workflow.DefaultSkill, c.Workflow.Dashed, c.Workflow.Underlined, catalog.Full)
	flows := c.Workflows
	if len(c.Workflow.Phases) > 0 {
		flows = append(flows, c.Workflow)
	}
	for _, f := range flows {
		w.flows = append(w.flows, f.compiled(nil, ""))
	}
	names, err := fs.Glob(files, "workflows/*.yaml")
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		var f flowConfig
		doc, err := decode(files, name, dir, &f)
		if err != nil {
			return nil, err
		}
		f.Name = cmp.Or(f.Name, strings.TrimSuffix(path.Base(name), ".yaml"))
		w.flows = append(w.flows, f.compiled(doc, filepath.Join(dir, name)))
	}
	return w, nil
}

// decode reads a YAML file strictly, and returns it as nodes, too, for the places of mistakes.
func decode(files fs.FS, name, dir string, into any) (*yaml.Node, error) {
	shown := filepath.Join(dir, name)
	f, err := files.Open(name)
	if err != nil {
		return nil, fmt.Errorf("the workspace cannot be read: %w", err)
	}
	text, err := io.ReadAll(io.LimitReader(f, maxConfig+1))
	err = errors.Join(err, f.Close())
	if err != nil {
		return nil, err
	}
	if len(text) > maxConfig {
		return nil, fmt.Errorf("%s has more than 1 MiB", shown)
	}
	d := yaml.NewDecoder(bytes.NewReader(text))
	d.KnownFields(true)
	if err := d.Decode(into); err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("%s: %w", shown, err)
	}
	var doc yaml.Node
	if err := yaml.Unmarshal(text, &doc); err != nil {
		return nil, fmt.Errorf("%s: %w", shown, err)
	}
	return &doc, nil
}

// compiled is the workflow that the file says, with the places of its phases and conditions
// for messages.
func (f flowConfig) compiled(doc *yaml.Node, file string) workflow.Workflow {
	w := workflow.Workflow{Name: f.Name, Description: f.Description, Limits: workflow.Limits(f.Limits), Place: rules.Place{File: file}}
	for i, p := range f.Phases {
		node := under(under(doc, "phases"), i)
		one := workflow.Phase{
			Name: p.Name, Skill: p.Skill, Instructions: p.Instructions, Model: p.Model, Limits: workflow.Limits(p.Limits), Otherwise: p.Otherwise, Place: placeOf(file, node),
		}
		for j, n := range p.Next {
			next := under(under(node, "next"), j)
			one.Next = append(one.Next, workflow.Next{When: strings.TrimSpace(n.When), To: n.To, Place: placeOf(file, next), WhenPlace: placeOf(file, under(next, "when"))})
		}
		w.Phases = append(w.Phases, one)
	}
	return w
}

func placeOf(file string, n *yaml.Node) rules.Place {
	if n == nil {
		return rules.Place{File: file}
	}
	return rules.Place{File: file, Line: n.Line, Column: n.Column}
}

// under is a value of a mapping or an element of a list; nil if there is none.
func under[K string | int](n *yaml.Node, key K) *yaml.Node {
	if n != nil && n.Kind == yaml.DocumentNode && len(n.Content) > 0 {
		n = n.Content[0]
	}
	if n == nil {
		return nil
	}
	switch key := any(key).(type) {
	case int:
		if n.Kind == yaml.SequenceNode && key < len(n.Content) {
			return n.Content[key]
		}
	case string:
		for i := 0; n.Kind == yaml.MappingNode && i+1 < len(n.Content); i += 2 {
			if n.Content[i].Value == key {
				return n.Content[i+1]
			}
		}
	}
	return nil
}

var variable = regexp.MustCompile(`\$\{([A-Za-z_][A-Za-z0-9_]*)\}`)

// openModels returns the model that answers and those that phases may name. A model whose
// key is a variable that is not set is left out.
func (w *workspace) openModels(getenv func(string) string) (model.Model, map[string]model.Model, error) {
	all := map[string]model.Model{}
	var first model.Model
	var missing []string
	for _, m := range w.models {
		unset := ""
		expand := func(s string) string {
			return variable.ReplaceAllStringFunc(s, func(v string) string {
				name := variable.FindStringSubmatch(v)[1]
				if getenv(name) == "" {
					unset = name
				}
				return getenv(name)
			})
		}
		key, headers := expand(m.APIKey), map[string]string{}
		for name, value := range m.Headers {
			headers[name] = expand(value)
		}
		if unset != "" {
			missing = append(missing, unset)
			continue
		}
		made, err := m.open(key, headers)
		if err != nil {
			return nil, nil, fmt.Errorf("model %s: %w", m.Name, err)
		}
		if all[m.Name] != nil {
			return nil, nil, fmt.Errorf("two models have the name %s", m.Name)
		}
		if all[m.Name] = made; first == nil {
			first = made
		}
	}
	if first == nil {
		slices.Sort(missing)
		return nil, nil, usagef("no model can answer: set %s, name a model in etui.yaml (--workspace), or see the program work without a key with --script FILE", strings.Join(slices.Compact(missing), " or "))
	}
	return first, all, nil
}

func (m modelConfig) open(key string, headers map[string]string) (model.Model, error) {
	price := model.Price(m.Price)
	switch m.Provider {
	case "openai":
		return openai.New(openai.Config{Model: m.Model, BaseURL: m.BaseURL, APIKey: key, Window: m.Window, MaxTokens: m.MaxTokens, Price: price, Headers: headers})
	case "anthropic":
		return anthropic.New(anthropic.Config{Model: m.Model, BaseURL: m.BaseURL, APIKey: key, Window: m.Window, MaxTokens: m.MaxTokens, Price: price, Headers: headers})
	case "scripted":
		return script.Read(m.Script)
	}
	return nil, fmt.Errorf("there is no provider %q; use openai, anthropic or scripted", m.Provider)
}
