// Package install adds what other people made to a workspace: skills from registries, and MCP
// servers.
package install

import (
	"crypto/x509"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"time"

	"github.com/etui-run/etui/cmd/internal/config"
	"github.com/etui-run/etui/cmd/internal/workdir"
	"github.com/etui-run/etui/hub"
	"github.com/etui-run/etui/internal/egress"
	"github.com/etui-run/etui/phrase"
)

// defaultRegistries are the registries of a configuration without any.
var defaultRegistries = []config.Registry{{Name: "clawhub", Type: "clawhub"}, {Name: "github", Type: "git"}}

// The bounds of one exchange with a registry.
const (
	registryTime = 5 * time.Minute
	registryBody = 64 << 20
)

// Skills returns what installs skills into the workspace. A nil logger discards.
func Skills(w *workdir.Workspace, log *slog.Logger) (*hub.Installer, error) {
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
func newSource(w *workdir.Workspace, r config.Registry) (hub.Source, error) {
	if r.Type == "folder" {
		if r.URL == "" {
			return nil, phrase.Errorf("%s: a folder needs url, its path", r.Name)
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
func registryClient(w *workdir.Workspace, r config.Registry) (*http.Client, error) {
	guard, err := egress.New(egress.Config{Own: w.Ports, Key: "skills.registries", Allow: egress.HostOf(r.URL)})
	if err != nil {
		return nil, err
	}
	return guard.Client(egress.Limits{Time: registryTime, Body: registryBody}), nil
}

func readRoots(file string, list []string) (*x509.CertPool, error) {
	pool := x509.NewCertPool()
	for _, name := range list {
		raw, err := os.ReadFile(config.Abs(file, name))
		if err != nil {
			return nil, err
		}
		if !pool.AppendCertsFromPEM(raw) {
			return nil, phrase.Errorf("%s holds no certificates in PEM", name)
		}
	}
	return pool, nil
}
