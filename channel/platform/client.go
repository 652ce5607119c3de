// Package platform is what the adapters of package channel share: a client for a platform's
// API and what its refusals mean, the order of incoming messages, the parts of outgoing ones,
// files, people, signed requests and WebSockets. An adapter adds only the words of its platform.
package platform

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"mime/multipart"
	"net/http"
	"net/netip"
	"net/textproto"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/etui-run/etui/internal/plainjson"
	"github.com/etui-run/etui/internal/printable"
	"github.com/etui-run/etui/internal/sleep"
)

// Config says how a platform's API is reached.
type Config struct {
	// Name is the platform's name. All errors begin with it.
	Name string
	// URL is the configured address of the API; empty means Usual.
	URL string
	// Usual is the platform's own address of its API.
	Usual string
	// Plain reports whether a host may be reached without TLS; nil means [Local].
	Plain func(host string) bool
	// Client makes all requests; nil means one with Go's defaults, which uses the proxy of
	// the environment. Its Timeout and CheckRedirect are not used: every call has a limit of
	// its own, and a redirect would carry secrets to another host.
	Client *http.Client
	// Header is sent with each request, also to other hosts.
	Header http.Header
	// Secret is removed from the platform's messages in errors; empty means none.
	Secret string
	// Limit is how many bytes an answer may have.
	Limit int64
	// Refusal reads an answer of the API and returns its error, or nil if the call has
	// worked. Nil means that the status decides.
	Refusal func(a *Answer) *Failure
	// Refusals say what the errors mean.
	Refusals Refusals
}

// Client calls the API of a platform. None of its errors holds a URL or a secret. It is safe
// for concurrent use.
type Client struct {
	config Config
	base   *url.URL
	http   *http.Client
}

// New checks a configuration. It connects to nothing.
func New(config Config) (*Client, error) {
	plain := config.Plain
	if plain == nil {
		plain = Local
	}
	base, err := url.Parse(strings.TrimRight(cmp.Or(config.URL, config.Usual), "/"))
	web := err == nil && (base.Scheme == "https" || base.Scheme == "http")
	if !web || base.Host == "" || base.User != nil || base.RawQuery != "" || base.Fragment != "" {
		return nil, fmt.Errorf("%s: url is not the address of its API, such as %s", config.Name, config.Usual)
	}
	if base.Scheme == "http" && !plain(base.Hostname()) {
		return nil, fmt.Errorf("%s: url begins with http, and secrets could be read on their way: write https, as in %s",
			config.Name, config.Usual)
	}
	return &Client{config, base, Direct(config.Client)}, nil
}

// Log returns the given log, or one that discards.
func Log(log *slog.Logger) *slog.Logger { return cmp.Or(log, slog.New(slog.DiscardHandler)) }

// Direct returns a client like the given one that follows no redirects and has no limit of
// time. Nil means one with Go's defaults.
func Direct(client *http.Client) *http.Client {
	direct := http.Client{}
	if client != nil {
		direct = *client
	}
	direct.Timeout = 0
	direct.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &direct
}

// Base returns the address of the API, without a slash at its end.
func (c *Client) Base() *url.URL {
	u := *c.base
	return &u
}

// Local reports whether a host is this machine.
func Local(host string) bool {
	addr, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && addr.IsLoopback()
}

// Near reports whether a host is this machine or in its network.
func Near(host string) bool {
	addr, err := netip.ParseAddr(host)
	return err != nil && !strings.Contains(host, ".") || err == nil && (addr.IsLoopback() || addr.IsPrivate())
}

// Anywhere accepts every host.
func Anywhere(string) bool { return true }

// Trusts reports whether a URL, which may come from anybody, leads to the API or to one of
// the domains. WebSockets have the scheme that belongs to the one of HTTP.
func (c *Client) Trusts(u *url.URL, domains ...string) bool {
	scheme := u.Scheme
	if rest, ok := strings.CutPrefix(scheme, "ws"); ok {
		scheme = "http" + rest
	}
	if u.User != nil {
		return false
	}
	if scheme == c.base.Scheme && u.Host == c.base.Host {
		return true
	}
	host := strings.ToLower(u.Hostname())
	if scheme != "https" || u.Port() != "" && u.Port() != "443" {
		return false
	}
	return slices.ContainsFunc(domains, func(domain string) bool {
		return host == domain || strings.HasSuffix(host, "."+domain)
	})
}

