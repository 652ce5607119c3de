package model_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"

	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/model"
	"github.com/etui-run/etui/model/fake"
)

func failing(kind error) *fake.Model {
	return fake.New(fake.Step{Err: &model.Error{Model: "broken", Kind: kind}})
}

func TestFallback(t *testing.T) {
	for _, tt := range []struct {
		name        string
		first       *fake.Model
		text        string
		err         error
		secondAsked bool
	}{
		{"the first answers", fake.New(fake.Step{Text: "first"}), "first", nil, false},
		{"unavailable", failing(model.ErrUnavailable), "second", nil, true},
		{"rate limited", failing(model.ErrRateLimited), "second", nil, true},
		{"the key is wrong", failing(model.ErrAuth), "second", nil, true},
		{"the account has no credit", failing(model.ErrBilling), "second", nil, true},
		{"the model does not exist", failing(model.ErrNoModel), "second", nil, true},
		{"the request is wrong", failing(model.ErrRequest), "", model.ErrRequest, false},
		{"the request is too long", failing(model.ErrTooLong), "", model.ErrTooLong, false},
		{"it failed after some text", fake.New(fake.Step{Text: "some", Err: &model.Error{Kind: model.ErrUnavailable}}), "some", model.ErrUnavailable, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			second := fake.New(fake.Step{Text: "second"})
			said, _, _, err := model.Answer(model.Fallback(tt.first, second).Stream(t.Context(), model.Request{}))
			if said.Text != tt.text || !errors.Is(err, tt.err) {
				t.Errorf("got %q, %v; want %q, %v", said.Text, err, tt.text, tt.err)
			}
			if asked := len(second.Requests()) > 0; asked != tt.secondAsked {
				t.Errorf("the second was asked: %t", asked)
			}
		})
	}
}

func TestFallbackAllFail(t *testing.T) {
	m := model.Fallback(failing(model.ErrAuth), failing(model.ErrUnavailable))
	_, _, _, err := model.Answer(m.Stream(t.Context(), model.Request{}))
	var e *model.Error
	if !errors.Is(err, model.ErrAuth) || !errors.Is(err, model.ErrUnavailable) || !errors.As(err, &e) {
		t.Errorf("got %v", err)
	}
	want := "no model answered: model broken: the provider refused the key; model broken: the provider is not available"
	if err.Error() != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
}

func TestFallbackCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	first := fake.New(fake.Step{Check: func(model.Request) error { cancel(); return nil }})
	second := fake.New(fake.Step{})
	_, _, _, err := model.Answer(model.Fallback(first, second).Stream(ctx, model.Request{}))
	if !errors.Is(err, context.Canceled) || len(second.Requests()) > 0 {
		t.Errorf("got %v, %d requests to the second", err, len(second.Requests()))
	}
}

func TestFallbackInfo(t *testing.T) {
	a, b, c := fake.New(), fake.New(), fake.New()
	b.Window, c.Window = 200_000, 8000
	got := model.Fallback(a, b, c).Info()
	if got.Name != "fake" {
		t.Errorf("got.Name = %q, want %q", got.Name, "fake")
	}
	if got.Window != 8000 {
		t.Errorf("got.Window = %v, want 8000", got.Window)
	}
	if model.Fallback(a) != model.Model(a) {
		t.Error("one model is not itself")
	}
}

func TestLog(t *testing.T) {
	var out bytes.Buffer
	log := slog.New(slog.NewTextHandler(&out, &slog.HandlerOptions{Level: slog.LevelDebug}))
	good := fake.New(fake.Step{Text: "secret words", Usage: model.Tokens{Input: 12, Output: 3}})
	m := model.Fallback(model.Log(failing(model.ErrUnavailable), log), model.Log(good, log))
	if _, _, _, err := model.Answer(m.Stream(t.Context(), model.Request{Messages: []chat.Message{{Text: "secret words"}}})); err != nil {
		t.Fatal(err)
	}
	text := out.String()
	for _, want := range []string{`level=WARN msg="model failed"`, `level=DEBUG msg="model answered"`, "input=12"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is missing in\n%s", want, text)
		}
	}
	if strings.Contains(text, "secret") {
		t.Errorf("the log contains messages:\n%s", text)
	}
}
