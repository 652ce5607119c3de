package hub

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/etui-run/etui/hub/internal/archive"
	"github.com/etui-run/etui/internal/egress"
	"github.com/etui-run/etui/internal/jsonsize"
	"github.com/etui-run/etui/internal/printable"
	"github.com/etui-run/etui/internal/sleep"
	"github.com/etui-run/etui/phrase"
	"github.com/etui-run/etui/skill"
)

// HTTPConfig says how to reach a source's server.
type HTTPConfig struct {
	// URL is the server's address. Empty means the public server, if there is one.
	URL string
	// Client sends the requests; it decides which addresses may be reached. Nil
	// means public addresses only.
	Client *http.Client
	// Token is sent to the server's own host only. May be empty.
	Token skill.Secret
}

const (
	maxAnswer   = 8 << 20          // bytes of an answer that is no package
	maxValues   = 300_000          // of JSON in it: each takes many times its bytes
	maxExcerpt  = 80               // characters of a text from outside in a message
	maxWait     = 20 * time.Second // pause that a server may ask for
	maxAttempts = 3                // requests for one answer
)

// remote is a source's server.
type remote struct {
	name   string
	base   *url.URL
	client *http.Client
	token  skill.Secret
}

func newRemote(name, public string, c HTTPConfig) (*remote, error) {
	text := cmp.Or(c.URL, public)
	base, err := url.Parse(text)
	if err != nil || base.Host == "" || base.Scheme != "https" && base.Scheme != "http" {
		return nil, phrase.Errorf("registry %s: %q is not the URL of a server", name, text)
	}
	base.Path = strings.TrimSuffix(base.Path, "/")
	if c.Client == nil {
		guard, err := egress.New(egress.Config{})
		if err != nil {
			return nil, err
		}
		c.Client = guard.Client(egress.Limits{Time: 5 * time.Minute, Body: 64 << 20})
	}
	return &remote{name: name, base: base, client: c.Client, token: c.Token}, nil
}

// Name returns the source's name.
func (r *remote) Name() string { return r.name }

// at returns an address below the server's. It escapes the elements.
func (r *remote) at(query url.Values, elements ...string) string {
	for i, e := range elements {
		elements[i] = url.PathEscape(e)
	}
	u := *r.base
	u.RawPath = u.EscapedPath() + "/" + strings.Join(elements, "/")
	u.Path, _ = url.PathUnescape(u.RawPath)
	u.RawQuery = query.Encode()
	return u.String()
}

// statusError is an answer other than 200.
type statusError struct {
	status int
	body   []byte
	html   bool
}

func (e *statusError) Error() string {
	message := "a web page"
	if !e.html {
		message = printable.Line(string(e.body), maxExcerpt)
	}
	return strings.TrimSpace(fmt.Sprintf("it answered %d: %s", e.status, message))
}

// status returns the HTTP status that caused an error, or 0.
func status(err error) int {
	var e *statusError
	if errors.As(err, &e) {
		return e.status
	}
	return 0
}

// get sends a request. It waits a little if the server asks for that. The caller
// closes the answer's body.
func (r *remote) get(ctx context.Context, address string) (*http.Response, error) {
	for attempt := 1; ; attempt++ {
		response, err := r.once(ctx, address)
		if err != nil {
			return nil, r.unavailable(err)
		}
		if response.StatusCode == http.StatusOK {
			return response, nil
		}
		body, _ := io.ReadAll(io.LimitReader(response.Body, 64<<10)) // a part is enough
		response.Body.Close()
		kind, _, _ := mime.ParseMediaType(response.Header.Get("Content-Type"))
		wait, asked := delay(response.Header)
		again := response.StatusCode == http.StatusTooManyRequests ||
			response.StatusCode == http.StatusServiceUnavailable && asked
		switch {
		case !again:
			return nil, r.unavailable(&statusError{response.StatusCode, body, kind == "text/html"})
		case attempt == maxAttempts || wait > maxWait:
			return nil, r.unavailable(phrase.Errorf("too many requests; try again in %s", max(wait, time.Second)))
		}
		if !sleep.For(ctx, wait) {
			return nil, r.unavailable(ctx.Err())
		}
	}
}

func (r *remote) once(ctx context.Context, address string) (*http.Response, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, err
	}
	if r.token != "" && request.URL.Host == r.base.Host && request.URL.Scheme == r.base.Scheme {
		request.Header.Set("Authorization", "Bearer "+string(r.token))
	}
	return r.client.Do(request)
}

func (r *remote) unavailable(err error) error {
	return fmt.Errorf("%s: %w: %w", r.name, ErrUnavailable, err)
}

// delay returns how long the server asks to wait; a second if it does not say.
func delay(h http.Header) (wait time.Duration, asked bool) {
	for _, name := range []string{"Retry-After", "RateLimit-Reset"} {
		if wait, asked = sleep.RetryAfter(h.Get(name), time.Now()); asked {
			return wait, true
		}
	}
	return time.Second, false
}

// json gets an answer and decodes it.
func (r *remote) json(ctx context.Context, address string, into any) error {
	response, err := r.get(ctx, address)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	raw, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer+1))
	if err == nil && len(raw) > maxAnswer {
		err = phrase.Errorf("its answer has more than %s", archive.MB(maxAnswer))
	}
	if err == nil && jsonsize.Values(raw) > maxValues {
		err = phrase.Errorf("its answer has more than %d values", maxValues)
	}
	if err == nil {
		err = json.Unmarshal(raw, into)
	}
	if err != nil {
		return r.unavailable(err)
	}
	return nil
}

// saveArchive gets the archive of a release.
func (r *remote) saveArchive(ctx context.Context, d download, into *os.Root, progress func(done, total int64)) error {
	return r.save(ctx, d, into, ArchiveName, archive.MaxPacked, progress)
}

// save gets a file of at most limit bytes.
func (r *remote) save(ctx context.Context, d download, into *os.Root, as string, limit int64,
	progress func(done, total int64)) error {
	response, err := r.get(ctx, d.url)
	if err != nil {
		return err
	}
	return r.keep(response, d, into, as, limit, progress)
}

// keep writes the body of an answer to a file and compares its digest, if there
// is one.
func (r *remote) keep(response *http.Response, d download, into *os.Root, as string, limit int64,
	progress func(done, total int64)) error {
	defer response.Body.Close()
	body := &counter{r: io.LimitReader(response.Body, limit+1), total: max(response.ContentLength, 0), report: progress}
	if body.total > limit {
		return refused("%s has %s, at most %s are allowed", d.url, archive.MB(body.total), archive.MB(limit))
	}
	switch digest, err := archive.Write(into, as, false, body); {
	case err != nil:
		return r.unavailable(err)
	case body.done > limit:
		return refused("%s has more than %s", d.url, archive.MB(limit))
	case d.digest != "" && d.digest != digest:
		return refused("%s is not what the registry describes: its digest is %s, not %s", d.url, digest, d.digest)
	}
	return nil
}

// counter reports how much was read.
type counter struct {
	r           io.Reader
	done, total int64
	report      func(done, total int64)
}

func (c *counter) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	if c.done += int64(n); c.report != nil && n > 0 {
		c.report(c.done, c.total)
	}
	return n, err
}

// sha256Hex reports whether a text is a SHA-256 in hexadecimal.
func sha256Hex(s string) bool {
	raw, err := hex.DecodeString(s)
	return err == nil && len(raw) == sha256.Size && s == strings.ToLower(s)
}
