package clientconfig

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/BurntSushi/toml"
	jsonv2 "github.com/go-json-experiment/json"
	"github.com/rogpeppe/go-internal/diff"
	"github.com/tailscale/hujson"

	"github.com/etui-run/etui/internal/atomicfile"
	"github.com/etui-run/etui/phrase"
)

// target is a client whose settings can be given a server.
type target struct {
	name, client string
	// list is the member of the settings with the servers; entry makes one.
	list  string
	entry func(command []string) any
}

type program struct {
	Type    string   `json:"type,omitempty"`
	Command string   `json:"command"`
	Args    []string `json:"args"`
}

var targets = []target{
	{"claude-code", "Claude Code", "mcpServers", func(c []string) any { return program{"stdio", c[0], c[1:]} }},
	{"claude-desktop", "Claude Desktop", "mcpServers", func(c []string) any { return program{"", c[0], c[1:]} }},
	{"codex", "Codex", "mcp_servers", nil},
	{"cursor", "Cursor", "mcpServers", func(c []string) any { return program{"", c[0], c[1:]} }},
	{"vscode", "VS Code", "servers", func(c []string) any { return program{"stdio", c[0], c[1:]} }},
	{"opencode", "OpenCode", "mcp", func(c []string) any {
		return map[string]any{"type": "local", "command": c, "enabled": true}
	}},
}

// Names are the clients to which [Folders.Install] can add a server.
func Names() (names []string) {
	for _, t := range targets {
		names = append(names, t.name)
	}
	return names
}

// Change is what would become of a client's settings.
type Change struct {
	// Client is its name for people, and File the settings.
	Client string `json:"client"`
	File   string `json:"file"`
	// Diff shows the change; empty means that nothing changes.
	Diff string `json:"diff"`
	// Backup is the copy of the settings that Write makes; empty if there were none.
	Backup string `json:"backup,omitempty"`

	before, after []byte
}

// plainName matches what every client takes for the name of a server, and what means nothing else in
// the formats of their settings.
var plainName = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)

// Install returns the change that adds a program as an MCP server to a client, under a name. A server
// of that name is replaced. Comments and everything else in the settings stay as they are.
func (f Folders) Install(client, name string, command []string) (Change, error) {
	i := slices.IndexFunc(targets, func(t target) bool { return t.name == client })
	if i < 0 {
		return Change{}, phrase.Errorf("there is no client %q%s; the clients are %s", client,
			phrase.Near(client, slices.Values(Names())), strings.Join(Names(), ", "))
	}
	if !plainName.MatchString(name) {
		return Change{}, phrase.Errorf("the name %q: a server's has up to 64 letters of English, digits, - and _", name)
	}
	t := targets[i]
	c := Change{Client: t.client, File: f.own(t.client)}
	if real, err := filepath.EvalSymlinks(c.File); err == nil {
		c.File = real
	}
	before, err := os.ReadFile(c.File)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return c, err
	case len(before) > maxFile:
		return c, phrase.Errorf("%s has more than %d MB", c.File, maxFile>>20)
	default:
		c.before, c.Backup = before, c.File+".before-etui"
	}
	if t.entry == nil {
		c.after, err = inTOML(before, t.list, name, command)
	} else {
		c.after, err = inJSON(before, t.list, name, t.entry(command))
	}
	if err != nil {
		return c, fmt.Errorf("%s: %w", c.File, err)
	}
	c.Diff = string(diff.Diff(c.File, before, c.File+" with "+name, c.after))
	return c, nil
}

// own returns the user's file in which a client keeps its servers.
func (f Folders) own(client string) string {
	var first string
	for _, p := range f.ofUser() {
		if p.Client != client {
			continue
		}
		if first == "" {
			first = p.File
		}
		if _, err := os.Stat(p.File); err == nil && filepath.Base(p.File) != "settings.json" {
			return p.File
		}
	}
	return first
}

