package store

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/etui-run/etui/memory"
)

// Memories keeps the memory of an agent among the records, for processes that share them.
// Each text is a record, and its kind says whose it is.
type Memories struct {
	Records Records
	Agent   string
}

var _ memory.Shared = Memories{}

func (m Memories) kind(owner string) string { return "memory " + m.Agent + "/" + owner }

// Texts implements [memory.Shared].
func (m Memories) Texts(ctx context.Context, owner string, names ...string) (map[string]string, error) {
	list, err := m.Records.Records(ctx, m.kind(owner), names...)
	texts := map[string]string{}
	for _, r := range list {
		var text string
		if err := json.Unmarshal(r.Value, &text); err != nil {
			return nil, fmt.Errorf("%s of %s: %w", r.Key, owner, err)
		}
		texts[r.Key] = text
	}
	return texts, err
}

// Change implements [memory.Shared].
func (m Memories) Change(ctx context.Context, owner, name string, change func(was string) (string, error)) error {
	return m.Records.Change(ctx, m.kind(owner), name, func(value json.RawMessage) (json.RawMessage, error) {
		was := ""
		if value != nil {
			if err := json.Unmarshal(value, &was); err != nil {
				return nil, fmt.Errorf("%s of %s: %w", name, owner, err)
			}
		}
		text, err := change(was)
		if err != nil || text == "" {
			return nil, err
		}
		return json.Marshal(text)
	})
}

// Forget implements [memory.Shared].
func (m Memories) Forget(ctx context.Context, owner string) (found bool, err error) {
	list, err := m.Records.Records(ctx, m.kind(owner))
	for _, r := range list {
		if err == nil {
			_, err = m.Records.Remove(ctx, m.kind(owner), r.Key)
		}
	}
	return err == nil && len(list) > 0, err
}
