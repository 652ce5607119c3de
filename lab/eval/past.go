package eval

import (
	"errors"
	"slices"
	"strings"

	"github.com/etui-run/etui/rank"
)

// LoadPast reads past questions, one line of JSON each: {"text", "tools": [names]}
// as `etui usage export` writes them, or {"text", "relevant": [ids]} like queries.
// Their tools are ids or names. Unusable lines are left out and become Problems.
func LoadPast(file string) ([]rank.PastQuestion, []Problem, error) {
	var s Set
	var list []rank.PastQuestion
	err := read(&s, file, func(row struct {
		Text            string
		Tools, Relevant []string
	}) error {
		if row.Text == "" {
			return errors.New("a past question needs a text")
		}
		list = append(list, rank.PastQuestion{Question: row.Text, Tools: slices.Concat(row.Tools, row.Relevant)})
		return nil
	})
	return list, s.Problems, err
}

// without returns the past questions that are not word for word among the queries:
// a query must not vote for itself.
func without(past []rank.PastQuestion, queries []Query) []rank.PastQuestion {
	asked := map[string]bool{}
	for _, q := range queries {
		asked[plain(q.Text)] = true
	}
	return slices.DeleteFunc(slices.Clone(past), func(a rank.PastQuestion) bool { return asked[plain(a.Question)] })
}

func plain(text string) string { return strings.ToLower(strings.Join(strings.Fields(text), " ")) }
