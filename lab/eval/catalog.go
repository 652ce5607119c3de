package eval

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/etui-run/etui/catalog"
	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/rank"
	"github.com/etui-run/etui/tool"
)

// described is a tool that is ranked but never called.
type described struct{ definition tool.Definition }

func (d described) Definition() tool.Definition { return d.definition }

func (d described) Call(context.Context, json.RawMessage) (chat.Result, error) {
	return chat.Result{}, errors.New("this tool is only described")
}

// Open returns a catalog with the same tools, visible to everybody.
func Open(c *catalog.Catalog) (*catalog.Catalog, error) {
	tools := make([]tool.Tool, 0, c.Len())
	for e := range c.All() {
		tools = append(tools, described{e.Definition})
	}
	r := catalog.NewRegistry(nil)
	err := r.Register(tools...)
	r.Enrich(c.Enrichments())
	return r.Catalog(), err
}

// Catalog returns the set's tools as a catalog, at the same positions, and its
// questions with the names of their tools. It changes names that models could not
// call or that several tools have, and groups and schemas that a catalog refuses.
func (s *Set) Catalog() (*catalog.Catalog, []rank.PastQuestion, error) {
	r := catalog.NewRegistry(nil)
	tools, names, taken := make([]tool.Tool, len(s.Tools)), map[string]string{}, map[string]bool{}
	for i, t := range s.Tools {
		d := t.Definition
		if d.Check() != nil {
			d = acceptable(d)
		}
		if d.Name == "" || taken[d.Name] {
			d.Name += fmt.Sprint("_", i+1)
		}
		taken[d.Name], names[t.ID] = true, d.Name
		tools[i] = described{d}
	}
	if err := r.Register(tools...); err != nil {
		return nil, nil, err
	}
	var questions []rank.PastQuestion
	for _, q := range s.Queries {
		asked := rank.PastQuestion{Question: q.Text}
		for _, id := range q.Relevant {
			asked.Tools = append(asked.Tools, names[id])
		}
		questions = append(questions, asked)
	}
	return r.Catalog(), questions, nil
}

// acceptable changes a definition so that a catalog takes it. Texts that are ranked
// stay, except for characters that a name cannot have.
func acceptable(d tool.Definition) tool.Definition {
	d.Name = strings.Map(func(r rune) rune {
		if r == '_' || r == '-' || r == '.' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' {
			return r
		}
		return '_'
	}, d.Name)
	d.Name = d.Name[:min(len(d.Name), 50)] // leaves room for a number
	groups := d.Groups
	d.Groups = nil
	for _, g := range groups {
		if g = strings.Join(strings.FieldsFunc(g, func(r rune) bool { return strings.ContainsRune(", \t\n", r) }),
			"_"); g != "" {
			d.Groups = append(d.Groups, g)
		}
	}
	var schema map[string]json.RawMessage
	if json.Unmarshal(d.Parameters, &schema) != nil || schema == nil {
		d.Parameters = nil
		return d
	}
	schema["type"] = json.RawMessage(`"object"`)
	d.Parameters, _ = json.Marshal(schema) // cannot fail: it was just parsed
	return d
}
