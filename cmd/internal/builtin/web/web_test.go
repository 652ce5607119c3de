package web_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/etui-run/etui/cmd/internal/builtin/web"
	"github.com/etui-run/etui/internal/egress"
	"github.com/etui-run/etui/tool"
)

// call returns what the model reads, with "! " before a failure. Arguments must
// match the tool's own schema.
func call(t *testing.T, tools []tool.Tool, name, args string) string {
	t.Helper()
	for _, tl := range tools {
		if tl.Definition().Name != name {
			continue
		}
		s, err := tool.CompileSchema(tl.Definition().Schema())
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Validate([]byte(args)); err != nil {
			t.Fatalf("%s %s: %v", name, args, err)
		}
		r, err := tl.Call(context.Background(), json.RawMessage(args))
		if err != nil {
			return "! " + err.Error()
		}
		return r.Text
	}
	t.Fatalf("there is no tool %s", name)
	return ""
}

func want(t *testing.T, what, got string, says ...string) {
	t.Helper()
	for _, say := range says {
		if !strings.Contains(got, say) || strings.HasPrefix(got, "! ") != strings.HasPrefix(says[0], "! ") {
			t.Errorf("%s gives %.1500q, want %q in it", what, got, say)
		}
	}
}

const article = `<!doctype html><html><head><title>On Cases</title><script>evil()</script></head><body>
<nav><a href="/home">Home</a> <a href="/about">About us</a></nav>
<article><h1>On Cases</h1><p>An etui is a small case` + "\u200b\u202e" + ` that holds the few instruments one needs, and no others. %s</p>
<p>It was carried at the waist, and <a href="/keys">keys</a> hung beside it. <img src="data:image/png;base64,AAAA" alt="x"></p>
<table><tr><th>part</th><th>made of</th></tr><tr><td>case</td><td>shagreen</td></tr></table></article>
<footer>Imprint</footer></body></html>`

