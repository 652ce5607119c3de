package config

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"syscall"
	"time"

	"go.yaml.in/yaml/v4"

	"github.com/etui-run/etui/chore"
	"github.com/etui-run/etui/internal/form"
	"github.com/etui-run/etui/internal/nearest"
	"github.com/etui-run/etui/internal/origin"
)

// File is the name of the configuration in a workspace.
const File = "etui.yaml"

// maxFile bounds the configuration, in bytes.
const maxFile = 1 << 20

// Prefix begins the names of the environment variables that override keys:
// ETUI_LOG_LEVEL is log.level. Values of lists and mappings are written as YAML:
// ETUI_SELECTION_PINNED="[read_file]".
const Prefix = "ETUI_"

// notKeys are variables with the prefix that mean something else.
var notKeys = []string{"ETUI_WORKSPACE", "ETUI_CONFIG", "ETUI_URL", "ETUI_TRUST", "ETUI_LOGIN_KEY"}

// skillsDir is a second name of another variable.
const skillsDir, skillsDirKey = "SKILLS_DIR", "ETUI_SKILLS_DIR"

// Read reads a configuration's text. A file that does not exist is
// [fs.ErrNotExist], unless a link leads to it, and one of more than 1 MiB an [Error].
func Read(path string) ([]byte, error) {
	// Do not wait for the writer of a pipe, which somebody may have put there.
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if errors.Is(err, fs.ErrNotExist) {
		if target, linked := os.Readlink(path); linked == nil { // it is meant to be there, with its rules
			return nil, fmt.Errorf("reading the configuration: %s is a link to %s, which does not exist; mend the link, or remove it to start without a configuration", path, target)
		}
		return nil, fmt.Errorf("there is no configuration %s: %w", path, fs.ErrNotExist)
	}
	if err != nil {
		return nil, fmt.Errorf("reading the configuration: %w", err)
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return nil, fmt.Errorf("reading the configuration: %s is not a regular file", path)
	}
	text, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err != nil {
		return nil, fmt.Errorf("reading the configuration: %w", err)
	}
	if len(text) > maxFile {
		return nil, Error{File: path, Message: "the file is longer than 1 MiB"}
	}
	return text, nil
}

// Write replaces a configuration's text, in place: the sandbox seals the file that is there. It does not
// wait for the reader of a pipe, which somebody may have put there.
func Write(path string, text []byte) (err error) {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|syscall.O_NONBLOCK, 0o600)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return errors.Join(fmt.Errorf("%s is not a regular file", path), err)
	}
	if _, err := f.WriteAt(text, 0); err != nil {
		return err
	}
	return errors.Join(f.Truncate(int64(len(text))), f.Sync())
}

// Parse reads the configuration from a text, which messages name file, and from an environment in the
// form of os.Environ. The error joins an [Error] for everything that is wrong.
func Parse(file string, text []byte, environ []string) (*Config, error) {
	env := variablesOf(environ)
	r := newReader(file, env)
	root, err := r.parse(text)
	if err != nil {
		return nil, err
	}
	r.override(root, env)
	c := &Config{}
	r.SetDefaults(c)
	if r.Resolve(root) {
		r.Decode(root, c)
	}
	c.complete(file, root, func(name string) string { return env[name] })
	if len(r.Problems) == 0 {
		r.relations(c, root)
		r.names(c, root)
	}
	return c, r.err()
}

// variablesOf reads an environment in the form of os.Environ.
func variablesOf(environ []string) map[string]string {
	env := map[string]string{}
	for _, line := range environ {
		name, value, _ := strings.Cut(line, "=")
		env[name] = value
	}
	return env
}

// parse returns the file's mapping, an empty one for an empty file.
func (r *reader) parse(text []byte) (*yaml.Node, error) {
	root, bad := form.Parse(string(text), maxDepth)
	switch {
	case bad != nil:
		return nil, Error{File: r.File, Line: bad.Line, Column: bad.Column, Message: bad.Message}
	case root == nil:
		return &yaml.Node{Kind: yaml.MappingNode, Line: 1, Column: 1}, nil
	}
	for i := 0; root.Kind == yaml.MappingNode && i+1 < len(root.Content); i += 2 {
		root.Content[i+1] = longForm(root.Content[i].Value, root.Content[i+1])
	}
	return root, nil
}

// longForm turns a plain list under skills into skills.toolsets.
func longForm(key string, n *yaml.Node) *yaml.Node {
	if key != "skills" || n.Kind != yaml.SequenceNode {
		return n
	}
	name := &yaml.Node{Kind: yaml.ScalarNode, Value: "toolsets", Line: n.Line, Column: n.Column}
	return &yaml.Node{Kind: yaml.MappingNode, Line: n.Line, Column: n.Column, Content: []*yaml.Node{name, n}}
}

