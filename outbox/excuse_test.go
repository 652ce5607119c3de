package outbox_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/model"
	"github.com/etui-run/etui/outbox"
	"github.com/etui-run/etui/phrase"
	"github.com/etui-run/etui/turn"
)

// TestExcuse: people read why there is no reply in their language.
func TestExcuse(t *testing.T) {
	said := map[string]bool{}
	for _, err := range []error{turn.ErrStopped, model.ErrTooLong, model.ErrUnsupported, &model.Error{Kind: model.ErrRateLimited}, errors.New("the disk is full")} {
		err = fmt.Errorf("turn: %w", err)
		english, chinese := outbox.Excuse(err, ""), outbox.Excuse(err, phrase.Chinese)
		if chat.Chinese(english) || !chat.Chinese(chinese) || said[chinese] {
			t.Errorf("%v: %q and %q", err, english, chinese)
		}
		said[chinese] = true
	}
}
