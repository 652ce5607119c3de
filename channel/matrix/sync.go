package matrix

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/etui-run/etui/channel"
	"github.com/etui-run/etui/channel/platform"
	"github.com/etui-run/etui/internal/panics"
)

const (
	maxTimeline = 50                 // events of a room that come at once
	maxGap      = 500                // events of a room that are asked for when there were more
	workers     = 8                  // rooms that are handled at once: each may load files
	oldest      = 7 * 24 * time.Hour // how far back messages are answered
	joinTries   = 3                  // to follow an invitation
)

// timelineTypes are the events that count. Those about people and rights make the channel forget
// what it knew about them.
var timelineTypes = []string{typeMessage, typeEncrypted, typeSticker, typePoll, typeNewPoll, typeCall, typeRing,
	typeBeacon, typeNewBeacon, typeMember, typeLevels, typeTombstone, typeAlias}

// record is what is kept of an account.
type record struct {
	// Since is the position in its messages.
	Since string `json:"since,omitempty"`
	// Last are the rooms in which something was written last, each with its newest message: a
	// homeserver may show that again when it is asked for those after the position.
	Last []string `json:"last,omitempty"`
	// Salt is random, and makes its transaction IDs differ from those of other stores.
	Salt string `json:"salt"`
	// Told are the encrypted rooms that were told so.
	Told []string `json:"told,omitempty"`
}

// maxLast is how many rooms that are.
const maxLast = 100

// change changes the record of the account.
func (c *Channel) change(ctx context.Context, change func(r *record)) error {
	me, err := c.who(ctx)
	if err != nil {
		return err
	}
	return c.config.Records.Change(ctx, Platform, me.ID+" "+c.api.Base().String(),
		func(value json.RawMessage) (json.RawMessage, error) {
			var r record
			if value != nil {
				if err := json.Unmarshal(value, &r); err != nil {
					return nil, fmt.Errorf("matrix: the record of the position: %w", err)
				}
			}
			if r.Salt == "" {
				r.Salt = rand.Text()
			}
			change(&r)
			c.salt.Store(&r.Salt)
			return json.Marshal(r)
		})
}

// run is what one call of Run works with.
type run struct {
	*Channel
	in   channel.Receiver
	me   *account
	work sync.WaitGroup

	since string

	mu   sync.Mutex
	last []string // as in a record
}

// Run implements [channel.Channel].
func (c *Channel) Run(ctx context.Context, in channel.Receiver) error {
	me, err := c.ask(ctx)
	if err != nil {
		return err
	}
	r := &run{Channel: c, in: in, me: me}
	ctx, stop := context.WithCancel(ctx)
	defer r.work.Wait()
	defer stop()
	err = c.change(ctx, func(kept *record) {
		r.since, r.last = kept.Since, kept.Last
		for _, room := range kept.Told {
			c.told.Add(room)
		}
	})
	if err == nil {
		err = c.moves.Open(ctx, me.ID)
	}
	if err == nil {
		err = c.loadDirects(ctx)
	}
	if err != nil {
		return err
	}
	return r.poll(ctx)
}

// answer is what /sync says.
type answer struct {
	Next        string `json:"next_batch"`
	AccountData struct {
		Events []event
	} `json:"account_data"`
	Rooms struct {
		Join   map[string]joined
		Invite map[string]struct {
			State struct {
				Events []json.RawMessage
			} `json:"invite_state"`
		}
		Leave map[string]json.RawMessage
	}
}

// joined is what is new in a room.
type joined struct {
	Timeline struct {
		Events  []json.RawMessage
		Limited bool
		Prev    string `json:"prev_batch"`
	}
}

// filter says what is wanted of /sync.
func filter(limit int) string {
	type object = map[string]any
	nothing := object{"not_types": []string{"*"}}
	text, _ := json.Marshal(object{
		"presence": nothing, "account_data": object{"types": []string{typeDirect}},
		"room": object{"account_data": nothing, "ephemeral": nothing, "state": nothing,
			"timeline": object{"limit": limit, "types": timelineTypes}},
	})
	return string(text)
}

