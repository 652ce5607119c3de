package session

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/etui-run/etui/chat"
)

// MemoryStore keeps sessions in memory, for tests and for programs that do not
// need them to last. The zero value is ready to use.
type MemoryStore struct {
	mu       sync.Mutex
	sessions map[Key]*stored
}

type stored struct {
	Session
	created, updated time.Time
}

var _ Store = (*MemoryStore)(nil)

// maxKey is how long a key may be, in bytes.
const maxKey = 512

// Load implements [Store].
func (m *MemoryStore) Load(_ context.Context, key Key, limit int) (Session, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	s, ok := m.sessions[key]
	if !ok {
		return Session{Key: key}, nil
	}
	messages := s.Messages
	limit = s.Limit(limit)
	if limit > 0 && len(messages) > limit {
		messages = messages[len(messages)-limit:]
	}
	// Drop leading results whose calls were truncated.
	for limit > 0 && len(messages) > 0 && messages[0].Role == chat.Tool {
		messages = messages[1:]
	}
	return Session{Key: key, State: s.Clone(), Messages: slices.Clone(messages)}, nil
}

// Append implements [Store].
func (m *MemoryStore) Append(_ context.Context, key Key, state State, messages ...chat.Message) error {
	if len(key) > maxKey {
		return fmt.Errorf("the session's key has %d bytes, at most %d are allowed", len(key), maxKey)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	s, ok := m.sessions[key]
	if !ok {
		if m.sessions == nil {
			m.sessions = map[Key]*stored{}
		}
		s = &stored{Session: Session{Key: key}, created: time.Now()}
		m.sessions[key] = s
	}
	s.State = state.Clone()
	s.Messages = append(s.Messages, messages...)
	s.updated = time.Now()
	return nil
}

// List implements [Store].
func (m *MemoryStore) List(_ context.Context, limit int) ([]Summary, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	list := make([]Summary, 0, len(m.sessions))
	for _, s := range m.sessions {
		list = append(list, Summary{Key: s.Key, Messages: len(s.Messages), Skill: s.Skill, Created: s.created, Updated: s.updated})
	}
	slices.SortFunc(list, func(a, b Summary) int {
		return cmp.Or(b.Updated.Compare(a.Updated), cmp.Compare(a.Key, b.Key))
	})
	if limit > 0 && len(list) > limit {
		list = list[:limit]
	}
	return list, nil
}

// Open implements [Store].
func (m *MemoryStore) Open(context.Context) ([]Key, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var open []*stored
	for _, s := range m.sessions {
		if s.Open() {
			open = append(open, s)
		}
	}
	slices.SortFunc(open, func(a, b *stored) int { return a.updated.Compare(b.updated) })
	keys := make([]Key, len(open))
	for i, s := range open {
		keys[i] = s.Key
	}
	return keys, nil
}

// Delete implements [Store].
func (m *MemoryStore) Delete(_ context.Context, key Key) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, ok := m.sessions[key]; !ok {
		return ErrNotFound
	}
	delete(m.sessions, key)
	return nil
}
