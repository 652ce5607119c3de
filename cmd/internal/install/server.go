package install

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v4"

	"github.com/etui-run/etui/cmd/internal/config"
	"github.com/etui-run/etui/cmd/internal/nameset"
	"github.com/etui-run/etui/cmd/internal/provider"
	"github.com/etui-run/etui/cmd/internal/workdir"
	"github.com/etui-run/etui/internal/atomicfile"
	"github.com/etui-run/etui/internal/panics"
	"github.com/etui-run/etui/internal/printable"
	"github.com/etui-run/etui/phrase"
	"github.com/etui-run/etui/sandbox"
	"github.com/etui-run/etui/skill"
	"github.com/etui-run/etui/skill/mcp"
	"github.com/etui-run/etui/skill/mcp/oauth"
	"github.com/etui-run/etui/skill/mcp/program"
	"github.com/etui-run/etui/tool"
)

// Server is the file of an MCP server's skill that [AddServer] writes.
type Server struct {
	Name        string            `yaml:"name"`
	Description string            `yaml:"description"`
	Provider    string            `yaml:"provider"`
	Version     string            `yaml:"version,omitempty"`
	Command     []string          `yaml:"command,omitempty,flow"`
	Endpoint    string            `yaml:"endpoint,omitempty"`
	Env         map[string]string `yaml:"env,omitempty"`
	Headers     map[string]string `yaml:"headers,omitempty"`
	Read        []string          `yaml:"read,omitempty,flow"`
	Write       []string          `yaml:"write,omitempty,flow"`
	Network     []string          `yaml:"network,omitempty,flow"`
	Include     []string          `yaml:"include,omitempty,flow"`
	Exclude     []string          `yaml:"exclude,omitempty,flow"`
}

// needs reports whether the file names a variable without a default.
func (s *Server) needs(name string) bool {
	text, err := yaml.Dump(s)
	return err != nil || strings.Contains(string(text), "${"+name+"}")
}

// tryTime bounds how long AddServer waits for the server to list its tools.
const tryTime = 90 * time.Second

// AddOptions says how a server is added.
type AddOptions struct {
	// Force replaces a file of the server's name, and installs its package again.
	Force bool
	// Agree is [program.Installer].Agree.
	Agree func(scripts []program.Script, hosts []string) bool
	// Later allows variables of the environment that are not set. A server that names one is
	// written, but not tried.
	Later bool
	// Origin says in the file where the server comes from, if not from the person.
	Origin string
	// Version is the version of etui that the server is told.
	Version string
}

// Addition is a server that was added.
type Addition struct {
	File   string     `json:"file"`
	Server mcp.Status `json:"server"`
	// Unbuilt are the programs of its packages that nobody let run.
	Unbuilt []program.Script `json:"unbuilt,omitempty"`
	// Unset are the variables that have to be set before it can start; it was not tried.
	Unset []string `json:"unset,omitempty"`
	// Risks are its tools by their risk, which the policy goes by.
	Risks map[tool.Risk][]string `json:"risks,omitempty"`
	// Unseen are the paths of its command that the sandbox does not show the program.
	Unseen []string `json:"unseen,omitempty"`
}

// CheckServer finds mistakes in the file of a server before anything is fetched or started:
// also names that the loader of skills would refuse.
func CheckServer(w *workdir.Workspace, s Server, lookup func(name string) (string, bool)) error {
	_, err := parseServer(w, &s, lookup)
	return err
}

func parseServer(w *workdir.Workspace, s *Server, lookup func(name string) (string, bool)) (skill.Config, error) {
	s.Provider = "mcp"
	if own := nameset.Reserved(); slices.Contains(own, s.Name) || slices.Contains(own, strings.ToLower(s.Name)) {
		return skill.Config{}, config.Usagef("the name %s is one of etui's own; choose another, such as %[1]s-server",
			s.Name)
	}
	text, err := yaml.Dump(s)
	if err != nil {
		return skill.Config{}, err
	}
	c, err := skill.ParseYAML(s.Name+".yaml", text, skill.Variables{Allowed: w.Config.Skills.Env, Lookup: lookup})
	if err != nil {
		return c, config.UsageError{Err: err}
	}
	if _, err := mcp.New(mcp.Config{}).Load(c); err != nil {
		return c, config.UsageError{Err: fmt.Errorf("%s: %w", s.Name, err)}
	}
	return c, nil
}