// Write makes the backup and writes the settings. It refuses to when somebody else changed them since
// [Folders.Install], as a client that runs does, or if they belong to another user, who could not read
// them any more.
func (c Change) Write() error {
	if err := os.MkdirAll(filepath.Dir(c.File), 0o700); err != nil {
		return err
	}
	now, err := os.ReadFile(c.File)
	switch {
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return err
	case !bytes.Equal(now, c.before) || (err == nil) != (c.Backup != ""):
		return phrase.Errorf("%s has changed meanwhile; run this again", c.File)
	case c.Backup == "":
		return atomicfile.Write(c.File, c.after)
	}
	if err := ownedByUs(c.File); err != nil {
		return err
	}
	if err := atomicfile.Write(c.Backup, now); err != nil {
		return phrase.Errorf("the backup: %w", err)
	}
	return atomicfile.Write(c.File, c.after)
}

func inJSON(before []byte, list, name string, entry any) ([]byte, error) {
	if len(bytes.TrimSpace(before)) == 0 {
		before = []byte("{}\n")
	}
	v, err := hujson.Parse(before)
	if err != nil {
		return nil, err
	}
	if v.Find("/"+list) == nil {
		if err := patch(&v, "/"+list, "\n  ", struct{}{}); err != nil {
			return nil, err
		}
	}
	if err := patch(&v, "/"+list+"/"+name, "\n    ", entry); err != nil {
		return nil, err
	}
	plain := v.Clone()
	plain.Standardize()
	var all map[string]any // of two members with one name, clients read the last one
	return v.Pack(), jsonv2.Unmarshal(plain.Pack(), &all)
}

// patch adds a member, or replaces it, on a line of its own.
func patch(v *hujson.Value, path, indent string, value any) error {
	raw, err := json.MarshalIndent(value, strings.TrimPrefix(indent, "\n"), "  ")
	if err != nil {
		return err
	}
	if old := v.Find(path); old != nil {
		return v.Patch([]byte(`[{"op":"replace","path":"` + path + `","value":` + string(raw) + `}]`))
	}
	if err := v.Patch([]byte(`[{"op":"add","path":"` + path + `","value":` + string(raw) + `}]`)); err != nil {
		return err
	}
	parent := v.Find(path[:strings.LastIndexByte(path, '/')])
	o, ok := parent.Value.(*hujson.Object)
	if !ok {
		return phrase.Errorf("%s is no object", path)
	}
	last := &o.Members[len(o.Members)-1]
	comment := strings.TrimRight(string(last.Name.BeforeExtra), " \t\n")
	last.Name.BeforeExtra, last.Value.BeforeExtra = hujson.Extra(comment+indent), hujson.Extra(" ")
	if len(o.AfterExtra) == 0 {
		o.AfterExtra = hujson.Extra(indent[:len(indent)-2])
	}
	return nil
}

// inTOML adds a table at the end, where no other can be changed by it.
func inTOML(before []byte, list, name string, command []string) ([]byte, error) {
	var all map[string]any
	if err := toml.Unmarshal(before, &all); err != nil {
		return nil, err
	}
	if servers, _ := all[list].(map[string]any); servers[name] != nil {
		return nil, phrase.Errorf("it has a server %s; remove [%s.%s], then run this again", name, list, name)
	}
	var entry bytes.Buffer
	err := toml.NewEncoder(&entry).Encode(map[string]any{"command": command[0], "args": command[1:]})
	after := bytes.TrimRight(before, "\n")
	if len(after) > 0 {
		after = append(after, "\n\n"...)
	}
	// The library reads a table that follows an inline one; clients do not.
	inline := regexp.MustCompile(`(?m)^[ \t]*["']?` + list + `["']?[ \t]*=`).Match(before)
	if _, table := all[list].(map[string]any); all[list] != nil && (inline || !table) {
		return nil, phrase.Errorf("%s is no table to which [%s.%s] can be added; write it as one, then run this again",
			list, list, name)
	}
	return append(after, "["+list+"."+name+"]\n"+entry.String()...), err
}
