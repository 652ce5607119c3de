package wire

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/etui-run/etui/approval"
	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/clienttool"
	"github.com/etui-run/etui/engine"
	"github.com/etui-run/etui/message"
	"github.com/etui-run/etui/model"
	"github.com/etui-run/etui/phrase"
	"github.com/etui-run/etui/session"
	"github.com/etui-run/etui/store"
	"github.com/etui-run/etui/turn"
)

// This file is about turns that wait for a person while their client is a program. The answer says what
// waits. The same request, sent again, gets the same answer until somebody has decided, and then the
// rest of the turn, once.

// PendingCall is a call or a question that waits for a person, and how to answer it.
type PendingCall struct {
	ID   string `json:"id"`
	Tool string `json:"tool"`
	Risk string `json:"risk,omitempty"`
	// Arguments are those of the call, without secrets and cut.
	Arguments string    `json:"arguments,omitempty"`
	Question  string    `json:"question,omitempty"`
	Choices   []string  `json:"choices,omitempty"`
	Expires   time.Time `json:"expires,omitzero"`
	Decide    Decide    `json:"decide"`
}

// Decide is the request that approves a call or answers a question. With approved set to false it denies
// the call.
type Decide struct {
	Method string         `json:"method"`
	Path   string         `json:"path"`
	Body   map[string]any `json:"body"`
}

// Extension is the part of an answer that other servers of its protocol do not have.
type Extension struct {
	Waiting []PendingCall `json:"waiting"`
}

// Extender is implemented by writers whose answers can have an [Extension].
type Extender interface {
	// Extend is called before the end of an answer.
	Extend(*Extension)
}

// waitingTurn is the record of a turn that waits, under the digest of its request.
type waitingTurn struct {
	// Name is what the client calls the session; Aside says that etui made it for the turn.
	Name  string `json:"name,omitempty"`
	Aside bool   `json:"aside,omitempty"`
	// Sender is the hash of whose it is: no name outlives its person here.
	Sender string `json:"sender"`
	// Before is how many messages the session had when the turn began to wait.
	Before int       `json:"before"`
	At     time.Time `json:"at"`
	// Session is where the turn is.
	Session session.Key `json:"-"`
}

// senderOf tells those apart who may go on with a turn.
func senderOf(m engine.Message) string {
	return message.Hash([]string{m.Agent, m.Client, cmp.Or(m.User, m.As), m.Channel, m.Chat})
}

const (
	// asks is the kind of the records. At most maxAsked are kept, for at most keepAsked.
	asks      = "asked"
	maxAsked  = 1000
	keepAsked = 7 * 24 * time.Hour
	// asidePrefix begins the names of sessions of turns whose conversation the client keeps.
	asidePrefix = "asks-"
)

// digest tells requests apart. Named is what the client calls the conversation.
func digest(m engine.Message, named string) string {
	return message.Hash([]any{senderOf(m), named, m.Text, m.Files, m.History, m.Results})
}

// setAside makes a turn wait whose conversation the client keeps, if its sender can be told from others.
func setAside(m *engine.Message) {
	if m.History != nil && (m.User != "" || m.As != "" || m.Trusted) {
		m.Aside = asidePrefix + rand.Text()[:16]
	}
}

// turns are those that wait for people.
type turns struct {
	engine *engine.Engine
	out    Writer
	m      engine.Message
	named  string
	// forOthers says that the client names whom a message is from.
	forOthers bool
}

// name is what the client would call the session in which the turn waits.
func (t turns) name() string { return cmp.Or(t.m.Aside, t.m.Session) }

// find returns the record of the turn that the request began before; nil if there is none.
func (t turns) find(ctx context.Context) (key string, found *waitingTurn, err error) {
	list, err := t.engine.Store().Records(ctx, asks)
	if err != nil || len(list) == 0 {
		return "", nil, wrapped(err)
	}
	key = digest(t.m, t.named)
	by := senderOf(t.m)
	id, decides := approval.Parse(t.m.Text)
	for _, r := range list {
		var a waitingTurn
		switch err := json.Unmarshal(r.Value, &a); {
		case err != nil || a.Sender != by:
		case r.Key == key:
			a.Session, err = t.session(a.Name)
			return key, &a, err
		case decides && a.Aside && t.m.History != nil:
			if a.Session, err = t.session(a.Name); err == nil && t.waits(ctx, a.Session, id.ID) {
				return r.Key, &a, nil
			}
		}
	}
	return key, nil, nil
}

// session returns the session that the sender calls by a name.
func (t turns) session(name string) (session.Key, error) {
	m := t.m
	m.Session = name
	who, err := t.engine.Agents().Whoami(m)
	return who.Session, err
}

