package web_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/etui-run/etui/channel/web"
)

// TestPage: the ready page comes to browsers only, its policy lets the listed sites frame it and runs its
// own scripts alone, and its own origin may connect. The tests of server open it in a browser.
func TestPage(t *testing.T) {
	t.Parallel()
	ready := start(t, false, func(c *web.Config) { c.Page, c.Origins = true, nil })
	framed := start(t, false, func(c *web.Config) { c.Page = true })
	none := start(t, false, nil)
	get := func(p *platform, accept string) *http.Response {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, p.URL, nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Accept", accept)
		req.Header.Set("Sec-Fetch-Site", "cross-site") // a link leads there, or a page frames it
		resp, err := p.Client().Do(req)
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		return resp
	}
	for p, framers := range map[*platform]string{ready: "'none'", framed: "https://shop.example.com"} {
		p.Channel(t)
		resp := get(p, "text/html,*/*;q=0.8")
		policy := resp.Header.Get("Content-Security-Policy")
		if resp.StatusCode != http.StatusOK || !strings.HasPrefix(policy, "default-src 'none'; ") || strings.Contains(policy, "unsafe") || !strings.Contains(policy, "; frame-ancestors "+framers+"; ") {
			t.Errorf("%s %s", resp.Status, policy)
		}
		if framable := resp.Header.Get("X-Frame-Options") == ""; framable != (p == framed) {
			t.Errorf("%s: %v", framers, resp.Header)
		}
	}
	none.Channel(t)
	// The channel does not run here, so who may connect learns that it is stopping.
	for accept, p := range map[string]*platform{"application/json": ready, "text/html": none} {
		if resp := get(p, accept); resp.StatusCode == http.StatusOK {
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
