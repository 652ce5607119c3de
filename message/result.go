package message

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/etui-run/etui/approval"
	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/model"
	"github.com/etui-run/etui/phrase"
	"github.com/etui-run/etui/store"
	"github.com/etui-run/etui/turn"
)

// result is how a message ended, as the inbox keeps it: with Done, or with an error of a
// kind.
type result struct {
	Done  *turn.End         `json:"done,omitempty"`
	Error string            `json:"error,omitempty"`
	Kind  string            `json:"kind,omitempty"`
	Said  map[string]string `json:"said,omitempty"` // Error in other languages
	// Files come with the reply. Their bytes are those of the session's messages.
	Files []chat.File `json:"files,omitempty"`
}

// failures are the errors that a client may get again, with their names.
var failures = []struct {
	name string
	err  error
}{
	{"unknown", ErrUnknown}, {"invalid", ErrInvalid}, {"open", ErrOpen}, {"nothing_awaited", ErrNothingAwaited},
	{"parked", ErrParked}, {"stopped", turn.ErrStopped}, {"not_yours", approval.ErrNotYours},
	{"auth", model.ErrAuth}, {"billing", model.ErrBilling}, {"no_model", model.ErrNoModel},
	{"rate_limited", model.ErrRateLimited}, {"too_long", model.ErrTooLong},
	{"request", model.ErrRequest}, {"unsupported", model.ErrUnsupported}, {"unavailable", model.ErrUnavailable},
}

// kindOf returns the name of a failure; empty if it has none.
func kindOf(err error) string {
	for _, k := range failures {
		if errors.Is(err, k.err) {
			return k.name
		}
	}
	return ""
}

// Result returns how a message ended, as the inbox keeps it. Files come with the reply.
func Result(done *turn.End, err error, files ...chat.File) json.RawMessage {
	r := result{Done: done, Files: files}
	if err != nil {
		r.Error, r.Kind = err.Error(), kindOf(err)
		if said := phrase.Error(phrase.Chinese, err); said != "" {
			r.Said = map[string]string{phrase.Chinese: said}
		}
	}
	raw, _ := json.Marshal(r) // texts and numbers
	return raw
}

// storedError is an error that an earlier message got.
type storedError struct {
	text string
	said map[string]string // in other languages
	kind error             // nil when it is of none
}

func (a *storedError) Error() string         { return a.text }
func (a *storedError) Unwrap() error         { return a.kind }
func (a *storedError) In(lang string) string { return a.said[lang] }

// ResultOf returns how an item ended: with Done, and the files that come with its reply, or an error.
func ResultOf(i store.Item) (*turn.End, []chat.File, error) {
	if i.State == store.Parked {
		return nil, nil, fmt.Errorf("%w: %s", ErrParked, i.Reason)
	}
	var r result
	if err := json.Unmarshal(i.Result, &r); err != nil {
		return nil, nil, fmt.Errorf("the result of the message cannot be read: %w", err)
	}
	if r.Done != nil {
		return r.Done, r.Files, nil
	}
	failed := &storedError{text: r.Error, said: r.Said}
	for _, k := range failures {
		if k.name == r.Kind {
			failed.kind = k.err
		}
	}
	return nil, r.Files, failed
}

// Repeat yields the result of an item that has ended: its reply as one text.
func Repeat(i store.Item, yield func(turn.Event, error) bool) bool {
	done, _, err := ResultOf(i)
	if err != nil {
		return yield(turn.Event{}, err) && false
	}
	return (done.Reply == "" || yield(turn.Event{Text: done.Reply}, nil)) && yield(turn.Event{Done: done}, nil)
}

// FailureOf returns a word for how a message failed; empty if it did not.
func FailureOf(err error) string {
	switch {
	case err == nil, errors.Is(err, turn.ErrSuspended): // it goes on
		return ""
	case errors.Is(err, store.ErrAway):
		return "database_unavailable"
	case errors.Is(err, store.ErrLost):
		return "taken_over"
	case errors.Is(err, context.Canceled):
		return "cancelled"
	}
	return cmp.Or(kindOf(err), "_OTHER")
}
