package embedding

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
)

const (
	// maxAnswer bounds a server's answer, in bytes, and maxDimensions a vector's
	// length.
	maxAnswer     = 64 << 20
	maxDimensions = 8192
)

// server is an embeddings API.
type server struct {
	http  *http.Client
	url   string
	model string
	key   string
	// dimensions is how many numbers of a vector are used; 0 means all.
	dimensions int
}

// embed returns the vectors of texts, in the same order and scaled to length one.
func (s server) embed(ctx context.Context, texts []string) ([][]float32, error) {
	asks := map[string]any{"model": s.model, "input": texts, "encoding_format": "float"}
	if s.dimensions > 0 {
		asks["dimensions"] = s.dimensions
	}
	body, err := json.Marshal(asks)
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.url, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	if s.key != "" {
		req.Header.Set("Authorization", "Bearer "+s.key)
	}
	resp, err := s.http.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s answered with status %d", s.url, resp.StatusCode)
	}
	var answer struct {
		Data []struct {
			Index     int       `json:"index"`
			Embedding []float32 `json:"embedding"`
		} `json:"data"`
	}
	if err := json.NewDecoder(io.LimitReader(resp.Body, maxAnswer)).Decode(&answer); err != nil {
		return nil, fmt.Errorf("%s gave no list of vectors: %w", s.url, err)
	}
	vectors := make([][]float32, len(texts))
	for _, d := range answer.Data {
		if d.Index < 0 || d.Index >= len(texts) || len(d.Embedding) == 0 || len(d.Embedding) > maxDimensions {
			return nil, fmt.Errorf("%s gave a vector of %d numbers for text %d of %d", s.url, len(d.Embedding), d.Index,
				len(texts))
		}
		if s.dimensions > 0 { // not every server shortens them itself
			d.Embedding = d.Embedding[:min(len(d.Embedding), s.dimensions)]
		}
		vectors[d.Index] = unit(d.Embedding)
	}
	for i, v := range vectors {
		if len(v) != len(vectors[0]) || len(v) == 0 {
			return nil, fmt.Errorf("%s gave no vector like the others for text %d of %d", s.url, i, len(texts))
		}
	}
	return vectors, nil
}