// poll asks for what is new until ctx ends or something fails.
func (r *run) poll(ctx context.Context) error {
	limit := maxTimeline
	kept := time.Time{}
	for ctx.Err() == nil {
		query := url.Values{"filter": {filter(limit)}, "timeout": {strconv.FormatInt(pollTime.Milliseconds(), 10)},
			"set_presence": {"online"}}
		if r.since == "" {
			query.Set("timeout", "0")
		} else {
			query.Set("since", r.since)
		}
		asked := time.Now()
		var a answer
		sync := route("GET", "v3/sync")
		sync.Query, sync.Time = query, pollTime+platform.CallTime
		err := r.request(ctx, sync, &a)
		var f *platform.Failure
		switch {
		case ctx.Err() != nil:
			continue
		case errors.Is(err, platform.ErrTooLarge) && limit > 1:
			limit = max(limit/4, 1) // the rest comes as gaps
			continue
		case errors.As(err, &f) && f.Status == http.StatusBadRequest && r.since != "":
			r.log.ErrorContext(ctx, "the homeserver does not know the position any more, so that what was written meanwhile is left out", "error", err)
			r.since = ""
			continue
		case err != nil:
			return err
		case a.Next == "":
			return errors.New("matrix: GET v3/sync: the answer has no next_batch")
		}
		if err := r.batch(ctx, a); err != nil {
			return err
		}
		moved := r.since != a.Next
		news := len(a.Rooms.Join)+len(a.Rooms.Invite)+len(a.Rooms.Leave) > 0
		if moved && (news || r.since == "" || time.Since(kept) > time.Hour) {
			// Also when ctx has just ended: all of it is safe.
			if err := r.change(context.WithoutCancel(ctx),
				func(k *record) { k.Since, k.Last = a.Next, r.last }); err != nil {
				return err
			}
			kept = time.Now()
		}
		r.since, limit = a.Next, maxTimeline
		if !news && query.Get("timeout") != "0" && time.Since(asked) < time.Second {
			_ = platform.Sleep(ctx, time.Second) // a server that does not wait must not be asked without end
		}
	}
	return nil
}

// batch handles what is new: rooms at the same time, the messages of each in their order.
// An error means that it has to come again.
func (r *run) batch(ctx context.Context, a answer) error {
	for _, e := range a.AccountData.Events {
		if e.Type == typeDirect {
			r.directs.set(e.Content)
		}
	}
	for room := range a.Rooms.Leave {
		r.forget(room)
	}
	var tasks []func() error
	for room, news := range a.Rooms.Invite {
		if roomID(room) {
			tasks = append(tasks, func() error { return r.invited(ctx, room, r.decode(ctx, news.State.Events)) })
		}
	}
	for room, news := range a.Rooms.Join {
		if roomID(room) {
			tasks = append(tasks, func() error { return r.room(ctx, room, news) })
		}
	}
	var group panics.Group
	slots, errs := make(chan struct{}, workers), make([]error, len(tasks))
	for i, task := range tasks {
		slots <- struct{}{}
		group.Go(func() {
			defer func() { <-slots }()
			errs[i] = task()
		})
	}
	group.Wait()
	return errors.Join(errs...)
}

// decode reads events. Those that are not as expected are left out: they would come again for
// ever.
func (c *Channel) decode(ctx context.Context, raw []json.RawMessage) (list []event) {
	for _, data := range raw {
		e, err := parse(data)
		if err != nil {
			c.log.WarnContext(ctx, "an event of Matrix is not as expected, and is left out", "error", err)
			continue
		}
		list = append(list, e)
	}
	return list
}