// override puts the values of environment variables into the file's nodes, so that
// both are read in the same way.
func (r *reader) override(root *yaml.Node, env map[string]string) {
	names := make([]string, 0, len(env))
	for name := range env {
		if strings.HasPrefix(name, Prefix) && !slices.Contains(notKeys, name) {
			names = append(names, name)
		}
	}
	if env[skillsDir] != "" && env[skillsDirKey] == "" {
		names = append(names, skillsDir)
	}
	slices.Sort(names)
	known := variables(reflect.TypeFor[Config](), Prefix, nil)
	known[skillsDir] = known[skillsDirKey]
	for _, name := range names {
		path, ok := known[name]
		if !ok {
			r.Problems = append(r.Problems,
				Error{File: name, Message: "there is no such key" +
					nearest.Hint(name, slices.Values(slices.Sorted(maps.Keys(known)))) +
					"; variables that begin with " + Prefix +
					" are keys of the configuration, so give others another name"})
			continue
		}
		value := &yaml.Node{Kind: yaml.ScalarNode, Value: env[name]}
		if kind := path.kind; kind == reflect.Slice || kind == reflect.Map || kind == reflect.Struct {
			root, bad := form.Parse(env[name], maxDepth)
			if bad != nil || root == nil {
				r.Problems = append(r.Problems, Error{File: name, Message: "the value must be YAML, as in [a, b]"})
				continue
			}
			value = root
		}
		r.mark(value, name)
		if len(path.keys) == 1 {
			value = longForm(path.keys[0], value)
		}
		set(root, path.keys, value)
	}
}

// mark notes that a node and its content came from a variable.
func (r *reader) mark(n *yaml.Node, name string) {
	r.Origins[n] = name
	for _, c := range n.Content {
		r.mark(c, name)
	}
}

// target is the key that a variable overrides.
type target struct {
	keys []string
	kind reflect.Kind
}

// variables lists the environment variables of a type's keys.
func variables(t reflect.Type, prefix string, path []string) map[string]target {
	all := map[string]target{}
	for key, f := range form.Fields(t) {
		name, keys := prefix+strings.ToUpper(key), append(slices.Clone(path), key)
		all[name] = target{keys, f.Type.Kind()}
		if f.Type.Kind() == reflect.Struct {
			maps.Copy(all, variables(f.Type, name+"_", keys))
		}
	}
	return all
}

// set stores a value under a path of keys, making mappings on the way.
func set(n *yaml.Node, path []string, value *yaml.Node) {
	if n.Kind != yaml.MappingNode {
		return // reported when it is decoded
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value != path[0] {
			continue
		}
		if len(path) == 1 {
			n.Content[i+1] = value
		} else {
			if n.Content[i+1].Tag == "!!null" {
				n.Content[i+1] = &yaml.Node{Kind: yaml.MappingNode}
			}
			set(n.Content[i+1], path[1:], value)
		}
		return
	}
	key := &yaml.Node{Kind: yaml.ScalarNode, Value: path[0]}
	if len(path) > 1 {
		inner := &yaml.Node{Kind: yaml.MappingNode}
		set(inner, path[1:], value)
		value = inner
	}
	n.Content = append(n.Content, key, value)
}

