package shelltext

import (
	"net/url"
	"path"
	"slices"
	"strings"
)

// Cover reports whether patterns of allowed calls cover the arguments of one: commands or the
// beginning of some ("git add:*", "git add *", "make test"), "domain:" and a host, or paths ("docs/**"). Each
// command in a text must be covered. A pattern covers one kind of argument, so a call with two of
// command, url and path is not covered, nor is one that cannot be read.
func Cover(patterns []string, args map[string]any) bool {
	kinds := 0
	for name := range args {
		switch strings.ToLower(name) { // some tools read names in any case
		case "command", "url", "path":
			kinds++
		}
	}
	if kinds != 1 {
		return false
	}
	some := func(covers func(pattern string) bool) bool { return slices.ContainsFunc(patterns, covers) }
	if _, ok := args["command"]; ok {
		commands, simple := simpleCommands(args)
		return simple && !slices.ContainsFunc(commands, func(command string) bool {
			return !some(func(pattern string) bool { return coversCommand(pattern, command) })
		})
	}
	if address, ok := args["url"].(string); ok {
		u, err := url.Parse(address)
		return err == nil && u.Hostname() != "" &&
			some(func(pattern string) bool { return strings.EqualFold(pattern, domain+u.Hostname()) })
	}
	file, _ := args["path"].(string)
	return file != "" && some(func(pattern string) bool { return coversPath(strings.TrimPrefix(pattern, "./"), file) })
}

// domain begins a pattern of hosts.
const domain = "domain:"

func coversCommand(pattern, command string) bool {
	if pattern == "*" || pattern == ":*" {
		return true
	}
	if strings.HasPrefix(pattern, domain) {
		return false
	}
	for _, end := range []string{":*", " *"} {
		if begin, ok := strings.CutSuffix(pattern, end); ok {
			return begin != "" && !strings.Contains(begin, "*") && strings.HasPrefix(command+" ", begin+" ")
		}
	}
	paths := !strings.Contains(pattern, " ") && strings.ContainsAny(pattern, "*?[")
	return pattern == command && !paths
}

func coversPath(pattern, file string) bool {
	if strings.HasPrefix(pattern, domain) || file != path.Clean(file) || strings.HasPrefix(file, "../") ||
		file == ".." {
		return false
	}
	if pattern == "**" || pattern == "*" && !strings.Contains(file, "/") {
		return !path.IsAbs(file)
	}
	if below, ok := strings.CutSuffix(pattern, "/**"); ok && below != "" && !strings.ContainsAny(below, `*?[\`) {
		return strings.HasPrefix(file, below+"/")
	}
	matches, err := path.Match(pattern, file)
	return matches && err == nil
}
