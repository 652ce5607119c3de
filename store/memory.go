package store

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/session"
)

// Memory keeps sessions and the inbox in memory, for tests and for programs that do
// not need them to last. The zero value is ready to use.
type Memory struct {
	mu       sync.Mutex
	sessions map[session.Key]*stored
	files    map[string][]byte // by SHA256
	inbox    []Item            // in the order of their IDs
	accepted int64             // the last ID
	records  map[[2]string]json.RawMessage
}

type stored struct {
	session.Session
	created, updated time.Time
}

var _ Store = (*Memory)(nil)

// maxKey is how long a key may be, in bytes.
const maxKey = 512

// Load implements [session.Store].
func (m *Memory) Load(_ context.Context, key session.Key, limit int) (session.Session, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	s, ok := m.sessions[key]
	if !ok {
		return session.Session{Key: key}, nil
	}
	messages := s.Messages
	limit = s.Limit(limit)
	if n := len(messages); limit > 0 {
		messages = messages[n-fitting(min(limit, n), func(i int) chat.Message { return messages[n-1-i] }):]
	}
	// Drop leading results whose calls were truncated.
	for limit > 0 && len(messages) > 0 && messages[0].Role == chat.Tool {
		messages = messages[1:]
	}
	return session.Session{Key: key, State: s.Clone(), Messages: slices.Clone(messages)}, nil
}

// Append implements [session.Store].
func (m *Memory) Append(_ context.Context, key session.Key, state session.State, messages ...chat.Message) error {
	if len(key) > maxKey {
		return fmt.Errorf("the session's key has %d bytes, at most %d are allowed", len(key), maxKey)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.add(key, state, messages)
	return nil
}

// add is Append for a caller who holds the lock.
func (m *Memory) add(key session.Key, state session.State, messages []chat.Message) {
	s, ok := m.sessions[key]
	if !ok {
		if m.sessions == nil {
			m.sessions = map[session.Key]*stored{}
		}
		s = &stored{Session: session.Session{Key: key}, created: time.Now()}
		m.sessions[key] = s
	}
	s.State = state.Clone()
	for _, message := range messages {
		for _, f := range message.Files {
			if m.files == nil {
				m.files = map[string][]byte{}
			}
			if f.Data != nil {
				m.files[f.SHA256] = f.Data
			}
		}
		message.Files = chat.WithoutData(message.Files)
		s.Messages = append(s.Messages, message)
	}
	s.updated = time.Now()
}

// Messages implements [session.Store].
func (m *Memory) Messages(_ context.Context, key session.Key, skip, limit int) ([]chat.Message, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	s, ok := m.sessions[key]
	if !ok {
		return nil, nil
	}
	list := s.Messages[min(skip, len(s.Messages)):]
	if limit > 0 {
		list = list[:fitting(min(limit, len(list)), func(i int) chat.Message { return list[i] })]
	}
	return slices.Clone(list), nil
}

// fitting returns how many of n messages have at most [session.MaxLoad] bytes together, or 1.
func fitting(n int, at func(i int) chat.Message) int {
	total := 0
	for i := range n {
		m := at(i)
		total += len(m.Text) + len(m.Note) + len(m.Why)
		for _, c := range m.Calls {
			total += len(c.Arguments)
		}
		if m.Result != nil {
			total += len(m.Result.Text)
		}
		if total > session.MaxLoad && i > 0 {
			return i
		}
	}
	return n
}

// File implements [session.Store].
func (m *Memory) File(_ context.Context, sha256 string) ([]byte, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if data, ok := m.files[sha256]; ok {
		return data, nil
	}
	return nil, session.ErrNoFile
}

// dropFiles removes the files that no message refers to. The caller holds the lock.
func (m *Memory) dropFiles() {
	if len(m.files) == 0 {
		return
	}
	used := map[string]bool{}
	for _, s := range m.sessions {
		for _, message := range s.Messages {
			for _, f := range message.Files {
				used[f.SHA256] = true
			}
		}
	}
	maps.DeleteFunc(m.files, func(sha256 string, _ []byte) bool { return !used[sha256] })
}

// List implements [session.Store].
func (m *Memory) List(_ context.Context, f session.Filter) ([]session.Summary, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	list := []session.Summary{}
	for _, s := range m.sessions {
		if f.Key != "" && s.Key != f.Key || !strings.Contains(string(s.Key), f.Part) {
			continue
		}
		if len(f.Users) == 0 || slices.ContainsFunc(s.Messages,
			func(m chat.Message) bool { return m.Role == chat.User && slices.Contains(f.Users, m.User) }) {
			list = append(list, s.summary())
		}
	}
	slices.SortFunc(list, func(a, b session.Summary) int { return compare(a.Cursor(), b.Cursor()) })
	if f.After != (session.Cursor{}) {
		list = slices.DeleteFunc(list, func(s session.Summary) bool { return compare(s.Cursor(), f.After) <= 0 })
	}
	if f.Limit > 0 && len(list) > f.Limit {
		list = list[:f.Limit]
	}
	return list, nil
}

// compare orders places of a list.
func compare(c, d session.Cursor) int {
	return cmp.Or(d.Updated.Compare(c.Updated), cmp.Compare(c.Key, d.Key))
}

func (s *stored) summary() session.Summary {
	line := session.Summary{Key: s.Key, Messages: len(s.Messages), Skill: s.Skill, Parent: s.Parent, Created: s.created,
		Updated: s.updated}
	add := func(list []string, name string) []string {
		if name == "" {
			return list
		}
		at, found := slices.BinarySearch(list, name)
		if found {
			return list
		}
		list = slices.Insert(list, at, name)
		return list[:min(len(list), session.MaxUsers)]
	}
	for _, m := range s.Messages {
		if m.Role != chat.User {
			continue
		}
		if line.Title == "" {
			line.Title = strings.ToValidUTF8(m.Text[:min(len(m.Text), session.MaxTitle)], "")
		}
		line.Users, line.Channels = add(line.Users, m.User), add(line.Channels, m.Channel)
	}
	return line
}

// Open implements [session.Store].
func (m *Memory) Open(context.Context) ([]session.Key, error) {
	return m.keys(session.State.Open), nil
}

// Asking implements [session.Store].
func (m *Memory) Asking(_ context.Context, id string) ([]session.Key, error) {
	return m.keys(func(s session.State) bool {
		return slices.ContainsFunc(s.Awaits,
			func(a session.Await) bool { return a.For == session.Approval && (id == "" || a.ID == id) })
	}), nil
}

// keys returns the keys of sessions that a condition chooses, least recently changed first.
func (m *Memory) keys(chosen func(session.State) bool) []session.Key {
	m.mu.Lock()
	defer m.mu.Unlock()
	var open []*stored
	for _, s := range m.sessions {
		if chosen(s.State) {
			open = append(open, s)
		}
	}
	slices.SortFunc(open, func(a, b *stored) int { return a.updated.Compare(b.updated) })
	keys := make([]session.Key, len(open))
	for i, s := range open {
		keys[i] = s.Key
	}
	return keys
}

// Delete implements [session.Store].
func (m *Memory) Delete(_ context.Context, key session.Key) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, ok := m.sessions[key]; !ok {
		return session.ErrNotFound
	}
	delete(m.sessions, key)
	m.dropFiles()
	m.dropItems(func(i Item) bool { return i.Session == key })
	return nil
}

