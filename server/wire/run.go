package wire

import (
	"errors"
	"fmt"
	"net/http"

	"github.com/etui-run/etui/engine"
	"github.com/etui-run/etui/model"
	"github.com/etui-run/etui/turn"
)

// Writer writes a turn in the form of a protocol.
type Writer interface {
	// Event writes an event of the turn; the error means that the client has gone.
	Event(e turn.Event) error
	// Fail says why the turn failed: with a status as long as nothing was sent.
	Fail(err error)
}

// Run runs the turn of a message, which a client may send again, and writes its events. A message
// that is too long fails with [model.ErrTooLong], the error at which clients of models shorten
// the conversation.
func Run(r *http.Request, e *engine.Engine, m engine.Message, out Writer) {
	RunIn(r, e, m, m.Session, out)
}

// RunIn is [Run] for a message whose client calls the conversation by a name, or by none if etui has just
// made the session for it.
func RunIn(r *http.Request, e *engine.Engine, m engine.Message, named string, out Writer) {
	setAside(&m)
	t := turns{e, out, m, named, CallerOf(r).ForOthers}
	if answered, err := t.again(r.Context()); answered || err != nil {
		if err != nil {
			out.Fail(err)
		}
		return
	}
	sent := Joins(r, &m)
	for event, err := range e.Send(r.Context(), m) {
		if errors.Is(err, engine.ErrTooLong) {
			err = fmt.Errorf("%w: %s", model.ErrTooLong, err.Error()) // which is no longer that of etui's own API
		}
		if err != nil {
			out.Fail(err)
			return
		}
		if event.Done == nil {
			if out.Event(event) != nil {
				return // that ends the turn unless the client comes back
			}
			continue
		}
		if len(event.Done.Awaits) > 0 {
			if err := t.keep(r.Context()); err != nil {
				out.Fail(err)
				return
			}
		}
		if t.ended(t.name(), *event.Done) != nil {
			return
		}
		sent()
	}
}
