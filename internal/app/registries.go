package app

import (
	"context"
	"crypto/x509"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"os"
	"time"

	"github.com/etui-run/etui/hub"
	"github.com/etui-run/etui/internal/config"
	"github.com/etui-run/etui/internal/egress"
	"github.com/etui-run/etui/internal/workspace"
	"github.com/etui-run/etui/skill"
	"github.com/etui-run/etui/tool"
)

// defaultRegistries are the registries of a configuration without any.
var defaultRegistries = []config.Registry{{Name: "clawhub", Type: "clawhub"}, {Name: "github", Type: "git"}}

// The bounds of one exchange with a registry.
const (
	registryTime = 5 * time.Minute
	registryBody = 64 << 20
)

// Installer returns what installs skills into the workspace. A nil logger discards.
func Installer(w *workspace.Workspace, log *slog.Logger) (*hub.Installer, error) {
	c := hub.Config{Folder: w.InstallFolder(), Roots: map[string]*x509.CertPool{}, Log: log}
	list := w.Config.Skills.Registries
	if list == nil {
		list = defaultRegistries
	}
	for _, r := range list {
		source, err := newSource(w, r)
		if err != nil {
			return nil, w.Mistakef("skills.registries: %w", err)
		}
		c.Sources = append(c.Sources, source)
		if len(r.Roots) == 0 {
			continue
		}
		if c.Roots[r.Name], err = readRoots(w.File, r.Roots); err != nil {
			return nil, w.Mistakef("skills.registries: %s: roots: %w", r.Name, err)
		}
	}
	return hub.New(c), nil
}

// newSource makes a source. This is the one list of them: a new type costs
// its file and a line here.
func newSource(w *workspace.Workspace, r config.Registry) (hub.Source, error) {
	if r.Type == "folder" {
		if r.URL == "" {
			return nil, fmt.Errorf("%s: a folder needs url, its path", r.Name)
		}
		return hub.NewFolder(r.Name, config.Abs(w.File, r.URL)), nil
	}
	client, err := registryClient(w, r)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", r.Name, err)
	}
	c := hub.HTTPConfig{URL: r.URL, Client: client, Token: r.Token}
	switch r.Type {
	case "clawhub":
		return hub.NewClawHub(r.Name, c)
	case "wellknown":
		return hub.NewWellKnown(r.Name, c)
	}
	return hub.NewGit(r.Name, c, r.Repositories...)
}

// registryClient reaches public addresses and the address that the configuration
// gives the registry, which may be a private one.
func registryClient(w *workspace.Workspace, r config.Registry) (*http.Client, error) {
	guard, err := egress.New(egress.Config{Own: w.Ports, Key: "skills.registries", Allow: hostOf(r.URL)})
	if err != nil {
		return nil, err
	}
	return guard.Client(egress.Limits{Time: registryTime, Body: registryBody}), nil
}

// hostOf returns the host and port of a URL as an entry of an allow list; nil if
// it has no host.
func hostOf(address string) []string {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" {
		return nil
	}
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
	}
	return []string{net.JoinHostPort(u.Hostname(), port)}
}

func readRoots(file string, list []string) (*x509.CertPool, error) {
	pool := x509.NewCertPool()
	for _, name := range list {
		raw, err := os.ReadFile(config.Abs(file, name))
		if err != nil {
			return nil, err
		}
		if !pool.AppendCertsFromPEM(raw) {
			return nil, fmt.Errorf("%s holds no certificates in PEM", name)
		}
	}
	return pool, nil
}

// maxLoaded bounds how many loaded skills find_skills returns.
const maxLoaded = 5

// addInstallTools gives the model the tools that find and install skills, as far as
// the configuration allows.
func (a *App) addInstallTools() error {
	w := a.Workspace
	if w.Config.Skills.Model == "off" {
		return nil
	}
	in, err := Installer(w, a.log)
	if err != nil {
		return err
	}
	find := &hub.Finder{Installer: in, Loaded: a.loaded}
	if w.Config.Skills.Model == "find" {
		in = nil // hub then leaves out install_skill
	}
	return hub.Register(a.registry, find, in)
}

// loaded finds loaded skills that the caller may see and the model may use.
func (a *App) loaded(ctx context.Context, text string) []hub.Found {
	seen, err := a.Engine.Seen(tool.Caller(ctx))
	if err != nil {
		return nil // the agent is gone
	}
	var list []hub.Found
	for e := range seen.Catalog().All() {
		if d := e.Definition; d.Source == skill.Source && seen.Visible(e) {
			list = append(list, hub.Found{Name: d.Name, Description: d.Description})
		}
	}
	for name := range seen.OfferedSkills() {
		s, _ := seen.Catalog().Skill(name) // offered ones are in it
		list = append(list, hub.Found{Name: name, Description: s.Description})
	}
	return hub.Best(list, text, maxLoaded)
}
