package mcp

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/gofrs/flock"

	"github.com/etui-run/etui/internal/atomicfile"
)

// Pins remember which definitions of which servers may be used. The first definition of
// a tool is accepted and pinned unless it looks suspicious. Later definitions are held
// back until a person approves them, and so are all tools of a server whose command line
// or endpoint has changed.
//
// The pins are kept in a file, which several processes may share. It is read and written
// only when necessary, always as a whole. Pins are safe for concurrent use.
type Pins struct {
	path   string
	shared Shared          // nil: nobody shares what is accepted
	news   <-chan struct{} // of shared

	mu      sync.Mutex
	content pinFile
	stamp   stamp         // of the file that content was read from
	broken  error         // why the file could not be read
	changed chan struct{} // closed when the content changes

	accepted map[string]json.RawMessage // in shared, as it was read last; nil before
	stale    bool                       // accepted may have changed
}

// pinFile is the content of the file, by server and tool.
type pinFile struct {
	Servers map[string]*pinnedServer `json:"servers"`
}

type pinnedServer struct {
	// Server is the command line or endpoint that was accepted.
	Server string `json:"server"`
	// Program is the program that was accepted, see Definition; empty before it is known.
	Program string          `json:"program,omitempty"`
	Tools   map[string]*pin `json:"tools"`
}

// pin is the state of a tool.
type pin struct {
	// Accepted may be used; nil if no definition was accepted yet.
	Accepted *Definition `json:"accepted,omitempty"`
	// Offered is the server's newer definition, held back because of Why.
	Offered *Definition `json:"offered,omitempty"`
	Why     []string    `json:"why,omitempty"`
	// Listed says that the tool was in the server's last list.
	Listed bool `json:"listed"`
}

// has reports whether a definition has been judged before.
func (t pin) has(d *Definition) bool {
	return t.Accepted != nil && t.Accepted.Hash == d.Hash ||
		t.Offered != nil && t.Offered.Hash == d.Hash && t.Offered.Program == d.Program
}

// same reports whether a definition is another one, of the same program.
func (d *Definition) same(other *Definition) bool {
	return d != nil && d.Hash == other.Hash && d.Program == other.Program
}

// HeldDefinition is a definition that is held back until a person approves it.
type HeldDefinition struct {
	Server string `json:"server"`
	Tool   string `json:"tool"`
	// Why are the reasons, as sentences.
	Why []string `json:"why"`
	// Offered is the definition in question. Accepted is the one before it, or nil.
	Offered  *Definition `json:"offered"`
	Accepted *Definition `json:"accepted,omitempty"`
}

// maxPinned is how many tools of a server are remembered. Further ones are refused, so
// that a server cannot push its own pins out.
const maxPinned = 1024

const (
	maxPinsFile = 64 << 20
	lockWait    = 5 * time.Second
)

type stamp struct {
	modified time.Time
	size     int64
}

// NewPins returns the pins in a file, which need not exist yet. Without a path the pins
// are kept in memory only.
func NewPins(path string) *Pins { return &Pins{path: path, changed: make(chan struct{})} }

// Approve accepts the held definitions of some tools of a server. A name may carry the
// beginning of a hash, as in "add@sha256:1f2e", and then approves that definition only.
func (p *Pins) Approve(server string, tools ...string) error {
	return p.approve(server, func([]HeldDefinition) []string { return tools })
}

// ApproveAll accepts all held definitions of a server, and returns the names of their
// tools.
func (p *Pins) ApproveAll(server string) (tools []string, err error) {
	err = p.approve(server, func(held []HeldDefinition) []string {
		tools = nil
		for _, h := range held {
			tools = append(tools, h.Tool)
		}
		return tools
	})
	return tools, err
}

