package eval

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	"github.com/etui-run/etui/catalog"
	"github.com/etui-run/etui/selection"
)

// Question is a question with the tools that should answer it.
type Question struct {
	Text  string   `json:"text"`
	Tools []string `json:"tools"`
}

// Own is how the ranking does on questions of the operator's.
type Own struct {
	Score Score `json:"score"`
	// Misses are the questions whose tools are not all among the first [Near].
	Misses []Miss `json:"misses"`
}

// Miss is a question with a tool that was found late or not at all.
type Miss struct {
	Text string `json:"text"`
	Tool string `json:"tool"`
	// Place of the tool, from 1; 0 says that it is not among the first 100, and Unknown that there is
	// no such tool.
	Place   int  `json:"place"`
	Unknown bool `json:"unknown,omitempty"`
	// Instead are the first tools that were found.
	Instead []string `json:"instead"`
}

// Near is among how many tools one has to be, so that it is no miss.
const Near = 5

// MaxOwn is how many questions [MeasureOwn] takes.
const MaxOwn = 1000

// MeasureOwn ranks all tools of a catalog, whoever may see them, for each question. It ends with ctx.
func MeasureOwn(ctx context.Context, c *catalog.Catalog, cfg selection.Config, asked []Question) (Own, error) {
	own := Own{Misses: []Miss{}}
	all, err := Open(c)
	if err != nil {
		return own, err
	}
	s := selection.New(all, cfg)
	asked = asked[:min(len(asked), MaxOwn)]
	lists := Each(len(asked), func(i int) (names []string) {
		if ctx.Err() != nil {
			return nil
		}
		for _, m := range s.Select(selection.Request{Query: asked[i].Text, Limit: depth}).Ranked {
			names = append(names, m.Definition.Name)
		}
		return names
	})
	if err := ctx.Err(); err != nil {
		return own, fmt.Errorf("the questions were not all asked, give fewer of them: %w", err)
	}
	queries, ranked := make([]Query, len(asked)), map[string][]string{}
	for i, a := range asked {
		queries[i] = Query{ID: strconv.Itoa(i), Text: a.Text, Relevant: a.Tools}
		ranked[queries[i].ID] = lists[i]
		for _, name := range a.Tools {
			at := slices.Index(lists[i], name)
			if at >= 0 && at < Near {
				continue
			}
			_, known := c.Get(name)
			own.Misses = append(own.Misses,
				Miss{Text: a.Text, Tool: name, Place: at + 1, Unknown: !known,
					Instead: append([]string{}, lists[i][:min(Near, len(lists[i]))]...)})
		}
	}
	own.Score = Measure(queries, ranked)
	return own, nil
}
