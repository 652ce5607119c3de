package install

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"go.yaml.in/yaml/v4"

	"github.com/etui-run/etui/cmd/internal/config"
	"github.com/etui-run/etui/cmd/internal/provider"
	"github.com/etui-run/etui/cmd/internal/workdir"
	"github.com/etui-run/etui/internal/atomicfile"
	"github.com/etui-run/etui/internal/panics"
	"github.com/etui-run/etui/internal/printable"
	"github.com/etui-run/etui/skill"
	"github.com/etui-run/etui/skill/mcp"
	"github.com/etui-run/etui/skill/mcp/oauth"
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
}

// tryTime bounds how long AddServer waits for the server to list its tools.
const tryTime = 90 * time.Second

// AddServer makes a skill of an MCP server: it installs the npm package that the command
// runs by npx, starts the server once to learn its tools, and writes the file. It does not
// keep a server that cannot be started, nor puts it in the place of another one. Force
// replaces a file of that name.
func AddServer(ctx context.Context, w *workdir.Workspace, s Server, force bool, version string, log *slog.Logger) (file string, st mcp.Status, err error) {
	file = filepath.Join(w.InstallFolder(), s.Name+".yaml")
	before, err := os.ReadFile(file)
	switch {
	case err == nil && !force:
		return file, st, config.Usagef("%s exists already; replace it with --force", file)
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return file, st, err
	}
	s.Provider = "mcp"
	text, err := yaml.Dump(s)
	if err != nil {
		return file, st, err
	}
	// Mistakes are found before anything is fetched.
	variables := skill.Variables{Allowed: w.Config.Skills.Env}
	if _, err := skill.ParseYAML(filepath.Base(file), text, variables); err != nil {
		return file, st, config.UsageError{Err: err}
	}
	out, programs, err := provider.Walls(w)
	if err != nil {
		return file, st, err
	}
	defer func() { err = errors.Join(err, programs.Close()) }()
	if len(s.Command) > 0 {
		p, failed := mcp.Install(ctx, filepath.Join(w.State, workdir.ServersFolder), s.Name, s.Command)
		switch {
		case failed == nil:
			defer func() {
				if err == nil {
					err = p.Keep()
				} else {
					err = errors.Join(err, p.Undo())
				}
			}()
			s.Command, s.Version = p.Command, p.Version
			if text, err = yaml.Dump(s); err != nil {
				return file, st, err
			}
			text = append(fmt.Appendf(nil, "# %s %s, installed by etui mcp add in the state folder.\n", p.Name, p.Version), text...)
		case !errors.Is(failed, mcp.ErrNoPackage):
			return file, st, failed
		}
	}
	c, err := skill.ParseYAML(filepath.Base(file), text, variables)
	if err != nil {
		return file, st, config.UsageError{Err: err}
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return file, st, err
	}
	root, err := os.OpenRoot(filepath.Dir(file))
	if err != nil {
		return file, st, err
	}
	defer func() { err = errors.Join(err, root.Close()) }()
	c.Folder = root
	loaded, err := provider.NewServers(provider.Config{
		Workspace: w, Out: out, Programs: programs, Pins: mcp.NewPins(filepath.Join(w.State, workdir.PinsFile)),
		Logins:  &mcp.Logins{Vault: logins(w)},
		Version: version, Log: log,
	}).Load(c)
	if err != nil {
		return file, st, config.UsageError{Err: fmt.Errorf("%s: %w", s.Name, err)}
	}
	if unmet := skill.DetailsOf(loaded).Unmet; len(unmet) > 0 {
		return file, st, fmt.Errorf("%s: %s", s.Name, printable.List(unmet))
	}
	if st, err = tryServer(ctx, loaded.(*mcp.Server)); err != nil {
		return file, st, fmt.Errorf("%s was not added: %w", s.Name, err)
	}
	if before != nil && string(before) == string(text) {
		return file, st, nil
	}
	return file, st, atomicfile.Write(file, text)
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
			return st, fmt.Errorf("it did not list its tools: %s %w", st.Err, ctx.Err())
		case <-look.C:
		}
	}
}

// logins returns the logins at MCP servers that the state folder has.
func logins(w *workdir.Workspace) *oauth.Vault {
	return oauth.NewVault(oauth.File(filepath.Join(w.State, workdir.LoginsFile)), filepath.Join(w.State, workdir.LoginKeyFile), os.Getenv)
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