func (p *Pins) approve(server string, choose func(held []HeldDefinition) []string) error {
	return p.edit(server, func(c *pinFile) (bool, error) {
		s := c.Servers[server]
		held := c.held(server)
		if s == nil || len(held) == 0 {
			return false, fmt.Errorf("nothing of server %q is held back", server)
		}
		var chosen []*pin // all names are checked before the first pin changes
		for _, name := range choose(held) {
			hash := ""
			if at := strings.LastIndexByte(name, '@'); s.Tools[name] == nil && at >= 0 {
				name, hash = name[:at], name[at+1:]
			}
			t := s.Tools[name]
			switch {
			case t == nil || t.Offered == nil:
				return false, fmt.Errorf("tool %q of server %q is not held back; held back are: %s", name, server,
					names(held))
			case !strings.HasPrefix(t.Offered.Hash, hash):
				return false, fmt.Errorf("tool %q of server %q has changed again: it is %s now", name, server,
					t.Offered.Hash)
			}
			if !slices.Contains(chosen, t) {
				chosen = append(chosen, t)
			}
		}
		for _, t := range chosen {
			s.Server, s.Program = t.Offered.Server, t.Offered.Program
			t.Accepted, t.Offered, t.Why = t.Offered, nil, nil
		}
		return true, nil
	})
}

// Held returns the held definitions of a server, or of all servers if none is named,
// sorted by server and tool.
func (p *Pins) Held(server string) ([]HeldDefinition, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := p.read(); err != nil {
		return nil, err
	}
	return p.content.held(server), nil
}

func (c *pinFile) held(server string) (list []HeldDefinition) {
	for _, name := range slices.Sorted(maps.Keys(c.Servers)) {
		if server != "" && server != name {
			continue
		}
		tools := c.Servers[name].Tools
		for _, t := range slices.Sorted(maps.Keys(tools)) {
			if pin := tools[t]; pin.Offered != nil {
				list = append(list, HeldDefinition{name, t, pin.Why, pin.Offered, pin.Accepted})
			}
		}
	}
	return list
}

func names(held []HeldDefinition) string {
	list := make([]string, len(held))
	for i, h := range held {
		list[i] = h.Tool
	}
	return strings.Join(list, ", ")
}

// offer updates the pins with a server's current offers, without refused ones, and
// returns the pin of each tool.
func (p *Pins) offer(server, identity string, offers []offer) (tools map[string]pin, err error) {
	err = p.edit(server, func(c *pinFile) (bool, error) {
		s := c.Servers[server]
		if s == nil {
			s = &pinnedServer{Server: identity, Tools: map[string]*pin{}}
			c.Servers[server] = s
		}
		changed := s.offer(identity, offers)
		tools = s.known()
		return changed, nil
	})
	return tools, err
}

func (s *pinnedServer) offer(identity string, offers []offer) (changed bool) {
	if !s.accepts() && s.Server != identity {
		s.Server, s.Program, changed = identity, "", true
	}
	if len(offers) > 0 && s.Program == "" && s.Server == identity && offers[0].definition.Program != "" {
		s.Program, changed = offers[0].definition.Program, true
		for _, t := range s.Tools { // they were accepted before programs were pinned
			if t.Accepted != nil && t.Accepted.Program == "" {
				t.Accepted.Program = s.Program
			}
		}
	}
	listed, accepted := map[string]bool{}, map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(s.Tools)) {
		if s.Tools[name].Accepted != nil {
			accepted[folded(name)] = name
		}
	}
	for _, o := range offers {
		listed[o.name] = true
		t := s.Tools[o.name]
		if t == nil {
			if len(s.Tools) >= maxPinned {
				continue
			}
			t = &pin{}
			s.Tools[o.name] = t
		}
		if other := accepted[folded(o.name)]; t.Accepted == nil && other != "" && other != o.name {
			o.like = other
		}
		changed = t.offer(o, s, identity) || changed
		if t.Accepted != nil && accepted[folded(o.name)] == "" {
			accepted[folded(o.name)] = o.name
		}
	}
	for name, t := range s.Tools {
		if t.Listed != listed[name] {
			t.Listed, changed = listed[name], true
		}
	}
	return changed
}

