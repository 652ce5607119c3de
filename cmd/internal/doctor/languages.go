package doctor

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/cmd/internal/state"
	"github.com/etui-run/etui/cmd/internal/workdir"
	"github.com/etui-run/etui/phrase"
	"github.com/etui-run/etui/session"
)

// How many questions the doctor reads, and how many of them in a language that no tool has make it
// recommend embeddings: this many, and a tenth.
const (
	readSessions = 50
	readMessages = 100 // of each
	oftenForeign = 3
)

// checkLanguages recommends embeddings when people often ask in a language that the words of the
// tools do not cover. The kept turns say it with their questions.
func checkLanguages(ctx context.Context, lang string, w *workdir.Workspace) []Finding {
	if w.Config.Embeddings.Model != "" {
		return nil
	}
	all, foreign := 0, map[string]int{}
	err := state.Read(ctx, w, func(s state.Store) error {
		sessions, err := s.List(ctx, session.Filter{Limit: readSessions})
		for _, found := range sessions {
			loaded, err := s.Load(ctx, found.Key, readMessages)
			if err != nil {
				return err
			}
			for _, m := range loaded.Messages {
				var why struct{ Language string }
				if m.Role != chat.User || len(m.Why) == 0 || json.Unmarshal(m.Why, &why) != nil {
					continue
				}
				if all++; why.Language != "" {
					foreign[why.Language]++
				}
			}
		}
		return err
	})
	n := 0
	var names []string
	for _, name := range slices.Sorted(maps.Keys(foreign)) {
		n += foreign[name]
		names = append(names, fmt.Sprint(name, " ", foreign[name]))
	}
	if err != nil || n < oftenForeign || 10*n < all {
		return nil // an unreadable state is a finding of its own
	}
	return []Finding{{
		Check: "languages", OK: true, Says: phrase.In(lang,
			"%d of the last %d questions were in a language that no tool has: %s. Words could not find their tools.", n,
			all, strings.Join(names, ", ")),
		Do: phrase.In(lang, "embeddings: {model: ...} compares meanings: docs/ranking.md, Embeddings"),
	}}
}
