package http

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"time"
	"unicode/utf8"

	"github.com/failsafe-go/failsafe-go"
	"github.com/failsafe-go/failsafe-go/circuitbreaker"

	"github.com/etui-run/etui/internal/egress"
	"github.com/etui-run/etui/skill"
	"github.com/etui-run/etui/tool"
)

// Execute sends the call and returns the answer: a string if it is one, or else JSON.
func (r *remote) Execute(ctx context.Context, args json.RawMessage) (any, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, r.Timeout, skill.ErrProviderTimeout)
	defer cancel()
	if err := r.service.healthy(ctx, r); err != nil {
		return nil, r.explain(ctx, err)
	}
	key := tool.IdempotencyKey(ctx)
	if key == "" && r.replay == tool.Keyed {
		key = rand.Text()
	}
	parts, err := r.shape.fill(r.endpoint, args)
	if err != nil {
		return nil, err
	}
	if !r.paging.IsZero() {
		return r.pages(ctx, parts, key)
	}
	a, err := r.send(ctx, parts, key)
	if err != nil {
		return nil, err
	}
	return a.value, nil
}

// send sends a request, again where that is safe, and returns the answer.
func (r *remote) send(ctx context.Context, p *parts, key string) (*answer, error) {
	result, err := failsafe.With(r.provider.retries, r.service.breaker).WithContext(ctx).Get(func() (any, error) {
		a, err := r.try(ctx, p, key)
		r.remember(err)
		return a, err
	})
	if err != nil {
		return nil, r.explain(ctx, err)
	}
	r.service.isUp()
	return result.(*answer), nil
}

// answer is what a service answers to one request.
type answer struct {
	value  any // as [skill.Answer] returns it
	header http.Header
}

// try sends a request once. The error is a *failure, or says what is wrong with the
// answer.
func (r *remote) try(ctx context.Context, p *parts, key string) (*answer, error) {
	resp, err := r.provider.transport.RoundTrip(r.request(ctx, p, key))
	if err != nil {
		return nil, r.unreached(ctx, err)
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode/100 != 2 {
		return nil, r.refusal(ctx, resp)
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, skill.MaxResult+1))
	if err != nil && checkType(resp.Header) == nil {
		return nil, r.unreached(ctx, err)
	}
	if !r.shape.plain && len(body) == 0 {
		return &answer{fmt.Sprintf("done: the service answers %d %s without a text", resp.StatusCode,
			http.StatusText(resp.StatusCode)), resp.Header}, nil
	}
	if !r.shape.plain && isText(resp.Header) && utf8.Valid(body) {
		body, _ = json.Marshal(string(body)) // a text always marshals
	} else if err := checkType(resp.Header); err != nil {
		return nil, r.failed(err.Error())
	}
	value, err := skill.Answer(body, r.Redactor)
	return &answer{value, resp.Header}, err
}

// request makes a request of a call. Secrets are added here, at the last step.
func (r *remote) request(ctx context.Context, p *parts, key string) *http.Request {
	req := r.plainRequest(ctx, r.shape.method, p.url)
	if p.kind != "" {
		body := func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(p.body)), nil }
		req.Header.Set("Content-Type", p.kind)
		req.Body, _ = body() // never fails
		req.GetBody, req.ContentLength = body, int64(len(p.body))
	}
	if !r.shape.plain {
		req.Header.Set("Accept", "application/json, text/*;q=0.5")
	}
	for name, values := range p.header {
		req.Header[name] = values
	}
	r.addHeaders(req)
	if r.shape.encoding != "json" && p.kind != "" {
		req.Header.Set("Content-Type", p.kind)
	}
	if key != "" {
		req.Header.Set("Idempotency-Key", key)
	}
	return req
}

func (r *remote) plainRequest(ctx context.Context, method string, u *url.URL) *http.Request {
	header := http.Header{"Accept": {"application/json"}, "User-Agent": {"etui"}}
	r.provider.inject(ctx, header)
	return (&http.Request{
		Method: method, URL: u, Host: u.Host, Header: header,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
	}).WithContext(ctx)
}

func (r *remote) addHeaders(req *http.Request) {
	for name, value := range r.headers {
		req.Header.Set(name, string(value))
	}
}

// failure is why a try failed.
type failure struct {
	kind  error         // a sentinel of package skill
	text  string        // continues "the service at x"
	again bool          // the call may be repeated
	wait  time.Duration // before it is repeated, at least
	down  bool          // the service is down
	lost  bool          // it is unknown whether the call was done
}

func (f *failure) Error() string { return f.text }

func (r *remote) failed(text string) *failure {
	return &failure{kind: skill.ErrExecutionFailed, text: text}
}

// unreached classifies an error of the transport.
func (r *remote) unreached(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return r.late(ctx)
	}
	var refused *egress.RefusedError
	var untrusted *tls.CertificateVerificationError
	var connecting *net.OpError
	var name *net.DNSError
	f := &failure{kind: skill.ErrProviderUnavailable, down: true}
	switch {
	case errors.As(err, &refused):
		f.text, f.down = "may not be reached: "+refused.Error(), false
	case errors.As(err, &untrusted):
		f.text = "shows a certificate that is not trusted: " + untrusted.Err.Error()
	case errors.As(err, &name):
		f.text, f.again = "has a name that leads nowhere: "+name.Error(), !name.IsNotFound
	case errors.As(err, &connecting) && connecting.Op == "dial":
		f.text, f.again = "cannot be reached: "+connecting.Error(), true
	default:
		f.text, f.again, f.lost = "broke off: "+err.Error(), r.replay != tool.Never, true
	}
	return f
}

// remember keeps the reason why the service is down, for calls that are not sent.
func (r *remote) remember(err error) {
	var f *failure
	if errors.As(err, &f) && f.down {
		text := r.Redactor.Text(f.text)
		r.service.last.Store(&text)
	}
}

// late is the failure of a call that timed out. It counts against the service only if
// the service had the skill's whole time.
func (r *remote) late(ctx context.Context) *failure {
	return &failure{
		kind: skill.ErrProviderTimeout, text: fmt.Sprintf("has not answered in time (at most %s)", r.Timeout),
		down: errors.Is(context.Cause(ctx), skill.ErrProviderTimeout), lost: true,
	}
}

// explain turns a failure into the error that the model and the operator read.
func (r *remote) explain(ctx context.Context, err error) error {
	var f *failure
	switch {
	case errors.Is(ctx.Err(), context.Canceled):
		return fmt.Errorf("the call was ended: %w", context.Cause(ctx))
	case errors.As(err, &f):
	case ctx.Err() != nil:
		f = r.late(ctx)
	case errors.Is(err, circuitbreaker.ErrOpen):
		f = &failure{kind: skill.ErrProviderUnavailable, text: fmt.Sprintf(
			"is not asked for %s, after %d failures in a row; the last time it %s",
			r.service.breaker.RemainingDelay().Round(time.Second), failuresToOpen, r.service.lastFailure())}
	default:
		return fmt.Errorf("the service at %s: %w", r.endpoint.Host, err)
	}
	text := r.Redactor.Text(f.text)
	if f.lost && r.replay == tool.Never {
		text += "; whether the call was done is unknown"
	}
	return fmt.Errorf("%w: the service at %s %s", f.kind, r.endpoint.Host, text)
}
