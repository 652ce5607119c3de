package http_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/etui-run/etui/skill"
	skillhttp "github.com/etui-run/etui/skill/http"
)

const properties = `{"type":"object","properties":{"id":{},"tags":{},"q":{},"tenant":{},"data":{},"page":{},"name":{},"user-id":{}}}`

// parse reads a skill's file about a service, with the parameters above.
func parse(t *testing.T, url, text string) (skill.Config, error) {
	t.Helper()
	text = "name: x\ndescription: Is far away.\nprovider: http\nparameters: " + properties + "\n" + strings.ReplaceAll(text, "URL", url)
	return skill.ParseYAML("x.yaml", []byte(text), skill.Variables{Lookup: func(string) (string, bool) { return "s3cr3t", true }})
}

func loadText(t *testing.T, p *skillhttp.Provider, url, text string) (skill.Skill, error) {
	t.Helper()
	c, err := parse(t, url, text)
	if err != nil {
		return nil, err
	}
	return p.Load(c)
}

// TestShapes: where the arguments of a call go.
func TestShapes(t *testing.T) {
	t.Parallel()
	var got string
	url := serve(t, func(w http.ResponseWriter, r *http.Request) {
		kind, _, _ := strings.Cut(r.Header.Get("Content-Type"), ";")
		if strings.HasPrefix(kind, "multipart/") {
			_ = r.ParseMultipartForm(1 << 10)
		}
		body, _ := io.ReadAll(r.Body)
		got = fmt.Sprintf("%s %s|%s|%s|%s|%s", r.Method, r.RequestURI, kind, body, r.Header.Get("X-Tenant"), r.Header.Get("Authorization"))
		if strings.HasPrefix(kind, "multipart/") {
			got += fmt.Sprint(r.MultipartForm.Value)
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `"done"`)
	})
	p := provider(t, guard(t, "127.0.0.1:*"))
	for _, c := range []struct{ file, args, want string }{
		{"endpoint: URL/a/{id}", `{"id":7,"q":"x"}`, `POST /a/7|application/json|{"q":"x"}||`},
		{"endpoint: URL\nmethod: GET", `{"q":"a b&c","tags":["x","y"],"page":1.50,"name":null}`, "GET /?page=1.50&q=a+b%26c&tags=x&tags=y||||"},
		{"endpoint: URL/a/{id}/b\nmethod: GET", `{"id":"ä /%2e{q}","q":1}`, "GET /a/%C3%A4%20%2F%252e%7Bq%7D/b?q=1||||"},
		{"endpoint: URL/a/{id}-{q}\nmethod: GET", `{"id":"{q}","q":"{id}"}`, "GET /a/%7Bq%7D-%7Bid%7D||||"},
		{"endpoint: URL/a/{userId}\nmethod: DELETE\nsend: {user-id: path userId}", `{"user-id":"u"}`, "DELETE /a/u||||"},
		{"endpoint: URL/a?key=${KEY}\nmethod: GET\nsend: {tags: 'query filter[tag] comma'}", `{"tags":["x","y"]}`, "GET /a?key=s3cr3t&filter%5Btag%5D=x%2Cy||||"},
		{"endpoint: URL/a\nmethod: GET", `{"data":{"a":1,"b":[true,false]}}`, "GET /a?data%5Ba%5D=1&data%5Bb%5D=true&data%5Bb%5D=false||||"},
		{"endpoint: URL/a\nmethod: PUT\nsend: {tenant: header X-Tenant, q: query}\nheaders: {Authorization: 'Bearer ${KEY}'}", `{"tenant":"acme","q":"z","name":null}`,
			`PUT /a?q=z|application/json|{"name":null}|acme|Bearer s3cr3t`},
		{"endpoint: URL/a\nmethod: PATCH\nsend: {data: body}", `{"data":[1, 2],"q":"x"}`, "PATCH /a?q=x|application/json|[1, 2]||"},
		{"endpoint: URL/a\nbody: form\nsend: {tags: 'body tag[] comma'}", `{"name":"a=b","tags":["x","y"]}`, "POST /a|application/x-www-form-urlencoded|name=a%3Db&tag%5B%5D=x%2Cy||"},
		{"endpoint: URL/a\nbody: multipart", `{"name":"a=b","tags":["x","y"]}`, "POST /a|multipart/form-data|||map[name:[a=b] tags:[x y]]"},
		{"endpoint: URL/a\nmethod: POST", ``, "POST /a|application/json|{}||"},
	} {
		s, err := loadText(t, p, url, c.file)
		if err != nil {
			t.Errorf("%s: %v", c.file, err)
			continue
		}
		if result, err := s.Execute(t.Context(), json.RawMessage(c.args)); err != nil || result != "done" || got != c.want {
			t.Errorf("%s\ngot  %s\nwant %s (%v %v)", c.file, got, c.want, result, err)
		}
	}
}

