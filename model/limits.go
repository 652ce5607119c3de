package model

import (
	"context"
	"errors"
	"io"
	"net/http"
	"time"
)

var (
	errSlow = errors.New("the provider took too long to begin its answer")
	errIdle = errors.New("the answer stopped coming")
)

// Paused reports whether an answer ended because it paused for too long.
func Paused(err error) bool { return errors.Is(err, errIdle) }

// maxPause is how long an answer may pause during a read.
const maxPause = 2 * time.Minute

// timeLimits cancels requests that get no answer in time and answers that pause for
// too long.
type timeLimits struct {
	next   http.RoundTripper
	header time.Duration
}

func (t timeLimits) RoundTrip(req *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithCancelCause(req.Context())
	timer := time.AfterFunc(t.header, func() { cancel(errSlow) })
	resp, err := t.next.RoundTrip(req.WithContext(ctx))
	timer.Stop()
	if err != nil {
		err = timedOut(ctx, err)
		cancel(nil)
		return nil, err
	}
	b := &timedBody{ReadCloser: resp.Body, ctx: ctx, cancel: cancel}
	b.timer = time.AfterFunc(maxPause, func() { cancel(errIdle) })
	b.timer.Stop() // runs only during a read
	resp.Body = b
	return resp, nil
}

// timedOut replaces the error of a cancelled request with the time limit that
// cancelled it, if any.
func timedOut(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); errors.Is(cause, errSlow) || errors.Is(cause, errIdle) {
		return cause
	}
	return err
}

// timedBody is the body of an answer. A read that takes too long cancels it.
type timedBody struct {
	io.ReadCloser
	ctx    context.Context //nolint:containedctx // the request's, which ends with its body
	cancel context.CancelCauseFunc
	timer  *time.Timer
}

func (b *timedBody) Read(p []byte) (int, error) {
	b.timer.Reset(maxPause)
	n, err := b.ReadCloser.Read(p)
	b.timer.Stop()
	if err != nil && !errors.Is(err, io.EOF) {
		err = timedOut(b.ctx, err)
	}
	return n, err
}

func (b *timedBody) Close() error {
	b.timer.Stop()
	b.cancel(nil)
	return b.ReadCloser.Close()
}