// accepts reports whether any tool of the server was ever accepted.
func (s *pinnedServer) accepts() bool {
	for _, t := range s.Tools {
		if t.Accepted != nil {
			return true
		}
	}
	return false
}

// offer judges one definition, and reports whether the pin has changed.
func (t *pin) offer(o offer, s *pinnedServer, identity string) bool {
	switch {
	case t.Accepted.same(o.definition):
		withdrawn := t.Offered != nil
		t.Offered, t.Why = nil, nil
		return withdrawn
	case t.Offered.same(o.definition):
		return false
	}
	var why []string
	switch {
	case s.Server != identity:
		why = append(why, fmt.Sprintf("the server was %q and is %q now", s.Server, identity))
	case s.Program != o.definition.Program && s.Program != "":
		why = append(why, fmt.Sprintf("the server's program has changed: it was %s and is %s now", s.Program,
			cmp.Or(o.definition.Program, "unknown")))
	case t.Accepted != nil:
		why = append(why, "its definition is not the one that was accepted")
	}
	if o.like != "" {
		why = append(why, fmt.Sprintf("its name looks like that of %s, which was accepted before", o.like))
	}
	for _, f := range o.findings {
		why = append(why, fmt.Sprintf("its %s %s: %q", f.Place, f.Why, f.Text))
	}
	if len(why) == 0 {
		t.Accepted, t.Offered = o.definition, nil
		return true
	}
	t.Offered, t.Why = o.definition, why
	return true
}

// known returns a copy of the pins of a server's tools.
func (s *pinnedServer) known() map[string]pin {
	tools := make(map[string]pin, len(s.Tools))
	for name, t := range s.Tools {
		tools[name] = *t
	}
	return tools
}

// know returns the pins of a server's tools, and a channel that is closed when they may
// have changed.
func (p *Pins) know(server string) (map[string]pin, <-chan struct{}, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	err := p.read()
	if s := p.content.Servers[server]; s != nil && err == nil {
		return s.known(), p.changed, nil
	}
	return nil, p.changed, err
}

// edit changes the content of a server under a lock between processes. It may run change
// twice, on the same content.
func (p *Pins) edit(server string, change func(*pinFile) (bool, error)) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.path != "" {
		if err := os.MkdirAll(filepath.Dir(p.path), 0o700); err != nil {
			return fmt.Errorf("making the folder of the pins: %w", err)
		}
		lock := flock.New(p.path+".lock", flock.SetPermissions(0o600))
		ctx, cancel := context.WithTimeout(context.Background(), lockWait)
		defer cancel()
		if ok, err := lock.TryLockContext(ctx, lockWait/200); !ok {
			return fmt.Errorf("locking the pins in %s: %w", p.path, err)
		}
		defer func() { _ = lock.Close() }()
	}
	if err := p.read(); err != nil {
		return err
	}
	var changed bool
	var err error
	if p.shared != nil {
		changed, err = p.editShared(server, change)
	} else {
		changed, err = change(&p.content)
	}
	if err == nil && changed {
		err = p.write()
	}
	if err != nil {
		p.stamp = stamp{} // memory and file may differ
		return err
	}
	if changed {
		p.announce()
	}
	return nil
}

func (p *Pins) announce() {
	close(p.changed)
	p.changed = make(chan struct{})
}

// read reloads the content if it has changed elsewhere.
func (p *Pins) read() error {
	if err := p.readFile(); err != nil {
		return err
	}
	return p.refresh()
}

