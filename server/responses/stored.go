package responses

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"

	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/engine"
	"github.com/etui-run/etui/phrase"
	"github.com/etui-run/etui/server/wire"
	"github.com/etui-run/etui/session"
	"github.com/etui-run/etui/store"
)

// maxStored is how many bytes the record of a response has at most. A longer one is not stored, and says
// so in its field store.
const maxStored = 4 << 20

// record is a stored response with what it takes to go on with it. It is the newest message of a session
// of its own, which is called as the response, belongs to its sender, and is swept and erased as any
// other.
type record struct {
	Response response          `json:"response"`
	Input    []json.RawMessage `json:"input"`
	// Client is the API key that asked: no other key reads the response.
	Client  string `json:"client,omitempty"`
	Trusted bool   `json:"trusted,omitempty"`
	// Begins says that the request began a conversation.
	Begins bool `json:"begins,omitempty"`
	// Message is that of a response in the background until it has ended, and Holder the process that
	// works on it.
	Message *engine.Message `json:"message,omitempty"`
	Holder  string          `json:"holder,omitempty"`
}

// recordOf is what [chat.Message.StateOf] says of the message with a record.
const recordOf = "responses"

// errNone says that a client has no such response.
type errNone string

func (e errNone) Error() string { return fmt.Sprintf("there is no response %q", string(e)) }

// errOther says that it is another client's.
type errOther struct{ errNone }

// save stores a record in the session of a key.
func (a *API) save(ctx context.Context, key session.Key, sender engine.Message, rec record) error {
	raw, err := json.Marshal(rec)
	if err != nil {
		return err
	}
	raw = a.engine.Agents().Secrets().Redactor().JSON(raw)
	if len(raw) > maxStored {
		return phrase.Errorf("%w: a response that is stored may have %d bytes with its input", engine.ErrTooLong,
			maxStored)
	}
	who, err := a.engine.Agents().Whoami(sender)
	if err != nil {
		return err
	}
	return a.engine.Store().Append(context.WithoutCancel(ctx), key, session.State{}, chat.Message{
		Role: chat.User, Note: "[a response that its client can ask for]", User: who.Sender, Channel: who.Channel,
		Time: a.engine.Now(), State: raw, StateOf: recordOf,
	})
}

// keyOf returns the session with the record of a response to a sender.
func (a *API) keyOf(sender engine.Message, id string) (session.Key, error) {
	sender.Session = id
	who, err := a.engine.Agents().Whoami(sender)
	return who.Session, err
}

// load returns the record of a response, if it is the client's.
func (a *API) load(r *http.Request, sender engine.Message, id string) (rec record, key session.Key, err error) {
	if key, err = a.keyOf(sender, id); err != nil {
		return rec, key, err
	}
	s, err := a.engine.Store().Load(r.Context(), key, 1)
	if err != nil {
		return rec, key, fmt.Errorf("loading the response: %w: %w", engine.ErrStore, err)
	}
	if len(s.Messages) == 0 || s.Messages[0].StateOf != recordOf {
		return rec, key, errNone(id)
	}
	if err = json.Unmarshal(s.Messages[0].State, &rec); err == nil && rec.Client != wire.CallerOf(r).Key {
		err = errOther{errNone(id)}
	}
	return rec, key, err
}

// stored is a response that a request of its client names.
type stored struct {
	record
	key    session.Key
	sender engine.Message
}

// find returns the response that the path of a request names. When there is none, it answers so and
// returns false.
func (a *API) find(w http.ResponseWriter, r *http.Request) (found stored, ok bool) {
	id := r.PathValue("id")
	err := wire.Sender(r, &found.sender)
	found.sender.Session = ""
	for _, name := range a.models.Names() {
		if err != nil {
			break
		}
		found.sender.Agent = name
		if found.record, found.key, err = a.load(r, found.sender, id); err == nil {
			return found, true
		}
		if errors.As(err, new(errNone)) || errors.As(err, new(errOther)) {
			err = nil
		}
	}
	if err == nil {
		wire.RefuseField(w, http.StatusNotFound, "response_not_found", "response_id", errNone(id).Error())
		return found, false
	}
	wire.Fail(w, err)
	return found, false
}

