// Package mcp makes skills of MCP servers: programs that speak the Model Context
// Protocol on their standard input and output, and services that speak it over
// HTTP, in the version of 2026 or an older one.
//
// A server brings tools; the skill is the toolset of these tools, in a group with the
// skill's name. The tools are named mcp__SERVER__TOOL. Nothing that a server says is
// trusted:
//
//   - Definitions are freed of invisible characters and bounded in size. Names that models
//     cannot read get others, and schemas with faults are mended (package foreign); the
//     status says which. Calls go out with the server's own names. Definitions
//     that instruct the assistant instead of describing the tool are held back until a
//     person approves them.
//   - Definitions that were used once are pinned ([Pins]). A changed definition is held
//     back until a person approves it, and so are all tools of a server whose command
//     line or endpoint changes.
//   - Hints that a tool is harmless or idempotent change nothing: the skill's file says
//     what its risk is.
//   - Results are data. Only harmless media types are passed on; links in results are
//     not followed.
//   - A server may ask the person of a call something, as an approval is asked, but never for a
//     secret, and a program may ask for the folders that it was granted (roots). It may ask the agent's
//     model if its file says so, with its own words alone (sampling). It may request nothing else.
//
// Services that want a login get one by OAuth, see package oauth.
//
// Its resources and prompts are tools, too. What a server sends is repaired where it does not
// keep to the protocol, and [Status] says what.
//
// A call whose context has an idempotency key carries it in _meta, as
// run.etui/idempotency-key.
//
// A server that is a program runs in the sandbox, with the folders and hosts that its file
// names and a private folder that lasts. Package program installs packages of npm and PyPI where
// it can run them without a network.
//
// A server that dies is restarted after growing pauses. Its tools stay and fail with
// [skill.ErrProviderUnavailable] meanwhile.
package mcp

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/etui-run/etui/internal/egress"
	"github.com/etui-run/etui/sandbox"
	"github.com/etui-run/etui/skill"
	"github.com/etui-run/etui/skill/mcp/program"
	"github.com/etui-run/etui/tool"
)

// Config says how servers are reached.
type Config struct {
	// Sandbox starts servers that are programs; the caller closes it. Nil refuses them.
	Sandbox *sandbox.Sandbox
	// HTTP reaches servers that are services, and decides which addresses may be
	// reached. Nil reaches public addresses only.
	HTTP *http.Client
	// State is a folder, which need not exist, for what programs keep: NAME/state is the
	// home folder of server NAME and its alone, NAME/package holds its program if an
	// [program.Installer] put it there. Empty means that a program keeps nothing.
	State string
	// Closed are absolute paths that the folders of a skill's read and write may neither
	// contain nor be below: etui's state and configuration.
	Closed []string
	// Pins remember which definitions may be used. Nil keeps them in memory only.
	Pins *Pins
	// Logins say how etui logs in to services. Nil: it does not.
	Logins *Logins
	// Patience is how long a server may be silent when it is greeted in the newer version of
	// the protocol, before it is greeted in the older one; 0 means two seconds. Later attempts
	// wait 20 seconds.
	Patience time.Duration
	// Log reports servers that come and go. Nil discards.
	Log *slog.Logger
	// Version is etui's version, which servers are shown. Default: "dev".
	Version string
}

// Provider makes skills of MCP servers.
type Provider struct{ config Config }

var _ skill.Provider = (*Provider)(nil)