// room hands over what is new in a room. With the first position nothing is: it was written
// before.
func (r *run) room(ctx context.Context, room string, news joined) error {
	events := r.decode(ctx, news.Timeline.Events)
	from, entered := entry(r.me.ID, events)
	if news.Timeline.Limited {
		r.forget(room)
		if r.since != "" && !entered {
			missed, err := r.gap(ctx, room, news.Timeline.Prev)
			if err != nil {
				return err
			}
			events = append(missed, events...)
		}
	}
	read, last := "", ""
	for i, e := range events {
		switch {
		case e.StateKey != nil && !e.beacon():
			r.changed(room, e)
			if e.Type == typeTombstone {
				if err := r.follow(ctx, room, e.Content); err != nil {
					return err
				}
			}
		case e.Sender == r.me.ID:
			r.mine.Add(e.ID)
		case i < from || r.since == "" || !e.time().IsZero() && time.Since(e.time()) > oldest:
		default:
			taken, err := r.take(ctx, room, e)
			if err != nil {
				return err
			}
			if last = e.ID; taken {
				read = e.ID
			}
		}
	}
	if last != "" {
		r.mu.Lock()
		others := slices.DeleteFunc(slices.Clone(r.last), func(s string) bool { return strings.HasPrefix(s, room+" ") })
		r.last = append(others[max(0, len(others)-maxLast+1):], room+" "+last)
		r.mu.Unlock()
	}
	if read != "" {
		r.read(ctx, room, read)
	}
	return nil
}

// entry returns the index of the first event since the account was invited to the room, or has
// entered it uninvited, and whether it has entered it in these events.
func entry(me string, events []event) (from int, entered bool) {
	invited := false
	for i, e := range events {
		if e.Type != typeMember || e.StateKey == nil || *e.StateKey != me {
			continue
		}
		var now member
		_ = json.Unmarshal(e.Content, &now) // what is not as expected is no membership
		switch now.Membership {
		case "invite":
			from, invited, entered = i+1, true, true
		case "join":
			before := e.Unsigned.Before
			if before != nil && before.Membership == "join" || before == nil && e.Unsigned.Replaces != "" {
				continue // a new name or picture
			}
			if entered = true; !invited {
				from = i + 1
			}
		default:
			from, invited = i+1, false
		}
	}
	return from, entered
}

// gap returns the events of a room since the position that /sync left out, in their order.
func (r *run) gap(ctx context.Context, room, from string) (list []event, err error) {
	types, _ := json.Marshal(map[string]any{"types": timelineTypes})
	for from != "" {
		var page struct {
			Chunk []json.RawMessage
			End   string
		}
		query := url.Values{"dir": {"b"}, "from": {from}, "to": {r.since}, "limit": {"100"}, "filter": {string(types)}}
		err := r.call(ctx, "GET", "v3/rooms/{}/messages", []string{room}, query, nil, &page)
		if denied(err) {
			r.log.WarnContext(ctx, "messages of a room that were written while etui was away are not to be had", "room",
				room, "error", err)
			break
		}
		if err != nil {
			return nil, err
		}
		for _, e := range r.decode(ctx, page.Chunk) {
			if r.handled(room, e.ID) || !e.time().IsZero() && time.Since(e.time()) > oldest {
				page.End = ""
				break
			}
			list = append(list, e)
		}
		if len(list) >= maxGap && page.End != "" {
			r.log.WarnContext(ctx, "so much was written in a room while etui was away that older messages are left out",
				"room", room, "events", len(list))
			break
		}
		if from == page.End || len(page.Chunk) == 0 {
			break
		}
		from = page.End
	}
	slices.Reverse(list)
	return list, nil
}

// handled reports whether a message was handed over: by this process lately, or as the newest
// one of its room.
func (r *run) handled(room, id string) bool {
	known := r.seen.Has(id)
	r.mu.Lock()
	defer r.mu.Unlock()
	return known || slices.Contains(r.last, room+" "+id)
}

// take completes a message and hands it over, unless that was done before. It reports whether
// somebody wanted it.
func (r *run) take(ctx context.Context, room string, e event) (bool, error) {
	if r.handled(room, e.ID) {
		return false, nil
	}
	a, ok := r.arrival(r.me, room, e)
	if !ok {
		return false, nil
	}
	wanted, err := r.complete(ctx, a)
	if err == nil {
		err = ctx.Err() // what was asked for is not complete
	}
	if err == nil && !a.encrypted {
		err = r.in.Receive(ctx, a.Incoming)
	}
	if err != nil {
		return false, fmt.Errorf("matrix: taking a message: %w", err)
	}
	r.seen.Add(e.ID)
	return wanted, nil
}

