package eval

import (
	"errors"
	"slices"
	"strings"
)

// Past is a question that was asked before, with the tools that answered it.
type Past struct {
	Text string
	// Tools are ids or names.
	Tools []string
}

// LoadPast reads past questions, one line of JSON each: {"text", "tools": [names]}
// as `etui usage export` writes them, or {"text", "relevant": [ids]} like queries.
// Unusable lines are left out and become Problems.
func LoadPast(file string) ([]Past, []Problem, error) {
	var s Set
	var list []Past
	err := s.read(file, func(line []byte) error {
		var row struct {
			Text            string
			Tools, Relevant []string
		}
		if err := unmarshal(line, &row); err != nil {
			return err
		}
		if row.Text == "" {
			return errors.New("a past question needs a text")
		}
		list = append(list, Past{row.Text, slices.Concat(row.Tools, row.Relevant)})
		return nil
	})
	return list, s.Problems, err
}

// Without returns the past questions that are not word for word among the queries:
// a query must not vote for itself.
func Without(past []Past, queries []Query) []Past {
	asked := map[string]bool{}
	for _, q := range queries {
		asked[plain(q.Text)] = true
	}
	return slices.DeleteFunc(slices.Clone(past), func(p Past) bool { return asked[plain(p.Text)] })
}

func plain(text string) string { return strings.ToLower(strings.Join(strings.Fields(text), " ")) }