// Get answers with a stored response.
func (a *API) Get(w http.ResponseWriter, r *http.Request) {
	found, ok := a.find(w, r)
	if !ok {
		return
	}
	q := r.URL.Query()
	stream, err := wire.Flag(q, "stream")
	switch {
	case err != nil:
		wire.RefuseField(w, http.StatusBadRequest, "invalid_request", "stream", err.Error())
		return
	case stream && q.Get("starting_after") != "": // the events that are sent again have other numbers
		wire.RefuseField(w, http.StatusBadRequest, "unsupported_parameter", "starting_after",
			"a stream begins with its first event here: leave starting_after out")
		return
	case stream:
		a.replay(w, r, found)
		return
	}
	wire.Reply(w, http.StatusOK, a.current(r, found))
}

// Delete removes a stored response, and ends it if it still runs.
func (a *API) Delete(w http.ResponseWriter, r *http.Request) {
	found, ok := a.find(w, r)
	if !ok {
		return
	}
	a.stop(r, found)
	if err := a.engine.Sessions().Delete(r.Context(), found.key); err != nil {
		wire.Fail(w, err)
		return
	}
	wire.Reply(w, http.StatusOK, map[string]any{"id": found.Response.ID, "object": "response", "deleted": true})
}

// Cancel ends a response that runs in the background, and answers with it.
func (a *API) Cancel(w http.ResponseWriter, r *http.Request) {
	found, ok := a.find(w, r)
	if !ok {
		return
	}
	if !found.Response.Background {
		wire.RefuseField(w, http.StatusBadRequest, "invalid_request", "response_id",
			"only a response with background: true can be cancelled; close the connection of another one")
		return
	}
	wire.Reply(w, http.StatusOK, a.stop(r, found))
}

// The items that an answer has at most, and if the query does not say.
const maxItems, someItems = 100, 20

// InputItems lists what the request of a stored response brought, newest first unless the query wants
// another order.
func (a *API) InputItems(w http.ResponseWriter, r *http.Request) {
	found, ok := a.find(w, r)
	if !ok {
		return
	}
	q := r.URL.Query()
	limit, err := wire.Limit(q, "items")
	if order := q.Get("order"); err == nil && order != "" && order != "asc" && order != "desc" {
		err = errors.New("order must be asc or desc")
	}
	if err != nil {
		wire.Refuse(w, http.StatusBadRequest, err.Error())
		return
	}
	if q.Get("order") != "asc" {
		slices.Reverse(found.Input)
	}
	list := struct {
		Object string            `json:"object"`
		Data   []json.RawMessage `json:"data"`
		First  string            `json:"first_id"`
		Last   string            `json:"last_id"`
		More   bool              `json:"has_more"`
	}{Object: "list", Data: []json.RawMessage{}}
	if limit == 0 {
		limit = someItems
	}
	after := q.Get("after")
	for _, raw := range found.Input {
		id := idOf(raw)
		switch {
		case after != "":
			if id == after {
				after = ""
			}
			continue
		case len(list.Data) == min(limit, maxItems):
			list.More = true
			continue
		}
		if list.Data = append(list.Data, raw); list.First == "" {
			list.First = id
		}
		list.Last = id
	}
	wire.Reply(w, http.StatusOK, list)
}

func idOf(item json.RawMessage) string {
	var head struct {
		ID string `json:"id"`
	}
	_ = json.Unmarshal(item, &head) // it was made by items
	return head.ID
}

// holder names this process in records.
func (a *API) holder() string {
	if shared, ok := a.engine.Store().(store.Shared); ok {
		return shared.Holder()
	}
	return a.process
}

// works reports whether the process that works on a response still does.
func (a *API) works(ctx context.Context, rec record) bool {
	shared, ok := a.engine.Store().(store.Shared)
	if !ok || rec.Holder == a.holder() {
		return false // it is not among those of this process
	}
	alive, err := shared.Alive(ctx)
	return err != nil || slices.Contains(alive, rec.Holder)
}
