package web

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"
)

const (
	// keep is how long a chat is kept after the person was last here, and how long the cookie
	// of a guest counts.
	keep = 7 * 24 * time.Hour
	// maxMessages and maxBytes bound what is kept of a chat; beyond them, its oldest messages
	// are forgotten. The agent's own memory of the conversation does not depend on it.
	maxMessages, maxBytes = 100, 256 << 10
	// maxChats bounds the chats that are kept, of people and of guests, who push out nobody else.
	// Beyond it, the ones whose person was here longest ago are removed.
	maxChats = 10_000
	// remembered bounds the memory of how much people write.
	remembered = 10_000

	chatKind = "channel-web"      // records: the messages of a chat
	seenKind = "channel-web-seen" // records: when the person was last here
)

// message is something that was said.
type message struct {
	ID int64 `json:"id"`
	// Seq is that of its last change. It grows with each change in the chat.
	Seq     int64     `json:"seq"`
	Mine    bool      `json:"mine,omitempty"` // the person's
	Client  string    `json:"client,omitempty"`
	ReplyTo string    `json:"reply_to,omitempty"`
	Text    string    `json:"text"`
	Files   []string  `json:"files,omitempty"` // their names
	File    *given    `json:"file,omitempty"`  // the agent's
	Agent   string    `json:"agent,omitempty"` // whom the person chose
	Buttons []button  `json:"buttons,omitempty"`
	Calls   []call    `json:"calls,omitempty"` // nobody said anything then
	Key     string    `json:"key,omitempty"`
	Time    time.Time `json:"time"`
}

type button struct {
	Label string `json:"label"`
	Text  string `json:"text"`
}

// record is what is kept of a chat: its messages in the order of their IDs.
type record struct {
	Messages []message `json:"messages"`
}

// talk is a chat in use.
type talk struct {
	*Channel
	id     string
	refs   int           // guarded by Channel.mu
	taking chan struct{} // has an element while a message of the person is handed over

	mu      sync.Mutex
	loaded  bool
	record  record
	last    int64 // the last ID or Seq
	windows map[*window]struct{}
}

// open returns a chat, which stays in memory until close.
func (c *Channel) open(id string) *talk {
	c.mu.Lock()
	defer c.mu.Unlock()
	t := c.chats[id]
	if t == nil {
		t = &talk{Channel: c, id: id, taking: make(chan struct{}, 1), windows: map[*window]struct{}{}}
		c.chats[id] = t
	}
	t.refs++
	return t
}

func (c *Channel) close(t *talk) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if t.refs--; t.refs == 0 {
		delete(c.chats, t.id)
	}
}

func (t *talk) key() string { return t.config.Name + "/" + t.id }

// load reads what is kept. The caller holds mu, as for next, deserted and save.
func (t *talk) load(ctx context.Context) error {
	if t.loaded {
		return nil
	}
	var r record
	err := t.config.Records.Change(ctx, chatKind, t.key(), func(value json.RawMessage) (json.RawMessage, error) {
		r = record{}
		if value == nil {
			return nil, nil
		}
		if err := json.Unmarshal(value, &r); err != nil {
			return nil, fmt.Errorf("chat %s: %w", t.key(), err)
		}
		return value, nil
	})
	if err != nil {
		return err
	}
	t.loaded, t.record = true, r
	for _, m := range r.Messages {
		t.last = max(t.last, m.Seq, m.ID)
	}
	return nil
}

// next returns a number for a message or a change, larger than all before: also than those
// of a chat that was forgotten.
func (t *talk) next() int64 {
	t.last = max(t.last+1, time.Now().UnixMilli())
	return t.last
}

// deserted reports whether nobody can come back to a chat: it is a guest's whose cookie
// has ended.
func (t *talk) deserted(r *record) bool {
	return strings.HasPrefix(t.id, guestPrefix) && len(r.Messages) == 0 && len(t.windows) == 0 && len(t.taking) == 0
}

