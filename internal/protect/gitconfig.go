package protect

import (
	"regexp"
	"slices"
	"strings"
)

// harmlessKeys may appear in the configuration of a repository that a command writes: git
// runs no program for them and reads no other files. A star matches any name.
var harmlessKeys = map[string][]string{
	"core":       {"repositoryformatversion", "filemode", "bare", "logallrefupdates", "ignorecase", "precomposeunicode", "symlinks", "autocrlf", "eol", "safecrlf", "quotepath"},
	"extensions": {"objectformat", "refstorage"},
	"user":       {"name", "email"},
	"author":     {"name", "email"},
	"committer":  {"name", "email"},
	"init":       {"defaultbranch"},
	"remote":     {"url", "pushurl", "fetch", "tagopt", "prune"},
	"branch":     {"remote", "pushremote", "merge", "rebase", "description"},
	"pull":       {"rebase", "ff"},
	"push":       {"default", "autosetupremote", "followtags"},
	"fetch":      {"prune"},
	"merge":      {"ff", "conflictstyle"},
	"rebase":     {"autostash", "autosquash"},
	"commit":     {"gpgsign"},
	"gc":         {"auto"},
	"advice":     {"*"},
	"color":      {"*"},
}

var (
	gitSection = regexp.MustCompile(`^\[([A-Za-z0-9-]+)(?: "(?:[^"\\]|\\.)*")?\]$`)
	unquote    = strings.NewReplacer(`"`, "", `\`, "") // git joins quoted and plain parts
	gitKey     = regexp.MustCompile(`^([A-Za-z][A-Za-z0-9-]*)(?:\s*=\s*(.*))?$`)
)

// gitRisks returns the risky lines of a configuration of git, each with its section, and
// the text without them. Lines that it cannot parse are risky: git may understand them.
func gitRisks(text string) (risks []string, clean string) {
	section, name := "", ""
	var b strings.Builder
	for line := range strings.Lines(text) {
		trimmed := strings.TrimSpace(line)
		switch m := gitSection.FindStringSubmatch(trimmed); {
		case m != nil:
			section, name = strings.ToLower(m[1]), trimmed
		case strings.HasPrefix(trimmed, "["):
			section, name = "", trimmed
			risks = append(risks, trimmed)
			continue
		case trimmed == "", (trimmed[0] == '#' || trimmed[0] == ';') && isPlain(trimmed):
		case !isHarmless(section, trimmed):
			risks = append(risks, name+" "+trimmed)
			continue
		}
		b.WriteString(line)
	}
	return risks, b.String()
}

func isHarmless(section, line string) bool {
	m := gitKey.FindStringSubmatch(line)
	if m == nil || !isPlain(line) || strings.HasSuffix(line, `\`) {
		return false
	}
	if strings.Contains(unquote.Replace(m[2]), "::") { // it makes git run a remote helper
		return false
	}
	keys := harmlessKeys[section]
	return slices.Contains(keys, strings.ToLower(m[1])) || slices.Contains(keys, "*")
}

// isPlain reports whether a line has no characters that could end it for git.
func isPlain(line string) bool {
	return !strings.ContainsFunc(line, func(r rune) bool { return r < ' ' && r != '\t' || r == '\uFEFF' })
}
