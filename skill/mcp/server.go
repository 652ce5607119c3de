package mcp

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"path"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"golang.org/x/text/unicode/norm"

	"github.com/etui-run/etui/internal/cut"
	"github.com/etui-run/etui/internal/printable"
	"github.com/etui-run/etui/internal/sleep"
	"github.com/etui-run/etui/sandbox"
	"github.com/etui-run/etui/scan"
	"github.com/etui-run/etui/skill"
	"github.com/etui-run/etui/skill/mcp/internal/wire"
	"github.com/etui-run/etui/skill/mcp/oauth"
	"github.com/etui-run/etui/tool"
	"github.com/etui-run/etui/tool/foreign"
)

// Server is the skill of an MCP server.
type Server struct {
	config   Config
	file     skill.Config
	details  skill.Details
	identity string
	dir      string   // of the skill's file
	home     string   // its private folder; empty if it has none
	pack     string   // where Install put its program
	read     []string // folders that it may read
	write    []string // folders that it may write
	redactor skill.Redactor
	login    *oauth.Client // nil where etui does not log in
	code     tool.Tool     // takes the codes of people who log in by themselves; nil without
	poke     chan struct{} // asks Run to list the tools
	asking   dialogs       // calls that wait for people

	people people // the connections of people who log in by themselves

	state atomic.Pointer[state] // written by Load and then by Run alone
}

var (
	_ skill.Server        = (*Server)(nil)
	_ skill.DetailedSkill = (*Server)(nil)
)

// Phase says how far the connection to a server has come.
type Phase string

// The phases.
const (
	Waiting   Phase = "waiting"   // Run has not begun
	Trying    Phase = "trying"    // Run is connecting
	Connected Phase = "connected" // its tools can be called
	Away      Phase = "away"      // Run will try again
	Stopped   Phase = "stopped"   // Run has given up until the file is loaded again
)

// state is what is known about a server. It is immutable.
type state struct {
	phase      Phase
	connection *connection // nil unless the phase is Connected
	tools      []tool.Tool
	byName     map[string]*serverTool // by the server's own name
	held       map[string]string      // why accepted tools cannot be called, by name
	refused    []RefusedTool
	repaired   []string // what was repaired in the definitions, as sentences
	listed     *listing // nil before the server has listed its tools
	repairs    []string // see Status.Loose
	renewing   bool     // the session has expired, and another one begins at once
	err        error
	retry      time.Time
	over       bool // Run has ended
	restarts   int
	next       chan struct{} // closed when another state replaces this one
}

// Name returns the server's name.
func (s *Server) Name() string { return s.file.Name }

// Description says what the server is for.
func (s *Server) Description() string { return s.file.Description }

// Parameters returns nil: taking up the toolset needs no arguments.
func (s *Server) Parameters() skill.ParameterSchema { return nil }

// Details returns the details of the skill, whose toolset are the server's tools.
func (s *Server) Details() skill.Details { return s.details }

// Execute lists the tools of the server.
func (s *Server) Execute(context.Context, json.RawMessage) (any, error) {
	names := []string{}
	for _, t := range s.Tools() {
		names = append(names, t.Definition().Name)
	}
	return map[string]any{"server": s.file.Name, "tools": names}, nil
}

// Tools returns the tools that may be used, sorted by name. A tool stays the same value
// until its definition changes.
func (s *Server) Tools() []tool.Tool { return s.state.Load().tools }

// update replaces the state by a changed copy.
func (s *Server) update(change func(*state)) {
	before := s.state.Load()
	next := *before
	next.next = make(chan struct{})
	change(&next)
	s.state.Store(&next)
	close(before.next)
}

// tried returns the state once the first attempt to connect has ended, or ctx has. It waits a
// little for a server that comes back soon: some end after each call.
func (s *Server) tried(ctx context.Context) *state {
	late := time.NewTimer(soonest)
	defer late.Stop()
	for back := true; ; {
		n := s.state.Load()
		soon := back && !n.over && n.listed != nil &&
			(n.phase == Trying || n.phase == Away && time.Until(n.retry) < soonest)
		if !n.renewing && !soon && (n.restarts > 0 || n.phase != Waiting && n.phase != Trying) {
			return n
		}
		select {
		case <-ctx.Done():
			return n
		case <-late.C:
			back = false
		case <-n.next:
		}
	}
}