// TestFormFiles: what a document calls binary is a file with a name in form data; services take no other.
func TestFormFiles(t *testing.T) {
	t.Parallel()
	var got []string
	url := serve(t, func(_ http.ResponseWriter, r *http.Request) {
		got = nil
		if err := r.ParseMultipartForm(1 << 10); err != nil {
			t.Error(err)
			return
		}
		for name, files := range r.MultipartForm.File {
			for _, f := range files {
				body, _ := f.Open()
				text, _ := io.ReadAll(body)
				got = append(got, fmt.Sprintf("%s %s %s %s", name, f.Filename, f.Header.Get("Content-Type"), text))
			}
		}
		for name, values := range r.MultipartForm.Value {
			got = append(got, fmt.Sprint(name, " ", values))
		}
		slices.Sort(got)
	})
	p := provider(t, guard(t, "127.0.0.1:*"))
	for _, c := range []struct{ properties, send, args, want string }{
		{"file: {type: string, format: binary}, note: {type: string}", "", `{"file":"a,b\n1,2","note":"x"}`,
			"file file application/octet-stream a,b\n1,2|note [x]"},
		{"files: {type: array, items: {type: string, format: binary}}", "", `{"files":["a","b"]}`,
			"files files application/octet-stream a|files files application/octet-stream b"},
		{"table: {type: string, contentMediaType: text/csv}", "table: 'body upload[csv]'", `{"table":"a"}`, "upload[csv] upload[csv] text/csv a"},
		{"whole: {type: object, properties: {file: {type: string, format: binary}}}", "whole: body", `{"whole":{"file":"a","note":"x"}}`,
			"file file application/octet-stream a|note [x]"},
		{"file: {type: string, format: byte}", "", `{"file":"YQ=="}`, "file [YQ==]"},
	} {
		file, err := skill.ParseYAML("x.yaml", []byte("name: x\ndescription: Is far away.\nprovider: http\nendpoint: "+url+
			"/a\nbody: multipart\nsend: {"+c.send+"}\nparameters: {type: object, properties: {"+c.properties+"}}"), skill.Variables{})
		if err != nil {
			t.Errorf("%s: %v", c.properties, err)
			continue
		}
		s, err := p.Load(file)
		if err != nil {
			t.Errorf("%s: %v", c.properties, err)
			continue
		}
		if _, err := s.Execute(t.Context(), json.RawMessage(c.args)); err != nil || strings.Join(got, "|") != c.want {
			t.Errorf("%s\ngot  %s\nwant %s (%v)", c.properties, strings.Join(got, "|"), c.want, err)
		}
	}
}

