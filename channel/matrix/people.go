package matrix

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/etui-run/etui/channel"
	"github.com/etui-run/etui/channel/platform"
	"github.com/etui-run/etui/internal/printable"
	"github.com/etui-run/etui/phrase"
)

// direct are the rooms that people have begun as direct chats: the account's m.direct, by person.
type direct struct {
	rooms atomic.Pointer[map[string][]string]
}

// set takes the content of m.direct.
func (d *direct) set(data []byte) {
	var rooms map[string][]string
	if json.Unmarshal(data, &rooms) == nil {
		d.rooms.Store(&rooms)
	}
}

// all returns the rooms, which nobody changes.
func (d *direct) all() map[string][]string {
	if rooms := d.rooms.Load(); rooms != nil {
		return *rooms
	}
	return nil
}

// has reports whether a room is a direct chat.
func (d *direct) has(room string) bool {
	for _, rooms := range d.all() {
		if slices.Contains(rooms, room) {
			return true
		}
	}
	return false
}

// loadDirects asks for the direct chats.
func (c *Channel) loadDirects(ctx context.Context) error {
	me, err := c.who(ctx)
	if err != nil {
		return err
	}
	var data json.RawMessage
	err = c.call(ctx, "GET", "v3/user/{}/account_data/{}", []string{me.ID, typeDirect}, nil, nil, &data)
	if platform.Fails(err, notFound) {
		return nil
	}
	if err == nil {
		c.directs.set(data)
	}
	return err
}

// mark notes that a room is a direct chat with a person.
func (c *Channel) mark(ctx context.Context, person, room string) error {
	c.resolve.Lock()
	defer c.resolve.Unlock()
	if err := c.loadDirects(ctx); err != nil {
		return err
	}
	return c.marked(ctx, person, room)
}

// marked is mark with resolve held, and the direct chats known.
func (c *Channel) marked(ctx context.Context, person, room string) error {
	if slices.Contains(c.directs.all()[person], room) {
		return nil
	}
	me, err := c.who(ctx)
	if err != nil {
		return err
	}
	all := map[string][]string{person: {room}}
	for p, rooms := range c.directs.all() {
		all[p] = slices.Concat(all[p], rooms)
	}
	if err := c.call(ctx, "PUT", "v3/user/{}/account_data/{}", []string{me.ID, typeDirect}, nil, all, nil); err != nil {
		return err
	}
	data, _ := json.Marshal(all) // texts
	c.directs.set(data)
	return nil
}

// listed reports whether the configuration says that a room is a group.
func (c *Channel) listed(ctx context.Context, room string) bool {
	return slices.Contains(c.config.Groups, channel.Everybody) && !c.directs.has(room) || c.configured(ctx, room)
}

// group reports whether a room is one for several people: one that the configuration lists, or
// with more than two people in it. Nobody else reads what is written in a direct chat.
func (c *Channel) group(ctx context.Context, room string) (bool, error) {
	if c.listed(ctx, room) {
		return true, nil
	}
	var err error
	return c.places.Get(ctx, room, func() (group, known bool) {
		var answer struct {
			Joined map[string]json.RawMessage
		}
		r := route("GET", "v3/rooms/{}/joined_members", room)
		r.Limit = maxMembers
		// Nobody is listed if there are too many, or if the account is out of it again.
		if err = c.request(ctx, r, &answer); err != nil && (errors.Is(err, platform.ErrTooLarge) || denied(err)) {
			err = nil
		}
		return len(answer.Joined) == 0 || len(answer.Joined) > 2, err == nil
	}), err
}

// changed forgets what an event of a room makes untrue.
func (c *Channel) changed(room string, e event) {
	switch e.Type {
	case typeAlias:
		c.aliases.Forget()
	case typeMember:
		c.places.Forget(room)
		c.names.Remove(room + " " + *e.StateKey)
	case typeLevels:
		c.levels.Forget(room)
	}
}

// tombstone is the content of the event that ends a room.
type tombstone struct {
	Room string `json:"replacement_room"`
}