// renewed waits until a connection whose session has expired is not used any more.
func (s *Server) renewed(ctx context.Context, c *connection) {
	c.expire()
	for n := s.state.Load(); n.connection == c; n = s.state.Load() {
		select {
		case <-ctx.Done():
			return
		case <-n.next:
		}
	}
}

// Run connects to the server, and again after failures, until ctx ends. It calls changed
// when the tools have changed. A server's program has ended when Run returns.
func (s *Server) Run(ctx context.Context, changed func()) {
	log := s.config.Log.With("server", s.file.Name)
	m, renewals := &manner{patience: cmp.Or(s.config.Patience, firstPatience)}, 0
	for tries := 1; ; tries++ {
		s.update(func(n *state) { n.phase, n.retry = Trying, time.Time{} })
		since, login := time.Now(), mark(ctx, s.login)
		reached, useful, err := s.serve(ctx, m, changed)
		switch {
		case ctx.Err() != nil:
			s.update(func(n *state) { n.phase, n.err, n.renewing, n.over = Away, nil, false, true })
			return
		case !reached:
			m.legacy, m.patience = !m.legacy, laterPatience // some older servers crash when offered the newer protocol
		case useful || time.Since(since) >= settled:
			tries, renewals = 1, 0
		}
		if expired(err) && renewals < maxRenewals {
			renewals++
			log.InfoContext(ctx, "MCP server has forgotten the session; another one begins")
			continue
		}
		err = s.tell(err)
		if needed := (*oauth.NeededError)(nil); errors.As(err, &needed) {
			s.update(func(n *state) { n.phase, n.err = Stopped, err })
			log.WarnContext(ctx, "MCP server waits for a login", "error", err)
			awaitLogin(ctx, s.login, login)
			tries, *m = 0, manner{patience: cmp.Or(s.config.Patience, firstPatience)}
			continue
		}
		if hopeless(err) || tries >= maxTries && len(s.file.Command) > 0 {
			s.update(func(n *state) { n.phase, n.err, n.renewing = Stopped, err, false })
			log.ErrorContext(ctx, "MCP server stopped; it is tried again when its file is loaded again", "tries", tries,
				"error", err)
			<-ctx.Done()
			return
		}
		pause := pauseAfter(tries)
		s.update(func(n *state) {
			n.phase, n.err, n.retry = Away, err, time.Now().Add(pause)
			n.renewing = false
			n.restarts++
		})
		if tries == 1 {
			log.WarnContext(ctx, "MCP server is away", "error", err, "retry", pause)
		}
		sleep.For(ctx, pause)
	}
}

// pauseAfter returns the pause after some failures in a row: it doubles each time, and up
// to half of it is random.
func pauseAfter(tries int) time.Duration {
	pause := min(firstPause<<min(tries-1, 16), lastPause)
	return pause/2 + rand.N(pause/2)
}

// hopeless reports whether trying again cannot help.
func hopeless(err error) bool {
	return errors.Is(err, sandbox.ErrRefused) || errors.Is(err, sandbox.ErrNotFound) || errors.Is(err, errUnauthorized)
}

// expired reports whether a service has forgotten a session that it had opened.
func expired(err error) bool {
	return errors.Is(err, wire.ErrExpired) || errors.Is(err, sdk.ErrSessionMissing)
}

// serve connects and keeps the tools up to date until a failure. It reports whether it
// reached the server, and whether that has answered a call.
func (s *Server) serve(ctx context.Context, m *manner, changed func()) (reached, useful bool, err error) {
	c, err := s.connect(ctx, m, "")
	if err != nil {
		return false, false, err
	}
	defer func() {
		s.update(func(n *state) { n.phase, n.connection, n.renewing = Away, nil, expired(err) })
		c.close()
		s.people.wait()
	}()
	err = s.keep(ctx, c, changed)
	return true, c.useful.Load(), err
}

