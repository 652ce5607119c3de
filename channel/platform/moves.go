package platform

import (
	"context"
	"encoding/json"
	"log/slog"
	"strings"
	"sync"

	"github.com/etui-run/etui/internal/recent"
	"github.com/etui-run/etui/store"
)

// maxMoves is how many chats are remembered that have a new ID.
const maxMoves = 1000

// Moves knows the chats to which a platform has given another ID. A chat is known by its first one, however
// often it moves, so that its rights and its conversation stay. It is safe for concurrent use.
type Moves struct {
	kind    string
	log     *slog.Logger
	records store.Records
	account string                        // set by Open
	move    sync.Mutex                    // a platform may tell of a move in both chats at once
	now     *recent.Cache[string, string] // the newest IDs, by each one before
	first   *recent.Cache[string, string] // the first IDs, by each later one
}

// NewMoves returns an empty one for the platform with this name.
func NewMoves(name string, log *slog.Logger, records store.Records) *Moves {
	return &Moves{
		kind: name + "-moved", log: log, records: records,
		now: recent.New[string, string](maxMoves), first: recent.New[string, string](maxMoves),
	}
}

// Open reads the moves that an account was told of before.
func (m *Moves) Open(ctx context.Context, account string) error {
	m.account = account
	kept, err := m.records.Records(ctx, m.kind)
	for _, r := range kept {
		var first string
		if now, mine := strings.CutPrefix(r.Key, account+":"); mine && json.Unmarshal(r.Value, &first) == nil {
			m.now.Put(first, now)
			m.first.Put(now, first)
		}
	}
	return err
}

// Move remembers that a chat has a new ID. When it returns, the chat is known by the old one, also if
// another call remembers the same move.
func (m *Moves) Move(ctx context.Context, old, now string) {
	m.move.Lock()
	defer m.move.Unlock()
	if known, _ := m.now.Get(old); known == now || old == now {
		return
	}
	m.now.Put(old, now)
	if first := m.Former(old); first != "" && first != now {
		old = first
		m.now.Put(old, now)
	}
	m.first.Put(now, old)
	m.log.InfoContext(ctx, "a chat has a new ID; it keeps its rights and its conversation", "old", old, "new", now)
	kept, err := m.records.Records(ctx, m.kind)
	if err == nil && len(kept) < maxMoves {
		value, _ := json.Marshal(old) // a text
		err = m.records.Put(ctx, m.kind, m.account+":"+now, value)
	}
	if err != nil || len(kept) >= maxMoves {
		m.log.WarnContext(ctx, "after a restart the chat will be another one: write its new ID into the configuration",
			"new", now, "error", err)
	}
}

// Former returns the ID by which a chat is known; empty if it has had one only.
func (m *Moves) Former(chat string) string {
	first, _ := m.first.Get(chat)
	return first
}

// Newest returns the ID that a chat has now.
func (m *Moves) Newest(chat string) string {
	if now, ok := m.now.Get(chat); ok {
		return now
	}
	return chat
}
