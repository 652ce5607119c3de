// Package clientconfig reads which MCP servers other clients on this machine have: Claude Code and
// Claude Desktop, Codex, Cursor, VS Code, OpenCode, and those that use one of their formats. It
// writes and starts nothing. Its result holds no secret of these files: each has become ${NAME},
// the variable that has to be set.
package clientconfig

import (
	"os"
	"path/filepath"
)

// Place is a file in which a client keeps its servers.
type Place struct{ Client, File string }

// Folders are where clients keep their files.
type Folders struct {
	// Home is that of the user, and Config is where programs of the user keep their settings.
	Home, Config string
	// Workspace is the folder whose own servers are read, too.
	Workspace string
	// Closed are paths that no folder that a server may read may hold.
	Closed []string
}

// places are the files of the clients, the more special one first: a name is taken from the first
// file that has it.
func (f Folders) places() []Place { return append(f.ofWorkspace(), f.ofUser()...) }

func (f Folders) ofWorkspace() []Place {
	return []Place{
		{"Claude Code", filepath.Join(f.Workspace, ".mcp.json")},
		{"Codex", filepath.Join(f.Workspace, ".codex", "config.toml")},
		{"Cursor", filepath.Join(f.Workspace, ".cursor", "mcp.json")},
		{"VS Code", filepath.Join(f.Workspace, ".vscode", "mcp.json")},
		{"OpenCode", filepath.Join(f.Workspace, "opencode.json")},
		{"OpenCode", filepath.Join(f.Workspace, "opencode.jsonc")},
		{"OpenCode", filepath.Join(f.Workspace, ".opencode", "opencode.json")},
		{"OpenCode", filepath.Join(f.Workspace, ".opencode", "opencode.jsonc")},
	}
}

func (f Folders) ofUser() []Place {
	codex := os.Getenv("CODEX_HOME")
	if codex == "" {
		codex = filepath.Join(f.Home, ".codex")
	}
	xdg := os.Getenv("XDG_CONFIG_HOME")
	if xdg == "" {
		xdg = filepath.Join(f.Home, ".config")
	}
	return []Place{
		{"Claude Code", filepath.Join(f.Home, ".claude.json")},
		{"Claude Desktop", filepath.Join(f.Config, "Claude", "claude_desktop_config.json")},
		{"Codex", filepath.Join(codex, "config.toml")},
		{"Cursor", filepath.Join(f.Home, ".cursor", "mcp.json")},
		{"VS Code", filepath.Join(f.Config, "Code", "User", "mcp.json")},
		{"VS Code", filepath.Join(f.Config, "Code", "User", "settings.json")},
		{"OpenCode", filepath.Join(xdg, "opencode", "opencode.json")},
		{"OpenCode", filepath.Join(xdg, "opencode", "opencode.jsonc")},
	}
}

// Find returns the files that are there.
func (f Folders) Find() (found []Place) {
	for _, p := range f.places() {
		if info, err := os.Stat(p.File); err == nil && info.Mode().IsRegular() {
			found = append(found, p)
		}
	}
	return found
}

// clientOf returns the client that a file belongs to, as far as its path says so.
func (f Folders) clientOf(file string) string {
	for _, p := range f.places() {
		if p.File == file || filepath.Base(p.File) == filepath.Base(file) &&
			filepath.Base(filepath.Dir(p.File)) == filepath.Base(filepath.Dir(file)) {
			return p.Client
		}
	}
	return ""
}