// begun is the content of the event that begins a room.
type begun struct {
	Before struct {
		Room string `json:"room_id"`
	} `json:"predecessor"`
}

// follow goes from a room that was replaced to the new one, which has to say so itself. An invitation
// there can still come.
func (r *run) follow(ctx context.Context, room string, content json.RawMessage) error {
	var now tombstone
	_ = json.Unmarshal(content, &now) // nothing to name, then
	if r.moves.Newest(room) == now.Room || !r.listed(ctx, room) {
		return nil
	}
	join := route("POST", "v3/rooms/{}/join", now.Room)
	join.Body, join.Time = struct{}{}, 2*platform.CallTime
	var says begun
	var err error
	if roomID(now.Room) {
		err = r.request(ctx, join, nil)
	}
	if roomID(now.Room) && err == nil {
		err = r.call(ctx, "GET", "v3/rooms/{}/state/{}/", []string{now.Room, typeCreate}, nil, nil, &says)
	}
	if err == nil && says.Before.Room == room {
		r.moves.Move(ctx, room, now.Room)
		return nil
	}
	if err != nil && !failed(err) {
		return err
	}
	r.log.WarnContext(ctx, "a Matrix room was replaced by a new one: invite the account there", "old", room,
		"new", platform.Word(now.Room), "error", err)
	return nil
}

// replaces reports whether a room, to which the account is invited, replaces one of its groups. Both
// have to say so: with only the new one, the old one may still end.
func (r *run) replaces(ctx context.Context, room string, state []event) (does, may bool) {
	var says begun
	for _, e := range state {
		if e.Type == typeCreate {
			_ = json.Unmarshal(e.Content, &says) // it replaces none, then
		}
	}
	old, now := says.Before.Room, tombstone{}
	if !roomID(old) || !r.listed(ctx, old) {
		return false, false
	}
	err := r.call(ctx, "GET", "v3/rooms/{}/state/{}/", []string{old, typeTombstone}, nil, nil, &now)
	if err != nil || now.Room != room {
		return false, err != nil
	}
	r.moves.Move(ctx, old, room)
	return true, false
}

// forget forgets what is known about a room.
func (c *Channel) forget(room string) {
	c.places.Forget(room)
	c.levels.Forget(room)
}

// complete asks for what an event does not say, as far as somebody wants the message, and
// reports whether that is so. An error means that it should arrive again.
func (r *run) complete(ctx context.Context, a *arrival) (wanted bool, err error) {
	room := a.At.Chat
	a.Former = r.moves.Former(room)
	if a.Group, err = r.group(ctx, room); err != nil {
		return false, err
	}
	named := a.Mentioned
	hoped := a.Incoming
	hoped.Mentioned = true
	possible := channel.Wanted(ctx, r.in, hoped)
	if a.encrypted {
		if possible || !a.Group && r.config.Strangers {
			r.tell(ctx, room)
		}
		return false, nil
	}
	if !possible {
		// A room of two may have become a group, which no event tells.
		a.Mentioned, a.Added = a.Mentioned && a.Group, a.Mentioned && a.Group && !a.Edited
		if !a.Group && r.config.Strangers { // who lets people in by a code sees their names
			a.From.Name, err = r.name(ctx, room, a.From.ID)
		}
		return false, err
	}
	if a.Edited { // it says no more where it is, and what it answers
		was, err := r.cite(ctx, room, a.ID)
		if err != nil {
			return false, err
		}
		a.relate(was.said.Relates)
		r.events.Remove(room + " " + a.ID) // it says something else now
	}
	var answers cited
	if a.replyTo != "" {
		if answers, err = r.cite(ctx, room, a.replyTo); err != nil {
			return false, err
		}
	}
	a.Mentioned = a.Mentioned || answers.sender == r.me.ID
	if a.Group && !a.Mentioned && a.At.Thread != "" {
		root, err := r.cite(ctx, room, a.At.Thread)
		if err != nil {
			return false, err
		}
		_, named := r.me.named(root.text, root.said) // its replies are for the account, too
		a.Mentioned = named || root.sender == r.me.ID
	}
	a.Mentioned = a.Mentioned && a.Group
	if answers.sender != r.me.ID && !strings.HasPrefix(a.Text, "/") {
		if answers.text != "" {
			a.Text = strings.TrimSpace(platform.Quote(answers.text, platform.MaxCited) + "\n\n" + a.Text)
		}
		a.files = append(a.files, answers.files...)
	}
	if a.From.Name, err = r.name(ctx, room, a.From.ID); err != nil {
		return false, err
	}
	if !channel.Wanted(ctx, r.in, a.Incoming) { // it may be overheard
		a.Text = platform.Unread(a.Text, a.files, func(f file) string { return f.name })
		return false, nil
	}
	// What it began with is in the conversation of the room.
	unread := a.Mentioned && r.upTo.After(room+" "+a.At.Thread, a.ID) == ""
	if a.Group && (named || unread) && a.At.Thread != "" && !strings.HasPrefix(a.Text, "/") {
		said, err := r.before(ctx, a)
		if err != nil {
			return false, err
		}
		a.Text = platform.Thread(said, a.Text)
	}
	if a.Group {
		if a.From.Roles, err = r.roles(ctx, room, a.From.ID); err != nil {
			return false, err
		}
	}
	a.Files = r.load(ctx, a.files)
	return true, nil
}