func wrapped(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%w: %w", engine.ErrStore, err)
}

func (t turns) waits(ctx context.Context, key session.Key, id string) bool {
	a, err := t.engine.Approvals().Get(ctx, id)
	return err == nil && a.Session == key
}

// maxWaits is how often a request waits for the turn that it began before.
const maxWaits = 20

// again answers a request whose turn waits, or has gone on since; false means that there is none.
func (t turns) again(ctx context.Context) (answered bool, err error) {
	key, found, err := t.find(ctx)
	if err != nil || found == nil {
		return false, err
	}
	if _, decides := approval.Parse(t.m.Text); decides { // it goes on here
		return true, t.decide(ctx, key, *found)
	}
	for range maxWaits {
		s, err := t.engine.Store().Load(ctx, found.Session, 1)
		if err != nil {
			return false, wrapped(err)
		}
		decided, err := t.engine.Store().Items(ctx,
			store.ItemFilter{Session: found.Session, State: store.Waiting, Limit: 1})
		if err != nil {
			return false, wrapped(err)
		}
		open := slices.DeleteFunc(slices.Clone(s.Awaits),
			func(a session.Await) bool { return a.For != session.Approval })
		waits := slices.ContainsFunc(s.Awaits, func(a session.Await) bool {
			return a.For == session.Client || a.For == session.Approval && a.Apart == nil
		})
		switch {
		case len(decided) > 0 || s.Turn.ID != "" && !waits:
			leave, err := t.engine.Sessions().Enter(ctx, found.Session)
			if err != nil {
				return false, err
			}
			leave()
		case len(open) > 0:
			_, m, err := t.engine.Agents().Ready(message.New(t.m))
			if err != nil {
				return false, err
			}
			for i := range open {
				open[i].Language = m.Language
			}
			done := turn.End{Reply: approval.Text(open), Stop: model.Done, Awaits: open}
			return true, t.tell(found.Name, done)
		default:
			return t.rest(ctx, key, *found, waits)
		}
	}
	return false, phrase.Errorf("%w: the turn that the request began goes on; send it again in a moment",
		engine.ErrBusy)
}

// rest answers with the end of a turn that has gone on, once; false means that it has none. A turn that is
// handed over waits for results of the client, of calls that it may have made before it waited for a person.
func (t turns) rest(ctx context.Context, key string, found waitingTurn, handed bool) (answered bool, err error) {
	from := found.Before
	if handed {
		from = 0
	}
	said, err := t.engine.Store().Messages(ctx, found.Session, from, 0)
	if err != nil {
		return false, wrapped(err)
	}
	if handed {
		said = said[afterQuestion(said):]
	}
	if next := slices.IndexFunc(said, func(m chat.Message) bool { return m.Role == chat.User }); next >= 0 {
		said = said[:next]
	}
	last := slices.IndexFunc(said, func(m chat.Message) bool { return m.Role == chat.Assistant })
	for i, m := range said {
		if m.Role == chat.Assistant {
			last = i
		}
	}
	if last < 0 {
		return false, t.forget(ctx, key, found)
	}
	done := turn.End{Reply: said[last].Text, Stop: model.Done}
	for _, c := range said[last].Calls {
		if c.Client {
			done.Handed = append(done.Handed, c)
		}
	}
	if err := t.tell("", done); err != nil {
		return true, nil //nolint:nilerr // the client has gone, and may come again
	}
	if len(done.Handed) > 0 {
		if err := t.hold(ctx, found, done); err != nil {
			return true, err
		}
	}
	return true, t.forget(ctx, key, found)
}

// hold keeps what the client does not see of a turn that went on aside and hands calls over.
func (t turns) hold(ctx context.Context, found waitingTurn, done turn.End) error {
	if !found.Aside {
		return nil
	}
	all, err := t.engine.Store().Messages(ctx, found.Session, 0, 0)
	if err != nil {
		return wrapped(err)
	}
	a, err := t.engine.Agents().Get(t.m.Agent)
	if err != nil {
		return err
	}
	m := t.m
	m.Offer.Token = clienttool.TokenOf(all)
	return t.engine.Agents().Hold(ctx, a, message.New(m), nil, all[afterQuestion(all):], &turn.Step{Done: &done})
}

// afterQuestion returns where the messages after the last one of a user begin.
func afterQuestion(list []chat.Message) int {
	for i, m := range slices.Backward(list) {
		if m.Role == chat.User {
			return i + 1
		}
	}
	return 0
}

