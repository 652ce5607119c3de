package turn

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/etui-run/etui/catalog"
	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/internal/cut"
	"github.com/etui-run/etui/internal/nearjson"
	"github.com/etui-run/etui/selection"
	"github.com/etui-run/etui/selection/meta"
	"github.com/etui-run/etui/tool"
)

// metaTools are the tools that the selection declares itself. They reveal only what the
// caller may use.
type metaTools struct {
	conv  *conversation
	front *front
}

const (
	maxLine     = 160 // characters of a tool's description in an answer
	groupTokens = 150 // of the groups that are named when nothing was found
)

// find answers a search with a signature and a line for each tool. It also returns the
// queries that found each tool.
func (m *metaTools) find(args json.RawMessage) (chat.Result, map[string][]string) {
	f := m.front
	queries, limit := meta.Queries(args)
	if len(queries) == 0 {
		return tool.Failure(`%s needs {"queries": ["what the tool should do"]}`, selection.FindTools), nil
	}
	var found []*catalog.Entry
	by := map[string][]string{}
	var missed []string
	for _, query := range queries {
		req := f.selected.Request
		req.Query, req.Vector = query, f.runner.vector(m.conv.ctx, query, m.conv.in.Again)
		matches := append(f.selector.Search(req, limit), f.offered.Search(query, limit)...)
		if len(matches) == 0 {
			missed = append(missed, fmt.Sprintf("%q", query))
		}
		for _, match := range matches {
			by[match.Definition.Name] = append(by[match.Definition.Name], query)
			if len(found) < meta.MaxFound && !slices.Contains(found, match.Entry) {
				found = append(found, match.Entry)
			}
		}
	}
	var text strings.Builder
	for _, e := range found {
		fmt.Fprintf(&text, "%s\n  %s\n", selection.Signature(e.Definition), cut.Line(e.Definition.Description, maxLine))
	}
	switch {
	case len(found) == 0:
		fmt.Fprintf(&text, "No tool matches. Try other words, or answer without a tool. There are %d tools: %s.",
			len(f.selected.Usable()), f.selected.Groups(groupTokens))
	case len(missed) > 0:
		fmt.Fprintf(&text, "No tool matches %s. ", strings.Join(missed, ", "))
	}
	if len(found) > 0 {
		text.WriteString("Call one with call_tool.")
	}
	text.WriteString(m.findSkills(queries))
	return m.loading(text.String(), found...), by
}

// loading returns a result that describes tools. In native mode it names them, so that
// the provider loads their definitions.
func (m *metaTools) loading(text string, described ...*catalog.Entry) chat.Result {
	r := tool.Text(text)
	if m.front.selected.Mode == selection.Native {
		for _, e := range described {
			r.Tools = append(r.Tools, e.Definition.Name)
		}
	}
	return r
}

// describe describes one tool in full.
func (m *metaTools) describe(args json.RawMessage) chat.Result {
	raw, _ := nearjson.Object(args) // without arguments it stays empty
	in, _ := meta.ReadDescribeTool(raw)
	name := in.Name
	if name == "" {
		return tool.Failure(`%s needs {"name": "…"}`, selection.DescribeTool)
	}
	if own, ok := m.front.offered.Get(name); ok && !m.front.owns(name) {
		return m.loading(described(own.Definition), own)
	}
	g := m.front.gate()
	now := g.now()
	entry, stage := g.admit(now, name)
	if entry == nil || !stage.Usable() {
		g.recordRefusal(m.conv.ctx, now, name, entry, stage, raw)
		return g.nameless(name)
	}
	return m.loading(described(entry.Definition), entry)
}

func described(d tool.Definition) string {
	return fmt.Sprintf("%s: %s\nParameters: %s\nCall it with call_tool.", d.Name, d.Description, d.Schema())
}
