package markdown

import (
	"slices"
	"strings"
)

// names maps other clients' names of tools to etui's.
var names = map[string]string{
	"read": "read_file", "readfile": "read_file",
	"write": "write_file", "writefile": "write_file",
	"edit": "edit_file", "multiedit": "edit_file", "editfiles": "edit_file", "apply_patch": "edit_file",
	"bash": "exec", "shell": "exec", "powershell": "exec", "run_shell_command": "exec", "runcommands": "exec",
	"grep": "search_text", "search_file_content": "search_text",
	"glob": "find_files",
	"ls":   "list_dir", "list_directory": "list_dir",
	"webfetch":  "web_fetch",
	"websearch": "web_search", "google_web_search": "web_search",
}

// Tools translates the allowed tools of a SKILL.md into the names of etui's tools, each once, with their
// patterns: Read is read_file, Bash(git:*) is exec(git:*). Unknown names stay as they are, and * is every tool.
func Tools(allowed []string) (list []string) {
	for _, name := range allowed {
		name, pattern, limited := strings.Cut(name, "(")
		name = strings.TrimSpace(name)
		if ours, ok := names[strings.ToLower(name)]; ok {
			name = ours
		}
		if limited {
			name += "(" + pattern
		}
		if name != "" && !slices.Contains(list, name) {
			list = append(list, name)
		}
	}
	return list
}

// splitTools splits at white space and commas outside parentheses:
// Bash(git add:*), Read.
func splitTools(s string) []string {
	depth := 0
	return strings.FieldsFunc(s, func(r rune) bool {
		switch r {
		case '(':
			depth++
		case ')':
			depth = max(depth-1, 0)
		case ' ', '\t', '\n', ',':
			return depth == 0
		}
		return false
	})
}
