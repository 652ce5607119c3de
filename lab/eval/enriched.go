package eval

import (
	"cmp"
	"errors"
	"fmt"

	"github.com/etui-run/etui/tool"
)

// LoadEnrichment reads texts about the set's tools, one line of JSON each: {"id" or "tool",
// "aliases", "examples"}, as `etui tools enrich` writes them. It returns them by the name
// of the tool. Unusable lines are left out and become Problems.
func (s *Set) LoadEnrichment(file string) (map[string]tool.Texts, []Problem, error) {
	names := map[string]string{}
	for _, t := range s.Tools {
		names[t.Definition.Name] = t.Definition.Name
	}
	for _, t := range s.Tools {
		names[t.ID] = t.Definition.Name
	}
	var into Set
	texts := map[string]tool.Texts{}
	err := read(&into, file, func(row struct {
		ID, Tool string
		tool.Texts
	}) error {
		id := cmp.Or(row.ID, row.Tool)
		name, ok := names[id]
		switch {
		case id == "":
			return errors.New("texts need an id or a tool")
		case !ok:
			return fmt.Errorf("there is no tool %q", id)
		}
		texts[name] = row.Texts
		return nil
	})
	return texts, into.Problems, err
}
