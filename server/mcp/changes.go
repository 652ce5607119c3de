package mcp

import (
	"context"
	"encoding/json"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/etui-run/etui/catalog"
	"github.com/etui-run/etui/engine"
	"github.com/etui-run/etui/internal/panics"
)

// maxListening is how many streams wait for changes of lists, and eachListening how many of one sender.
const maxListening, eachListening = 512, 16

// settles is how long changes may follow each other before a client hears of them.
const settles = 100 * time.Millisecond

// changes tells streams that the catalog has changed.
type changes struct {
	watch   sync.Once // from the first stream on
	mu      sync.Mutex
	all     int
	of      map[string]int // streams by sender
	changed chan struct{}  // closed by the next change; nil while nobody waits
}

// tell says that there is another catalog.
func (c *changes) tell(*catalog.Catalog) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.changed != nil {
		close(c.changed)
		c.changed = nil
	}
}

// next returns a channel that the next change closes.
func (c *changes) next() <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.changed == nil {
		c.changed = make(chan struct{})
	}
	return c.changed
}

// enter counts a stream, unless there are too many.
func (c *changes) enter(m engine.Message) (leave func(), ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	who := m.Client + "\n" + m.User + m.As
	if c.all >= maxListening || c.of[who] >= eachListening {
		return nil, false
	}
	if c.of == nil {
		c.of = map[string]int{}
	}
	c.all++
	c.of[who]++
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.all--
		if c.of[who]--; c.of[who] == 0 {
			delete(c.of, who)
		}
	}, true
}

// listens reports whether a request waits for notifications.
func listens(body []byte) bool {
	var said struct {
		Method string `json:"method"`
	}
	return json.Unmarshal(body, &said) == nil && said.Method == "subscriptions/listen"
}

// listener returns what speaks to a client that waits for changes of its list, until the connection ends.
func (s *Server) listener(c caller) *mcp.Server {
	s.changes.watch.Do(func() { s.engine.Watch(s.changes.tell) })
	server, changed := s.speaker(true), s.changes.next()
	known := s.listed(c)
	go func() {
		defer panics.Log(s.log, "telling of changes")
		for {
			select {
			case <-c.connection.Done():
				return
			case <-changed:
			}
			changed = s.changes.next() // one that comes now is not missed
			select {
			case <-c.connection.Done():
				return
			case <-time.After(settles):
			}
			if now := s.listed(c); now != known {
				known = now
				server.AddTool(callTool, s.call) // the library tells of that
			}
		}
	}()
	return server
}

// listed returns the list of a client as JSON; empty if it cannot have it now.
func (s *Server) listed(c caller) string {
	list, err := s.listTools(context.WithoutCancel(c.connection), c.Message)
	if err != nil {
		return ""
	}
	raw, _ := json.Marshal(list) // it is an answer
	return string(raw)
}