// Erase implements [session.Store].
func (m *Memory) Erase(_ context.Context, key session.Key, state session.State, user string) (int, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.dropItems(func(i Item) bool { return i.Session == key && i.User == user })
	s, ok := m.sessions[key]
	if !ok {
		return 0, nil
	}
	kept, theirs := []chat.Message{}, false
	for _, message := range s.Messages {
		if message.Role == chat.User {
			theirs = message.User == user
		}
		if !theirs {
			kept = append(kept, message)
		}
	}
	removed := len(s.Messages) - len(kept)
	if removed > 0 {
		s.Messages, s.State = kept, state.Clone()
		m.dropFiles()
	}
	return removed, nil
}

// Sweep implements [session.Store].
func (m *Memory) Sweep(_ context.Context, before time.Time, limit int) (int, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var old []*stored
	for _, s := range m.sessions {
		if s.updated.Before(before) && !s.Open() {
			old = append(old, s)
		}
	}
	slices.SortFunc(old, func(a, b *stored) int { return a.updated.Compare(b.updated) })
	old = old[:min(len(old), limit)]
	for _, s := range old {
		delete(m.sessions, s.Key)
	}
	m.dropFiles()
	return len(old), nil
}

// dropItems removes items that do not wait. The caller holds the lock.
func (m *Memory) dropItems(gone func(Item) bool) {
	m.inbox = slices.DeleteFunc(m.inbox, func(i Item) bool { return i.State != Waiting && gone(i) })
}

