package engine_test

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/etui-run/etui/catalog"
	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/engine"
	"github.com/etui-run/etui/model/fake"
	"github.com/etui-run/etui/session"
	"github.com/etui-run/etui/store/sqlite"
)

// BenchmarkLongSession compares a turn in a session of many turns with one in a short
// session: about the same number of bytes is sent in all of them.
func BenchmarkLongSession(b *testing.B) {
	for _, turns := range []int{50, 200, 1000, 5000} {
		b.Run(fmt.Sprintf("turns=%d", turns), func(b *testing.B) {
			store, err := sqlite.Open(b.Context(), filepath.Join(b.TempDir(), "etui.db"))
			must(b, err)
			defer store.Close()
			const text = 40 << 10 / 100 // 50 turns are 40 KiB; more than 24,000 tokens are cut
			e, err := engine.New(engine.Config{Registry: catalog.NewRegistry(nil), Store: store, Agents: []engine.Agent{{Name: "main", Model: fake.New(slices.Repeat([]fake.Step{{Text: "ok"}}, 100_000)...)}}})
			must(b, err)
			said := strings.Repeat("word ", text/5)
			var history []chat.Message
			for range turns - 1 {
				history = append(history, chat.Message{Role: chat.User, Text: said}, chat.Message{Role: chat.Assistant, Text: said})
			}
			must(b, store.Append(b.Context(), "agent:main:main", session.State{}, history...))
			_, err = send(e, b.Context(), engine.Message{Text: said}) // counts what is sent
			must(b, err)
			b.ReportAllocs()
			for b.Loop() {
				_, err := send(e, b.Context(), engine.Message{Text: "hi"})
				must(b, err)
			}
		})
	}
}
