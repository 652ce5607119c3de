package egress_test

import (
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/etui-run/etui/internal/egress"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// web is a network of names, all served by one handler, that notes what is
// connected to.
type web struct {
	names  map[string][]string // the addresses of a name, one list a look-up
	dialed []string
	looked map[string]int
}

// guard returns a guard for the network. What it lets through reaches h.
func (w *web) guard(t *testing.T, h http.HandlerFunc, cfg egress.Config) *egress.Guard {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	w.looked = map[string]int{}
	cfg.Lookup = func(_ context.Context, _, name string) (list []netip.Addr, err error) {
		name = strings.ToLower(strings.TrimSuffix(name, "."))
		answers := w.names[name]
		if len(answers) == 0 {
			return nil, &net.DNSError{Err: "no such host", Name: name, Server: "10.0.0.53:53", IsNotFound: true}
		}
		n := min(w.looked[name], len(answers)-1)
		w.looked[name]++
		for text := range strings.FieldsSeq(answers[n]) {
			list = append(list, netip.MustParseAddr(text))
		}
		return list, nil
	}
	cfg.Dial = func(ctx context.Context, at netip.AddrPort) (net.Conn, error) {
		w.dialed = append(w.dialed, at.String())
		return new(net.Dialer).DialContext(ctx, "tcp", s.Listener.Addr().String())
	}
	g, err := egress.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(g.CloseIdleConnections)
	return g
}

func get(t *testing.T, client *http.Client, url string) (string, error) {
	t.Helper()
	resp, err := client.Get(url)
	if err != nil {
		return "", err
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(resp.Body)
	return string(body), err
}

func hello(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "hello") }

func TestRefused(t *testing.T) {
	w := &web{names: map[string][]string{
		"inside.test": {"10.1.2.3"}, "mapped.test": {"::ffff:192.168.1.1"}, "meta.test": {"169.254.169.254"},
		"rebind.test": {"127.0.0.1"}, "v6.test": {"::1 fd12::1"}, "localhost": {"127.0.0.1"},
	}}
	g := w.guard(t, hello, egress.Config{})
	for _, url := range []string{
		"http://localhost/", "http://LOCALHOST:80/", "http://127.0.0.1/", "http://127.8.9.10:8080/", "http://0.0.0.0/", "http://[::]/", "http://[::1]/",
		"http://10.0.0.1/", "http://172.16.0.1/", "http://172.31.255.255/", "http://192.168.0.1/", "http://100.64.0.1/", "http://100.127.255.255/",
		"http://192.0.0.1/", "http://192.0.2.1/", "http://198.51.100.7/", "http://203.0.113.9/", "http://198.18.0.1/", "http://198.19.255.255/",
		"http://192.88.99.1/", "http://224.0.0.1/", "http://239.1.1.1/", "http://240.0.0.1/", "http://255.255.255.255/", "http://169.254.1.1/",
		"http://[::ffff:8.8.8.8]/", "http://[::ffff:127.0.0.1]/", "http://[::127.0.0.1]/", "http://[::ffff:0:127.0.0.1]/", "http://[64:ff9b::7f00:1]/",
		"http://[64:ff9b:1::a00:1]/", "http://[2002:7f00:1::]/", "http://[2001:0:7f00:1::]/", "http://[2001:db8::1]/", "http://[fc00::1]/", "http://[fdff::1]/",
		"http://[fe80::1]/", "http://[fe80::1%25eth0]/", "http://[fec0::1]/", "http://[ff02::1]/", "http://[100::1]/", "http://[5f00::1]/", "http://[3fff::1]/", "http://[4000::1]/",
		"http://100.100.100.200/", "http://168.63.129.16/", "http://[fd00:ec2::254]/",
		"http://2130706433/", "http://127.1/", "http://0x7f.1/", "http://0x7f000001/", "http://0177.0.0.1/", "http://127.0.0.01/", "http://1.2.3/", "http://1.2.3.4.5/", "http://0x/",
		"http://127.0.0.1./", "http://①②⑦.⓪.⓪.①/", "http://１２７.0.0.1/", "http://127。0。0。1/", "http://loc\u00adalhost/", "http://[127.0.0.1]/",
		"http://inside.test/", "http://inside.test./", "http://INSIDE.test/", "http://mapped.test/", "http://meta.test/", "http://rebind.test/", "http://v6.test/", "http://nowhere.test/",
		"", "x", "/path", "//host/", "http:", "http://", "http:///path", "http:host", "ftp://example.test/", "file:///etc/passwd", "gopher://example.test/", "data:text/plain,x", "javascript:alert(1)", "unix:///x",
		"http://user@example.test/", "http://user:pass@example.test/", "http://example.test\\@127.0.0.1/", "http://example.test/ x", "http://example.test/?a b", " http://example.test/", "http://example.test/\n", "http://exa\tmple.test/", "http://example.test/\x00",
		"http://example.test:0/", "http://example.test:65536/", "http://example.test:-1/", "http://example.test:/", "http://example.test:80x/", "http://exa mple.test/", "http://a..b/", "http://.test/", "http://%31%32%37.0.0.1/", "http://a_b$c/", "http://[::1/", "http://" + strings.Repeat("a", 64) + ".test/",
		"http://example.test/" + strings.Repeat("a", 9000),
	} {
		if body, err := get(t, g.Client(egress.Limits{}), url); err == nil {
			t.Errorf("%.80s answered %q", url, body)
		}
	}
	if len(w.dialed) > 0 {
		t.Errorf("connected to %v", w.dialed)
	}
}

func TestReached(t *testing.T) {
	w := &web{names: map[string][]string{
		"example.test": {"93.184.216.34"}, "mixed.test": {"10.0.0.1 127.0.0.1 93.184.216.34"}, "xn--bcher-kva.test": {"93.184.216.34"}, "a_b.test": {"2606:4700::1"},
	}}
	g := w.guard(t, hello, egress.Config{})
	for _, url := range []string{
		"http://example.test", "HTTP://EXAMPLE.test./", "http://example.test:8080/p?q=1#f", "http://example.test/127.0.0.1", "http://example.test/?u=http://user@127.0.0.1/", "http://example.test/路径?词=1",
		"http://mixed.test/", "http://bücher.test/", "http://BÜCHER.test:81/", "http://a_b.test/", "http://93.184.216.34/", "http://172.15.255.255/", "http://172.32.0.0/", "http://100.63.255.255/", "http://192.0.1.0/", "http://223.255.255.255/", "http://[2606:4700::1]:81/",
	} {
		if body, err := get(t, g.Client(egress.Limits{}), url); err != nil || body != "hello" {
			t.Errorf("%s: %q, %v", url, body, err)
		}
	}
	for _, at := range w.dialed {
		if strings.HasPrefix(at, "10.") || strings.HasPrefix(at, "127.") {
			t.Errorf("connected to %s", at)
		}
	}
}

// TestRebinding: every connection looks at what it connects to.
func TestRebinding(t *testing.T) {
	w := &web{names: map[string][]string{"evil.test": {"93.184.216.34", "127.0.0.1", "169.254.169.254"}}}
	g := w.guard(t, func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("Connection", "close") }, egress.Config{})
	client := g.Client(egress.Limits{})
	for n := range 3 {
		if _, err := get(t, client, "http://evil.test/"); (err == nil) != (n == 0) {
			t.Errorf("request %d: %v", n, err)
		}
	}
	if got := fmt.Sprint(w.dialed); got != "[93.184.216.34:80]" {
		t.Errorf("connected to %s", got)
	}
}