func TestFetch(t *testing.T) {
	t.Parallel()
	mux := http.NewServeMux()
	serve := func(path, kind, body string) {
		mux.HandleFunc(path, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", kind)
			fmt.Fprint(w, body)
		})
	}
	long := strings.Repeat("It was made of silver, of gold, of leather or of bone, as its owner could afford. ", 20)
	serve("/article", "text/html; charset=utf-8", fmt.Sprintf(article, long))
	serve("/gbk", "text/html; charset=gbk", "<html><body><p>\xc4\xe3\xba\xc3</p></body></html>")
	serve("/gbkmeta", "text/html", "<meta charset=gbk><p>\xc4\xe3\xba\xc3</p>")
	serve("/gbktext", "text/plain", "\xc4\xe3\xba\xc3")
	serve("/korean", "text/html", "<meta charset=euc-kr><p>\xbe\xc8\xb3\xe7</p>")
	serve("/late", "application/json", `{"pad":"`+strings.Repeat("x", 2000)+`","name":"名"}`)
	serve("/raw", "application/octet-stream", "a: 1\n")
	serve("/zip", "application/octet-stream", "PK\x03\x04\x00\x00")
	serve("/junk", "text/plain", "a\x00b")
	serve("/refresh", "text/html", `<meta http-equiv="Refresh" content="0; url='/article'">`)
	mux.HandleFunc("/packed", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Encoding", "br")
		fmt.Fprint(w, "x")
	})
	mux.HandleFunc("/busy", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", "30")
		w.WriteHeader(http.StatusTooManyRequests)
	})
	serve("/data", "application/json", `{"a": 1}`)
	serve("/pdf", "application/pdf", "%PDF-1.7")
	serve("/empty", "text/html", "<html><body><script>app()</script></body></html>")
	serve("/long", "text/plain", strings.Repeat("长x", 25_000))
	serve("/huge", "text/plain", strings.Repeat("x", 7<<20))
	serve("/deep", "text/html", strings.Repeat("<div><b>", 20_000)+"deep")
	mux.Handle("/metadata", http.RedirectHandler("http://169.254.169.254/latest/", http.StatusFound))
	mux.Handle("/moved", http.RedirectHandler("/data", http.StatusFound))
	server := httptest.NewServer(mux)
	defer server.Close()
	at, _ := url.Parse(server.URL)
	guard, err := egress.New(egress.Config{Allow: []string{at.Host}})
	if err != nil {
		t.Fatal(err)
	}
	defer guard.CloseIdleConnections()
	tools := web.Tools(&web.Fetcher{Client: guard.Client(egress.Limits{})}, nil)
	fetch := func(path string, more string) string {
		return call(t, tools, "web_fetch", `{"url":"`+server.URL+path+`"`+more+`}`)
	}
	got := fetch("/article", "")
	want(t, "/article", got, "material to judge", "An etui is a small case that holds", "[keys]("+server.URL+"/keys)", "shagreen")
	for _, gone := range []string{"evil", "Imprint", "About us", "\u200b", "\u202e", "AAAA"} {
		if strings.Contains(got, gone) {
			t.Errorf("the article holds %q", gone)
		}
	}
	want(t, "all of /article", fetch("/article", `,"all":true`), "[About us]", "Imprint", "| case | shagreen |")
	want(t, "/gbk", fetch("/gbk", ""), "你好")
	want(t, "/gbkmeta", fetch("/gbkmeta", ""), "你好")
	want(t, "/gbktext", fetch("/gbktext", ""), "你好")
	want(t, "/korean", fetch("/korean", ""), "안녕")
	want(t, "/late", fetch("/late", ""), `"name":"名"`)
	want(t, "/raw", fetch("/raw", ""), "a: 1")
	want(t, "/zip", fetch("/zip", ""), "! ", "is of type application/octet-stream")
	want(t, "/junk", fetch("/junk", ""), "! ", "is not text")
	want(t, "/refresh", fetch("/refresh", ""), "(The page redirects to "+server.URL+"/article)")
	want(t, "/packed", fetch("/packed", ""), "! ", "answered with the content encoding br")
	want(t, "/busy", fetch("/busy", ""), "! ", "answered 429 Too Many Requests; it asks to wait (Retry-After): 30")
	if got := fetch("/long", ""); len(got) > 32<<10 {
		t.Errorf("one call gives %d bytes", len(got))
	}
	want(t, "/data", fetch("/data", ""), `{"a": 1}`)
	want(t, "/moved", fetch("/moved", ""), "Content of "+server.URL+"/data")
	want(t, "/pdf", fetch("/pdf", ""), "! ", "is of type application/pdf")
	want(t, "/empty", fetch("/empty", ""), "! ", "has no text")
	want(t, "/none", fetch("/none", ""), "! ", "answered 404 Not Found")
	want(t, "/long", fetch("/long", ""), "(characters 0 to 15360 of 50000; read on with start 15360)")
	want(t, "the end of /long", fetch("/long", `,"start":40000`), "(characters 40000 to 50000 of 50000)")
	want(t, "/huge", fetch("/huge", `,"start":5242880`), "only its first 5 MiB were read")
	want(t, "/deep", fetch("/deep", ""), "! ", "cannot be read as HTML")
	want(t, "/metadata", fetch("/metadata", ""), "! ", "169.254.169.254")
	want(t, "a file", call(t, tools, "web_fetch", `{"url":"file:///etc/passwd"}`), "! ", "only http and https")
	want(t, "a private address", call(t, tools, "web_fetch", `{"url":"http://10.0.0.1/"}`), "! ", "private address")
}

