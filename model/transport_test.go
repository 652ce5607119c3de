package model

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// tripFunc is a RoundTripper without a network.
type tripFunc func(*http.Request) (*http.Response, error)

func (f tripFunc) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func respond(status int, header ...string) *http.Response {
	resp := &http.Response{StatusCode: status, Header: http.Header{}, Body: io.NopCloser(strings.NewReader("body"))}
	for i := 0; i < len(header); i += 2 {
		resp.Header.Set(header[i], header[i+1])
	}
	return resp
}

func post(ctx context.Context) *http.Request {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://provider.test/", strings.NewReader(`{"model":"m","messages":[]}`))
	if err != nil {
		panic(err)
	}
	req.Header.Set("Content-Type", "application/json")
	return req
}

func TestRetries(t *testing.T) {
	lost := errors.New("connection reset by peer")
	for _, tt := range []struct {
		name string
		cfg  TransportConfig
		// script holds an *http.Response or an error for each attempt.
		script   []any
		attempts int
		status   int
		// from and to bound how long it takes altogether.
		from, to time.Duration
	}{
		{"an answer at once", TransportConfig{}, []any{respond(200)}, 1, 200, 0, 0},
		{"a bad request is final", TransportConfig{}, []any{respond(400)}, 1, 400, 0, 0},
		{"500, then an answer", TransportConfig{}, []any{respond(500), respond(200)}, 2, 200, 500 * time.Millisecond, 600 * time.Millisecond},
		{"the pause doubles", TransportConfig{}, []any{respond(503), lost, respond(200)}, 3, 200, 1500 * time.Millisecond, 1800 * time.Millisecond},
		{"three attempts", TransportConfig{}, []any{respond(529), respond(529), respond(529)}, 3, 529, 1500 * time.Millisecond, 1800 * time.Millisecond},
		{"lost connections", TransportConfig{}, []any{lost, lost, lost}, 3, 0, 1500 * time.Millisecond, 1800 * time.Millisecond},
		{"no retries", TransportConfig{Retries: -1}, []any{respond(500)}, 1, 500, 0, 0},
		{"five retries, bounded pauses", TransportConfig{Retries: 5, MaxWait: time.Second}, []any{lost, lost, lost, lost, lost, respond(200)}, 6, 200, 4500 * time.Millisecond, 5400 * time.Millisecond},
		{"Retry-After in seconds", TransportConfig{}, []any{respond(429, "Retry-After", "7"), respond(200)}, 2, 200, 7 * time.Second, 7 * time.Second},
		{"Retry-After as a date", TransportConfig{}, []any{respond(503, "Retry-After", "Sat, 01 Jan 2000 00:00:20 GMT"), respond(200)}, 2, 200, 20 * time.Second, 20 * time.Second},
		{"a date gone by", TransportConfig{}, []any{respond(503, "Retry-After", "Fri, 31 Dec 1999 00:00:00 GMT"), respond(200)}, 2, 200, 0, 0},
		{"Retry-After that is too long", TransportConfig{}, []any{respond(429, "Retry-After", "31")}, 1, 429, 0, 0},
		{"Retry-After that is no time", TransportConfig{}, []any{respond(429, "Retry-After", "soon"), respond(200)}, 2, 200, 500 * time.Millisecond, 600 * time.Millisecond},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				attempts := 0
				tt.cfg.Base = tripFunc(func(r *http.Request) (*http.Response, error) {
					body, _ := io.ReadAll(r.Body)
					if string(body) != `{"model":"m","messages":[]}` {
						t.Errorf("attempt %d has the body %s", attempts+1, body)
					}
					next := tt.script[attempts]
					attempts++
					if err, ok := next.(error); ok {
						return nil, err
					}
					return next.(*http.Response), nil
				})
				begun := time.Now()
				resp, err := Transport(tt.cfg).RoundTrip(post(t.Context()))
				took := time.Since(begun)
				status := 0
				if err == nil {
					status = resp.StatusCode
					if body, err := io.ReadAll(resp.Body); string(body) != "body" || err != nil {
						t.Errorf("the body is %q, %v", body, err)
					}
					_ = resp.Body.Close()
				}
				if attempts != tt.attempts || status != tt.status {
					t.Errorf("%d attempts, status %d, %v; want %d, %d", attempts, status, err, tt.attempts, tt.status)
				}
				if took < tt.from || took > tt.to {
					t.Errorf("it took %v, want %v to %v", took, tt.from, tt.to)
				}
			})
		})
	}
}

func TestRetriesEndWithContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		attempts := 0
		_, err := Transport(TransportConfig{Base: tripFunc(func(*http.Request) (*http.Response, error) {
			attempts++
			return respond(429, "Retry-After", "20"), nil
		})}).RoundTrip(post(ctx))
		if !errors.Is(err, context.DeadlineExceeded) || attempts != 1 {
			t.Errorf("%d attempts, %v", attempts, err)
		}
	})
}

func TestSlowToBegin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begun, attempts := time.Now(), 0
		_, err := Transport(TransportConfig{Base: tripFunc(func(r *http.Request) (*http.Response, error) {
			attempts++
			<-r.Context().Done()
			return nil, r.Context().Err()
		})}).RoundTrip(post(t.Context()))
		if !errors.Is(err, errSlow) || attempts != 1 || time.Since(begun) != time.Minute {
			t.Errorf("%d attempts, %v after %v", attempts, err, time.Since(begun))
		}
	})
}

func TestIdle(t *testing.T) {
	for _, tt := range []struct {
		pause time.Duration
		want  error
	}{{119 * time.Second, nil}, {121 * time.Second, errIdle}} {
		synctest.Test(t, func(t *testing.T) {
			resp, err := Transport(TransportConfig{Base: tripFunc(func(r *http.Request) (*http.Response, error) {
				resp := respond(200)
				resp.Body = slowBody(r.Context(), tt.pause)
				return resp, nil
			})}).RoundTrip(post(t.Context()))
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
			one := make([]byte, 1)
			for range 3 {
				if _, err = resp.Body.Read(one); err != nil {
					break
				}
				time.Sleep(time.Hour) // the reader's time does not count
			}
			if !errors.Is(err, tt.want) {
				t.Errorf("with pauses of %v: %v, want %v", tt.pause, err, tt.want)
			}
		})
	}
}

// slowBody sends a byte after each pause until ctx ends.
func slowBody(ctx context.Context, pause time.Duration) io.ReadCloser {
	r, w := io.Pipe()
	go func() {
		for {
			select {
			case <-time.After(pause):
				_, _ = w.Write([]byte("x"))
			case <-ctx.Done():
				_ = w.CloseWithError(ctx.Err())
				return
			}
		}
	}()
	return r
}
