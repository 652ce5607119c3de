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
	result, err := failsafe.With(r.provider.retries, r.service.breaker).WithContext(ctx).Get(func() (any, error) {
		result, err := r.try(ctx, args, key)
		r.remember(err)
		return result, err
	})
	if err != nil {
		return nil, r.explain(ctx, err)
	}
	r.service.isUp()
	return result, nil
}

// try sends the call once. The error is a *failure, or says what is wrong with the
// answer.
func (r *remote) try(ctx context.Context, args json.RawMessage, key string) (any, error) {
	resp, err := r.provider.transport.RoundTrip(r.request(ctx, args, key))
	if err != nil {
		return nil, r.unreached(ctx, err)
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode/100 != 2 {
		return nil, r.refusal(ctx, resp)
	}
	if err := checkType(resp.Header); err != nil {
		return nil, r.failed(err.Error())
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, skill.MaxResult+1))
	if err != nil {
		return nil, r.unreached(ctx, err)
	}
	return skill.Answer(body, r.Redactor)
}

// request makes the request of a call. Secrets are added here, at the last step.
func (r *remote) request(ctx context.Context, args json.RawMessage, key string) *http.Request {
	if len(args) == 0 {
		args = json.RawMessage("{}")
	}
	body := func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(args)), nil }
	req := r.plainRequest(ctx, http.MethodPost, r.endpoint)
	req.Header.Set("Content-Type", "application/json")
	req.Body, _ = body() // never fails
	req.GetBody, req.ContentLength = body, int64(len(args))
	r.addHeaders(req)
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
	var refused *egress.Refused
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
			"is not asked for %s, after %d failures in a row; the last time it %s", r.service.breaker.RemainingDelay().Round(time.Second), failuresToOpen, r.service.lastFailure())}
	default:
		return fmt.Errorf("the service at %s: %w", r.endpoint.Host, err)
	}
	text := r.Redactor.Text(f.text)
	if f.lost && r.replay == tool.Never {
		text += "; whether the call was done is unknown"
	}
	return fmt.Errorf("%w: the service at %s %s", f.kind, r.endpoint.Host, text)
}