// read shows people that messages were read. It is only a hint, so it is left out when many
// are on their way.
func (r *run) read(ctx context.Context, room, event string) {
	select {
	case r.reading <- struct{}{}:
	default:
		return
	}
	r.work.Go(func() {
		defer panics.Log(r.log, "sending a receipt to Matrix")
		defer func() { <-r.reading }()
		if err := r.call(ctx, "POST", "v3/rooms/{}/receipt/m.read/{}", []string{room, event}, nil, struct{}{},
			nil); err != nil && ctx.Err() == nil {
			r.log.DebugContext(ctx, "a receipt was not taken", "error", err)
		}
	})
}

// invited follows an invitation to a room in which somebody may write to the account, and
// declines others.
func (r *run) invited(ctx context.Context, room string, state []event) error {
	by, direct := "", false
	for _, e := range state {
		if e.Type == typeMember && e.StateKey != nil && *e.StateKey == r.me.ID {
			var m member
			_ = json.Unmarshal(e.Content, &m) // no direct chat, then
			by, direct = e.Sender, m.Direct
		}
	}
	if !userID(by) {
		r.log.WarnContext(ctx, "an invitation does not say from whom it is, and is left alone", "room", room)
		return nil
	}
	replaces, may := r.replaces(ctx, room, state)
	if may {
		return nil // the end of the old room decides
	}
	m := channel.Incoming{
		ID: "invitation", From: channel.Sender{ID: by}, At: channel.Address{Chat: room}, Former: r.moves.Former(room),
	}
	group := m
	group.Group, group.Mentioned = true, true
	listed := replaces || r.configured(ctx, room) || !direct && channel.Wanted(ctx, r.in, group)
	if listed || channel.Wanted(ctx, r.in, m) || direct && r.config.Strangers {
		entered, err := r.join(ctx, room, by, direct)
		if err == nil && entered && !direct && !replaces {
			err = r.hello(ctx, m)
		}
		return err
	}
	r.log.InfoContext(ctx, "an invitation is declined, because neither the person is in allow nor the room in groups",
		"room", room, "from", by)
	return r.leave(ctx, room)
}

// join enters a room, and reports whether it could.
func (r *run) join(ctx context.Context, room, by string, direct bool) (entered bool, err error) {
	join := route("POST", "v3/rooms/{}/join", room)
	join.Body, join.Time = struct{}{}, 2*platform.CallTime
	err = r.request(ctx, join, nil)
	if failed(err) {
		r.mu.Lock()
		r.tries[room]++
		tries := r.tries[room]
		if tries == joinTries {
			delete(r.tries, room)
		}
		r.mu.Unlock()
		if tries == joinTries {
			r.log.WarnContext(ctx, "a room cannot be entered, and its invitation is declined", "room", room, "from", by,
				"error", err)
			return false, r.leave(ctx, room)
		}
	}
	if err != nil {
		return false, err
	}
	r.mu.Lock()
	delete(r.tries, room)
	r.mu.Unlock()
	r.log.InfoContext(ctx, "the account has entered a room", "room", room, "invited_by", by, "direct", direct)
	r.aliases.Forget()
	if direct {
		err = r.mark(ctx, by, room)
	}
	return true, err
}

// hello lets the host greet a room that the account was invited to, if it is a group already.
func (r *run) hello(ctx context.Context, m channel.Incoming) error {
	var err error
	if m.Group, err = r.group(ctx, m.At.Chat); err != nil || !m.Group {
		return err
	}
	m.Added = true
	return r.in.Receive(ctx, m)
}

// leave leaves a room, or declines the invitation to it.
func (r *run) leave(ctx context.Context, room string) error {
	err := r.call(ctx, "POST", "v3/rooms/{}/leave", []string{room}, nil, struct{}{}, nil)
	if err == nil {
		err = r.call(ctx, "POST", "v3/rooms/{}/forget", []string{room}, nil, struct{}{}, nil)
	}
	if failed(err) {
		r.log.WarnContext(ctx, "a room cannot be left", "room", room, "error", err)
		return nil
	}
	return err
}