// relations checks rules about more than one key.
func (r *reader) relations(c *Config, root *yaml.Node) {
	host, _, err := net.SplitHostPort(c.Listen)
	if err != nil {
		r.fail(find(root, "listen"), "listen is %q; it must be an address such as 127.0.0.1:3884", c.Listen)
	} else if c.API.Key == "" && !Loopback(host) {
		r.fail(find(root, "listen"), "listen is %q, which others can reach: set api.key, or listen on 127.0.0.1",
			c.Listen)
	}
	if c.Usage.Days < 1 {
		r.fail(find(root, "usage", "days"), "usage.days is %d; it must be at least 1", c.Usage.Days)
	}
	if host, _, err := net.SplitHostPort(c.Admin); c.Admin != "" && (err != nil || !Loopback(host)) {
		r.fail(find(root, "admin"), "admin is %q; it must be a loopback address such as 127.0.0.1:3885", c.Admin)
	}
	r.skills(c.Skills, find(root, "skills"))
	r.channels(c, root)
	models, agents := map[string]bool{}, map[string]bool{}
	for i, m := range c.Models {
		n := find(root, "models", i)
		if models[m.Name] {
			r.fail(n, "the model %q is defined twice", m.Name)
		}
		if m.Provider != "offline" && m.Provider != "scripted" && m.Model == "" {
			r.fail(n, "model %s: the key \"model\" must hold the provider's name of the model", m.Name)
		}
		if (m.Provider == "scripted") != (m.Script != "") {
			r.fail(n, "model %s: the provider scripted needs the key \"script\", and no other one has it", m.Name)
		}
		models[m.Name] = true
	}
	r.flows(c, root, models)
	known := slices.Values(slices.Sorted(maps.Keys(models)))
	at := find(root, "recommend")
	switch {
	case c.Recommend.Mode == "model" && c.Recommend.Model == "":
		r.fail(at, "recommend.mode is model: the key recommend.model must name the model to ask")
	case c.Recommend.Mode == "model" && len(c.Models) > 0 && !models[c.Recommend.Model]:
		r.fail(find(root, "recommend", "model"), "recommend.model: there is no model %q%s", c.Recommend.Model,
			nearest.Hint(c.Recommend.Model, known))
	case c.Recommend.Mode != "off" &&
		c.Recommend.Channel+c.Recommend.Keyword+c.Recommend.History+c.Recommend.Recency == 0:
		r.fail(at, "recommend: at least one of the weights channel, keyword, history and recency must be above 0")
	}
	if m := c.Sessions.SummaryModel; m != "" && len(c.Models) > 0 && !models[m] {
		r.fail(find(root, "sessions", "summary_model"), "sessions.summary_model: there is no model %q%s", m,
			nearest.Hint(m, known))
	}
	if m := c.Enrich.Model; m != "" && len(c.Models) > 0 && !models[m] {
		r.fail(find(root, "enrich", "model"), "enrich.model: there is no model %q%s", m, nearest.Hint(m, known))
	}
	if u, err := url.Parse(c.API.URL); c.API.URL != "" &&
		(err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" || u.User != nil || u.RawQuery != "" ||
			u.Fragment != "") {
		r.fail(find(root, "api", "url"), "api.url: %q must be an address as in https://etui.example.com", c.API.URL)
	}
	if u, err := url.Parse(c.API.Issuer); c.API.Issuer != "" &&
		(err != nil || u.Host == "" || u.Scheme != "https" && (u.Scheme != "http" || !Loopback(u.Hostname()))) {
		r.fail(find(root, "api", "issuer"), "api.issuer: %q must be an address as in https://login.example.com",
			c.API.Issuer)
	} else if c.API.Issuer != "" && c.API.URL == "" {
		r.fail(find(root, "api", "issuer"), "api.issuer needs api.url: clients ask for tokens for that address")
	}
	r.console(find(root, "api", "console"), c.API.Console, c.API.Key != "")
	for _, name := range slices.Sorted(maps.Keys(c.API.A2A)) {
		known := slices.ContainsFunc(c.Agents, func(a Agent) bool { return a.Name == name })
		if !known && (len(c.Agents) > 0 || name != "main") {
			r.fail(find(root, "api", "a2a", name), "api.a2a: there is no agent %q", name)
		}
	}
	for i, o := range c.API.Origins {
		if err := origin.Check(o); err != nil {
			r.fail(find(root, "api", "origins", i), "api.origins: %v", err)
		}
	}
	if e := c.Embeddings; e.Model == "" && (e.BaseURL != "" || e.APIKey != "") {
		r.fail(find(root, "embeddings"), "embeddings needs the key \"model\"")
	}
	if t := c.Transcription; t.Model == "" && (t.BaseURL != "" || t.APIKey != "") {
		r.fail(find(root, "transcription"), "transcription needs the key \"model\"")
	}
	for i, a := range c.Agents {
		n := find(root, "agents", i)
		if agents[a.Name] {
			r.fail(n, "the agent %q is defined twice", a.Name)
		}
		agents[a.Name] = true
		for _, m := range append([]string{a.Model, a.Chores.Model}, a.Fallback...) {
			if m != "" && !models[m] {
				r.fail(n, "agent %s: there is no model %q%s", a.Name, m, nearest.Hint(m, known))
			}
		}
		if _, err := chore.New(a.Chores.Match); err != nil {
			r.fail(find(n, "chores", "match"), "agent %s: chores.match: %v", a.Name, err)
		}
		if len(a.Chores.Match) > 0 && a.Chores.Model == "" {
			r.fail(find(n, "chores"), "agent %s: chores.match needs chores.model", a.Name)
		}
	}
}

