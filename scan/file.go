package scan

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/etui-run/etui/internal/printable"
)

// startsItself says which program runs a file, or what the file names, without
// being asked to.
func startsItself(name string, text []byte) string {
	base := strings.ToLower(path.Base(name))
	dir := "/" + strings.ToLower(path.Dir(name)) + "/"
	switch {
	case base == "package.json":
		return installHook(text)
	case base == "setup.py" && setupCommand().match(newLine(string(text))):
		return "setup.py runs commands while the package is installed"
	case base == "sitecustomize.py", base == "usercustomize.py", strings.HasSuffix(base, ".pth"):
		return "Python runs this file whenever it starts"
	case base == ".envrc":
		return "direnv runs this file when its folder is entered"
	case base == ".mcp.json", base == ".npmrc", base == ".yarnrc", base == ".pip.conf":
		return "other programs take their settings from this file"
	case strings.Contains(dir, "/.vscode/") &&
		(base == "tasks.json" || base == "settings.json" || base == "launch.json"), strings.Contains(dir, "/.idea/"),
		strings.Contains(dir, "/.devcontainer/"):
		return "editors run what this file names when they open the folder"
	case strings.Contains(dir, "/.husky/"), strings.Contains(dir, "/hooks/") && slices.Contains(gitHooks, base):
		return "Git runs this file as a hook"
	case strings.Contains(dir, "/.claude/") &&
		strings.HasPrefix(base, "settings"), strings.Contains(dir, "/.codex/"), strings.Contains(dir, "/.cursor/") &&
		base == "mcp.json":
		return "other agents take their settings and hooks from this file"
	}
	return ""
}

var gitHooks = []string{"pre-commit", "post-commit", "post-checkout", "post-merge", "pre-push", "pre-rebase",
	"prepare-commit-msg", "commit-msg", "post-rewrite"}

// installHook finds what npm runs by itself.
func installHook(text []byte) string {
	var p struct {
		Scripts map[string]any `json:"scripts"`
	}
	if json.Unmarshal(text, &p) != nil {
		return ""
	}
	for _, hook := range []string{"preinstall", "install", "postinstall", "preprepare", "prepare", "postprepare"} {
		if run, ok := p.Scripts[hook]; ok {
			return fmt.Sprintf("npm runs %q by itself while the package is installed: %s", hook,
				printable.Line(fmt.Sprint(run), 80))
		}
	}
	return ""
}

// program recognises files that cannot be read.
func program(name string, text []byte) string {
	for magic, kind := range map[string]string{
		"\x7fELF": "a program for Linux", "\xfe\xed\xfa\xce": "a program for macOS",
		"\xfe\xed\xfa\xcf": "a program for macOS",
		"\xcf\xfa\xed\xfe": "a program for macOS", "\xce\xfa\xed\xfe": "a program for macOS",
		"\xca\xfe\xba\xbe": "a program for macOS or Java",
		"Rar!":             opaque, "7z\xbc\xaf\x27\x1c": opaque, "\x1f\x8b": opaque, "\xfd7zXZ": opaque, "BZh": opaque,
	} {
		if bytes.HasPrefix(text, []byte(magic)) {
			return "it is " + kind
		}
	}
	switch ending := strings.ToLower(path.Ext(name)); {
	case bytes.HasPrefix(text, []byte("MZ")) && bytes.IndexByte(text[:min(len(text), 512)], 0) >= 0:
		return "it is a program for Windows"
	case slices.Contains([]string{".exe", ".dll", ".msi", ".scr", ".lnk", ".pyc", ".class", ".jar", ".apk", ".dmg",
		".pkg", ".deb", ".rpm", ".so", ".dylib", ".node"}, ending):
		return "it is a program that cannot be read (" + ending + ")"
	case bytes.HasPrefix(text, []byte("PK\x03\x04")) &&
		slices.Contains([]string{".zip", "", ".whl", ".skill", ".crx", ".xpi"}, ending):
		return "it is " + opaque
	}
	return ""
}

const opaque = "an archive, which was not looked into"

// isData reports files that hold data, not instructions.
func isData(name string) bool {
	switch strings.ToLower(path.Ext(name)) {
	case ".csv", ".tsv", ".svg", ".xsd", ".dtd", ".lock", ".map", ".css", ".ttf", ".sig", ".pem", ".geojson", ".ipynb":
		return true
	}
	return false
}

// isText reports files that shells, interpreters, programs and models read as text.
func isText(name string, text []byte) bool {
	switch strings.ToLower(path.Ext(name)) {
	case "", ".sh", ".bash", ".zsh", ".ksh", ".fish", ".awk", ".py", ".pyw", ".js", ".mjs", ".cjs", ".jsx", ".ts",
		".mts", ".tsx", ".rb", ".pl", ".php", ".lua", ".tcl", ".r",
		".ps1", ".psm1", ".bat", ".cmd", ".vbs", ".applescript", ".md", ".markdown", ".mdx", ".txt", ".rst", ".adoc",
		".html", ".htm", ".json", ".yaml", ".yml", ".toml", ".ini", ".cfg", ".env":
		return true
	}
	return bytes.HasPrefix(text, []byte("#!"))
}
