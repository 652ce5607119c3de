package clientconfig

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/BurntSushi/toml"
	"github.com/kaptinlin/jsonrepair"

	"github.com/etui-run/etui/cmd/internal/install"
	"github.com/etui-run/etui/phrase"
)

// Entry is a server that a client has.
type Entry struct {
	// Client is empty for a file that a person named and that is in no client's place.
	Client string `json:"client,omitempty"`
	File   string `json:"file"`
	// Name is that of the client; Server has the name that etui can use.
	Name   string         `json:"name"`
	Server install.Server `json:"-"`
	// Variables are those that Server names, sorted.
	Variables []string `json:"variables,omitempty"`
	// Notes say what differs from the client's file.
	Notes []string `json:"notes,omitempty"`
	// Problem says why etui cannot have the server; empty if it can.
	Problem string `json:"problem,omitempty"`
}

// The bounds of a file, and of the servers in it. Claude Code keeps past conversations in its file, too.
const (
	maxFile    = 64 << 20
	maxServers = 200
)

// Reader reads files. It is not safe for concurrent use.
type Reader struct {
	folders Folders
	// values are what the files have for variables: different values are different variables.
	values map[string]string
}

// NewReader returns a reader.
func NewReader(f Folders) *Reader { return &Reader{f, map[string]string{}} }

// Read returns the servers in a file, sorted by name.
func (r *Reader) Read(file string) ([]Entry, error) {
	f := r.folders
	all, err := decode(file)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	entries := map[string]any{}
	for _, list := range f.lists(all) {
		for name, entry := range list {
			if _, ok := entries[name]; !ok {
				entries[name] = entry
			}
		}
	}
	if len(entries) > maxServers {
		return nil, phrase.Errorf("%s has %d servers, at most %d are read", file, len(entries), maxServers)
	}
	var found []Entry
	for _, name := range slices.Sorted(maps.Keys(entries)) {
		x := translation{Reader: r, found: Entry{Client: f.clientOf(file), File: file, Name: name},
			names: map[string]bool{}}
		x.found.Server.Name = cleanName(name)
		x.server(entries[name])
		found = append(found, x.result())
	}
	return found, nil
}

// decode reads a file of TOML, or of JSON with comments and commas too many.
func decode(file string) (all map[string]any, err error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, errors.Unwrap(err)
	}
	defer f.Close()
	raw, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	switch {
	case err != nil:
		return nil, err
	case len(raw) > maxFile:
		return nil, phrase.Errorf("it has more than %d MB", maxFile>>20)
	}
	raw = bytes.TrimPrefix(raw, []byte("\ufeff"))
	if strings.EqualFold(filepath.Ext(file), ".toml") {
		_, err := toml.Decode(string(raw), &all)
		return all, err
	}
	if err = json.Unmarshal(raw, &all); err == nil || len(bytes.TrimSpace(raw)) == 0 {
		return all, nil
	}
	repaired, unrepaired := jsonrepair.Repair(string(raw))
	if unrepaired != nil || json.Unmarshal([]byte(repaired), &all) != nil {
		return nil, phrase.Errorf("it is no JSON: %w", err)
	}
	return all, nil
}

// lists returns the servers of a file by name, the more special ones first.
func (f Folders) lists(all map[string]any) (lists []map[string]any) {
	add := func(v any) {
		if list, ok := v.(map[string]any); ok {
			lists = append(lists, list)
		}
	}
	if projects, ok := all["projects"].(map[string]any); ok { // of Claude Code
		if project, ok := projects[f.Workspace].(map[string]any); ok {
			add(project["mcpServers"])
		}
	}
	for _, key := range []string{"mcpServers", "mcp_servers", "mcp.servers", "servers", "context_servers"} {
		add(all[key])
	}
	if mcp, ok := all["mcp"].(map[string]any); ok {
		add(mcp["servers"])
		direct := map[string]any{}
		for name, entry := range mcp { // of OpenCode before its second version
			if one, ok := entry.(map[string]any); ok && (one["command"] != nil || one["url"] != nil) {
				direct[name] = entry
			}
		}
		add(direct)
	}
	if len(lists) == 0 && len(all) > 0 { // one server, or servers by name, and nothing around them
		direct := map[string]any{}
		for name, entry := range all {
			if one, ok := entry.(map[string]any); ok && (one["command"] != nil || one["url"] != nil) {
				direct[name] = entry
			}
		}
		add(direct)
	}
	return lists
}

// cleanName turns a name into one that a skill may have.
func cleanName(name string) string {
	var b strings.Builder
	for _, r := range name {
		plain := r < utf8.RuneSelf && (unicode.IsLetter(r) || unicode.IsDigit(r))
		if r != '-' && r != '_' && !plain {
			r = '-'
		}
		if last := b.String(); r != '-' && r != '_' || last != "" && !strings.HasSuffix(last, "-") &&
			!strings.HasSuffix(last, "_") {
			b.WriteRune(r)
		}
	}
	clean := b.String()
	const most = 40
	if len(clean) > most {
		clean = clean[:most]
	}
	if clean = strings.TrimRight(clean, "-_"); clean == "" {
		return "server"
	}
	return clean
}
