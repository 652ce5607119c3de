package mcp

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/etui-run/etui/sandbox"
)

// command returns the command line and the environment of the server's program. {state}
// and {package} are its folders, and {env:NAME} is a variable of its environment: a secret that
// a program wants as an argument is not in the file. Its private folder is its home.
func (s *Server) command() (args []string, env map[string]string) {
	env = map[string]string{}
	var places []string
	if s.home != "" {
		env["HOME"], places = s.home, []string{"{state}", s.home, "{package}", s.pack}
	}
	folders, variables := strings.NewReplacer(places...), []string{}
	for name, value := range plain(s.file.Env) {
		env[name] = folders.Replace(value)
		variables = append(variables, "{env:"+name+"}", env[name])
	}
	all := strings.NewReplacer(append(places, variables...)...)
	for _, arg := range s.file.Command {
		args = append(args, all.Replace(arg))
	}
	return args, env
}

// readable and writable return the folders that the program is granted.
func (s *Server) readable() []string {
	if _, err := os.Stat(s.pack); s.pack != "" && err == nil {
		return append([]string{s.pack}, s.read...)
	}
	return s.read
}

func (s *Server) writable() []string {
	if s.home != "" {
		return append([]string{s.home}, s.write...)
	}
	return s.write
}

// walled explains a failure for which the sandbox is a likely reason: the program reached
// for a file or a host that it was not granted. It is empty for others.
func (s *Server) walled(failure string) string {
	if len(s.file.Command) == 0 || s.config.Sandbox == nil || s.config.Sandbox.Mode() == sandbox.Off {
		return ""
	}
	switch {
	case deniedFile.MatchString(failure), missingFile.MatchString(failure) && s.outside(failure):
		grants := append(s.readable(), s.writable()...)
		return fmt.Sprintf("The sandbox may be the reason: this server sees the system's programs, its own folder%s, and writes %s. Its skill file %s.yaml grants more with read: [...] and write: [...]",
			listed(" and ", grants), listed("", s.writable()), s.file.Name)
	case deniedHost.MatchString(failure):
		return fmt.Sprintf("The sandbox may be the reason: this server reaches %s. Its skill file %s.yaml grants more with network: [...]", listed("", s.file.Network), s.file.Name)
	}
	return ""
}

var (
	deniedFile  = regexp.MustCompile(`(?i)\bE(?:ACCES|PERM|ROFS)\b|permission denied|read-only file system|operation not permitted|MODULE_NOT_FOUND|cannot find module|can't open file`)
	missingFile = regexp.MustCompile(`(?i)\bENOENT\b|no such file or directory|FileNotFoundError|does not exist`)
	deniedHost  = regexp.MustCompile(`(?i)\b(?:ENOTFOUND|EAI_AGAIN|ENETUNREACH|ECONNREFUSED)\b|getaddrinfo|name resolution|fetch failed|network is unreachable|could not resolve host|proxy (?:authentication|error|response)`)
	absolute    = regexp.MustCompile(`/[\w.@+-]+(?:/[\w.@+-]+)*`)
)

// outside reports whether a text names an absolute path that the program does not see.
func (s *Server) outside(text string) bool {
	seen := append(append([]string{s.dir, "/usr", "/tmp", "/proc", "/dev", "/etc"}, s.readable()...), s.writable()...)
	return slices.ContainsFunc(absolute.FindAllString(text, 16), func(path string) bool {
		return !slices.ContainsFunc(seen, func(folder string) bool {
			below, err := filepath.Rel(folder, path)
			return folder != "" && err == nil && filepath.IsLocal(below)
		})
	})
}

func listed(before string, list []string) string {
	if len(list) == 0 {
		if before != "" {
			return ""
		}
		return "nothing"
	}
	return before + strings.Join(list, ", ")
}