// New returns a provider.
func New(c Config) *Provider {
	if c.HTTP == nil {
		public, _ := egress.New(egress.Config{}) // only a list of addresses could be wrong
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

// Load makes the skill of a server. It starts and sends nothing: until Run has reached
// the server, it has the pinned tools of the last time.
func (p *Provider) Load(c skill.Config) (_ skill.Skill, err error) {
	if err := check(c); err != nil {
		return nil, err
	}
	s := &Server{config: p.config, file: c, details: details(c), identity: identity(c), redactor: c.Redactor(),
		poke: make(chan struct{}, 1)}
	if s.login, err = p.newLogin(c); err != nil {
		return nil, err
	}
	s.people.server = s
	if s.people.personal() && p.config.Logins.Desk != nil {
		s.code = s.people.takesCode()
	}
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
	if s.read, err = sandbox.Folders(c.Read, p.config.Closed); err != nil {
		return nil, fmt.Errorf("read: %w", err)
	}
	if s.write, err = sandbox.Folders(c.Write, p.config.Closed); err != nil {
		return nil, fmt.Errorf("write: %w", err)
	}
	if p.config.State != "" && len(c.Command) > 0 {
		s.home, s.pack = filepath.Join(p.config.State, c.Name, "state"),
			filepath.Join(p.config.State, c.Name, program.Folder)
	}
	s.details.Unmet = append(s.details.Unmet, p.unmet(c, s)...)
	if len(c.Command) > 0 {
		if pack := program.UnpinnedPackage(c.Command); pack != "" {
			warning := fmt.Sprintf("its command fetches %s in whatever version is newest when it starts; name a version", pack)
			if _, ok := program.Hosts(c.Command); ok {
				warning += ", or install it once: " + installing(c)
			}
			s.details.Warnings = append(s.details.Warnings, warning)
		}
	}
	s.file.Folder = nil
	known, _, err := p.config.Pins.know(c.Name)
	first := &state{phase: Waiting, err: err, next: make(chan struct{})}
	first.set(s, known)
	s.state.Store(first)
	return s, nil
}

// plain returns an environment without the type that hides its values.
func plain(env map[string]skill.Secret) map[string]string {
	values := make(map[string]string, len(env))
	for name, value := range env {
		values[name] = string(value)
	}
	return values
}

// unmet returns the unmet requirements of a server that is a program.
func (p *Provider) unmet(c skill.Config, s *Server) []string {
	if len(c.Command) == 0 {
		return nil
	}
	if p.config.Sandbox == nil || p.config.Sandbox.Ready() != nil {
		return []string{sandbox.ErrRefused.Error()}
	}
	if len(c.Network) == 0 {
		return p.unreachable(c, s)
	}
	if err := p.config.Sandbox.Network(); err != nil {
		return []string{"network: " + err.Error()}
	}
	return nil
}

// unreachable returns why a program that fetches its package cannot start without a
// network. It would wait for a minute otherwise.
func (p *Provider) unreachable(c skill.Config, s *Server) []string {
	if m := p.config.Sandbox.Mode(); m == sandbox.Off || !program.Fetches(c.Command) {
		return nil
	}
	for _, kept := range []string{filepath.Join(s.home, ".npm", "_npx"), filepath.Join(s.home, ".cache", "uv"),
		filepath.Join(s.dir, "node_modules")} {
		if _, err := os.Stat(kept); err == nil {
			return nil // it may have been fetched before
		}
	}
	advice := "Name the hosts that it needs with the key network"
	if hosts, ok := program.Hosts(c.Command); ok {
		advice = fmt.Sprintf("Install it once: %s. Or name the hosts that it needs, as in network: [%s]", installing(c),
			strings.Join(hosts, ", "))
	}
	return []string{fmt.Sprintf("%s fetches its package from the network, and the sandbox gives it none. %s",
		c.Command[0], advice)}
}

// installing is the command that installs the package of a server whose file is there.
func installing(c skill.Config) string {
	return fmt.Sprintf("etui mcp add %s --force -- %s", c.Name, strings.Join(c.Command, " "))
}

// check reports the first mistake in the config of a server.
func check(c skill.Config) error {
	switch {
	case checkName(c.Name) != nil:
		return fmt.Errorf("name: %q may have letters, digits, '_' and '-' only", c.Name)
	case strings.Contains(c.Name, "__"), strings.Trim(c.Name, "_") != c.Name:
		return fmt.Errorf("name: %q has two '_' side by side or one at an end; tools of two servers could get one name then", c.Name)
	case len(c.Name) > maxName-len("mcp____x"):
		return fmt.Errorf("name: %q is too long: mcp__%s__TOOL may have at most %d characters", c.Name, c.Name, maxName)
	case len(c.Command) == 0 && c.Endpoint == "":
		return fmt.Errorf("command, endpoint: one of them is needed: the server's program or its URL")
	case len(c.Command) > 0 && c.Endpoint != "":
		return fmt.Errorf("command, endpoint: only one of them is possible")
	case len(c.Command) > 0 && !c.Auth.IsZero():
		return fmt.Errorf("auth: only a server with an endpoint has it")
	case c.Auth.Login == skill.ClientLogin && (c.Auth.ClientID == "" || c.Auth.ClientSecret == ""):
		return fmt.Errorf("auth: login: client needs client_id and client_secret")
	case c.Auth.ClientDocument != "" && !isDocument(c.Auth.ClientDocument):
		return fmt.Errorf("auth: client_document must be an https URL with a path")
	case len(c.Command) > 0 && len(c.Headers) > 0:
		return fmt.Errorf("headers: only a server with an endpoint has them")
	case len(c.Command) == 0 && len(c.Env) > 0:
		return fmt.Errorf("env: only a server with a command has it")
	case len(c.Command) == 0 && len(c.Network) > 0:
		return fmt.Errorf("network: only a server with a command has it")
	case len(c.Command) == 0 && len(c.Read)+len(c.Write) > 0:
		return fmt.Errorf("read, write: only a server with a command has them")
	case sandbox.CheckHosts(c.Network) != nil:
		return fmt.Errorf("network: %w", sandbox.CheckHosts(c.Network))
	case sandbox.CheckEnv(plain(c.Env)) != nil:
		return fmt.Errorf("env: %w", sandbox.CheckEnv(plain(c.Env)))
	case len(c.Command) > 0 && strings.TrimSpace(c.Command[0]) == "":
		return fmt.Errorf("command: the program has no name")
	case c.Timeout < 0 || c.Timeout > skill.MaxTimeout:
		return fmt.Errorf("timeout: it may be at most %v", skill.MaxTimeout)
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
		return fmt.Errorf("endpoint: it must be a URL with http or https")
	}
	if u.User != nil {
		return fmt.Errorf("endpoint: a name and a password in it would be shown; write a header instead")
	}
	return nil
}

var ownHeaders = []string{"host", "accept", "content-type", "content-length", "connection", "transfer-encoding",
	"last-event-id"}

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

// identity identifies a server by its command line or its endpoint. The query of a URL
// may hold a secret and is replaced by its hash.
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

// maxName bounds the name of a tool.
const maxName = 64

// The times and counts that keep a server in bounds.
const (
	connectTime = 60 * time.Second // a program may be downloaded first
	listTime    = 30 * time.Second
	settled     = time.Minute // a connection that lasted as long counts as a success
	firstPause  = time.Second // before a server is tried again; doubled each time
	lastPause   = 5 * time.Minute
	soonest     = 2 * time.Second // that a call waits for a server that was there
	maxTries    = 8               // in a row, of a program
	lastWord    = time.Second     // from the end of a connection to that of its calls
	maxRenewals = 5               // of sessions that a service forgot, without a pause
	pollEvery   = 5 * time.Minute
	pollAtLeast = 30 * time.Second // whatever the server says
	pollAtMost  = time.Hour
	listPause   = time.Second // between two lists
	lookEvery   = time.Second // between checks of the pins
	maxPages    = 256
	maxTools    = 512
)
