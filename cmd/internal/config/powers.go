package config

import (
	"net"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"

	"github.com/etui-run/etui/internal/form"
	"github.com/etui-run/etui/internal/printable"
	"github.com/etui-run/etui/secret"
)

// Powers returns a line for everything that a configuration's text could do to the machine of somebody
// who did not write it: switch the sandbox off, send variables somewhere, reach hosts, and read
// or write outside of its folder. Values of environment variables are not among them. Keys of one
// model, channel or registry share a line, so that a variable stays with its host.
func Powers(file string, text []byte) ([]string, error) {
	r := newReader(file, nil)
	root, err := r.parse(text)
	if err != nil {
		return nil, err
	}
	if !r.Resolve(root) {
		return nil, r.err()
	}
	return powersOf("", root), nil
}

// powersOf returns the lines of a node; those of an item of a list are one.
func powersOf(path string, n *yaml.Node) (lines []string) {
	switch n.Kind {
	case yaml.MappingNode:
		for i := 0; i+1 < len(n.Content); i += 2 {
			key := n.Content[i].Value
			if path != "" {
				key = path + "." + key
			}
			lines = append(lines, powersOf(key, n.Content[i+1])...)
		}
	case yaml.SequenceNode:
		for _, item := range n.Content {
			parts := powersOf(path, item)
			if item.Kind == yaml.MappingNode && len(parts) > 0 {
				kind := form.Get(item, "provider")
				if kind != nil && !slices.Contains(parts, path+".provider: "+kind.Value) {
					parts = slices.Insert(parts, 0, path+".provider: "+kind.Value)
				}
				parts = []string{path + ": " + strings.ReplaceAll(strings.Join(parts, ", "), path+".", "")}
			}
			for _, line := range parts {
				if !slices.Contains(lines, line) {
					lines = append(lines, line)
				}
			}
		}
	default:
		variables := form.Variables(n.Value)
		if is := powers[path]; is != nil && (len(variables) > 0 || is(n.Value)) {
			lines = append(lines, path+": "+hidden.ReplaceAllString(secret.URLs(n.Value), "//...@"))
		} else if len(variables) > 0 {
			lines = append(lines, path+": "+strings.Join(variables, " "))
		}
	}
	return lines
}

// hidden is the name and the password in an address.
var hidden = regexp.MustCompile(`//[^/@\s]*@`)

// powers are the keys that can do something, and which of their values do.
var powers = map[string]func(value string) bool{
	"sandbox.mode":         func(value string) bool { return value == "off" },
	"sandbox.network":      always,
	"sandbox.read":         always,
	"sandbox.keep_new":     func(value string) bool { return value != "false" },
	"tools.read":           always,
	"tools.local":          always,
	"tools.search.searxng": always,
	"skills.dir":           outside,
	"skills.global":        always,
	"skills.local":         always,
	"skills.env":           always,
	"skills.model":         func(value string) bool { return value == "install" },

	"api.url":     always, // people's browsers bring codes there
	"api.issuer":  always, // whoever it names comes in
	"api.origins": always, // pages there use the API with a key

	"api.console.url":        always, // people become operators there
	"api.console.keys":       func(value string) bool { return value != "false" },
	"api.console.issuer":     always, // it says who somebody is
	"api.console.role_claim": always, "api.console.groups_claim": always,
	"api.console.owners": always, "api.console.operators": always, "api.console.viewers": always,

	"skills.registries.url":   always,
	"skills.registries.roots": always,

	"models.base_url":     always,
	"models.provider":     served,
	"embeddings.base_url": always, "transcription.base_url": always,
	"channels.type":    always,
	"channels.url":     always,
	"channels.webhook": always,
	"channels.smtp":    always,
	"agents.workspace": outside,
	"store":            always,
	"state":            always, // it may bring conversations, API keys and the programs of MCP servers
	"listen": func(value string) bool {
		host, _, err := net.SplitHostPort(value)
		return err != nil || !Loopback(host)
	},
}

func always(value string) bool { return value != "" }

// served reports whether a provider gets a key from the environment.
func served(provider string) bool {
	s, ok := ServiceOf(provider)
	return ok && s.BaseURL != ""
}

// outside reports whether a path may leave the folder of the configuration.
func outside(path string) bool {
	return path != "" && (!filepath.IsLocal(path) || strings.HasPrefix(path, "~"))
}

// PowerLine is a line of [Powers] for people: on one line, and short.
func PowerLine(line string) string {
	says := map[string]string{"sandbox.mode: off": "commands run with all your rights",
		"skills.model: install": "the model may install skills"}[line]
	if line = printable.Line(line, 200); says != "" {
		line += " (" + says + ")"
	}
	return line
}
