package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
)

// Shared is where several etui keep together what they accepted of servers. Offers, and the
// definitions that are held back, stay with each etui.
type Shared interface {
	// Read returns what was accepted, by server.
	Read(ctx context.Context) (map[string]json.RawMessage, error)
	// Change replaces what was accepted of a server by what change makes of it, while
	// nobody else changes it. Nil is nothing. It may run change twice.
	Change(ctx context.Context, server string, change func(json.RawMessage) (json.RawMessage, error)) error
	// Changed receives a value when something may have changed.
	Changed() <-chan struct{}
}

// NewSharedPins returns pins as [NewPins] does, of which several etui share what is accepted:
// what one accepts, all accept, and nobody accepts another definition at first sight.
func NewSharedPins(path string, s Shared) *Pins {
	p := NewPins(path)
	p.shared, p.news, p.stale = s, s.Changed(), true
	return p
}

// refresh takes over what others have accepted. Until that has worked once, nothing can be
// accepted; later, what was accepted stays while the others cannot be asked.
func (p *Pins) refresh() error {
	if p.shared == nil {
		return nil
	}
	select {
	case <-p.news:
		p.stale = true
	default:
	}
	if !p.stale {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), lockWait)
	defer cancel()
	all, err := p.shared.Read(ctx)
	if err != nil {
		if p.accepted == nil {
			return fmt.Errorf("reading what was accepted of MCP servers: %w", err)
		}
		return nil // it is tried again
	}
	changed := false
	for server, raw := range all {
		if bytes.Equal(raw, p.accepted[server]) {
			continue
		}
		if err := p.content.accept(server, raw); err != nil {
			return err
		}
		changed = true
	}
	if p.accepted, p.stale = all, false; changed {
		p.announce()
	}
	return nil
}

// editShared changes the content, and with it what all have accepted of a server, if that
// changes.
func (p *Pins) editShared(server string, change func(*pinFile) (bool, error)) (changed bool, err error) {
	next, err := p.content.apart(server)
	if err != nil {
		return false, err
	}
	if changed, err = change(&next); err != nil {
		return false, err
	}
	raw, err := next.accepted(server)
	if err != nil {
		return false, err
	}
	if !bytes.Equal(raw, p.accepted[server]) {
		ctx, cancel := context.WithTimeout(context.Background(), lockWait)
		defer cancel()
		err = p.shared.Change(ctx, server, func(before json.RawMessage) (json.RawMessage, error) {
			if next, err = p.content.apart(server); err != nil {
				return nil, err
			}
			if before != nil {
				if err := next.accept(server, before); err != nil {
					return nil, err
				}
			}
			if _, err := change(&next); err != nil {
				return nil, err
			}
			raw, err = next.accepted(server)
			return raw, err
		})
		if err != nil {
			return false, err
		}
		p.accepted[server], changed = raw, true
	}
	p.content = next
	return changed, nil
}

// apart returns the content with a copy of a server's pins.
func (c *pinFile) apart(server string) (pinFile, error) {
	next := pinFile{Servers: maps.Clone(c.Servers)}
	s := c.Servers[server]
	if s == nil {
		return next, nil
	}
	raw, err := json.Marshal(s)
	if err != nil {
		return next, err
	}
	next.Servers[server] = &pinnedServer{}
	return next, json.Unmarshal(raw, next.Servers[server])
}

// accepted returns what was accepted of a server; nil for nothing.
func (c *pinFile) accepted(server string) (json.RawMessage, error) {
	s := c.Servers[server]
	if s == nil || !s.accepts() {
		return nil, nil
	}
	only := pinnedServer{Server: s.Server, Program: s.Program, Tools: map[string]*pin{}}
	for name, t := range s.Tools {
		if t.Accepted != nil {
			only.Tools[name] = &pin{Accepted: t.Accepted}
		}
	}
	return json.Marshal(only)
}

// accept takes over what others have accepted of a server.
func (c *pinFile) accept(server string, raw json.RawMessage) error {
	parsed, err := parsePins(fmt.Appendf(nil, `{"servers":{"s":%s}}`, raw))
	if err != nil {
		return fmt.Errorf("what was accepted of MCP server %q: %w", server, err)
	}
	theirs, s := parsed.Servers["s"], c.Servers[server]
	if s == nil {
		s = &pinnedServer{Tools: map[string]*pin{}}
		c.Servers[server] = s
	}
	s.Server, s.Program = theirs.Server, theirs.Program
	for name, t := range theirs.Tools {
		own := s.Tools[name]
		if own == nil {
			own = &pin{}
			s.Tools[name] = own
		}
		if own.Accepted = t.Accepted; own.Offered.same(t.Accepted) {
			own.Offered, own.Why = nil, nil
		}
	}
	return nil
}
