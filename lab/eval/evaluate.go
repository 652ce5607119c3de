package eval

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/rank"
	"github.com/etui-run/etui/selection"
	"github.com/etui-run/etui/tool"
)

// Options say how sets are evaluated.
type Options struct {
	// Queries is a file with the questions, in place of queries.jsonl.
	Queries string
	// Run is where the rankings are written, and Score where rankings are read that
	// are scored in place of etui's. Each is a file; for several sets it is a folder
	// with SET.jsonl.
	Run, Score string
	// Usage is a file with past questions that vote. The set is then also scored with
	// these votes.
	Usage string
	// Enriched is a file with texts about the tools, see [Set.LoadEnrichment]. The set is then
	// also scored with them.
	Enriched string
	// Vectors returns the vectors of tools and of questions, each list in its order. The set is
	// then also scored with them. Nil compares no meanings.
	Vectors func(tools []*tool.Definition, questions []string) (ofTools, ofQuestions [][]float32, err error)
	// Limit is how many tools would be sent for a question.
	Limit int
}

// Result is the result of one set.
type Result struct {
	Set   string `json:"set"`
	Tools int    `json:"tools"`
	Score
	// Meaning is the score with vectors, if they were compared.
	Meaning *Score `json:"meaning,omitempty"`
	// Usage is the score with the votes of past questions, if there are any.
	Usage *Score `json:"usage,omitempty"`
	// Enriched is the score with the texts of a file, and Texts is how many tools have
	// some.
	Enriched *Score    `json:"enriched,omitempty"`
	Texts    int       `json:"texts,omitempty"`
	Problems []Problem `json:"problems,omitempty"`
}

// Sets returns the folders with sets among paths: a path itself, or the folders in it.
func Sets(paths []string) ([]string, error) {
	var dirs []string
	for _, dir := range paths {
		if isSet(dir) {
			dirs = append(dirs, dir)
			continue
		}
		entries, err := os.ReadDir(dir)
		if errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("there is no folder %s; name one with tools.jsonl and queries.jsonl", dir)
		}
		if err != nil {
			return nil, err
		}
		found := len(dirs)
		for _, e := range entries {
			if inner := filepath.Join(dir, e.Name()); isSet(inner) {
				dirs = append(dirs, inner)
			}
		}
		if found == len(dirs) {
			return nil, fmt.Errorf("%s has no tools.jsonl and queries.jsonl, nor has a folder in it", dir)
		}
	}
	return dirs, nil
}

func isSet(dir string) bool {
	exists := func(name string) bool {
		_, err := os.Stat(filepath.Join(dir, name))
		_, gz := os.Stat(filepath.Join(dir, name+".gz"))
		return err == nil || gz == nil
	}
	return exists("tools.jsonl") && exists("queries.jsonl")
}

// Evaluate measures the ranking on the set in dir. Single says that it is the only
// set, so that Run and Score are files.
func Evaluate(dir string, single bool, o Options) (Result, error) {
	set, err := LoadFiles(filepath.Join(dir, "tools.jsonl"), cmp.Or(o.Queries, filepath.Join(dir, "queries.jsonl")))
	if err != nil {
		return Result{}, err
	}
	file := func(name string) string {
		if single {
			return name
		}
		return filepath.Join(name, set.Name+".jsonl")
	}
	r := Result{Set: set.Name, Tools: len(set.Tools), Problems: set.Problems}
	if o.Score != "" {
		run, problems, err := LoadRun(file(o.Score))
		r.Problems = append(r.Problems, problems...)
		r.Score = set.score(run, o.Limit)
		return r, err
	}
	ranked := set.Rank(nil)
	r.Score = set.score(ranked, o.Limit)
	if o.Vectors != nil {
		if ranked, err = set.rankMeanings(o.Vectors); err != nil {
			return r, fmt.Errorf("%s: %w", set.Name, err)
		}
		score := set.score(ranked, o.Limit)
		r.Meaning = &score
	}
	if o.Enriched != "" {
		enriched, problems, err := set.LoadEnrichment(file(o.Enriched))
		if err != nil {
			return r, err
		}
		ranked, r.Texts = set.Rank(enriched), len(enriched)
		score := set.score(ranked, o.Limit)
		r.Enriched, r.Problems = &score, append(r.Problems, problems...)
	}
	if o.Usage != "" {
		if ranked, err = r.vote(set, o); err != nil {
			return r, err
		}
	}
	if o.Run != "" {
		return r, writeRun(file(o.Run), set, ranked)
	}
	return r, nil
}