// change changes what is kept, and shows the message that f returns, if any. Nothing
// changes after an error.
func (t *talk) change(ctx context.Context, f func(*record) (*message, error)) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if err := t.load(ctx); err != nil {
		return err
	}
	r := record{slices.Clone(t.record.Messages)}
	said, err := f(&r)
	if err != nil || said == nil {
		return err
	}
	r.trim()
	value, err := json.Marshal(r)
	if err != nil {
		return err
	}
	if len(t.record.Messages) == 0 {
		if err := t.seen(ctx); err != nil {
			return err
		}
	}
	if err := t.config.Records.Put(ctx, chatKind, t.key(), value); err != nil {
		return err
	}
	t.record = r
	for w := range t.windows {
		w.offer(said.event())
	}
	return nil
}

// seen notes that the person is here.
func (t *talk) seen(ctx context.Context) error {
	now, err := json.Marshal(time.Now().UTC())
	if err != nil {
		return err
	}
	return t.config.Records.Put(ctx, seenKind, t.key(), now)
}

func (r *record) trim() {
	size := 0
	for i := len(r.Messages) - 1; i >= 0; i-- {
		m := r.Messages[i]
		size += len(m.Text) + 256
		for _, b := range m.Buttons {
			size += len(b.Label) + len(b.Text)
		}
		for _, c := range m.Calls {
			size += len(c.Name) + len(c.Arguments) + len(c.Result) + 64
		}
		if i < len(r.Messages)-1 && size > maxBytes || len(r.Messages)-i > maxMessages {
			r.Messages = slices.Delete(r.Messages, 0, i+1)
			return
		}
	}
}

// enter adds a window, with what it has not seen: changes after since, or everything that is
// kept if since is 0 or unknown.
func (t *talk) enter(ctx context.Context, w *window, since int64) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if err := t.load(ctx); err != nil {
		return err
	}
	if since > t.last {
		since = 0
	}
	for _, m := range t.record.Messages {
		if m.Seq > since {
			w.first = append(w.first, m.event())
		}
	}
	t.windows[w] = struct{}{}
	if len(t.record.Messages) == 0 {
		return nil
	}
	return t.seen(ctx)
}

func (t *talk) leave(w *window) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.windows, w)
}

// tidy removes chats whose person has not been here for long.
func (c *Channel) tidy(ctx context.Context, now time.Time) error {
	records, err := c.config.Records.Records(ctx, seenKind)
	if err != nil {
		return err
	}
	type visit struct {
		id string
		at time.Time
	}
	var visits []visit
	for _, r := range records {
		id, ours := strings.CutPrefix(r.Key, c.config.Name+"/")
		var at time.Time
		if ours && json.Unmarshal(r.Value, &at) == nil {
			visits = append(visits, visit{id, at})
		}
	}
	slices.SortFunc(visits, func(a, b visit) int { return b.at.Compare(a.at) })
	var people, guests int
	for _, v := range visits {
		n := &people
		if strings.HasPrefix(v.id, guestPrefix) {
			n = &guests
		}
		if *n++; *n <= maxChats && now.Sub(v.at) < keep {
			continue
		}
		if err := c.forget(ctx, v.id); err != nil {
			return err
		}
	}
	return nil
}

// forget removes a chat, unless somebody is in it.
func (c *Channel) forget(ctx context.Context, id string) error {
	t := c.open(id)
	defer c.close(t)
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.windows) > 0 || len(t.taking) > 0 {
		return nil
	}
	_, err := t.erase(ctx)
	return err
}

// Forget implements [channel.Forgetter]. A window that is open shows what it shows until it
// is closed.
func (c *Channel) Forget(ctx context.Context, user string) (bool, error) {
	t := c.open(user)
	defer c.close(t)
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.erase(ctx)
}

// erase removes what is kept, and reports whether there was something. The caller holds mu.
func (t *talk) erase(ctx context.Context) (found bool, err error) {
	if found, err = t.config.Records.Remove(ctx, chatKind, t.key()); err != nil {
		return found, err
	}
	t.loaded, t.record = false, record{}
	_, err = t.config.Records.Remove(ctx, seenKind, t.key())
	return found, err
}
