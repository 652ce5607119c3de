// Package mcp makes skills of MCP servers: programs that speak the Model Context
// Protocol on their standard input and output, and services that speak it over
// HTTP, in the version of 2026 or an older one.
//
// A server brings tools; the skill is the toolset of them, in the group that
// bears its name. Their names are mcp__SERVER__TOOL. What a server says is not
// trusted:
//
//   - Definitions are freed of invisible characters and bounded in size, and held
//     back when they speak to the assistant instead of about the tool. A person
//     can approve them.
//   - What was used once is pinned ([Pins]). A definition that changes is held back
//     until a person approves it, and so are all tools of a server whose command
//     line or endpoint changes.
//   - Hints that a tool is harmless change nothing: its risk is what the skill's
//     file says.
//   - Results are data. Only harmless media types are passed on, and nothing that a
//     server names is opened or run.
//   - A server may ask etui for nothing: no sampling, elicitation or roots. OAuth is
//     not supported.
//
// A server that dies is started again, later and later; its tools stay and fail
// with skill.ErrProviderUnavailable meanwhile.
package mcp

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/etui-run/etui/internal/egress"
	"github.com/etui-run/etui/sandbox"
	"github.com/etui-run/etui/skill"
	"github.com/etui-run/etui/tool"
)

// Config says what servers are reached with.
type Config struct {
	// Sandbox starts the programs. Nil refuses them.
	Sandbox *sandbox.Sandbox
	// HTTP reaches the services, and decides which addresses may be reached. Nil
	// reaches public ones only.
	HTTP *http.Client
	// Pins remember which definitions may be used. Nil means that they are
	// forgotten with the provider.
	Pins *Pins
	// Log tells of servers that come and go. Nil discards.
	Log *slog.Logger
	// Version is what etui says it is to servers.
	Version string
}

// Provider makes skills of MCP servers.
type Provider struct{ config Config }

var _ skill.Provider = (*Provider)(nil)