// cite returns a message that is answered, as far as the homeserver shows it.
func (c *Channel) cite(ctx context.Context, room, id string) (cited, error) {
	if c.mine.Has(id) {
		me, err := c.who(ctx)
		if err != nil {
			return cited{}, err
		}
		return cited{sender: me.ID}, nil
	}
	return c.written(ctx, room, id)
}

// written returns what a message says, also one of the account.
func (c *Channel) written(ctx context.Context, room, id string) (cited, error) {
	key := room + " " + id
	if known, ok := c.events.Get(key); ok {
		return known, nil
	}
	var data json.RawMessage
	err := c.call(ctx, "GET", "v3/rooms/{}/event/{}", []string{room, id}, nil, nil, &data)
	if failed(err) {
		return cited{}, nil
	}
	if err != nil {
		return cited{}, err
	}
	e, err := parse(data)
	if err != nil {
		return cited{}, nil //nolint:nilerr // an event that says nothing
	}
	answers := citation(e)
	c.events.Put(key, answers)
	return answers, nil
}

// tell says in an encrypted room, once, that nothing can be read there.
func (r *run) tell(ctx context.Context, room string) {
	if r.told.Has(room) {
		return
	}
	r.told.Add(room)
	said := func(lang string) string {
		return phrase.In(lang, "Messages in this room are encrypted, and I cannot read them. Please write to me in a room without "+
			"end-to-end encryption: it is chosen when a room is made, and cannot be switched off later.")
	}
	text := said(phrase.English) + "\n\n" + said(phrase.Chinese) // Matrix does not say who reads what
	if _, err := r.Send(ctx, channel.Outgoing{To: channel.Address{Chat: room}, Text: text,
		Key: "encrypted"}); err != nil {
		r.log.WarnContext(ctx, "people in an encrypted room cannot be told that nothing can be read there", "room",
			room, "error", err)
		return
	}
	err := r.change(ctx, func(k *record) {
		const most = 1000 // rooms; those of long ago may be told again
		k.Told = append(k.Told, room)
		k.Told = k.Told[max(0, len(k.Told)-most):]
	})
	if err != nil {
		r.log.WarnContext(ctx, "people in an encrypted room may be told again that nothing can be read there", "room",
			room, "error", err)
	}
}

// name returns the name of a person in a room; empty if there is none.
func (c *Channel) name(ctx context.Context, room, person string) (string, error) {
	key := room + " " + person
	if name, ok := c.names.Get(key); ok {
		return name, nil
	}
	var m member
	err := c.call(ctx, "GET", "v3/rooms/{}/state/{}/{}", []string{room, typeMember, person}, nil, nil, &m)
	if err != nil && !failed(err) {
		return "", err
	}
	name := cmp.Or(printable.Line(m.Name, 100), local(person))
	c.names.Put(key, name)
	return name, nil
}

