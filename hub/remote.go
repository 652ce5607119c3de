package hub

import (
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
	"path"
	"strconv"
	"strings"
	"time"

	"github.com/etui-run/etui/internal/egress"
	"github.com/etui-run/etui/skill"
)

// HTTPConfig says how a registry is reached.
type HTTPConfig struct {
	// URL is where the registry is. Empty means the public one, where there is one.
	URL string
	// Client sends the requests; it decides which addresses may be reached. Nil
	// reaches public ones only.
	Client *http.Client
	// Token is sent to the registry's own host, and to no other. May be empty.
	Token skill.Secret
}

const (
	maxAnswer   = 8 << 20          // bytes of an answer that is no package
	maxMessage  = 300              // bytes of an error that are shown
	maxWait     = 20 * time.Second // that a registry may ask for before the next request
	maxAttempts = 3                // requests for one answer
)

// remote is a registry's server.
type remote struct {
	name   string
	base   *url.URL
	client *http.Client
	token  skill.Secret
}

func newRemote(name, otherwise string, c HTTPConfig) (*remote, error) {
	text := c.URL
	if text == "" {
		text = otherwise
	}
	base, err := url.Parse(text)
	if err != nil || base.Host == "" || base.Scheme != "https" && base.Scheme != "http" {
		return nil, fmt.Errorf("registry %s: %q is no URL of a server", name, text)
	}
	base.Path = strings.TrimSuffix(base.Path, "/")
	client := c.Client
	if client == nil {
		public, err := egress.New(egress.Config{})
		if err != nil {
			return nil, err
		}
		client = public.Client(egress.Limits{Time: 5 * time.Minute, Body: 64 << 20})
	}
	return &remote{name: name, base: base, client: client, token: c.Token}, nil
}

// at is an address below the registry's. The elements are escaped.
func (r *remote) at(query url.Values, elements ...string) string {
	u := *r.base
	for i, e := range elements {
		elements[i] = url.PathEscape(e)
	}
	u.RawPath = u.EscapedPath() + "/" + strings.Join(elements, "/")
	u.Path, _ = url.PathUnescape(u.RawPath)
	u.RawQuery = query.Encode()
	return u.String()
}

// statusError is an answer that is not 200.
type statusError struct {
	status  int
	message string
	body    []byte
}

func (e *statusError) Error() string {
	return strings.TrimSpace(fmt.Sprintf("it answered %d: %s", e.status, e.message))
}

// get sends a request. A registry that asks to wait is waited for, a little. The
// answer's body must be closed.
func (r *remote) get(ctx context.Context, address string) (*http.Response, error) {
	for attempt := 1; ; attempt++ {
		response, err := r.once(ctx, address)
		if err != nil {
			return nil, r.unavailable(err)
		}
		if response.StatusCode == http.StatusOK {
			return response, nil
		}
		failed := readFailure(response)
		wait, asked := delay(response.Header)
		again := response.StatusCode == http.StatusTooManyRequests || response.StatusCode == http.StatusServiceUnavailable && asked
		switch {
		case !again:
			return nil, r.unavailable(failed)
		case attempt == maxAttempts || wait > maxWait:
			return nil, r.unavailable(fmt.Errorf("too many requests; try again in %s", max(wait, time.Second)))
		}
		if err := sleep(ctx, wait); err != nil {
			return nil, r.unavailable(err)
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

// unavailable keeps what a caller can act on, and the text.
func (r *remote) unavailable(err error) error {
	return fmt.Errorf("%s: %w: %w", r.name, ErrUnavailable, err)
}

// readFailure takes the message of an answer: registries send plain text.
func readFailure(response *http.Response) error {
	defer response.Body.Close()
	raw, _ := io.ReadAll(io.LimitReader(response.Body, 64<<10)) // a part is as good
	message := string(raw)
	if kind, _, _ := mime.ParseMediaType(response.Header.Get("Content-Type")); kind == "text/html" {
		message = "a web page"
	}
	return &statusError{response.StatusCode, excerpt(message[:min(len(message), maxMessage)]), raw}
}

// status is the HTTP status that an error came from; 0 when it came from none.
func status(err error) int {
	var e *statusError
	if errors.As(err, &e) {
		return e.status
	}
	return 0
}

// delay is how long a registry asks to wait: at least a second when it does not
// say.
func delay(h http.Header) (wait time.Duration, asked bool) {
	for _, name := range []string{"Retry-After", "RateLimit-Reset"} {
		if seconds, err := strconv.Atoi(h.Get(name)); err == nil && seconds >= 0 {
			return time.Duration(min(seconds, 1<<20)) * time.Second, true
		}
	}
	return time.Second, false
}

func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return nil
	}
}

// json gets an answer and reads it.
func (r *remote) json(ctx context.Context, address string, into any) error {
	response, err := r.get(ctx, address)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	raw, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer+1))
	if err == nil && len(raw) > maxAnswer {
		err = fmt.Errorf("its answer has more than %s", megabytes(maxAnswer))
	}
	if err == nil {
		err = json.Unmarshal(raw, into)
	}
	if err != nil {
		return r.unavailable(err)
	}
	return nil
}

// save gets a file, no longer than limit, and holds it against its digest when
// there is one.
func (r *remote) save(ctx context.Context, d download, into *os.Root, as string, limit int64, progress func(done, total int64)) (err error) {
	response, err := r.get(ctx, d.url)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.ContentLength > limit {
		return refused("%s has %s, at most %s are allowed", d.url, megabytes(response.ContentLength), megabytes(limit))
	}
	if err := into.MkdirAll(path.Dir(as), 0o755); err != nil {
		return err
	}
	f, err := into.OpenFile(as, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	h := sha256.New()
	counted := &counter{r: io.LimitReader(response.Body, limit+1), total: max(response.ContentLength, 0), report: progress}
	n, err := io.Copy(io.MultiWriter(f, h), counted)
	switch digest := hex.EncodeToString(h.Sum(nil)); {
	case err != nil:
		return r.unavailable(err)
	case n > limit:
		return refused("%s has more than %s", d.url, megabytes(limit))
	case d.digest != "" && d.digest != digest:
		return refused("%s is not what the registry describes: its digest is %s, not %s", d.url, digest, d.digest)
	}
	return nil
}

// counter tells how much has been read.
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

// sha256Hex reports that a text is a SHA-256 in hexadecimal.
func sha256Hex(s string) bool {
	raw, err := hex.DecodeString(s)
	return err == nil && len(raw) == sha256.Size && s == strings.ToLower(s)
}