// New returns a provider.
func New(c Config) *Provider {
	if c.HTTP == nil {
		public, _ := egress.New(egress.Config{}) // only what is to be opened can be wrong
		c.HTTP = &http.Client{Transport: public}
	}
	if c.Pins == nil {
		c.Pins = NewPins("")
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	if c.Version == "" {
		c.Version = "dev"
	}
	return &Provider{c}
}

// Type is "mcp".
func (p *Provider) Type() string { return "mcp" }

// Load makes the skill of a server. It starts and sends nothing: the tools of the
// server are those that it last had, until Run has reached it.
func (p *Provider) Load(c skill.Config) (skill.Skill, error) {
	if err := check(c); err != nil {
		return nil, err
	}
	s := &Server{config: p.config, file: c, details: details(c), identity: identity(c), redactor: c.Redactor(), poke: make(chan struct{}, 1)}
	if s.file.Timeout == 0 {
		s.file.Timeout = skill.DefaultTimeout
	}
	if c.Folder != nil {
		dir, err := filepath.Abs(c.Folder.Name())
		if err != nil {
			return nil, err
		}
		s.dir = dir
	}
	s.details.Unmet = append(s.details.Unmet, p.unmet(c)...)
	s.file.Folder = nil
	known, _, err := p.config.Pins.know(c.Name)
	first := &state{phase: Waiting, err: err}
	first.set(s, known)
	s.state.Store(first)
	return s, nil
}

// unmet says what a server that is a program lacks here.
func (p *Provider) unmet(c skill.Config) []string {
	if len(c.Command) == 0 {
		return nil
	}
	if p.config.Sandbox == nil || p.config.Sandbox.Ready() != nil {
		return []string{sandbox.ErrRefused.Error()}
	}
	if len(c.Network) == 0 {
		return nil
	}
	if err := p.config.Sandbox.Network(); err != nil {
		return []string{"network: " + err.Error()}
	}
	return nil
}

// check says what of a config cannot be a server.
func check(c skill.Config) error {
	switch {
	case checkName(c.Name) != nil:
		return fmt.Errorf("name: %q is to have letters, digits, '_' and '-' only", c.Name)
	case strings.Contains(c.Name, "__"), strings.Trim(c.Name, "_") != c.Name:
		return fmt.Errorf("name: %q has two '_' side by side or one at an end; tools of two servers could get one name then", c.Name)
	case len(c.Name) > maxName-len("mcp____x"):
		return fmt.Errorf("name: %q is too long: mcp__%s__TOOL is to have at most %d characters", c.Name, c.Name, maxName)
	case len(c.Command) == 0 && c.Endpoint == "":
		return fmt.Errorf("command, endpoint: one of them is needed: the program that is the server, or its URL")
	case len(c.Command) > 0 && c.Endpoint != "":
		return fmt.Errorf("command, endpoint: only one of them is possible")
	case len(c.Command) > 0 && len(c.Headers) > 0:
		return fmt.Errorf("headers: only a server with an endpoint has them")
	case len(c.Command) == 0 && len(c.Env) > 0:
		return fmt.Errorf("env: only a server with a command has it")
	case len(c.Command) == 0 && len(c.Network) > 0:
		return fmt.Errorf("network: only a server with a command has it")
	case sandbox.CheckHosts(c.Network) != nil:
		return fmt.Errorf("network: %w", sandbox.CheckHosts(c.Network))
	case len(c.Command) > 0 && strings.TrimSpace(c.Command[0]) == "":
		return fmt.Errorf("command: the program has no name")
	case c.Timeout < 0 || c.Timeout > skill.MaxTimeout:
		return fmt.Errorf("timeout: it is to be at most %v", skill.MaxTimeout)
	case c.Parameters != nil:
		return fmt.Errorf("parameters: the tools of the server have their own")
	}
	for name := range c.Headers {
		if slices.Contains(ownHeaders, strings.ToLower(name)) || strings.HasPrefix(strings.ToLower(name), "mcp-") {
			return fmt.Errorf("headers: %s is set by etui", name)
		}
	}
	for _, pattern := range slices.Concat(c.Include, c.Exclude) {
		if _, err := path.Match(pattern, ""); err != nil {
			return fmt.Errorf("include, exclude: %q is no pattern", pattern)
		}
	}
	if c.Endpoint == "" {
		return nil
	}
	u, err := url.Parse(c.Endpoint)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return fmt.Errorf("endpoint: it is to be a URL with http or https")
	}
	if u.User != nil {
		return fmt.Errorf("endpoint: a name and a password in it would be shown; write a header instead")
	}
	return nil
}

var ownHeaders = []string{"host", "accept", "content-type", "content-length", "connection", "transfer-encoding", "last-event-id"}

func details(c skill.Config) skill.Details {
	d := c.Details()
	d.Provider = "mcp"
	if d.Risk == "" {
		d.Risk = tool.Write
	}
	if d.Tools == nil {
		d.Tools = []string{"group:" + c.Name}
	}
	return d
}

// identity is what a server is known by: its command line or its endpoint. The
// query of a URL may hold a secret and is told by its hash.
func identity(c skill.Config) string {
	if len(c.Command) > 0 {
		quoted := make([]string, len(c.Command))
		for i, arg := range c.Command {
			if quoted[i] = arg; arg == "" || strings.ContainsAny(arg, " \t\n'\"\\") {
				quoted[i] = fmt.Sprintf("%q", arg)
			}
		}
		return strings.Join(quoted, " ")
	}
	base, query, found := strings.Cut(c.Endpoint, "?")
	if !found {
		return base
	}
	hash := sha256.Sum256([]byte(query))
	return base + "?" + hex.EncodeToString(hash[:6])
}

// maxName is how long the name of a tool may be.
const maxName = 64

// The times and counts that keep a server in bounds.
const (
	connectTime = 60 * time.Second // a program may be downloaded first
	listTime    = 30 * time.Second
	settled     = time.Minute // what has lived as long as that, has come up well
	firstPause  = time.Second // before a server is tried again; doubled each time
	lastPause   = 5 * time.Minute
	maxTries    = 8 // in a row, of a program
	pollEvery   = 5 * time.Minute
	pollAtLeast = 30 * time.Second // whatever the server says
	pollAtMost  = time.Hour
	listPause   = time.Second     // between two lists
	lookEvery   = 2 * time.Second // at the pins
	maxPages    = 64
	maxTools    = 512
	maxMessage  = 16 << 20 // bytes
)
