package engine

import (
	"context"
	"errors"
	"fmt"

	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/internal/printable"
	"github.com/etui-run/etui/message"
	"github.com/etui-run/etui/session"
)

// File returns a stored file of a message, or of a tool's result, by its [chat.File.SHA256], with its
// bytes. The error wraps [ErrUnknown] if no conversation has it.
func (e *Engine) File(ctx context.Context, sha256 string) (chat.File, error) {
	data, err := e.config.Store.File(ctx, sha256)
	if errors.Is(err, session.ErrNoFile) {
		err = fmt.Errorf("file %q: %w: no message has it", printable.Line(sha256, message.MaxName), ErrUnknown)
	}
	return chat.File{Data: data, Size: len(data), SHA256: sha256}, err
}
