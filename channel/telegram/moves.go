package telegram

import (
	"context"
	"encoding/json"
	"log/slog"
	"strings"

	"github.com/etui-run/etui/internal/recent"
	"github.com/etui-run/etui/store"
)

// moveKind is the kind of the records of groups that became supergroups, by their new IDs, and maxMoves
// how many are kept.
const (
	moveKind = "telegram-moved"
	maxMoves = 1000
)

// moves are the groups that became supergroups: now has their new IDs, and former the old ones.
type moves struct {
	bot         string
	now, former *recent.Cache[string, string]
	records     store.Records
	log         *slog.Logger
}

// move remembers that a group has become a supergroup, with a new ID.
func (m *moves) move(ctx context.Context, old, now string) {
	if known, _ := m.now.Get(old); known == now {
		return
	}
	m.remember(old, now)
	m.log.InfoContext(ctx, "a Telegram group has become a supergroup; it keeps its rights and its conversation",
		"old", old, "new", now)
	ctx = context.WithoutCancel(ctx) // it is not told again after a restart
	kept, err := m.records.Records(ctx, moveKind)
	if err == nil && len(kept) < maxMoves {
		value, _ := json.Marshal(old) // a text
		err = m.records.Put(ctx, moveKind, m.bot+":"+now, value)
	}
	if err != nil || len(kept) >= maxMoves {
		m.log.WarnContext(ctx,
			"after a restart the group will be another one: write its new ID into the configuration", "new", now, "error", err)
	}
}

func (m *moves) remember(old, now string) {
	m.now.Put(old, now)
	m.former.Put(now, old)
}

// recall reads which groups became supergroups.
func (m *moves) recall(ctx context.Context) error {
	kept, err := m.records.Records(ctx, moveKind)
	for _, r := range kept {
		var old string
		if now, mine := strings.CutPrefix(r.Key, m.bot+":"); mine && json.Unmarshal(r.Value, &old) == nil {
			m.remember(old, now)
		}
	}
	return err
}

// of returns the ID that a supergroup had as a group; empty if it had none.
func (m *moves) of(chat int64) string {
	old, _ := m.former.Get(id(chat))
	return old
}
