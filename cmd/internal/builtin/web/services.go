package web

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
	"unicode"

	"golang.org/x/net/html"

	"github.com/etui-run/etui/internal/htmltext"
)

// Limits of a service.
const (
	maxAnswer = 2 << 20          // bytes to read of an answer
	maxAsk    = 12 * time.Second // for an answer
)

// ask sends a request to a service and returns its answer.
func ask(client *http.Client, req *http.Request) ([]byte, error) {
	req.Header.Set("User-Agent", agent)
	resp, err := client.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("it answered %d %s", resp.StatusCode, http.StatusText(resp.StatusCode))
	}
	return io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
}

// askJSON decodes the JSON answer of a service.
func askJSON(client *http.Client, req *http.Request, into any) error {
	req.Header.Set("Accept", "application/json")
	raw, err := ask(client, req)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(raw, into); err != nil {
		return fmt.Errorf("its answer cannot be read: %w", err)
	}
	return nil
}

func get(ctx context.Context, address string, query url.Values) (*http.Request, error) {
	return http.NewRequestWithContext(ctx, http.MethodGet, address+"?"+query.Encode(), nil)
}

func (c SearchConfig) perplexity(ctx context.Context, query string, count int) (hits []hit, err error) {
	body, err := json.Marshal(map[string]any{"query": query, "max_results": count})
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "https://api.perplexity.ai/search",
		bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Authorization", "Bearer "+c.Perplexity)
	req.Header.Set("Content-Type", "application/json")
	var found struct {
		Results []struct{ Title, URL, Snippet, Date string }
	}
	err = askJSON(c.Client, req, &found)
	for _, r := range found.Results {
		hits = append(hits, hit{r.Title, r.URL, r.Snippet, r.Date})
	}
	return hits, err
}

func (c SearchConfig) brave(ctx context.Context, query string, count int) (hits []hit, err error) {
	asked := url.Values{"q": {query}, "count": {strconv.Itoa(count)}, "text_decorations": {"false"}}
	if isChinese(query) {
		asked.Set("search_lang", "zh-hans") // the default is English
	}
	req, err := get(ctx, "https://api.search.brave.com/res/v1/web/search", asked)
	if err != nil {
		return nil, err
	}
	req.Header.Set("X-Subscription-Token", c.Brave)
	var found struct {
		Web struct {
			Results []struct {
				Title, URL, Description string
				Age                     string `json:"page_age"`
			}
		}
	}
	err = askJSON(c.Client, req, &found)
	for _, r := range found.Web.Results {
		hits = append(hits, hit{html.UnescapeString(r.Title), r.URL, html.UnescapeString(r.Description), r.Age})
	}
	return hits, err
}

// isChinese reports whether a text contains Chinese characters and no kana.
func isChinese(text string) bool {
	return strings.ContainsFunc(text, func(r rune) bool { return unicode.Is(unicode.Han, r) }) &&
		!strings.ContainsFunc(text, func(r rune) bool { return unicode.In(r, unicode.Hiragana, unicode.Katakana) })
}

func (c SearchConfig) searxng(ctx context.Context, query string, _ int) (hits []hit, err error) {
	req, err := get(ctx, strings.TrimSuffix(c.SearXNG, "/")+"/search", url.Values{"q": {query}, "format": {"json"}})
	if err != nil {
		return nil, err
	}
	var found struct {
		Results []struct {
			Title, URL, Content string
			Date                string `json:"publishedDate"`
		}
	}
	err = askJSON(c.Own, req, &found)
	for _, r := range found.Results {
		hits = append(hits, hit{r.Title, r.URL, r.Content, r.Date})
	}
	return hits, err
}

// duckduckgo reads DuckDuckGo's page for browsers without scripts, because there is no
// API.
func (c SearchConfig) duckduckgo(ctx context.Context, query string, _ int) (hits []hit, err error) {
	req, err := get(ctx, "https://html.duckduckgo.com/html/", url.Values{"q": {query}})
	if err != nil {
		return nil, err
	}
	raw, err := ask(c.Client, req)
	if err != nil {
		return nil, err
	}
	doc, err := htmltext.Parse(string(raw))
	if err != nil {
		return nil, err
	}
	page, ad := false, false
	for n := range doc.Descendants() {
		switch {
		case hasClass(n, "result"):
			ad = hasClass(n, "result--ad")
		case ad:
		case hasClass(n, "result__a"):
			hits = append(hits, hit{Title: textOf(n), URL: target(n)})
		case hasClass(n, "result__snippet") && len(hits) > 0:
			hits[len(hits)-1].Text = textOf(n)
		case hasClass(n, "no-results"):
			page = true
		}
	}
	if len(hits) == 0 && !page {
		return nil, errors.New("its page has no results; it may consider us a robot")
	}
	return hits, nil
}

func attribute(n *html.Node, key string) string {
	for _, a := range n.Attr {
		if a.Key == key {
			return a.Val
		}
	}
	return ""
}

func hasClass(n *html.Node, class string) bool {
	return n.Type == html.ElementNode && strings.Contains(" "+attribute(n, "class")+" ", " "+class+" ")
}

func textOf(n *html.Node) string {
	var b strings.Builder
	for d := range n.Descendants() {
		if d.Type == html.TextNode {
			b.WriteString(d.Data)
		}
	}
	return b.String()
}

// target returns the address behind DuckDuckGo's redirect.
func target(link *html.Node) string {
	address := attribute(link, "href")
	if u, err := url.Parse(address); err == nil && u.Query().Get("uddg") != "" {
		return u.Query().Get("uddg")
	}
	return address
}