// channels checks rules about more than one key of the channels, and names those without a
// name.
func (r *reader) channels(c *Config, root *yaml.Node) {
	names, accounts := map[string]bool{}, map[string]string{}
	for i := range c.Channels {
		ch, n := &c.Channels[i], find(root, "channels", i)
		ch.Name = cmp.Or(ch.Name, ch.Type)
		if names[ch.Name] {
			r.fail(n, "there are two channels named %q: give each a name", ch.Name)
		}
		names[ch.Name] = true
		if other := accounts[ch.account()]; (ch.Token != "" || ch.AppID != "") && other != "" && other != ch.Name {
			r.fail(n, "the channels %s and %s are the same account: each message would reach one of them only, so list it once", other, ch.Name)
		}
		accounts[ch.account()] = ch.Name
		if strings.ContainsAny(ch.Name, ":/ ") {
			r.fail(find(root, "channels", i, "name"), "the channel's name %q must not have colons, slashes or spaces",
				ch.Name)
		}
		if slices.Contains(ch.Overhear, "*") {
			r.fail(find(root, "channels", i, "overhear"),
				"channel %s: overhear names each group, as people there read nothing of it; it takes no *", ch.Name)
		}
		places := slices.Concat(ch.Groups, ch.Overhear)
		for _, b := range ch.Bindings {
			places = append(places, b.Chat)
		}
		for _, name := range places {
			if strings.HasPrefix(name, "#") && !HasNames(ch.Type) {
				r.fail(find(root, "channels", i), "channel %s: %q is a name, and %s knows chats by their IDs", ch.Name,
					name, ch.Type)
			}
		}
		if ch.Merge < 0 || ch.Merge > 10*time.Second {
			r.fail(find(root, "channels", i), "channel %s: merge is between 0 and 10s", ch.Name)
		}
		if ch.PerMinute < 1 {
			r.fail(find(root, "channels", i, "per_minute"), "channel %s: per_minute must be at least 1", ch.Name)
		}
		agents := []string{}
		for _, a := range c.Agents {
			agents = append(agents, a.Name)
		}
		knows := func(name, list string, j int) {
			if name != "" && !slices.Contains(agents, name) && (len(agents) > 0 || name != "main") {
				r.fail(find(root, "channels", i, list, j), "channel %s: there is no agent %q%s", ch.Name, name,
					nearest.Hint(name, slices.Values(agents)))
			}
		}
		for j, name := range ch.Agents {
			knows(name, "agents", j)
		}
		for j, b := range ch.Bindings {
			knows(b.Agent, "bindings", j)
		}
	}
}

// Loopback reports whether only this machine can reach a host.
func Loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// skills checks rules about more than one key of skills.
func (r *reader) skills(s Skills, n *yaml.Node) {
	names := map[string]bool{}
	for i, t := range s.Toolsets {
		at := find(n, "toolsets", i)
		if names[t.Name] {
			r.fail(at, "the toolset %q is defined twice", t.Name)
		}
		if t.Name == "full" && len(t.Tools) > 0 {
			r.fail(at, "the toolset full always means all tools: leave its tools empty")
		}
		if t.Name == "none" {
			r.fail(at, "no toolset can have the name none: in lists of skills it means that there are none")
		}
		if strings.ContainsAny(t.Name, ",\r\n") {
			r.fail(at, "the toolset %q: a name must have no commas and no line breaks, because names are listed with commas between them", t.Name)
		}
		names[t.Name] = true
	}
	for i, p := range slices.Concat(s.Allow, s.Deny) {
		if _, err := path.Match(p, ""); err != nil || p == "" {
			key, at := "allow", i
			if i >= len(s.Allow) {
				key, at = "deny", i-len(s.Allow)
			}
			r.fail(find(n, key, at), "skills.%s: %q is neither a name nor a pattern such as db_*", key, p)
		}
	}
	registries := map[string]bool{}
	for i, g := range s.Registries {
		if registries[g.Name] {
			r.fail(find(n, "registries", i), "the registry %q is defined twice", g.Name)
		}
		registries[g.Name] = true
	}
}

// find returns the node at a path of keys and indexes, or the last node on the way.
func find(n *yaml.Node, path ...any) *yaml.Node {
	for _, step := range path {
		var next *yaml.Node
		switch step := step.(type) {
		case string:
			next = form.Get(n, step)
		case int:
			if step < len(n.Content) {
				next = n.Content[step]
			}
		}
		if next == nil {
			return n
		}
		n = next
	}
	return n
}

// Abs makes a path in the configuration absolute, relative to the file's folder.
func Abs(file, path string) string {
	if path == "" || filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(filepath.Dir(file), path)
}