// Accept implements [Inbox].
func (m *Memory) Accept(_ context.Context, item Item) (Item, bool, error) {
	if len(item.Session) > maxKey {
		return item, false, fmt.Errorf("the session's key has %d bytes, at most %d are allowed", len(item.Session),
			maxKey)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if item.Key != "" {
		if at := slices.IndexFunc(m.inbox, func(i Item) bool { return i.Key == item.Key }); at >= 0 {
			return m.inbox[at], false, nil
		}
	}
	m.accepted++
	item.ID, item.State, item.Accepted = m.accepted, Waiting, time.Now()
	m.inbox = append(m.inbox, item)
	return item, true, nil
}

// Mailboxes implements [Inbox].
func (m *Memory) Mailboxes(_ context.Context, holder string) ([]session.Key, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var keys []session.Key
	for _, i := range m.inbox {
		if i.State == Waiting && i.Holder != holder && !slices.Contains(keys, i.Session) {
			keys = append(keys, i.Session)
		}
	}
	return keys, nil
}

// Items implements [Inbox].
func (m *Memory) Items(_ context.Context, f ItemFilter) ([]Item, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	list := []Item{}
	for _, i := range m.inbox {
		if (f.ID == 0 || i.ID == f.ID) && (f.Session == "" || i.Session == f.Session) &&
			(f.State == "" || i.State == f.State) && (f.NotOf == "" || i.Holder != f.NotOf) && i.ID > f.After {
			list = append(list, i)
		}
	}
	if f.After == 0 {
		slices.SortStableFunc(list, func(a, b Item) int { return cmp.Compare(a.Priority, b.Priority) })
	}
	if f.Limit > 0 && len(list) > f.Limit {
		list = list[:f.Limit]
	}
	return list, nil
}

// Depth implements [Inbox].
func (m *Memory) Depth(_ context.Context, state State) (n int, oldest time.Time, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, i := range m.inbox {
		if i.State != state {
			continue
		}
		if n++; n == 1 {
			oldest = i.Accepted
		}
	}
	return n, oldest, nil
}

// Update implements [Inbox].
func (m *Memory) Update(_ context.Context, item Item) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	for at := range m.inbox {
		if i := &m.inbox[at]; i.ID == item.ID && i.State != Done {
			i.State, i.Tries, i.Holder, i.Reason = item.State, item.Tries, item.Holder, item.Reason
			if item.Amended != nil {
				i.Message = item.Amended
			}
			return nil
		}
	}
	return ErrEnded
}

// Finish implements [Inbox].
func (m *Memory) Finish(_ context.Context, e End) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	at := slices.IndexFunc(m.inbox, func(i Item) bool { return i.ID == e.ID && i.State != Done && i.State != Answered })
	if at < 0 {
		return ErrEnded
	}
	if e.Session != "" {
		m.add(e.Session, e.State, e.Messages)
	}
	m.inbox[at].Result = e.Result
	if e.Deliver {
		i := &m.inbox[at]
		i.State, i.Reason, i.Tries, i.Ended = Answered, "", 0, time.Now()
		return nil
	}
	m.end(at)
	return nil
}

// Delivered implements [Inbox].
func (m *Memory) Delivered(_ context.Context, id int64) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	at := slices.IndexFunc(m.inbox, func(i Item) bool { return i.ID == id && i.State == Answered })
	if at < 0 {
		return ErrEnded
	}
	m.end(at)
	return nil
}

// end ends an item. The caller holds the lock.
func (m *Memory) end(at int) {
	now := time.Now()
	if i := &m.inbox[at]; i.Key == "" || strings.HasPrefix(i.Key, Passing) {
		m.inbox = slices.Delete(m.inbox, at, at+1)
	} else {
		i.State, i.Message, i.Ended = Done, nil, now
	}
	m.inbox = slices.DeleteFunc(m.inbox, func(i Item) bool { return i.State == Done && now.Sub(i.Ended) > Kept })
}

// Put implements [Records].
func (m *Memory) Put(_ context.Context, kind, key string, value json.RawMessage) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.records == nil {
		m.records = map[[2]string]json.RawMessage{}
	}
	m.records[[2]string{kind, key}] = slices.Clone(value)
	return nil
}

// Records implements [Records].
func (m *Memory) Records(_ context.Context, kind string, keys ...string) ([]Record, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	list := []Record{}
	for name, value := range m.records {
		if name[0] == kind && (len(keys) == 0 || slices.Contains(keys, name[1])) {
			list = append(list, Record{name[1], slices.Clone(value)})
		}
	}
	slices.SortFunc(list, func(a, b Record) int { return cmp.Compare(a.Key, b.Key) })
	return list, nil
}

// Remove implements [Records].
func (m *Memory) Remove(_ context.Context, kind, key string) (bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	_, found := m.records[[2]string{kind, key}]
	delete(m.records, [2]string{kind, key})
	return found, nil
}

// Change implements [Records].
func (m *Memory) Change(_ context.Context, kind, key string,
	change func(json.RawMessage) (json.RawMessage, error)) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	name := [2]string{kind, key}
	value, err := change(slices.Clone(m.records[name]))
	switch {
	case err != nil:
		return err
	case value == nil:
		delete(m.records, name)
		return nil
	case m.records == nil:
		m.records = map[[2]string]json.RawMessage{}
	}
	m.records[name] = slices.Clone(value)
	return nil
}