// score measures rankings, and counts the tokens that their first tools would cost.
func (s *Set) score(ranked map[string][]string, limit int) Score {
	score := Measure(s.Queries, ranked)
	costs := map[string]int{}
	for _, t := range s.Tools {
		raw, err := json.Marshal(t.Definition)
		if err != nil {
			continue // a schema that is not JSON is never sent
		}
		costs[t.ID] = chat.Tokens(raw)
		score.TokensAll += costs[t.ID]
	}
	for _, q := range s.Queries {
		for _, id := range ranked[q.ID][:min(limit, len(ranked[q.ID]))] {
			score.TokensSent += float64(costs[id]) / float64(len(s.Queries))
		}
	}
	return score
}

// vote measures again with the votes of past questions, and returns the rankings with
// these votes.
func (r *Result) vote(set *Set, o Options) (map[string][]string, error) {
	past, problems, err := LoadPast(o.Usage)
	if err != nil {
		return nil, err
	}
	r.Problems = append(r.Problems, problems...)
	c, _, err := set.Catalog()
	if err != nil {
		return nil, err
	}
	names := map[string]string{} // by id
	ids := map[string]string{}   // by name
	for e := range c.All() {
		id := set.Tools[e.Position()].ID
		names[id], ids[e.Definition.Name] = e.Definition.Name, id
	}
	past = without(past, set.Queries)
	for _, p := range past {
		for i, id := range p.Tools {
			p.Tools[i] = cmp.Or(names[id], id)
		}
	}
	s := selection.New(c, selection.Config{})
	search := func(s *selection.Selector) map[string][]string {
		return set.rank(func(i int) []string {
			q := set.Queries[i]
			var list []string
			for _, m := range s.Select(selection.Request{Query: q.Text, History: q.History, Limit: depth}).Ranked {
				list = append(list, ids[m.Definition.Name])
			}
			return list
		})
	}
	r.Score = set.score(search(s), o.Limit)
	voted := search(s.WithVotes(rank.NewVotes(past)))
	score := set.score(voted, o.Limit)
	r.Usage = &score
	return voted, nil
}

// Rank ranks the set's tools for each of its queries: their ids, best first. Enriched are
// more texts about them, by name.
func (s *Set) Rank(enriched map[string]tool.Texts) map[string][]string {
	return s.rankEach(enriched, func(i int) rank.Query {
		return rank.Query{Text: s.Queries[i].Text,
			History: s.Queries[i].History}
	})
}

// rankMeanings also compares vectors, of the same text of a question as in a turn.
func (s *Set) rankMeanings(vectors func([]*tool.Definition, []string) (ofTools, ofQuestions [][]float32,
	err error)) (map[string][]string, error) {
	questions := make([]string, len(s.Queries))
	for i, q := range s.Queries {
		questions[i] = rank.Divide(q.Text).Request
	}
	ofTools, ofQuestions, err := vectors(s.definitions(), questions)
	if err != nil {
		return nil, err
	}
	compared := rank.NewVectors(ofTools)
	return s.rankEach(nil, func(i int) rank.Query {
		return rank.Query{Text: s.Queries[i].Text, History: s.Queries[i].History, Vector: ofQuestions[i],
			Vectors: compared}
	}), nil
}

func (s *Set) definitions() []*tool.Definition {
	definitions := make([]*tool.Definition, len(s.Tools))
	for i := range s.Tools {
		definitions[i] = &s.Tools[i].Definition
	}
	return definitions
}

func (s *Set) rankEach(enriched map[string]tool.Texts, query func(i int) rank.Query) map[string][]string {
	x := rank.NewIndexer(rank.Weights{}).Index(s.definitions(), enriched)
	return s.rank(func(i int) []string {
		var list []string
		ranking := x.Rank(query(i))
		for _, hit := range ranking.Hits(depth) {
			list = append(list, s.Tools[hit.Position].ID)
		}
		return list
	})
}

func (s *Set) rank(rank func(i int) []string) map[string][]string {
	ranked := make(map[string][]string, len(s.Queries))
	for i, list := range Each(len(s.Queries), rank) {
		ranked[s.Queries[i].ID] = list
	}
	return ranked
}

func writeRun(file string, set *Set, ranked map[string][]string) error {
	var b bytes.Buffer
	for _, q := range set.Queries {
		line, err := json.Marshal(map[string]any{"id": q.ID, "ranked": ranked[q.ID]})
		if err != nil {
			return err
		}
		b.Write(append(line, '\n'))
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return err
	}
	return os.WriteFile(file, b.Bytes(), 0o600)
}
