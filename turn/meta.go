package turn

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/etui-run/etui/catalog"
	"github.com/etui-run/etui/chat"
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
	maxQueries  = 5   // in one search
	maxFound    = 20  // tools in one answer
	perQuery    = 5   // tools for one query, unless the model asks for more or fewer
	maxLine     = 160 // characters of a tool's description in an answer
	groupTokens = 150 // of the groups that are named when nothing was found
)

// find answers a search with a signature and a line for each tool. It also returns the
// queries that found each tool.
func (m *metaTools) find(args json.RawMessage) (chat.Result, map[string][]string) {
	f := m.front
	queries, limit := searched(args)
	if len(queries) == 0 {
		return tool.Failure(`%s needs {"queries": ["what the tool should do"]}`, selection.FindTools), nil
	}
	var found []*catalog.Entry
	by := map[string][]string{}
	var missed []string
	for _, query := range queries {
		req := f.selected.Request
		req.Query, req.Vector = query, f.runner.vector(m.conv.ctx, query, m.conv.in.Again)
		matches := f.selector.Search(req, limit)
		if len(matches) == 0 {
			missed = append(missed, fmt.Sprintf("%q", query))
		}
		for _, match := range matches {
			by[match.Definition.Name] = append(by[match.Definition.Name], query)
			if len(found) < maxFound && !slices.Contains(found, match.Entry) {
				found = append(found, match.Entry)
			}
		}
	}
	var text strings.Builder
	for _, e := range found {
		fmt.Fprintf(&text, "%s\n  %s\n", selection.Signature(e.Definition), line(e.Definition.Description))
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

// searched reads the queries of a search and how many tools each may find. Models also
// write one query as a string, or name it "query".
func searched(args json.RawMessage) (queries []string, limit int) {
	raw, err := nearjson.Object(args)
	if err != nil {
		return nil, 0
	}
	var in map[string]json.RawMessage
	_ = json.Unmarshal(raw, &in) // repair gave an object
	_ = json.Unmarshal(in["limit"], &limit)
	if limit < 1 || limit > maxFound {
		limit = perQuery
	}
	for _, key := range []string{"queries", "query"} {
		var one string
		var many []string
		if json.Unmarshal(in[key], &many) != nil && json.Unmarshal(in[key], &one) == nil {
			many = []string{one}
		}
		for _, q := range many {
			if q = strings.TrimSpace(q); q != "" && len(queries) < maxQueries {
				queries = append(queries, q)
			}
		}
	}
	return queries, limit
}

// line puts a description into one short line.
func line(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	if runes := []rune(text); len(runes) > maxLine {
		return string(runes[:maxLine-1]) + "…"
	}
	return text
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
	g := m.front.gate()
	now := g.now()
	entry, stage := g.admit(now, name)
	if entry == nil || !stage.Usable() {
		g.recordRefusal(m.conv.ctx, now, name, entry, stage, raw)
		return g.nameless(name)
	}
	d := entry.Definition
	text := fmt.Sprintf("%s: %s\nParameters: %s\nCall it with call_tool.", d.Name, d.Description, d.Schema())
	return m.loading(text, entry)
}