// AddServer makes a skill of an MCP server: it installs the package that the command
// runs by npx, uvx or the like, starts the server once to learn its tools, and writes the file. It does not
// keep a server that cannot be started, nor puts it in the place of another one.
func AddServer(ctx context.Context, w *workdir.Workspace, s Server, how AddOptions, log *slog.Logger) (added Addition,
	err error) {
	file := filepath.Join(w.InstallFolder(), s.Name+".yaml")
	added.File = file
	before, err := os.ReadFile(file)
	switch {
	case err == nil && !how.Force:
		return added, config.Usagef("%s exists already; replace it with --force", file)
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return added, err
	}
	lookup := os.LookupEnv
	if how.Later {
		lookup = func(name string) (string, bool) {
			value, ok := os.LookupEnv(name)
			if value == "" && s.needs(name) {
				if value = "unset"; !slices.Contains(added.Unset, name) {
					added.Unset = append(added.Unset, name)
				}
			}
			return value, ok
		}
	}
	if err := CheckServer(w, s, lookup); err != nil {
		return added, err
	}
	out, programs, err := provider.Walls(w)
	if err != nil {
		return added, err
	}
	defer func() { err = errors.Join(err, programs.Close()) }()
	var origin string
	if how.Origin != "" {
		origin = "# From " + printable.OneLine(how.Origin) + ".\n"
	}
	if len(s.Command) > 0 {
		installer := &program.Installer{State: filepath.Join(w.State, workdir.ServersFolder), Sandbox: programs,
			Agree: how.Agree}
		p, failed := installer.Install(ctx, s.Name, s.Command)
		switch {
		case failed == nil:
			defer func() {
				if err == nil {
					err = p.Keep()
				} else {
					err = errors.Join(err, p.Undo())
				}
			}()
			s.Command, s.Version, added.Unbuilt = p.Command, p.Version, p.Unbuilt
			for _, folder := range p.Read {
				if !slices.Contains(s.Read, folder) {
					s.Read = append(s.Read, folder)
				}
			}
			origin += fmt.Sprintf("# %s %s, installed by etui mcp add in the state folder.\n", p.Name, p.Version)
		case !errors.Is(failed, program.ErrNoPackage):
			return added, failed
		}
	}
	c, err := parseServer(w, &s, lookup)
	if err != nil {
		return added, err
	}
	text, err := yaml.Dump(s)
	if err != nil {
		return added, err
	}
	text = append([]byte(origin), text...)
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return added, err
	}
	root, err := os.OpenRoot(filepath.Dir(file))
	if err != nil {
		return added, err
	}
	defer func() { err = errors.Join(err, root.Close()) }()
	c.Folder = root
	loaded, err := provider.NewServers(provider.Config{
		Workspace: w, Out: out, Programs: programs, Pins: mcp.NewPins(filepath.Join(w.State, workdir.PinsFile)),
		Logins:  &mcp.Logins{Vault: logins(w)},
		Version: how.Version, Log: log,
	}).Load(c)
	if err != nil {
		return added, config.UsageError{Err: fmt.Errorf("%s: %w", s.Name, err)}
	}
	if unmet := skill.DetailsOf(loaded).Unmet; len(unmet) > 0 {
		return added, fmt.Errorf("%s: %s", s.Name, printable.List(unmet))
	}
	if programs.Mode() != sandbox.Off {
		added.Unseen = unseen(s)
	}
	server := loaded.(*mcp.Server)
	if added.Server = server.Status(); len(added.Unset) == 0 {
		if added.Server, err = tryServer(ctx, server); err != nil {
			return added, notAdded(s.Name, added, err)
		}
	}
	added.Risks = map[tool.Risk][]string{}
	for _, t := range server.Tools() {
		d := t.Definition()
		added.Risks[d.Risk] = append(added.Risks[d.Risk], d.Name)
	}
	if before != nil && string(before) == string(text) {
		return added, nil
	}
	return added, atomicfile.Write(file, text)
}

