package outbox

import (
	"cmp"
	"errors"

	"github.com/etui-run/etui/approval"
	"github.com/etui-run/etui/message"
	"github.com/etui-run/etui/model"
	"github.com/etui-run/etui/phrase"
	"github.com/etui-run/etui/turn"
)

// Excuse says for people why a message got no reply. An error that an operator has to mend is
// none of their business, and is in the log.
func Excuse(err error, lang string) string {
	switch {
	case errors.Is(err, turn.ErrStopped):
		return phrase.In(lang, "Stopped.")
	case errors.Is(err, message.ErrTooLong), errors.Is(err, model.ErrTooLong):
		return phrase.In(lang, "That is too long for me. /new starts a new conversation.")
	case errors.Is(err, message.ErrInvalid), errors.Is(err, message.ErrUnknown), errors.Is(err, message.ErrOpen),
		errors.Is(err, message.ErrNothingAwaited), errors.Is(err, approval.ErrNotYours),
		errors.Is(err, model.ErrUnsupported):
		return phrase.In(lang, "That is not possible: %s.", cmp.Or(phrase.Error(lang, err), err.Error()))
	case errors.Is(err, model.ErrRateLimited), errors.Is(err, model.ErrUnavailable):
		return phrase.In(lang, "The language model cannot be reached at the moment. Please try again in a few minutes.")
	}
	return phrase.In(lang, "Something went wrong here, and the answer is lost. Please tell whoever runs this service, or try again later.")
}