func TestAllow(t *testing.T) {
	w := &web{names: map[string][]string{
		"logs.lan": {"10.1.2.3"}, "meta.lan": {"169.254.169.254"}, "localhost": {"127.0.0.1"},
	}}
	g := w.guard(t, hello, egress.Config{Own: []uint16{3884}, Allow: []string{
		"127.0.0.1:8081", "127.0.0.0/8:3884", "[::1]:*", "LOGS.lan.:443", "meta.lan:*", "192.168.0.0/16", "172.16.0.0/12:90", "[fd00::/8]:80", "169.254.0.0/16", "64:ff9b::/96", "0.0.0.0/0:3884",
	}})
	for url, open := range map[string]bool{
		"http://127.0.0.1:8081/": true, "http://127.0.0.1:8082/": false, "http://127.0.0.2:8081/": false, "http://localhost:8081/": true, "http://[::1]:7/": true,
		"http://logs.lan:443/": true, "http://logs.lan/": false, "http://10.1.2.3:443/": false, "http://192.168.7.7/": true, "http://172.20.0.1:90/": true, "http://172.20.0.1:91/": false,
		"http://[fd12::1]/": true, "http://[fd12::1]:81/": false, "http://meta.lan/": false, "http://169.254.169.254/": false, "http://169.254.7.7/": false, "http://[fd00:ec2::254]/": false,
		"http://[64:ff9b::a9fe:a9fe]/": false, "http://[64:ff9b::a00:1]/": true,
		"http://127.0.0.1:3884/": false, "http://0.0.0.0:3884/": false, "http://[::1]:3884/": false, "http://localhost:3884/": false, "http://10.9.9.9:3884/": true,
	} {
		if _, err := get(t, g.Client(egress.Limits{}), url); (err == nil) != open {
			t.Errorf("%s: %v", url, err)
		}
	}
	for _, bad := range []string{"127.0.0.1", "localhost", "::1:80", "127.0.0.1:0", "127.0.0.1:x", "a b:80", "10.0.0.0/33", "[::ffff:10.0.0.0/104]:80", "127.1:80", ""} {
		if err := g.Allow([]string{"127.0.0.1:1", bad}); err == nil || !strings.Contains(err.Error(), fmt.Sprintf("%q ", bad)) {
			t.Errorf("%s: %v", bad, err)
		}
	}
	client := g.Client(egress.Limits{})
	if _, err := get(t, client, "http://127.0.0.1:8081/"); err != nil {
		t.Errorf("after bad changes: %v", err)
	}
	if err := g.Allow(nil); err != nil {
		t.Fatal(err)
	}
	if _, err := get(t, client, "http://localhost:8081/"); err == nil {
		t.Error("a connection from before was used")
	}
}

