// Package offered chooses which of the tools that a client brings a model sees, as the selection does
// with those of etui: by the words of the message, and the same ones from message to message, so that
// the provider's prompt cache holds. The model finds and calls the others like those of etui.
package offered

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/etui-run/etui/catalog"
	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/clienttool"
	"github.com/etui-run/etui/internal/recent"
	"github.com/etui-run/etui/selection"
	"github.com/etui-run/etui/tool"
)

// maxMade is how many selectors are kept for the next message with the same tools. The oldest is
// forgotten, and made again when it is needed.
const maxMade = 8

// Chooser chooses. It is safe for concurrent use.
type Chooser struct {
	made *recent.Cache[[sha256.Size]byte, *selection.Selector]
}

// New returns a chooser.
func New() *Chooser { return &Chooser{recent.New[[sha256.Size]byte, *selection.Selector](maxMade)} }

// Choice is what a message gets of the client's tools. The zero value hides none of them.
type Choice struct {
	*selection.Selection
	selector *selection.Selector
}

// Choose chooses beside the selection of etui's own tools, which is from s, and has desk show these tools
// alone. Before names the tools that the session's requests begin with, and kept are its messages that
// are still sent. If desk does not choose, nothing is hidden.
func (c *Chooser) Choose(
	desk *clienttool.Desk, s *selection.Selector, own *selection.Selection, before []string, kept []chat.Message,
) Choice {
	if !desk.Selected || len(desk.All()) == 0 {
		return Choice{}
	}
	of := c.selector(desk, s)
	asked := &own.Request
	req := selection.Request{
		Query: asked.Query, History: asked.History, Limit: asked.Limit, Budget: asked.Budget, Window: asked.Window,
		Uncached: asked.Uncached, Cold: asked.Cold, Declared: before, Announced: asked.Announced, Called: called(kept),
		Native: own.Mode == selection.Native,
	}
	switch {
	case own.Mode == selection.Bridge:
		req.Mode = selection.Bridge
	case len(before) == 0:
	case !slices.Contains(before, selection.FindTools): // it hid none
		req.Began = selection.Direct
	case req.Native:
		req.Began = selection.Native
	default:
		req.Began = selection.Preselect
	}
	chosen := Choice{of.Select(req), of}
	desk.Show(chosen.Names(), names(chosen.Deferred), func(name string) bool {
		_, there := of.Catalog().Get(name)
		return there
	})
	return chosen
}

// selector returns a selector of the client's tools. Those that etui has a tool of the same name of are
// always shown: a call by that name through another tool would be etui's.
func (c *Chooser) selector(desk *clienttool.Desk, s *selection.Selector) *selection.Selector {
	var pinned []string
	h := sha256.New()
	for _, d := range desk.All() {
		if desk.Name(d.Name) != d.Name {
			pinned = append(pinned, d.Name)
		}
		_, _ = fmt.Fprintf(h, "%q%q%d:%s", d.Name, d.Description, len(d.Parameters), d.Parameters) // never fails
	}
	_, _ = fmt.Fprintf(h, "%q", pinned)
	var key [sha256.Size]byte
	h.Sum(key[:0])
	if known, ok := c.made.Get(key); ok {
		return known
	}
	var list []tool.Tool
	for _, d := range desk.All() {
		if d.Check() == nil && !selection.Meta(d.Name) { // else it is always shown
			list = append(list, clientTool{d})
		}
	}
	r := catalog.NewRegistry(nil)
	_ = r.Register(list...) // they are valid
	made := s.Of(r.Catalog(), pinned...)
	c.made.Put(key, made)
	return made
}

// called returns the client's tools that messages call, each once, in order.
func called(messages []chat.Message) (names []string) {
	for _, m := range messages {
		for _, c := range m.Calls {
			if c.Client && !slices.Contains(names, c.Name) {
				names = append(names, c.Name)
			}
		}
	}
	return names
}

// Names returns the names of the tools that requests begin with, for the next choice of the session, and
// those of the tools that find and call the others.
func (c Choice) Names() []string {
	if c.Selection == nil {
		return nil
	}
	return names(c.Declared)
}

func names(entries []*catalog.Entry) (names []string) {
	for _, e := range entries {
		names = append(names, e.Definition.Name)
	}
	return names
}

// Search finds tools of the client by a query.
func (c Choice) Search(query string, limit int) []selection.Match {
	if c.Selection == nil {
		return nil
	}
	return c.selector.Search(selection.Request{Query: query}, limit)
}

// Get returns a tool of the client that the choice may hide.
func (c Choice) Get(name string) (*catalog.Entry, bool) {
	if c.Selection == nil {
		return nil, false
	}
	return c.selector.Catalog().Get(name)
}

// Add adds the tools that messages announce, and the ones that find and call them, to those of etui.
func (c Choice) Add(declared, announced, named []*catalog.Entry) (d, a, n []*catalog.Entry) {
	if c.Selection == nil {
		return declared, announced, named
	}
	for _, e := range c.Declared {
		if selection.Meta(e.Definition.Name) && !slices.Contains(declared, e) {
			declared = append(slices.Clip(declared), e)
		}
	}
	return declared, slices.Concat(announced, c.Announced), slices.Concat(named, c.Named)
}

// clientTool is a tool of the client, which never runs here.
type clientTool struct{ definition tool.Definition }

func (h clientTool) Definition() tool.Definition { return h.definition }

func (clientTool) Call(context.Context, json.RawMessage) (chat.Result, error) {
	return chat.Result{}, errors.New("it is the client's tool")
}
