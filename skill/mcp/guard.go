package mcp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/etui-run/etui/skill"
	"github.com/etui-run/etui/skill/mcp/internal/wire"
)

// guard sends the requests to a service, with the headers of the skill's file, which it
// sends nowhere else, and bounds the answers.
type guard struct {
	base     http.RoundTripper
	headers  map[string]skill.Secret
	endpoint *url.URL
	login    bool // etui may log in after a refusal
}

// answerTime bounds how long a service may take to open a stream of events outside of
// calls.
const answerTime = 30 * time.Second

func (g *guard) RoundTrip(r *http.Request) (*http.Response, error) {
	if !sameOrigin(r.URL, g.endpoint) {
		return nil, fmt.Errorf("a request to %s is not for this server", r.URL.Host)
	}
	ctx, cancel := context.WithCancel(r.Context())
	r = r.Clone(ctx)
	for name, value := range g.headers {
		r.Header.Set(name, string(value))
	}
	if r.Method == http.MethodGet {
		late := time.AfterFunc(answerTime, cancel)
		defer late.Stop()
	}
	response, err := g.base.RoundTrip(r)
	if err != nil {
		cancel()
		return nil, err
	}
	body := &boundedBody{ReadCloser: response.Body, left: wire.MaxMessage, cancel: cancel}
	kind, _, _ := strings.Cut(response.Header.Get("Content-Type"), ";")
	if strings.EqualFold(strings.TrimSpace(kind), "text/event-stream") {
		body.left = -1 // each event has its own bound
	}
	response.Body = body
	if response.StatusCode == http.StatusUnauthorized && !g.login {
		_ = body.Close() // it is not read
		return nil, errUnauthorized
	}
	return response, nil
}

// boundedBody is a body of a limited size.
type boundedBody struct {
	io.ReadCloser
	left   int // negative: no limit
	cancel context.CancelFunc
}

var errTooLong = errors.New("the answer is too long")

func (b *boundedBody) Read(p []byte) (int, error) {
	if b.left == 0 {
		return 0, errTooLong
	}
	if b.left > 0 && len(p) > b.left {
		p = p[:b.left]
	}
	n, err := b.ReadCloser.Read(p)
	if b.left > 0 {
		b.left -= n
	}
	return n, err
}

func (b *boundedBody) Close() error {
	defer b.cancel()
	return b.ReadCloser.Close()
}