// TestWrongArguments: no argument changes what the file says, and nothing is sent.
func TestWrongArguments(t *testing.T) {
	t.Parallel()
	url := serve(t, func(_ http.ResponseWriter, r *http.Request) { t.Errorf("%s %s was sent", r.Method, r.RequestURI) })
	p := provider(t, guard(t, "127.0.0.1:*"))
	s, err := loadText(t, p, url, "endpoint: URL/a/{id}?key=${KEY}\nmethod: GET\nsend: {tenant: header X-Tenant}")
	if err != nil {
		t.Fatal(err)
	}
	for args, want := range map[string]string{
		`{}`:                                 "id is missing",
		`{"id":null}`:                        "id is missing",
		`{"id":""}`:                          "cannot be a part of the address",
		`{"id":{"a":1}}`:                     "cannot be a part of the address",
		`{"id":".."}`:                        "leads to another path",
		`{"id":"../../admin"}`:               "leads to another path",
		`{"id":"a\\..\\b"}`:                  "leads to another path",
		`{"id":"a","key":"mine"}`:            "is set by the skill",
		`{"id":"a","tenant":"x\r\nHost: y"}`: "cannot be a header",
		`{"id":"a","tenant":{}}`:             "cannot be a header",
	} {
		if _, err := s.Execute(t.Context(), json.RawMessage(args)); !errors.Is(err, skill.ErrInvalidParams) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", args, err, want)
		}
	}
}

