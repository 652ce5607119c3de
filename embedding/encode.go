package embedding

import (
	"context"
	"fmt"
	"maps"
	"strings"
	"time"

	"github.com/etui-run/etui/tool"
)

// Encode returns the vectors of tools and of questions, each list in its order, for a measurement.
// It waits for the server, and keeps the vectors in the file of cfg: all of this call, and of those
// before as many as there is room for. It tells progress how many texts without a vector are done.
func Encode(ctx context.Context, cfg Config, tools []*tool.Definition, questions []string,
	progress func(done, all int)) (ofTools, ofQuestions [][]float32, err error) {
	cfg.ReadOnly, cfg.Timeout = true, batchTimeout/2 // the timeout bounds the batches: nobody waits for a question
	e, err := New(cfg)
	if err != nil {
		return nil, nil, err
	}
	defer func() { _ = e.Close() }()
	texts := make([]string, 0, len(tools)+len(questions))
	for _, d := range tools {
		texts = append(texts, e.textOf(d))
	}
	for _, q := range questions {
		texts = append(texts, e.config.QueryPrefix+head(strings.TrimSpace(q)))
	}
	if err := e.encode(ctx, texts, progress); err != nil {
		return nil, nil, fmt.Errorf("computing the vectors: %w", err)
	}
	vectors := make([][]float32, len(texts))
	for i, text := range texts {
		vectors[i] = e.known[hashOf(text)]
	}
	return vectors[:len(tools)], vectors[len(tools):], nil
}

// encode computes the vectors of texts that are not known, and saves them even when it fails.
func (e *Embedder) encode(ctx context.Context, texts []string, progress func(done, all int)) error {
	var todo []string
	keep := map[hash][]float32{}
	for _, text := range texts {
		key := hashOf(text)
		v, known := e.known[key]
		if _, seen := keep[key]; !known && !seen {
			todo = append(todo, text)
		}
		keep[key] = v
	}
	if len(todo) == 0 {
		return nil
	}
	defer func() {
		for key := range keep {
			keep[key] = e.known[key]
		}
		maps.DeleteFunc(keep, func(_ hash, v []float32) bool { return v == nil })
		for key, v := range e.known {
			if len(keep) >= maxTools {
				break
			}
			keep[key] = v
		}
		if len(keep) > 0 {
			e.save(keep)
		}
	}()
	for done := 0; done < len(todo); {
		n := min(e.batch, len(todo)-done)
		began := time.Now()
		if err := e.fetch(ctx, todo[done:done+n]); err != nil {
			return err
		}
		e.pace(n, time.Since(began), nil)
		done += n
		progress(done, len(todo))
	}
	return nil
}