// keep lists the tools whenever they may have changed.
func (s *Server) keep(ctx context.Context, c *connection, changed func()) error {
	look := time.NewTicker(lookEvery)
	defer look.Stop()
	for {
		listed, poll, err := c.list(ctx, s.wanted)
		if err != nil {
			return c.explain(err)
		}
		at, next := time.Now(), time.After(poll)
		for fresh := true; fresh; {
			_, pins, _ := s.config.Pins.know(s.file.Name)
			began := time.Now()
			s.take(ctx, c, listed, changed)
			// Spend at most a tenth of a core on judging, however often the server changes.
			pause := max(listPause, 10*time.Since(began))
			for same := true; same; {
				select {
				case <-ctx.Done():
					return ctx.Err()
				case err := <-c.dead:
					return c.explain(err)
				case <-c.expired:
					return wire.ErrExpired
				case <-next:
					fresh, same = false, false
				case <-s.poke:
					next = time.After(pause - time.Since(at))
				case <-look.C:
					_, _, _ = s.config.Pins.know(s.file.Name) // closes the channel if another process has changed the pins
				case <-pins:
					same = false
				}
			}
		}
	}
}

// take turns the server's list into the tools that may be used.
func (s *Server) take(ctx context.Context, c *connection, listed *listing, changed func()) {
	known, _, err := s.config.Pins.know(s.file.Name)
	offers, refused, repaired := s.inspect(listed.tools, known, c.program)
	if err == nil {
		known, err = s.config.Pins.offer(s.file.Name, s.identity, offers)
	}
	for _, o := range offers {
		if _, ok := known[o.name]; !ok && err == nil {
			refused = append(refused, RefusedTool{o.name,
				fmt.Sprintf("the server has shown more than %d different tools by now", maxPinned)})
		}
	}
	before := s.state.Load()
	s.update(func(n *state) {
		n.phase, n.connection, n.err, n.refused, n.repaired, n.listed, n.renewing = Connected, c, err, refused,
			repaired, listed, false
		n.repairs = c.wire.Repairs()
		if err == nil {
			n.set(s, known)
		}
	})
	now := s.state.Load()
	if before.phase != Connected || len(before.tools) != len(now.tools) {
		s.config.Log.InfoContext(ctx, "MCP server connected", "server", s.file.Name, "protocol", c.version, "tools",
			len(now.tools), "refused", len(refused))
		if listed.leftOut > 0 {
			const many = "MCP server lists more tools than etui takes; the key include of its file chooses"
			s.config.Log.WarnContext(ctx, many,
				"server", s.file.Name, "taken", maxTools, "left out", listed.leftOut)
		}
	}
	if len(repaired) > 0 && !slices.Equal(before.repaired, repaired) {
		s.config.Log.InfoContext(ctx, "MCP server's definitions were repaired", "server", s.file.Name, "repairs",
			repaired)
	}
	if len(now.repairs) > len(before.repairs) {
		s.config.Log.InfoContext(ctx, "MCP server keeps to the protocol loosely; its messages are repaired",
			"server", s.file.Name, "repaired", strings.Join(now.repairs, "; "))
	}
	if !slices.Equal(before.tools, now.tools) {
		changed()
	}
}