// unseen returns the paths in a command that are there, and that its program does not see.
func unseen(s Server) (paths []string) {
	if len(s.Command) == 0 {
		return nil
	}
	granted := append(slices.Clone(s.Read), s.Write...)
	for _, arg := range s.Command[1:] {
		if _, value, joined := strings.Cut(arg, "="); joined {
			arg = value
		}
		at, err := filepath.Abs(arg)
		if _, missing := os.Stat(at); err != nil || missing != nil || !strings.ContainsRune(arg, '/') ||
			sandbox.System(at) {
			continue
		}
		within := func(folder string) bool {
			if rest, ok := strings.CutPrefix(folder, "~/"); ok {
				home, _ := os.UserHomeDir() // without a home, nothing is in it
				folder = filepath.Join(home, rest)
			}
			below, err := filepath.Rel(folder, at)
			return err == nil && filepath.IsLocal(below)
		}
		if !slices.ContainsFunc(granted, within) {
			paths = append(paths, at)
		}
	}
	return paths
}

// notAdded says why a server was not added, and what may help.
func notAdded(name string, added Addition, err error) error {
	err = phrase.Errorf("%s was not added: %w", name, err)
	if len(added.Unseen) > 0 {
		err = phrase.Errorf("%w. Its command names %s, which the sandbox does not show it: grant that with --read or --write",
			err, printable.List(added.Unseen))
	}
	if len(added.Unbuilt) > 0 {
		var of []string
		for _, script := range added.Unbuilt {
			of = append(of, script.Package)
		}
		err = phrase.Errorf("%w. Programs of its packages were not run, which may be why: %s. The flag --build runs them in the sandbox",
			err, printable.List(of))
	}
	return err
}

// tryServer runs a server until it has listed its tools or failed.
func tryServer(ctx context.Context, s *mcp.Server) (mcp.Status, error) {
	ctx, cancel := context.WithTimeout(ctx, tryTime)
	defer cancel()
	running, stop := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer panics.Log(nil, "trying an MCP server")
		s.Run(running, func() {})
	}()
	defer func() { stop(); <-done }()
	look := time.NewTicker(20 * time.Millisecond)
	defer look.Stop()
	for failed := 0; ; {
		st := s.Status()
		switch {
		case st.Phase == mcp.Connected, st.Login:
			return st, nil
		case st.Phase == mcp.Stopped, st.Restarts > failed && failed > 0: // the second try speaks the older protocol
			return st, errors.New(st.Err)
		}
		failed = max(failed, st.Restarts)
		select {
		case <-ctx.Done():
			return st, phrase.Errorf("it did not list its tools: %s %w", st.Err, ctx.Err())
		case <-look.C:
		}
	}
}

// logins returns the logins at MCP servers that the state folder has.
func logins(w *workdir.Workspace) *oauth.Vault {
	return oauth.NewVault(oauth.File(filepath.Join(w.State, workdir.LoginsFile)),
		filepath.Join(w.State, workdir.LoginKeyFile), os.Getenv)
}

// RemoveServer removes the file of an MCP server, and then the logins there, what was installed
// for it and what it kept. In between it calls ended, which returns when no gateway runs the server.
func RemoveServer(w *workdir.Workspace, name string, ended func() error) (err error) {
	file := filepath.Join(w.InstallFolder(), name+".yaml")
	if filepath.Base(file) != name+".yaml" {
		return config.Usagef("%q is not the name of a skill", name)
	}
	text, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return config.Usagef("there is no MCP server %s: %s does not exist", name, file)
	}
	if err != nil {
		return err
	}
	var kind struct{ Provider string }
	if err := yaml.Load(text, &kind); err != nil || kind.Provider != "mcp" {
		return config.Usagef("%s is no file of an MCP server", file)
	}
	if err := os.Remove(file); err != nil {
		return err
	}
	_, failed := logins(w).Clear(context.Background(), name)
	return errors.Join(ended(), failed, os.RemoveAll(filepath.Join(w.State, workdir.ServersFolder, name)))
}
