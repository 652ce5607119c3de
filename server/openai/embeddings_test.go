package openai_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/etui-run/etui/server/openai"
)

func TestEmbeddings(t *testing.T) {
	status, answer := http.StatusOK, `{"data":[{"index":0,"embedding":[1,2]}]}`
	var asked, key string
	back := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		asked, key = r.URL.Path+" "+string(body), r.Header.Get("Authorization")
		w.WriteHeader(status)
		_, _ = io.WriteString(w, answer)
	}))
	defer back.Close()
	e := openai.NewEmbeddings(back.URL+"/v1/", "its-own", "small")
	for _, c := range []struct {
		name, body     string
		e              *openai.Embeddings
		status         int
		answer         string
		want           int
		says, forwards string
	}{
		{"passed on", `{"model":"text-embedding-3-small","input":["a"],"dimensions":2}`, e, 200, answer, 200, `"embedding":[1,2]`, `{"dimensions":2,"input":["a"],"model":"small"}`},
		{"a mistake of the client", `{"input":[1]}`, e, 422, `{"error":{"message":"no text"}}`, 422, "no text", `{"input":[1],"model":"small"}`},
		{"a wrong key of the gateway", `{"input":"a"}`, e, 401, `{"error":"its-own is wrong"}`, 502, "refuses the gateway", ""},
		{"no JSON", `{"input":"a"}`, e, 200, `<html>`, 502, "gave no answer", ""},
		{"without an input", `{"model":"x"}`, e, 200, answer, 400, "input is missing", ""},
		{"a list", `[]`, e, 200, answer, 400, "no JSON object", ""},
		{"none configured", `{"input":"a"}`, nil, 200, answer, 404, "embeddings.model", ""},
	} {
		status, answer, asked, key = c.status, c.answer, "", ""
		w := httptest.NewRecorder()
		c.e.ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/v1/embeddings", strings.NewReader(c.body)))
		if w.Code != c.want || !strings.Contains(w.Body.String(), c.says) || strings.Contains(w.Body.String(), "its-own") {
			t.Errorf("%s: %d %s; want %d with %q", c.name, w.Code, w.Body, c.want, c.says)
		}
		if c.forwards != "" && (asked != "/v1/embeddings "+c.forwards || key != "Bearer its-own") {
			t.Errorf("%s: %q was asked with %q, want %q", c.name, asked, key, c.forwards)
		}
	}
}