// Request is a call.
type Request struct {
	// Call is what errors call it; empty means Method and Path.
	Call   string
	Method string // empty means GET without a body, and else POST
	// Path follows the address of the API; its elements are escaped. URL is an address that
	// the platform gave, in its place.
	Path  string
	URL   *url.URL
	Query url.Values
	// Header is sent beside the client's.
	Header http.Header
	// Body is a []byte, [url.Values], a [*Form], or a value that is sent as JSON.
	Body any
	// Raw means that the answer is a file or the like: only its status says whether the call
	// has worked.
	Raw bool
	// Limit replaces the one of the client, and Time [CallTime]; 0 keeps them.
	Limit int64
	Time  time.Duration
}

// Answer is what the platform has answered.
type Answer struct {
	Status int
	Header http.Header
	Body   []byte
}

// maxRefusal is how many bytes of an answer are read that says no, which is short.
const maxRefusal = 256 << 10

// ErrTooLarge says that an answer has more bytes than are read.
var ErrTooLarge = errors.New("the answer is too large")

// Bearer is the header that carries a token.
func Bearer(token string) http.Header { return http.Header{"Authorization": {"Bearer " + token}} }

// Route puts escaped arguments in place of each {} of a path.
func Route(path string, args ...string) string {
	for _, arg := range args {
		path = strings.Replace(path, "{}", url.PathEscape(arg), 1)
	}
	return path
}

// Call makes a call and reads the JSON of its answer, unless into is nil.
func (c *Client) Call(ctx context.Context, r Request, into any) error {
	answer, err := c.Do(ctx, r)
	if err != nil {
		return err
	}
	return c.Read(r, answer, into)
}

// Read reads the JSON of an answer, unless into is nil.
func (c *Client) Read(r Request, answer *Answer, into any) error {
	if into == nil {
		return nil
	}
	if err := json.Unmarshal(answer.Body, into); err != nil {
		return fmt.Errorf("%s: %s: the answer is not as expected: %w", c.config.Name, r.name(), err)
	}
	return nil
}