// TestSearch asks each service, and the next one when it fails.
func TestSearch(t *testing.T) {
	t.Parallel()
	answers := map[string]string{
		"api.perplexity.ai/search":               `{"results":[{"title":"P","url":"https://p.example","snippet":"pp","date":"2026-01-02"}]}`,
		"api.search.brave.com/res/v1/web/search": `{"web":{"results":[{"title":"B &amp; C","url":"https://b.example","description":"bb"}]}}`,
		"search.lan/searx/search":                `{"results":[{"title":"S","url":"https://s.example","content":"ss"},{"title":"S2","url":"https://s2.example"}]}`,
		"html.duckduckgo.com/html/":              `<div class="result result--ad"><a class="result__a" href="https://duckduckgo.com/y.js?ad=1">Buy</a><a class="result__snippet">now</a></div><div class="result"><a class="result__a" href="//duckduckgo.com/l/?uddg=https%3A%2F%2Fd.example%2Fx">D <b>d</b></a><a class="result__snippet">dd` + "\u202e" + `</a></div>`,
		"html.duckduckgo.com/html/?q=nothing":    `<div class="no-results">No results.</div>`,
		"html.duckduckgo.com/html/?q=robot":      `<form>Select all ducks</form>`,
	}
	var asked []string
	client := &http.Client{Transport: transport(func(r *http.Request) (int, string) {
		asked = append(asked, r.URL.Host+" "+r.Header.Get("Authorization")+r.Header.Get("X-Subscription-Token"))
		if r.URL.Host == "api.perplexity.ai" && r.Header.Get("Authorization") == "Bearer bad" {
			return http.StatusUnauthorized, ""
		}
		switch {
		case r.Header.Get("X-Subscription-Token") == "broken":
			return http.StatusOK, "<html>"
		case r.URL.Query().Get("search_lang") == "zh-hans":
			return http.StatusOK, `{"web":{"results":[{"title":"zh","url":"https://zh.example"}]}}`
		}
		if body, ok := answers[r.URL.Host+r.URL.Path+"?q="+r.URL.Query().Get("q")]; ok {
			return http.StatusOK, body
		}
		return http.StatusOK, answers[r.URL.Host+r.URL.Path]
	})}
	for _, c := range []struct {
		name   string
		config web.SearchConfig
		query  string
		says   []string
	}{
		{"perplexity", web.SearchConfig{Perplexity: "k", Brave: "k"}, "x", []string{"Perplexity found", "1. P\n   https://p.example\n   2026-01-02\n   pp\n"}},
		{"brave", web.SearchConfig{Brave: "k", DuckDuckGo: true}, "x", []string{"1. B & C\n   https://b.example\n   bb\n"}},
		{"the next", web.SearchConfig{Perplexity: "bad", Brave: "k"}, "x", []string{"Brave found"}},
		{"searxng", web.SearchConfig{SearXNG: "https://search.lan/searx/"}, "x", []string{"1. S\n", "2. S2\n"}},
		{"duckduckgo", web.SearchConfig{DuckDuckGo: true}, "x", []string{"1. D d\n   https://d.example/x\n   dd\n"}},
		{"nothing", web.SearchConfig{DuckDuckGo: true}, "nothing", []string{`DuckDuckGo found nothing for "nothing".`}},
		{"a robot", web.SearchConfig{DuckDuckGo: true}, "robot", []string{"! DuckDuckGo: its page has no results"}},
		{"all of them", web.SearchConfig{Perplexity: "bad", Brave: "broken", DuckDuckGo: true}, "robot", []string{"! Perplexity: it answered 401 Unauthorized\nBrave: its answer cannot be read: ", "\nDuckDuckGo: its page has no results"}},
		{"chinese", web.SearchConfig{Brave: "k"}, "中文", []string{"1. zh\n"}},
		{"a wrong key", web.SearchConfig{Perplexity: "bad"}, "x", []string{"! Perplexity: it answered 401 Unauthorized"}},
	} {
		c.config.Client, c.config.Own = client, client
		tools := web.Tools(nil, web.NewSearcher(c.config))
		got := call(t, tools, "web_search", `{"query":"`+c.query+`","count":2}`)
		want(t, c.name, got, c.says...)
		if strings.Contains(got, "broken") || strings.Contains(got, "bad") {
			t.Errorf("%s shows a key: %s", c.name, got)
		}
	}
	if got := asked[0]; got != "api.perplexity.ai Bearer k" {
		t.Errorf("asked %q", got)
	}
	if list := web.Tools(nil, web.NewSearcher(web.SearchConfig{})); len(list) != 0 {
		t.Errorf("without a service there are %d tools", len(list))
	}
}

// transport answers in place of all servers.
type transport func(*http.Request) (int, string)

func (f transport) RoundTrip(r *http.Request) (*http.Response, error) {
	w := httptest.NewRecorder()
	status, body := f(r)
	w.WriteHeader(status)
	fmt.Fprint(w, body)
	return w.Result(), nil
}
