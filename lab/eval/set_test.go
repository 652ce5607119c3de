package eval_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/etui-run/etui/catalog"
	"github.com/etui-run/etui/lab/eval"
	"github.com/etui-run/etui/selection"
	"github.com/etui-run/etui/tool"
)

func write(t *testing.T, file, text string) {
	t.Helper()
	if strings.HasSuffix(file, ".gz") {
		var b bytes.Buffer
		z := gzip.NewWriter(&b)
		_, _ = z.Write([]byte(text))
		_ = z.Close()
		text = b.String()
	}
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestLoadGoesOn after unusable lines, in plain and in gzipped files.
func TestLoadGoesOn(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "tools.jsonl.gz"), "\ufeff"+`{"id":"a"}`+"\n\n"+`{"id":"long","description":"`+strings.Repeat("x", 5<<20)+`"}`+"\n"+`{"id":"b"}`)
	write(t, filepath.Join(dir, "queries.jsonl"), `{"id":"q","text":"x","relevant":["b","gone"]}`+"\n\xff\n"+`{"id":"q","text":"again"}`+"\n"+`{"id":"r","text":"y","history":"z"}`+"\r\n"+`{"id":"s","text":"n"}`)
	s, err := eval.Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	var problems []string
	for _, p := range s.Problems {
		problems = append(problems, strings.TrimPrefix(p.String(), dir+string(filepath.Separator)))
	}
	want := []string{
		"tools.jsonl.gz:3: the line is longer than 4 MB", `queries.jsonl:1: there is no tool "gone": it counts as not found`,
		`queries.jsonl:2: invalid character 'ÿ' looking for beginning of value`, `queries.jsonl:3: duplicate id "q"`,
		`queries.jsonl:4: "history" cannot be a JSON string`,
	}
	if !slices.Equal(problems, want) {
		t.Errorf("problems\n%s\nwant\n%s", strings.Join(problems, "\n"), strings.Join(want, "\n"))
	}
	if len(s.Tools) != 2 || len(s.Queries) != 2 {
		t.Errorf("%d tools, %d queries", len(s.Tools), len(s.Queries))
	}
	score := eval.Measure(s.Queries, map[string][]string{"q": {"b", "b"}})
	if score.Recall5 != 0.5 {
		t.Errorf("score.Recall5 = %v, want 0.5", score.Recall5)
	}
	if score.Recall1 != 0.5 {
		t.Errorf("score.Recall1 = %v, want 0.5", score.Recall1)
	}
	if score.MRR != 1 {
		t.Errorf("score.MRR = %v, want 1", score.MRR)
	}
	if score.Complete10 != 0 {
		t.Errorf("score.Complete10 = %v, want 0", score.Complete10)
	}
	if score.Negatives != 1 {
		t.Errorf("score.Negatives = %v, want 1", score.Negatives)
	}
	if score.Abstained != 1 {
		t.Errorf("score.Abstained = %v, want 1", score.Abstained)
	}
	mean := eval.Mean([]eval.Score{score, {Negatives: 3, Abstained: 0.5}, {Queries: 1, Recall5: score.Recall5}})
	if mean.Abstained != 0.75 {
		t.Errorf("mean.Abstained = %v, want 0.75", mean.Abstained)
	}
	if mean.Recall5 != 0.5 {
		t.Errorf("mean.Recall5 = %v, want 0.5", mean.Recall5)
	}
	if mean.Negatives != 4 {
		t.Errorf("mean.Negatives = %v, want 4", mean.Negatives)
	}
}

// TestMeaning is measured beside words alone, of what a question asks for.
func TestMeaning(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "tools.jsonl"), `{"id":"1","name":"get_weather"}`+"\n"+`{"id":"2","name":"send_mail"}`+"\n"+`{"id":"3","name":"add_numbers"}`)
	write(t, filepath.Join(dir, "queries.jsonl"), `{"id":"a","text":"galoshes?","relevant":["1"]}`+"\n"+`{"id":"b","text":"mail","relevant":["2"]}`)
	vectors := func(tools []*tool.Definition, questions []string) ([][]float32, [][]float32, error) {
		if len(tools) != 3 || !slices.Equal(questions, []string{"galoshes?", "mail"}) {
			return nil, nil, fmt.Errorf("asked about %d tools and %q", len(tools), questions)
		}
		return [][]float32{{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}, [][]float32{{1, 0, 0}, {0, 1, 0}}, nil
	}
	r, err := eval.Evaluate(dir, true, eval.Options{Limit: 8, Vectors: vectors})
	if err != nil || r.Recall1 != 0.5 || r.Meaning == nil || r.Meaning.Recall1 != 1 {
		t.Fatalf("%+v, %v", r, err)
	}
	if table := eval.Table([]eval.Result{r}); !strings.Contains(table, " + meaning") {
		t.Error(table)
	}
	_, err = eval.Evaluate(dir, true, eval.Options{Limit: 8, Vectors: func([]*tool.Definition, []string) ([][]float32, [][]float32, error) {
		return nil, nil, errors.New("down")
	}})
	if err == nil || !strings.HasSuffix(err.Error(), ": down") {
		t.Error(err)
	}
}

// TestMeasureOwnEnds: a measurement does not outlast whoever asks for it.
func TestMeasureOwnEnds(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if own, err := eval.MeasureOwn(ctx, catalog.NewRegistry(nil).Catalog(), selection.Config{}, []eval.Question{{Text: "hi"}}); !errors.Is(err, context.Canceled) {
		t.Errorf("%+v, %v", own, err)
	}
}