// TestWrongShapes: a mistake is found when the file is read.
func TestWrongShapes(t *testing.T) {
	t.Parallel()
	p := provider(t, guard(t, "127.0.0.1:*"))
	for text, want := range map[string]string{
		"endpoint: URL/a/{idd}":                                      `{idd} in its path, which is no parameter; did you mean "id"?`,
		"endpoint: URL/a/{id":                                        "belongs to no pair",
		"endpoint: URL/a/{}":                                         "which is no parameter",
		"endpoint: 'URL/a?q={q}'\nmethod: GET":                       "has braces in its query",
		"endpoint: URL/a\nhealth: /up/{id}":                          "health has braces in its path",
		"endpoint: URL/a\nmethod: FETCH":                             "must be one of GET, POST",
		"endpoint: URL/a\nsend: {nobody: query}":                     "send.nobody: is no parameter",
		"endpoint: URL/a\nsend: {id: path}":                          "has no {id}",
		"endpoint: URL/a\nsend: {id: cookie}":                        "must be path, query, header or body",
		"endpoint: URL/a\nsend: {id: header Authorization}":          "only the file says what it is",
		"endpoint: URL/a\nsend: {id: header Host}":                   "is a header of the connection",
		"endpoint: URL/a\nsend: {id: header X-A}\nheaders: {x-a: b}": "which headers sets already",
		"endpoint: URL/a?id=1\nsend: {id: query}":                    "which the endpoint sets already",
		"endpoint: URL/a\nmethod: GET\nsend: {id: body}":             "a GET has none",
		"endpoint: URL/a\nsend: {id: body, data: body}":              "is the whole body, and so is data",
		"endpoint: URL/a\nsend: {tags: query tags semicolon}":        "it must be comma, space or pipe",
		"endpoint: URL/a\npaging: {query: page}":                     "belongs to method: GET",
		"endpoint: URL/a\nmethod: GET\npaging: {items: data}":        "needs next",
	} {
		if _, err := loadText(t, p, "http://127.0.0.1:1", text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
}

// TestTextAnswers: a service that exists already may answer text, or nothing.
func TestTextAnswers(t *testing.T) {
	t.Parallel()
	url := serve(t, func(w http.ResponseWriter, r *http.Request) {
		kind := r.URL.Query().Get("q")
		if kind == "" {
			w.WriteHeader(http.StatusNoContent)
			return
		}
		w.Header().Set("Content-Type", kind)
		_, _ = io.WriteString(w, "a,s3cr3t")
	})
	p := provider(t, guard(t, "127.0.0.1:*"))
	s, err := loadText(t, p, url, "endpoint: URL/a\nmethod: GET\nheaders: {X-Key: '${KEY}'}")
	if err != nil {
		t.Fatal(err)
	}
	for q, want := range map[string]string{"": "done: the service answers 204 No Content without a text", "text/csv": "a,(hidden)", "application/xml; charset=utf-8": "a,(hidden)"} {
		if result, err := s.Execute(t.Context(), json.RawMessage(fmt.Sprintf(`{"q":%q}`, q))); err != nil || result != want {
			t.Errorf("%s: %v %v, want %s", q, result, err, want)
		}
	}
	for _, q := range []string{"text/html", "image/png", "text/plain; charset=gbk"} {
		if result, err := s.Execute(t.Context(), json.RawMessage(fmt.Sprintf(`{"q":%q}`, q))); err == nil {
			t.Errorf("%s: %v", q, result)
		}
	}
}

// TestPages: a list is fetched page by page within its limits.
func TestPages(t *testing.T) {
	t.Parallel()
	var url string
	url = serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		q := r.URL.Query()
		switch r.URL.Path {
		case "/link":
			if q.Get("page") == "" {
				w.Header().Add("Link", `<`+url+`/link?page=1>; rel="last"`)
				w.Header().Add("Link", `<http://127.0.0.1:1/>; rel="prev", </link?page=2>; title="x"; rel="next"`)
			}
			_, _ = fmt.Fprintf(w, `["%s%s"]`, q.Get("page"), q.Get("key"))
		case "/token":
			next := map[string]string{"": `"b"`, "b": `"c"`, "c": "null"}[q.Get("after")]
			_, _ = fmt.Fprintf(w, `{"data":{"items":["%s"]},"meta":{"next":%s}}`, q.Get("after"), next)
		case "/count", "/skip":
			n := map[string]string{"": "[1,2]", "2": "[3]"}[q.Get("page")]
			if n == "" {
				n = "[]"
			}
			_, _ = io.WriteString(w, n)
		case "/forever":
			_, _ = io.WriteString(w, `{"items":[1],"next":"/forever?`+r.URL.RawQuery+`x"}`)
		case "/circle":
			_, _ = io.WriteString(w, `{"items":[1],"next":"/circle"}`)
		case "/away":
			_, _ = io.WriteString(w, `{"items":[1],"next":"http://example.com/"}`)
		case "/breaks":
			if q.Get("page") != "" {
				w.WriteHeader(http.StatusInternalServerError)
			}
			_, _ = io.WriteString(w, `[1]`)
		}
	})
	p := provider(t, guard(t, "127.0.0.1:*"))
	for file, want := range map[string]string{
		"endpoint: URL/link?key=k\nmethod: GET\npaging: {next: link}":                                  `{"items":["k","2k"],"pages":2}`,
		"endpoint: URL/token\nmethod: GET\npaging: {items: data.items, next: meta.next, query: after}": `{"items":["","b","c"],"pages":3}`,
		"endpoint: URL/count\nmethod: GET\npaging: {query: page}":                                      `{"items":[1,2,3],"pages":3}`,
		"endpoint: URL/skip\nmethod: GET\npaging: {query: page, count: items}":                         `{"items":[1,2,3],"pages":3}`,
		"endpoint: URL/forever\nmethod: GET\npaging: {items: items, next: next, max_pages: 3}":         `{"items":[1,1,1],"pages":3,"more":"only the first 3 pages were fetched"}`,
		"endpoint: URL/circle\nmethod: GET\npaging: {items: items, next: next}":                        `{"items":[1],"pages":1,"more":"the service names a page again that was fetched already"}`,
		"endpoint: URL/away\nmethod: GET\npaging: {items: items, next: next}":                          "at another address",
		"endpoint: URL/breaks\nmethod: GET\npaging: {query: page}":                                     "answers 500",
		"endpoint: URL/count\nmethod: GET\npaging: {items: rows, query: page}":                         "no list at rows",
	} {
		s, err := loadText(t, p, url, file)
		if err != nil {
			t.Fatal(file, err)
		}
		result, err := s.Execute(t.Context(), nil)
		if raw, ok := result.(json.RawMessage); !strings.Contains(fmt.Sprint(string(raw), err), want) || ok != (err == nil) {
			t.Errorf("%s\ngot  %s %v\nwant %s", file, raw, err, want)
		}
	}
}
