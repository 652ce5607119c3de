package rank

import (
	"encoding/json"
	"maps"
	"slices"

	"github.com/etui-run/etui/tool"
)

// maxBody is how much of a definition's Body is read, in bytes.
const maxBody = 8 << 10

// fieldText is a folded text of a definition, with the stems of the English words
// that its Chinese words mean.
type fieldText struct {
	field  field
	folded string
	gloss  []string
}

// textsOf returns the texts of a definition and those that were written about it
// elsewhere, always in the same order.
func textsOf(d *tool.Definition, enriched tool.Texts) []fieldText {
	list := make([]fieldText, 0, 16)
	add := func(f field, text string) {
		if text != "" {
			folded := fold(text)
			list = append(list, fieldText{f, folded, gloss(f, folded)})
		}
	}
	add(fieldName, d.Name)
	add(fieldDescription, d.Description)
	for _, language := range slices.Sorted(maps.Keys(d.Translations)) {
		add(fieldTranslation, d.Translations[language])
	}
	for _, text := range d.Aliases {
		add(fieldAlias, text)
	}
	for _, g := range d.Groups {
		add(fieldGroup, g)
	}
	for _, text := range d.Examples {
		add(fieldExample, text)
	}
	add(fieldBody, head(d.Body, maxBody))
	for _, text := range enriched.Aliases {
		add(fieldEnrichedAlias, text)
	}
	for _, text := range enriched.Examples {
		add(fieldEnrichedExample, text)
	}
	var schema schemaText
	// A part of an unexpected type stays empty; the rest is read.
	_ = json.Unmarshal(d.Parameters, &schema)
	schema.walk(add, 0)
	return list
}

// gloss returns the stems of the English words that the Chinese words of a folded
// text mean. Texts that say the same in other words or at length are not
// translated.
func gloss(f field, folded string) (stems []string) {
	switch f {
	case fieldAlias, fieldTranslation, fieldExample, fieldBody, fieldEnrichedAlias, fieldEnrichedExample:
		return nil
	}
	wideRuns(folded, func(run string) {
		translate(run, func(_, stem string) { stems = append(stems, stem) })
	})
	return stems
}

// schemaText is the part of a JSON Schema that is made of words.
type schemaText struct {
	Description string                `json:"description"`
	Enum        []any                 `json:"enum"`
	Properties  map[string]schemaText `json:"properties"`
	Items       *schemaText           `json:"items"`
}

// walk adds the names and words of a schema, at most four levels deep: deeper
// levels say little about when to use a tool.
func (s *schemaText) walk(add func(field, string), depth int) {
	if depth > 4 {
		return
	}
	if depth > 0 {
		add(fieldParameterText, s.Description)
	}
	for _, v := range s.Enum {
		if text, ok := v.(string); ok {
			add(fieldParameterText, text)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		add(fieldParameter, name)
		p := s.Properties[name]
		p.walk(add, depth+1)
	}
	if s.Items != nil {
		s.Items.walk(add, depth)
	}
}