// readFile reloads the content if the file has changed.
func (p *Pins) readFile() error {
	if p.content.Servers == nil {
		p.content.Servers = map[string]*pinnedServer{}
	}
	if p.path == "" {
		return nil
	}
	info, err := os.Stat(p.path)
	if errors.Is(err, fs.ErrNotExist) {
		if p.stamp != (stamp{}) {
			p.content, p.stamp, p.broken = pinFile{Servers: map[string]*pinnedServer{}}, stamp{}, nil
			p.stale, p.accepted = p.shared != nil, nil
			p.announce()
		}
		return nil
	}
	if err != nil {
		return fmt.Errorf("reading the pins: %w", err)
	}
	now := stamp{info.ModTime(), info.Size()}
	if now == p.stamp {
		return p.broken
	}
	if now.size > maxPinsFile {
		return fmt.Errorf("the pins in %s have %d bytes, at most %d are read", p.path, now.size, maxPinsFile)
	}
	raw, err := os.ReadFile(p.path)
	if err != nil {
		return fmt.Errorf("reading the pins: %w", err)
	}
	p.stamp, p.broken = now, nil
	content, err := parsePins(raw)
	if err != nil {
		p.broken = fmt.Errorf("the pins in %s are broken, and no server's tools are accepted until the file is repaired or removed: %w", p.path, err)
		return p.broken
	}
	p.content = content
	p.announce()
	for server, raw := range p.accepted { // it is newer than the file
		if err := p.content.accept(server, raw); err != nil {
			return err
		}
	}
	return nil
}

func parsePins(raw []byte) (c pinFile, err error) {
	d := json.NewDecoder(bytes.NewReader(raw))
	if err := d.Decode(&c); err != nil {
		return c, err
	}
	if c.Servers == nil {
		c.Servers = map[string]*pinnedServer{}
	}
	for server, s := range c.Servers {
		if s == nil || s.Tools == nil {
			return c, fmt.Errorf("server %q has no tools", server)
		}
		for name, t := range s.Tools {
			if t == nil {
				return c, fmt.Errorf("tool %q of server %q is null", name, server)
			}
		}
	}
	return c, nil
}

// write replaces the file.
func (p *Pins) write() error {
	if p.path == "" {
		return nil
	}
	raw, err := json.MarshalIndent(p.content, "", " ")
	if err != nil {
		return fmt.Errorf("writing the pins: %w", err)
	}
	if err := atomicfile.Write(p.path, append(raw, '\n')); err != nil {
		return fmt.Errorf("writing the pins: %w", err)
	}
	if info, err := os.Stat(p.path); err == nil {
		p.stamp = stamp{info.ModTime(), info.Size()}
	}
	return nil
}

// Diff describes how the definition differs from the accepted one: lines that begin
// with - for the old and + for the new.
func (h HeldDefinition) Diff() string {
	before := h.Accepted
	if before == nil {
		before = &Definition{}
	}
	var b strings.Builder
	for _, part := range []struct{ name, before, now string }{
		{"server", before.Server, h.Offered.Server},
		{"program", before.Program, h.Offered.Program},
		{"title", before.Title, h.Offered.Title},
		{"description", before.Description, h.Offered.Description},
		{"parameters", indent(before.Parameters), indent(h.Offered.Parameters)},
		{"annotations", indent(before.Annotations), indent(h.Offered.Annotations)},
	} {
		if part.before != part.now {
			fmt.Fprintf(&b, "%s:\n", part.name)
			diff(&b, strings.Split(part.before, "\n"), strings.Split(part.now, "\n"))
		}
	}
	if b.Len() == 0 {
		return "it differs in what cannot be seen: invisible characters, or what its results look like\n"
	}
	return b.String()
}

func indent(raw json.RawMessage) string {
	var b bytes.Buffer
	if json.Indent(&b, raw, "", "  ") != nil {
		return string(raw)
	}
	return b.String()
}

// diff drops equal lines at the beginning and the end.
func diff(b *strings.Builder, before, now []string) {
	for len(before) > 0 && len(now) > 0 && before[0] == now[0] {
		before, now = before[1:], now[1:]
	}
	for len(before) > 0 && len(now) > 0 && before[len(before)-1] == now[len(now)-1] {
		before, now = before[:len(before)-1], now[:len(now)-1]
	}
	for _, line := range before {
		if line != "" {
			fmt.Fprintf(b, "  - %s\n", line)
		}
	}
	for _, line := range now {
		if line != "" {
			fmt.Fprintf(b, "  + %s\n", line)
		}
	}
}
