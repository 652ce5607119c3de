package enrich

import (
	"cmp"
	"encoding/json"
	"slices"

	"github.com/etui-run/etui/catalog"
	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/internal/printable"
	"github.com/etui-run/etui/rank"
	"github.com/etui-run/etui/tool"
)

const (
	// neighbours is how many similar tools a model reads beside the one that it writes
	// about.
	neighbours = 5
	// maxDescription and maxParameters are how much of a definition a model reads, in
	// bytes; of a neighbour it reads maxNeighbour.
	maxDescription, maxParameters, maxNeighbour = 2 << 10, 4 << 10, 160
)

// Subject is a tool or skill that a model has yet to write about.
type Subject struct {
	// Name is the name of the tool, or [catalog.SkillTexts] of a skill.
	Name string
	line Line
	// prompt is what the model reads about it.
	prompt string
}

// described is a subject as a model reads it.
type described struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Parameters  json.RawMessage `json:"parameters,omitempty"`
	Groups      []string        `json:"groups,omitempty"`
}

// Subjects returns the tools and skills of a catalog about which nothing is written yet, in
// order of the catalog; with names, those of them that it has.
func Subjects(c *catalog.Catalog, lines map[string]Line, languages, names []string) []Subject {
	wanted := func(key, name, hash string) bool {
		l, ok := lines[key]
		return (len(names) == 0 || slices.Contains(names, name) || slices.Contains(names, key)) &&
			(!ok || !l.Edited() && l.For != hash)
	}
	var tools, skills crowd
	for e := range c.All() {
		tools.all = append(tools.all, &e.Definition)
	}
	var list []Subject
	for e := range c.All() {
		d := &e.Definition
		if wanted(d.Name, d.Name, e.Hash()) {
			about := described{Name: d.Name, Description: d.Description, Groups: d.Groups}
			if len(d.Parameters) <= maxParameters {
				about.Parameters = d.Parameters
			}
			list = append(list, subject(Line{Tool: d.Name, For: e.Hash()}, about, &tools, languages))
		}
	}
	for _, s := range c.Skills() {
		if s.Name != catalog.Full {
			skills.all = append(skills.all, &tool.Definition{Name: s.Name, Description: s.Description})
		}
	}
	for _, d := range skills.all {
		s, _ := c.Skill(d.Name)
		if key := catalog.SkillTexts(s.Name); wanted(key, s.Name, s.Hash()) {
			list = append(list, subject(Line{Skill: s.Name, For: s.Hash()},
				described{Name: s.Name, Description: s.Description}, &skills, languages))
		}
	}
	return list
}

// crowd is definitions that may be near each other. Its index is made for the first subject
// only: mostly there is none.
type crowd struct {
	all   []*tool.Definition
	index *rank.Index
}

// near returns the definitions that a text fits best, at most limit.
func (c *crowd) near(text string, limit int) (list []*tool.Definition) {
	if c.index == nil {
		c.index = rank.New(c.all, rank.Weights{})
	}
	ranking := c.index.Rank(rank.Query{Text: text})
	for _, hit := range ranking.Hits(limit) {
		list = append(list, c.all[hit.Position])
	}
	return list
}

func subject(l Line, about described, all *crowd, languages []string) Subject {
	about.Description = printable.Text(about.Description[:min(len(about.Description), maxDescription)])
	task := struct {
		About      described   `json:"about"`
		Neighbours []described `json:"neighbours"`
		Languages  []string    `json:"languages"`
	}{About: about, Neighbours: []described{}, Languages: languages}
	for _, d := range all.near(about.Name+" "+about.Description, neighbours+1) {
		if d.Name != about.Name && len(task.Neighbours) < neighbours {
			task.Neighbours = append(task.Neighbours,
				described{Name: d.Name, Description: printable.Line(d.Description, maxNeighbour)})
		}
	}
	raw, err := json.Marshal(task)
	if err != nil { // a schema that is not JSON
		task.About.Parameters = nil
		raw, _ = json.Marshal(task)
	}
	return Subject{Name: cmp.Or(l.Tool, l.key()), line: l, prompt: string(raw)}
}

// Cost is what writing takes, as estimated before and as counted after.
type Cost struct {
	Tools  int `json:"tools"`
	Input  int `json:"input_tokens"`
	Output int `json:"output_tokens"`
}

// perLanguage is how many tokens the texts in one language have, about.
const perLanguage = 260

// Estimate returns what writing about subjects will take, about.
func Estimate(list []Subject, languages []string) Cost {
	c := Cost{Tools: len(list)}
	for _, s := range list {
		c.Input += chat.Tokens([]byte(instructions)) + chat.Tokens([]byte(s.prompt))
		c.Output += perLanguage * len(languages)
	}
	return c
}