// inspect inspects all listed tools and refuses those that cannot be used.
func (s *Server) inspect(listed []*sdk.Tool, known map[string]pin, program string) (offers []offer,
	refused []RefusedTool, repaired []string) {
	own, size := map[string]bool{}, 0
	var definitions *scan.Definitions
	for _, t := range listed {
		own[strings.ToLower(t.Name)] = true
	}
	taken := map[string]string{} // by the names that models read: the tool that has it
	for _, name := range slices.Sorted(maps.Keys(known)) {
		if known[name].Accepted != nil && taken[s.toolName(name)] == "" {
			taken[s.toolName(name)] = name
		}
	}
	seen, repairs := map[string]bool{}, map[string][]string{}
	for _, t := range listed {
		if !s.wanted(t.Name) {
			continue
		}
		o := inspect(t, s.identity)
		if o.definition != nil {
			o.definition.Program = program
			o.definition.hide(s.redactor)
		}
		other := taken[s.toolName(t.Name)]
		switch {
		case seen[t.Name] && t.Name != "":
			o.refused = errors.New("the server lists this name more than once; the first of them counts")
		case o.refused != nil:
		case other != "" && other != t.Name:
			o.refused = fmt.Errorf("models would read the name of its tool %q for it, too",
				cut.Words(printable.OneLine(other), 80))
		case s.code != nil && folded(t.Name) == codeTool:
			o.refused = errors.New("etui has a tool of this name")
		case size+o.definition.size > maxDefinitions:
			o.refused = fmt.Errorf("the tools of the server have more than %d bytes together", maxDefinitions)
		}
		seen[t.Name] = true
		if o.refused != nil {
			refused = append(refused, RefusedTool{cut.Words(printable.Text(t.Name), 80), o.refused.Error()})
			continue
		}
		taken[s.toolName(t.Name)] = t.Name
		size += o.definition.size
		for _, repair := range o.repairs {
			repairs[repair] = append(repairs[repair], t.Name)
		}
		if !known[t.Name].has(o.definition) { // known definitions were judged before
			if definitions == nil {
				definitions = scan.NewDefinitions()
			}
			o.findings = definitions.Judge(words(t), own)
		}
		offers = append(offers, o)
	}
	return offers, slices.Compact(refused), sentences(repairs)
}

// The most that is said of what was repaired.
const (
	maxRepairs = 40
	maxNamed   = 5 // tools of one repair
)

// sentences say what was repaired, and of which tools.
func sentences(repairs map[string][]string) (list []string) {
	for _, repair := range slices.Sorted(maps.Keys(repairs)) {
		if len(list) == maxRepairs {
			return append(list, fmt.Sprintf("and %d further repairs", len(repairs)-maxRepairs))
		}
		named := repairs[repair]
		more := ""
		if len(named) > maxNamed {
			more = fmt.Sprintf(" and %d more", len(named)-maxNamed)
		}
		var names []string
		for _, name := range named[:min(len(named), maxNamed)] {
			names = append(names, cut.Words(printable.OneLine(name), 60))
		}
		list = append(list, strings.Join(names, ", ")+more+": "+repair)
	}
	return list
}

// folded returns a name in the form in which two names that look alike are the same.
func folded(name string) string {
	return strings.ReplaceAll(strings.ToLower(strings.Join(strings.Fields(norm.NFKC.String(name)), " ")), "-", "_")
}

// toolName returns the name by which models call a tool.
func (s *Server) toolName(name string) string {
	return s.prefix() + foreign.Name(name, maxName-len(s.prefix()))
}

func (s *Server) prefix() string { return "mcp__" + s.file.Name + "__" }

// original returns the server's own name after the server's, if models read another one.
func (s *Server) original(name string) string {
	if own := s.prefix() + name; own != s.toolName(name) {
		return printable.OneLine(own)
	}
	return ""
}

// wanted reports whether the skill's file includes a tool, by either name.
func (s *Server) wanted(name string) bool {
	shown := strings.TrimPrefix(s.toolName(name), s.prefix())
	fits := func(pattern string) bool {
		own, _ := path.Match(pattern, name)
		read, _ := path.Match(pattern, shown)
		return own || read || pattern == name
	}
	return (len(s.file.Include) == 0 || slices.ContainsFunc(s.file.Include, fits)) &&
		!slices.ContainsFunc(s.file.Exclude, fits)
}