// TestUnknownName: an error does not tell which name server was asked.
func TestUnknownName(t *testing.T) {
	g := new(web).guard(t, hello, egress.Config{})
	if _, err := get(t, g.Client(egress.Limits{}), "http://nowhere.test/"); err == nil || !strings.HasSuffix(err.Error(), "lookup nowhere.test: no such host") {
		t.Error(err)
	}
}

func TestErrors(t *testing.T) {
	w := &web{names: map[string][]string{"logs.lan": {"10.1.2.3"}}}
	g := w.guard(t, hello, egress.Config{Own: []uint16{3884}})
	for url, want := range map[string]string{
		"http://127.0.0.1:8081/x": `127.0.0.1:8081 is a loopback address, which is closed; to open it, write into etui.yaml: skills.local: ["127.0.0.1:8081"]`,
		"http://logs.lan/x":       `logs.lan:80 leads to 10.1.2.3, a private address, which is closed; to open it, write into etui.yaml: skills.local: ["logs.lan:80"]`,
		"http://[::1]/":           `[::1]:80 is a loopback address, which is closed; to open it, write into etui.yaml: skills.local: ["[::1]:80"]`,
		"http://169.254.169.254/": `169.254.169.254:80 is a link-local address, where clouds serve the machine's credentials: nothing opens it`,
		"http://127.0.0.1:3884/":  `127.0.0.1:3884 is a port of etui itself: nothing opens it`,
		"http://127.1/":           `the URL's host "127.1" looks like a number: write an address as four numbers, without leading zeros`,
		"ftp://a/":                `the URL's scheme is "ftp": only http and https are allowed`,
	} {
		_, err := g.Client(egress.Limits{}).Get(url)
		if err == nil || !strings.HasSuffix(err.Error(), ": "+want) {
			t.Errorf("%s:\n%v\nwant %s", url, err, want)
		}
	}
	var refused *egress.RefusedError
	if _, err := g.CheckURL("http://127.0.0.1/"); !errors.As(err, &refused) || refused.Target != "127.0.0.1:80" {
		t.Errorf("got %v", err)
	}
	if _, err := g.CheckURL("http://logs.lan/"); err != nil {
		t.Errorf("a name is not looked up: %v", err)
	}
}

