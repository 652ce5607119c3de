package rank_test

import (
	"fmt"

	"github.com/etui-run/etui/rank"
	"github.com/etui-run/etui/tool"
)

func Example() {
	tools := []*tool.Definition{
		{Name: "get_weather", Description: "Tell the weather of a city"},
		{Name: "send_mail", Description: "Send an e-mail to somebody"},
		{Name: "search_mail", Description: "Find e-mails by sender or words"},
	}
	index := rank.New(tools, rank.Weights{})
	ranking := index.Rank(rank.Query{Text: "Will the wheather in Rome be good?"})
	for _, hit := range ranking.Hits(1) {
		terms, _ := ranking.Words(hit.Position)
		for _, term := range terms {
			fmt.Printf("%s has %q for %q\n", tools[hit.Position].Name, term.Word, term.From)
		}
	}
	// Output:
	// get_weather has "weather" for "wheather"
}
