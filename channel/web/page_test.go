package web_test

import (
	"crypto/sha256"
	"encoding/base64"
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/etui-run/etui/channel/web"
)

// TestPage: the ready page comes to browsers only, with a policy that names its script and its
// style, and its own origin may connect.
func TestPage(t *testing.T) {
	t.Parallel()
	ready := start(t, false, func(c *web.Config) { c.Page, c.Origins = true, nil })
	none := start(t, false, nil)
	ready.Channel(t)
	none.Channel(t)
	get := func(p *platform, accept string) (*http.Response, string) {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, p.URL, nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Accept", accept)
		resp, err := p.Client().Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = resp.Body.Close() }()
		text, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		return resp, string(text)
	}
	resp, text := get(ready, "text/html,*/*;q=0.8")
	policy := resp.Header.Get("Content-Security-Policy")
	if resp.StatusCode != http.StatusOK || !strings.HasPrefix(policy, "default-src 'none'; ") || strings.Contains(policy, "unsafe") || !strings.Contains(policy, "frame-ancestors 'none'") {
		t.Errorf("%s %s", resp.Status, policy)
	}
	for _, kind := range []string{"script", "style"} {
		all := regexp.MustCompile(`(?s)<`+kind+`[^>]*>(.*?)</`+kind+`>`).FindAllStringSubmatch(text, -1)
		if len(all) != 1 {
			t.Fatalf("the page has %d of %s", len(all), kind)
		}
		sum := sha256.Sum256([]byte(all[0][1]))
		if want := kind + "-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"; !strings.Contains(policy, want) {
			t.Errorf("the policy %s lacks %s", policy, want)
		}
	}
	for _, bad := range []string{"innerHTML", "insertAdjacent", "outerHTML", "eval(", " style=", "onclick=\"", "document.write"} {
		if strings.Contains(text, bad) {
			t.Errorf("the page has %s", bad)
		}
	}
	if !strings.Contains(text, `name="viewport"`) {
		t.Error("the page is tiny on a phone")
	}
	// The channel does not run here, so who may connect learns that it is stopping.
	for accept, p := range map[string]*platform{"application/json": ready, "text/html": none} {
		if resp, _ := get(p, accept); resp.StatusCode != http.StatusServiceUnavailable {
			t.Errorf("%s: %s", accept, resp.Status)
		}
	}
	for origin, want := range map[string]int{ready.URL: http.StatusServiceUnavailable, "https://shop.example.com": http.StatusForbidden, "http://127.0.0.1:1": http.StatusForbidden, "null": http.StatusForbidden} {
		conn, resp, _ := ready.dial("?guest", http.Header{"Origin": {origin}})
		if conn != nil {
			_ = conn.CloseNow()
		}
		if resp == nil || resp.StatusCode != want {
			t.Errorf("from %s: %v, want %d", origin, resp, want)
		}
	}
	if conn, resp, _ := none.dial("?guest", http.Header{"Origin": {none.URL}}); conn != nil || resp.StatusCode != http.StatusForbidden {
		t.Errorf("without the page its origin counts: %v", resp)
	}
}
