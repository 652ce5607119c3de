package model_test

import (
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/model"
	"github.com/etui-run/etui/model/fake"
	"github.com/etui-run/etui/model/modeltest"
	"github.com/etui-run/etui/model/openai"
)

// says asks m and returns its answer, or its error.
func says(t *testing.T, m model.Model) string {
	t.Helper()
	said, _, _, err := model.Answer(m.Stream(t.Context(), model.Request{Messages: []chat.Message{{Role: chat.User, Text: "Hi"}}}))
	if err != nil {
		return err.Error()
	}
	return said.Text
}

// A model that failed is avoided for a while, longer if waiting does not help, and asked
// first again after that.
func TestRests(t *testing.T) {
	for _, tt := range []struct {
		err  *model.Error
		rest time.Duration
	}{
		{&model.Error{Kind: model.ErrRateLimited, RetryAfter: 42 * time.Second}, 42 * time.Second},
		{&model.Error{Kind: model.ErrRateLimited, RetryAfter: 24 * time.Hour}, time.Hour},
		{&model.Error{Kind: model.ErrRateLimited}, 15 * time.Second},
		{&model.Error{Kind: model.ErrUnavailable}, 10 * time.Second},
		{&model.Error{Kind: model.ErrAuth}, 10 * time.Minute},
		{&model.Error{Kind: model.ErrBilling}, 10 * time.Minute},
		{&model.Error{Kind: model.ErrNoModel}, 10 * time.Minute},
	} {
		synctest.Test(t, func(t *testing.T) {
			first := fake.New(fake.Step{Err: tt.err}, fake.Step{Text: "first"}, fake.Step{Text: "first"})
			m := model.Fallback(first, fake.New(slices.Repeat([]fake.Step{{Text: "second"}}, 3)...))
			var got []string
			for _, pause := range []time.Duration{0, tt.rest - time.Millisecond, time.Millisecond, 0} {
				time.Sleep(pause)
				got = append(got, says(t, m))
			}
			if want := []string{"second", "second", "first", "first"}; !slices.Equal(got, want) {
				t.Errorf("after %v: %v, want %v", tt.err, got, want)
			}
		})
	}
}

func TestRestDoubles(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		first := fake.New(slices.Repeat([]fake.Step{{Err: &model.Error{Kind: model.ErrUnavailable}}}, 100)...)
		watched := model.Watch(first)
		for _, want := range []time.Duration{10 * time.Second, 20 * time.Second, 40 * time.Second, 80 * time.Second, 160 * time.Second, 5 * time.Minute, 5 * time.Minute} {
			says(t, watched)
			rests := time.Until(model.HealthOf(watched)[0].Rests)
			if rests != want {
				t.Errorf("it rests %v, want %v", rests, want)
			}
			time.Sleep(rests)
		}
	})
}

// After a rest only one request tries the model again; the others do not wait for it.
func TestOneTries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		first := fake.New(fake.Step{Err: &model.Error{Kind: model.ErrUnavailable}}, fake.Step{Check: func(model.Request) error {
			time.Sleep(20 * time.Second)
			return nil
		}, Text: "first"})
		m := model.Fallback(first, fake.New(fake.Step{Text: "second"}, fake.Step{Text: "second"}))
		says(t, m)
		time.Sleep(10 * time.Second)
		tried := make(chan string)
		go func() { tried <- says(t, m) }()
		synctest.Wait()
		if got := says(t, m); got != "second" {
			t.Errorf("while another request tries the first model: %q", got)
		}
		if got := <-tried; got != "first" {
			t.Errorf("the request that tries it: %q", got)
		}
	})
}

// If all models rest, they are asked all the same.
func TestAllRest(t *testing.T) {
	broken := fake.Step{Err: &model.Error{Model: "x", Kind: model.ErrUnavailable}}
	m := model.Fallback(fake.New(broken, fake.Step{Text: "first"}), fake.New(broken))
	if got := says(t, m); !strings.HasPrefix(got, "no model answered") {
		t.Errorf("got %q", got)
	}
	if got := says(t, m); got != "first" {
		t.Errorf("got %q", got)
	}
}

func TestTooLongForTheFirst(t *testing.T) {
	tooLong := fake.Step{Err: &model.Error{Kind: model.ErrTooLong}}
	first, small, unknown, large := fake.New(tooLong), fake.New(), fake.New(), fake.New(fake.Step{Text: "large"})
	first.Window, small.Window, large.Window = 8000, 4000, 200_000
	m := model.Fallback(first, small, unknown, large)
	if got := says(t, m); got != "large" {
		t.Errorf("got %q", got)
	}
	if h := model.HealthOf(m)[0]; !h.Rests.IsZero() {
		t.Errorf("a model rests because of a long request: %+v", h)
	}
}

// A rate limit is not waited for while another model can answer.
func TestNoWaitWithOthers(t *testing.T) {
	limited := modeltest.OpenAI(modeltest.Reply{Status: http.StatusTooManyRequests, Header: map[string]string{"Retry-After": "20"}})
	defer limited.Close()
	first, err := openai.New(openai.Config{Model: "m", BaseURL: limited.URL, APIKey: modeltest.Key})
	if err != nil {
		t.Fatal(err)
	}
	m := model.Fallback(first, fake.New(fake.Step{Text: "second"}))
	if got := says(t, m); got != "second" {
		t.Errorf("got %q", got)
	}
	if n := len(limited.Requests()); n != 1 {
		t.Errorf("the first model was asked %d times", n)
	}
	h := model.HealthOf(m)[0]
	if h.Rests.IsZero() {
		t.Error("it does not rest")
	}
	if !strings.Contains(h.Error, "rate limit") {
		t.Errorf("the error is %q", h.Error)
	}
}

func TestNoRestWithoutFault(t *testing.T) {
	for _, kind := range []error{model.ErrRequest, model.ErrTooLong, errors.New("odd")} {
		m := model.Watch(fake.New(fake.Step{Err: &model.Error{Kind: kind}}))
		says(t, m)
		if h := model.HealthOf(m)[0]; !h.Rests.IsZero() {
			t.Errorf("it rests after %v", kind)
		}
	}
}