// set makes the tools from the pins.
func (n *state) set(s *Server, known map[string]pin) {
	before := n.byName
	n.tools, n.byName, n.held = nil, map[string]*serverTool{}, map[string]string{}
	taken := map[string]bool{} // the names that models read
	for _, name := range slices.Sorted(maps.Keys(known)) {
		p := known[name]
		if p.Accepted == nil || !p.Listed || !s.wanted(name) || taken[s.toolName(name)] {
			continue
		}
		taken[s.toolName(name)] = true
		t, about := before[name], ""
		if n.listed != nil {
			about = s.redactor.Text(printable.Text(n.listed.about[name]))
		}
		if t == nil || t.hash != p.Accepted.Hash || t.about != about {
			t = s.newTool(name, p.Accepted, about)
		}
		n.tools, n.byName[name] = append(n.tools, t), t
		switch {
		case p.Offered != nil:
			n.held[name] = strings.Join(p.Why, "; ")
		case p.Accepted.Server != s.identity:
			n.held[name] = "the server is another one now"
		}
	}
	if s.code != nil {
		n.tools = append(n.tools, s.code)
		slices.SortFunc(n.tools, func(a,
			b tool.Tool) int {
			return strings.Compare(a.Definition().Name, b.Definition().Name)
		})
	}
}

// Status is the state of a server, for the operator.
type Status struct {
	Server string `json:"server"`
	// Identity is the command line or the endpoint.
	Identity string `json:"identity"`
	Phase    Phase  `json:"phase"`
	// Protocol is the version in use; empty while not connected.
	Protocol string `json:"protocol,omitempty"`
	// Tools are the names of the tools that may be used.
	Tools []string `json:"tools"`
	// Originals are the server's own names of tools that models call otherwise, after the
	// server's, by the names that models read.
	Originals map[string]string `json:"originals,omitempty"`
	// Repaired says what was repaired in the server's definitions, and of which tools.
	Repaired []string `json:"repaired,omitempty"`
	// Read, Write and Network are what the sandbox grants its program. The first folder of
	// Write is its private one.
	Read    []string `json:"read,omitempty"`
	Write   []string `json:"write,omitempty"`
	Network []string `json:"network,omitempty"`
	// Held are the definitions that wait for approval, Refused the tools that cannot be
	// used at all.
	Held    []HeldDefinition `json:"held,omitempty"`
	Refused []RefusedTool    `json:"refused,omitempty"`
	// LeftOut is how many further tools the server lists, beyond what etui takes of one
	// server. The key include chooses others.
	LeftOut int `json:"left_out,omitempty"`
	// Noise says what the program wrote to its standard output that is no message, and was
	// skipped; empty if nothing.
	Noise string `json:"noise,omitempty"`
	// Loose says in what the server does not keep to the protocol, and was understood anyway.
	Loose []string `json:"loose,omitempty"`
	// Login says that the server waits for etui mcp login.
	Login bool `json:"login,omitempty"`
	// Err is the last failure; empty after a success.
	Err string `json:"error,omitempty"`
	// Retry is when Run tries the server again; zero if it does not.
	Retry time.Time `json:"retry,omitzero"`
	// Restarts counts the attempts after the first one.
	Restarts int `json:"restarts"`
}

// Status returns the current state of the server.
func (s *Server) Status() Status {
	n := s.state.Load()
	st := Status{
		Server: s.file.Name, Identity: s.identity, Phase: n.phase,
		Tools: []string{}, Refused: n.refused, Repaired: n.repaired, Retry: n.retry, Restarts: n.restarts,
	}
	if len(s.file.Command) > 0 {
		st.Read, st.Write, st.Network = s.readable(), s.writable(), s.file.Network
	}
	if n.connection != nil {
		st.Protocol = n.connection.version
		st.Noise = s.redactor.Text(printable.OneLine(n.connection.wire.Noise()))
		st.Loose = n.connection.wire.Repairs()
	}
	if n.listed != nil {
		st.LeftOut = n.listed.leftOut
	}
	for _, t := range n.tools {
		d := t.Definition()
		st.Tools = append(st.Tools, d.Name)
		if d.Original != "" {
			if st.Originals == nil {
				st.Originals = map[string]string{}
			}
			st.Originals[d.Name] = d.Original
		}
	}
	held, err := s.config.Pins.Held(s.file.Name)
	st.Held = held
	if err = errors.Join(n.err, err); err != nil {
		st.Err, st.Login = s.tell(err).Error(), errors.As(err, new(*oauth.NeededError))
	}
	return st
}

// RefusedTool is a tool of a server that cannot be used.
type RefusedTool struct {
	Tool string `json:"tool"`
	Why  string `json:"why"`
}