// forget removes the record of a turn that is over, and the session that etui made for it.
func (t turns) forget(ctx context.Context, key string, found waitingTurn) error {
	ctx = context.WithoutCancel(ctx)
	if _, err := t.engine.Store().Remove(ctx, asks, key); err != nil {
		return wrapped(err)
	}
	if !found.Aside {
		return nil
	}
	err := t.engine.Sessions().Delete(ctx, found.Session)
	if errors.Is(err, session.ErrNotFound) {
		return nil
	}
	return err
}

// decide has a turn go on with the decision that the message of its sender is, and tells the rest of it.
func (t turns) decide(ctx context.Context, key string, found waitingTurn) error {
	m := t.m
	m.History, m.Session = nil, found.Name
	var done *turn.End
	for e, err := range t.engine.Send(ctx, m) {
		if err != nil {
			return err
		}
		if e.Done != nil {
			done = e.Done
		} else if t.out.Event(e) != nil {
			return nil // it goes on, and the first request gets the rest
		}
	}
	switch {
	case done == nil:
		return nil
	case len(done.Awaits) > 0:
		return t.ended(found.Name, *done)
	}
	if t.ended("", *done) != nil {
		return nil
	}
	if len(done.Handed) > 0 {
		if err := t.hold(ctx, found, *done); err != nil {
			return err
		}
	}
	return t.forget(ctx, key, found)
}

// keep records that the turn of the request waits.
func (t turns) keep(ctx context.Context) error {
	key, err := t.session(t.name())
	if err != nil {
		return err
	}
	a := waitingTurn{Name: t.name(), Aside: t.m.Aside != "", Sender: senderOf(t.m), At: t.engine.Now()}
	list, err := t.engine.Store().List(ctx, session.Filter{Key: key, Limit: 1})
	if err != nil || len(list) == 0 {
		return wrapped(err)
	}
	a.Before = list[0].Messages
	known, err := t.engine.Store().Records(ctx, asks)
	if err != nil {
		return wrapped(err)
	}
	for i, r := range known {
		var old waitingTurn
		if json.Unmarshal(r.Value, &old) != nil || a.At.Sub(old.At) > keepAsked || i < len(known)-maxAsked {
			_, _ = t.engine.Store().Remove(ctx, asks, r.Key) // it is tried again with the next one
		}
	}
	raw, err := json.Marshal(a)
	if err == nil {
		err = wrapped(t.engine.Store().Put(ctx, asks, digest(t.m, t.named), raw))
	}
	return err
}

// tell writes a whole answer.
func (t turns) tell(name string, done turn.End) error {
	if done.Reply != "" {
		if err := t.out.Event(turn.Event{Text: done.Reply}); err != nil {
			return err
		}
	}
	return t.ended(name, done)
}

// ended writes the end of an answer. If its turn waits, in the session of a name, it says how a program
// decides.
func (t turns) ended(name string, done turn.End) error {
	if len(done.Awaits) > 0 {
		x, how := Extend(t.m, name, t.forOthers, done.Awaits)
		if err := t.out.Event(turn.Event{Text: how}); err != nil {
			return err
		}
		if out, ok := t.out.(Extender); ok {
			out.Extend(x)
		}
	}
	return t.out.Event(turn.Event{Done: &done})
}

// Extend returns what waits for people of a message, in the session of a name, for programs and as text.
func Extend(m engine.Message, name string, forOthers bool, list []session.Await) (x *Extension, how string) {
	x = &Extension{}
	var text strings.Builder
	for _, a := range list {
		w := PendingCall{
			ID: a.ID, Tool: a.Tool, Risk: a.Risk, Arguments: a.Arguments, Question: a.Question, Choices: a.Choices,
			Expires: a.Until, Decide: Decide{http.MethodPost, "/api/approvals/" + a.ID, body(m, name, forOthers, a)},
		}
		x.Waiting = append(x.Waiting, w)
		body, _ := json.Marshal(w.Decide.Body) // texts
		fmt.Fprintf(&text, "\nA program decides with POST %s and %s.", w.Decide.Path, body)
	}
	text.WriteString("\nThe same request, sent again, goes on with the decision.")
	return x, text.String()
}

// body is that of the request that answers what waits, as the client of a message can send it.
func body(m engine.Message, name string, forOthers bool, a session.Await) map[string]any {
	body := map[string]any{"approved": true}
	if a.Question != "" {
		body = map[string]any{"answer": "..."}
	}
	for field, value := range map[string]string{"agent": m.Agent, "session": name} {
		if a.User == "" && value != "" { // only the conversation that asked decides
			body[field] = value
		}
	}
	if m.User != "" && forOthers {
		body["user"] = m.User
	}
	return body
}
