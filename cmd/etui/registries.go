package main

import (
	"context"
	"crypto/x509"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"github.com/etui-run/etui/hub"
	"github.com/etui-run/etui/internal/config"
	"github.com/etui-run/etui/internal/egress"
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

// newInstaller returns the installer of a workspace.
func newInstaller(w *workspace, log *slog.Logger) (*hub.Installer, error) {
	c := hub.Config{Folder: installFolder(w), Roots: map[string]*x509.CertPool{}, Log: log}
	list := w.config.Skills.Registries
	if list == nil {
		list = defaultRegistries
	}
	for _, r := range list {
		source, err := newSource(w, r)
		if err != nil {
			return nil, usagef("%s: skills.registries: %w", w.file, err)
		}
		c.Sources = append(c.Sources, source)
		if len(r.Roots) == 0 {
			continue
		}
		if c.Roots[r.Name], err = readRoots(w.file, r.Roots); err != nil {
			return nil, usagef("%s: skills.registries: %s: roots: %w", w.file, r.Name, err)
		}
	}
	return hub.New(c), nil
}

// installFolder is where skills are installed: the first folder of the workspace.
func installFolder(w *workspace) string {
	dir := folders(w.config.Skills.Dir, workspaceFolders)
	if len(dir) == 0 {
		dir = workspaceFolders
	}
	if filepath.IsAbs(dir[0]) {
		return dir[0]
	}
	return filepath.Join(w.dir, dir[0])
}

// newSource makes a source. This is the one list of them: a new type costs
// its file and a line here.
func newSource(w *workspace, r config.Registry) (hub.Source, error) {
	if r.Type == "folder" {
		if r.URL == "" {
			return nil, fmt.Errorf("%s: a folder needs url, its path", r.Name)
		}
		return hub.NewFolder(r.Name, config.Abs(w.file, r.URL)), nil
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
func registryClient(w *workspace, r config.Registry) (*http.Client, error) {
	guard, err := egress.New(egress.Config{Own: w.ports, Key: "skills.registries", Allow: hostOf(r.URL)})
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
func (b *built) addInstallTools(w *workspace, log *slog.Logger) error {
	if w.config.Skills.Model == "off" {
		return nil
	}
	in, err := newInstaller(w, log)
	if err != nil {
		return err
	}
	find := &hub.Finder{Installer: in, Loaded: b.loaded}
	if w.config.Skills.Model == "find" {
		in = nil // hub then leaves out install_skill
	}
	return hub.Register(b.registry, find, in)
}

// loaded finds loaded skills that the caller may use.
func (b *built) loaded(ctx context.Context, text string) []hub.Found {
	var list []hub.Found
	c := b.registry.Catalog()
	for _, d := range c.Definitions(tool.Caller(ctx)) {
		if d.Source == skill.Source {
			list = append(list, hub.Found{Name: d.Name, Description: d.Description})
		}
	}
	for _, t := range c.Skills() {
		list = append(list, hub.Found{Name: t.Name, Description: t.Description})
	}
	return hub.Best(list, text, maxLoaded)
}