func TestRedirects(t *testing.T) {
	w := &web{names: map[string][]string{"a.test": {"93.184.216.34"}, "b.test": {"93.184.216.35"}, "inside.test": {"10.0.0.1"}}}
	var got []string
	g := w.guard(t, func(w http.ResponseWriter, r *http.Request) {
		got = append(got, r.Host+" "+r.Header.Get("X-Api-Key")+r.Header.Get("Authorization")+r.Header.Get("Cookie")+r.Header.Get("Referer"))
		if to := r.URL.Query().Get("to"); to != "" {
			w.Header().Set("Location", to)
			w.WriteHeader(http.StatusTemporaryRedirect)
		}
	}, egress.Config{})
	client := g.Client(egress.Limits{})
	send := func(method, url string) (*http.Response, error) {
		req, err := http.NewRequest(method, url, strings.NewReader("body"))
		if err != nil {
			t.Fatal(err)
		}
		req.Header = http.Header{"X-Api-Key": {"key"}, "Authorization": {"auth"}, "Cookie": {"c=1"}}
		resp, err := client.Do(req)
		if err == nil {
			_ = resp.Body.Close()
		}
		return resp, err
	}
	for _, to := range []string{"//127.0.0.1/", "http://inside.test/", "file:///etc/passwd", "http://user@b.test/", "http://2130706433/", "?to=?to=?to=?to=?to=?to=/", "http://127.0.0.1:0/", "\\\\127.0.0.1\\x"} {
		if _, err := send("GET", "http://a.test/?to="+to); err == nil && !strings.HasPrefix(to, "\\") {
			t.Errorf("%s was followed", to)
		}
	}
	got = nil
	if _, err := send("GET", "http://a.test/?to=//b.test/?to=//a.test/"); err != nil {
		t.Error(err)
	}
	if _, err := send("GET", "http://a.test/?to=/x"); err != nil {
		t.Error(err)
	}
	if _, err := send("GET", "http://a.test/?to=//a.test:81/"); err != nil {
		t.Error(err)
	}
	all := "keyauthc=1"
	if want := "[a.test " + all + " b.test  a.test  a.test " + all + " a.test " + all + " a.test " + all + " a.test:81 ]"; fmt.Sprint(got) != want {
		t.Errorf("got  %v\nwant %s", got, want)
	}
	got = nil
	if resp, err := send("POST", "http://a.test/?to=//b.test/"); err != nil || resp.StatusCode != http.StatusTemporaryRedirect || len(got) != 1 {
		t.Errorf("a POST was redirected: %v, %v", got, err)
	}
	for _, at := range w.dialed {
		if !strings.HasPrefix(at, "93.") {
			t.Errorf("connected to %s", at)
		}
	}
}

func TestLimits(t *testing.T) {
	w := &web{names: map[string][]string{"big.test": {"93.184.216.34"}}}
	g := w.guard(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/zip":
			w.Header().Set("Content-Encoding", "gzip")
			z := gzip.NewWriter(w)
			_, _ = io.CopyN(z, zeros{}, 4<<20)
			_ = z.Close()
		case "/header":
			w.Header().Set("X-Long", strings.Repeat("x", 300<<10))
		case "/exact":
			_, _ = io.WriteString(w, strings.Repeat("x", 1000))
		case "/more":
			_, _ = io.WriteString(w, strings.Repeat("x", 1001))
		}
	}, egress.Config{})
	client := g.Client(egress.Limits{Body: 1000})
	for path, want := range map[string]error{"/exact": nil, "/more": egress.ErrTooLarge, "/zip": egress.ErrTooLarge} {
		body, err := get(t, client, "http://big.test"+path)
		if !errors.Is(err, want) || len(body) != 1000 {
			t.Errorf("%s: %d bytes, %v", path, len(body), err)
		}
	}
	if _, err := get(t, client, "http://big.test/header"); err == nil {
		t.Error("a header of 300 KiB was read")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	req, _ := http.NewRequestWithContext(ctx, http.MethodGet, "http://big.test/exact", nil)
	if _, err := client.Do(req); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }

// FuzzParseURL: whatever is read as a URL, the host is one that every program
// reads in the same way.
func FuzzParseURL(f *testing.F) {
	for _, seed := range []string{"http://example.test/", "http://[::1]:80/", "http://0x7f.1/", "http://ü.test"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		u, err := egress.ParseURL(raw)
		if err != nil {
			return
		}
		if again, err := egress.ParseURL(u.String()); err != nil || again.Host != u.Host {
			t.Errorf("%q became %q, %v", raw, u, err)
		}
		if strings.ContainsAny(u.Host, "@\\ %") || u.User != nil || strings.ContainsFunc(u.Host, func(r rune) bool { return r >= 0x80 }) {
			t.Errorf("%q has the host %q", raw, u.Host)
		}
	})
}
