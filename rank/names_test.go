package rank_test

import (
	"testing"

	"github.com/etui-run/etui/rank"
	"github.com/etui-run/etui/tool"
)

// A name that tools mention only as an example of a value finds none of them alone.
func TestNames(t *testing.T) {
	t.Parallel()
	city := []byte(`{"type":"object","properties":{"where":{"type":"string","description":"city, such as Paris or Tokyo"},"to":{"type":"string","description":"language, such as French or 法语"}}}`)
	tools := []*tool.Definition{
		{Name: "get_forecast", Description: "Tells how warm it will be", Parameters: city, Examples: []string{"Will it rain in Rome?"}},
		{Name: "translate_text", Description: "Writes a text in another language", Translations: map[string]string{"zh": "翻译文字"}},
		{Name: "find_person", Description: "Looks up the phone number of somebody"},
		{Name: "lend_book", Description: "Lends a book"},
		{Name: "github_issue", Description: "Opens an issue on GitHub"},
	}
	x := rank.New(tools, rank.Weights{})
	for question, want := range map[string]int{
		"translate for Paris": 1, "translate this for paris": 1, "something in Tokyo": -1, "the Rome office": -1,
		"an iPhone": -1, "my MacBook": -1, "how warm is Paris?": 0, "a phone number": 2, "something on GitHub": 4,
	} {
		got := -1
		r := x.Rank(rank.Query{Text: question})
		if hits := r.Hits(1); len(hits) > 0 {
			got = hits[0].Position
		}
		if got != want {
			t.Errorf("%q finds %d, want %d", question, got, want)
		}
	}
}
