package channel

import (
	"context"
	"errors"

	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/inspect"
	"github.com/etui-run/etui/selection"
)

// errUnheld says that a receiver does not know what was.
var errUnheld = errors.New("nothing is known of earlier messages here")

// FileOf returns a file that was sent, by its SHA256, with its bytes. The error wraps
// [message.ErrUnknown] when it is no longer kept.
func FileOf(ctx context.Context, in Receiver, sha256 string) (chat.File, error) {
	if k, ok := in.(interface {
		File(ctx context.Context, sha256 string) (chat.File, error)
	}); ok {
		return k.File(ctx, sha256)
	}
	return chat.File{}, errUnheld
}

// WhyOf returns which tools an earlier message of a person got, as far as the person may know it; nil when
// that is unknown.
func WhyOf(ctx context.Context, in Receiver, m Incoming) (*selection.Compact, error) {
	if k, ok := in.(interface {
		Why(ctx context.Context, m Incoming) (*selection.Compact, error)
	}); ok {
		return k.Why(ctx, m)
	}
	return nil, errUnheld
}

// receiver is what the channel of an account gets.
type receiver struct{ *account }

// File is for [FileOf].
func (r receiver) File(ctx context.Context, sha256 string) (chat.File, error) {
	return r.file(ctx, sha256)
}

// Why is for [WhyOf].
func (r receiver) Why(ctx context.Context, m Incoming) (*selection.Compact, error) {
	em := r.message(ctx, m)
	text := em.Text
	em.Text = ""
	t, err := inspect.New(r.engine).WhyOf(ctx, em, text, m.Time)
	if t == nil {
		return nil, err
	}
	return &t.Selection, nil
}
