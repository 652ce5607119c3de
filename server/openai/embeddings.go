package openai

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/etui-run/etui/server/wire"
)

const (
	// maxEmbedding is how many requests for vectors are passed on at once. Others wait, for
	// embeddingTime at most, and as long as that each may take.
	maxEmbedding  = 8
	embeddingTime = time.Minute
	// maxVectors is how long an answer may be.
	maxVectors = 64 << 20
)

// Embeddings passes requests for vectors on to a server with OpenAI's API. It is safe for
// concurrent use.
type Embeddings struct {
	address, key, model string
	client              *http.Client
	places              chan struct{}
}

// NewEmbeddings returns what passes requests on to the API at a base URL, for one model of it.
func NewEmbeddings(baseURL, key, model string) *Embeddings {
	return &Embeddings{
		strings.TrimSuffix(baseURL, "/") + "/embeddings", key, model,
		&http.Client{Timeout: embeddingTime}, make(chan struct{}, maxEmbedding),
	}
}

// ServeHTTP implements [http.Handler]. The model is always the configured one.
func (e *Embeddings) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if e == nil {
		wire.RefuseField(w, http.StatusNotFound, wire.NoRoute, "",
			"no embeddings server is configured: embeddings.model in etui.yaml")
		return
	}
	body, ok := wire.ReadRaw(w, r)
	if !ok {
		return
	}
	var request map[string]json.RawMessage
	if err := json.Unmarshal(body, &request); err != nil {
		wire.Refuse(w, http.StatusBadRequest, "the body of the request is no JSON object")
		return
	}
	if len(request["input"]) == 0 {
		wire.RefuseField(w, http.StatusBadRequest, "", "input", "input is missing: a text, or a list of texts")
		return
	}
	var err error
	if request["model"], err = json.Marshal(e.model); err == nil {
		body, err = json.Marshal(request)
	}
	if err != nil {
		wire.Fail(w, err)
		return
	}
	wait := time.NewTimer(embeddingTime)
	defer wait.Stop()
	select {
	case e.places <- struct{}{}:
		defer func() { <-e.places }()
	case <-wait.C:
		w.Header().Set("Retry-After", "5")
		wire.Refuse(w, http.StatusTooManyRequests, "too many requests for vectors wait; try again in a moment")
		return
	case <-r.Context().Done():
		return
	}
	out, err := http.NewRequestWithContext(r.Context(), http.MethodPost, e.address, bytes.NewReader(body))
	if err != nil {
		wire.Fail(w, err)
		return
	}
	out.Header.Set("Content-Type", "application/json")
	if e.key != "" {
		out.Header.Set("Authorization", "Bearer "+e.key)
	}
	answer, err := e.client.Do(out)
	if err != nil {
		wire.Refuse(w, http.StatusBadGateway, "the embeddings server does not answer")
		return
	}
	defer answer.Body.Close()
	vectors, err := io.ReadAll(io.LimitReader(answer.Body, maxVectors+1))
	switch {
	case err != nil || len(vectors) > maxVectors || !json.Valid(vectors):
		wire.Refuse(w, http.StatusBadGateway, "the embeddings server gave no answer that can be passed on")
	case answer.StatusCode == http.StatusUnauthorized || answer.StatusCode == http.StatusForbidden: // of etui's key, not the client's
		wire.Refuse(w, http.StatusBadGateway, "the embeddings server refuses the gateway")
	default:
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(answer.StatusCode)
		_, _ = w.Write(vectors) // the client may have gone
	}
}