// Do makes a call. Its errors may be a [*Failure] or a [*channel.Limited]; the answer comes
// with an error, too, if there was one.
func (c *Client) Do(ctx context.Context, r Request) (*Answer, error) {
	patience := cmp.Or(r.Time, CallTime)
	switch r.Body.(type) {
	case *Form, []byte:
		patience = max(patience, FileTime)
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	failed := func(err error) error { return fmt.Errorf("%s: %s: %w", c.config.Name, r.name(), Plain(err)) }
	req, err := c.request(ctx, r)
	if err != nil {
		return nil, failed(err)
	}
	res, err := c.http.Do(req)
	if err != nil {
		return nil, failed(err)
	}
	defer res.Body.Close()
	answer := &Answer{Status: res.StatusCode, Header: res.Header}
	limit := cmp.Or(r.Limit, c.config.Limit)
	if res.StatusCode > 299 {
		limit = min(limit, maxRefusal)
	} else if res.ContentLength > limit {
		return answer, failed(ErrTooLarge)
	}
	if answer.Body, err = io.ReadAll(io.LimitReader(res.Body, limit+1)); err != nil {
		return answer, failed(err)
	}
	if err := c.refusal(r, answer); err != nil {
		return answer, err
	}
	if int64(len(answer.Body)) > limit {
		answer.Body = nil
		return answer, failed(ErrTooLarge)
	}
	return answer, nil
}

func (r Request) name() string {
	return cmp.Or(r.Call, strings.TrimSpace(r.Method+" "+r.Path))
}

func (c *Client) request(ctx context.Context, r Request) (*http.Request, error) {
	content, mediaType, err := encode(r.Body)
	if err != nil {
		return nil, err
	}
	u := r.URL
	if u == nil {
		u, err = url.Parse(c.base.String() + "/" + strings.TrimPrefix(r.Path, "/"))
		if err != nil {
			return nil, errors.New("the request cannot be made")
		}
	}
	if len(r.Query) > 0 {
		with := *u
		with.RawQuery, u = r.Query.Encode(), &with
	}
	method := r.Method
	if method == "" && content != nil {
		method = http.MethodPost
	}
	req, err := http.NewRequestWithContext(ctx, method, u.String(), nil)
	if err != nil {
		return nil, err
	}
	req.GetBody = func() (io.ReadCloser, error) {
		var parts []io.Reader
		for _, part := range content {
			parts = append(parts, bytes.NewReader(part))
		}
		return io.NopCloser(io.MultiReader(parts...)), nil
	}
	for _, part := range content {
		req.ContentLength += int64(len(part))
	}
	if req.ContentLength > 0 {
		req.Body, _ = req.GetBody() // it cannot fail
	}
	if mediaType != "" {
		req.Header.Set("Content-Type", mediaType)
	}
	for _, h := range []http.Header{c.config.Header, r.Header} {
		for name, values := range h {
			req.Header[name] = values
		}
	}
	return req, nil
}

// encode returns the parts of a body and their type.
func encode(body any) (content [][]byte, mediaType string, err error) {
	switch b := body.(type) {
	case nil:
		return nil, "", nil
	case []byte:
		return [][]byte{b}, "application/octet-stream", nil
	case url.Values:
		return [][]byte{[]byte(b.Encode())}, "application/x-www-form-urlencoded; charset=utf-8", nil
	case *Form:
		content, mediaType = b.end()
		return content, mediaType, nil
	}
	text, err := plainjson.Encode(body) // WeCom refuses \u003c
	return [][]byte{text}, "application/json", err
}

// Sleep waits for a time, unless ctx ends before.
func Sleep(ctx context.Context, d time.Duration) error {
	if !sleep.For(ctx, d) {
		return ctx.Err()
	}
	return nil
}

// Word is a text of a server in one short line.
func Word(s string) string { return printable.Line(s, 200) }

// Tidy reports whether an ID has at most so many bytes, and looks as it is.
func Tidy(id string, most int) bool {
	return id != "" && len(id) <= most && printable.Text(id) == id && !strings.ContainsAny(id, "\n\t")
}

// Plain returns an error of net/http without the URL.
func Plain(err error) error {
	var u *url.Error
	for errors.As(err, &u) {
		err = u.Err
	}
	return err
}

// Form is a body of the type multipart/form-data. The zero value is empty. The bytes of its
// files are not copied.
type Form struct {
	done  [][]byte
	b     bytes.Buffer // what follows; it takes everything
	w     *multipart.Writer
	ended bool
}

func (f *Form) writer() *multipart.Writer {
	if f.w == nil {
		f.w = multipart.NewWriter(&f.b)
	}
	return f.w
}

// Field adds a field.
func (f *Form) Field(name, value string) { _ = f.writer().WriteField(name, value) }

// File adds a file. An empty name or type becomes that of a file of which nothing is known.
func (f *Form) File(field, name, mediaType string, data []byte) {
	head := textproto.MIMEHeader{}
	head.Set("Content-Disposition", multipart.FileContentDisposition(field, cmp.Or(printable.Line(name, 255), "file")))
	head.Set("Content-Type", cmp.Or(printable.OneLine(mediaType), "application/octet-stream"))
	_, _ = f.writer().CreatePart(head)
	f.done = append(f.done, bytes.Clone(f.b.Bytes()), data)
	f.b.Reset()
}

// end returns the parts of the form and its type, also when a call is made again.
func (f *Form) end() (parts [][]byte, mediaType string) {
	w := f.writer()
	if !f.ended {
		_ = w.Close()
		f.ended = true
	}
	return append(slices.Clip(f.done), f.b.Bytes()), w.FormDataContentType()
}