// level is a power level; older rooms have them as texts.
type level int

// UnmarshalJSON reads a number, also one in a text. What is none is the level of everybody, or
// below.
func (l *level) UnmarshalJSON(data []byte) error {
	n, err := strconv.ParseFloat(strings.Trim(strings.TrimSpace(strings.Trim(string(data), `"`)), " +"), 64)
	if err != nil || n != n {
		n = 0
	}
	*l = level(min(max(n, -1<<31), 1<<31))
	return nil
}

// powerLevels is who may do how much in a room.
type powerLevels struct {
	Users    map[string]level `json:"users"`
	Default  level            `json:"users_default"`
	creators []string
}

// roles returns what a person is in a room; nothing if the homeserver does not say, so that
// rules see less than there may be and never more.
func (c *Channel) roles(ctx context.Context, room, person string) ([]string, error) {
	var err error
	p := c.levels.Get(ctx, room, func() (p powerLevels, known bool) {
		if err = c.call(ctx, "GET", "v3/rooms/{}/state/{}/", []string{room, typeLevels}, nil, nil, &p); err == nil {
			p.creators, err = c.creators(ctx, room)
		}
		if failed(err) {
			c.log.WarnContext(ctx, "the homeserver does not say who may do what in a room, so that people have no roles there", "room", room, "error", err)
			p, err = powerLevels{}, nil
		}
		return p, err == nil
	})
	if err != nil {
		return nil, err
	}
	if p.Users == nil && p.creators == nil {
		return nil, nil
	}
	has, ok := p.Users[person]
	if !ok {
		has = p.Default
	}
	switch owner := slices.Contains(p.creators, person); {
	case owner:
		return []string{"owner", "administrator", "moderator", "member"}, nil
	case has >= 100:
		return []string{"administrator", "moderator", "member"}, nil
	case has >= 50:
		return []string{"moderator", "member"}, nil
	case has < 0:
		return []string{"restricted"}, nil
	}
	return []string{"member"}, nil
}

// creators returns who has made a room, if they may do everything there: since version 12 of
// rooms, whose IDs name no server and are that of their first event.
func (c *Channel) creators(ctx context.Context, room string) ([]string, error) {
	if strings.Contains(room, ":") {
		return nil, nil
	}
	var e struct {
		Sender  string `json:"sender"`
		Content struct {
			Additional []string `json:"additional_creators"`
		} `json:"content"`
	}
	if err := c.call(ctx, "GET", "v3/rooms/{}/event/{}", []string{room, "$" + room[1:]}, nil, nil, &e); err != nil {
		return nil, err
	}
	return append([]string{e.Sender}, e.Content.Additional...), nil
}

// person returns the direct chat with a person, and begins one if there is none.
func (c *Channel) person(ctx context.Context, person string) (string, error) {
	c.resolve.Lock()
	defer c.resolve.Unlock()
	if err := c.loadDirects(ctx); err != nil {
		return "", err
	}
	for _, room := range slices.Backward(c.directs.all()[person]) {
		var m member
		err := c.call(ctx, "GET", "v3/rooms/{}/state/{}/{}", []string{room, typeMember, person}, nil, nil, &m)
		if err == nil && (m.Membership == "join" || m.Membership == "invite") {
			return room, nil
		}
		if err != nil && !failed(err) {
			return "", err
		}
	}
	var made struct {
		Room string `json:"room_id"`
	}
	err := c.call(ctx, http.MethodPost, "v3/createRoom", nil, nil,
		map[string]any{"is_direct": true, "preset": "trusted_private_chat", "invite": []string{person}}, &made)
	if err != nil {
		return "", err
	}
	if !roomID(made.Room) {
		return "", errors.New("matrix: POST v3/createRoom names no room")
	}
	return made.Room, c.marked(ctx, person, made.Room)
}
