package storetest

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/etui-run/etui/memory"
	"github.com/etui-run/etui/store"
)

// memories is the part of the suite about [store.Memories].
func memories(t *testing.T, s store.Store) {
	ctx, now := t.Context(), time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	of := func(agent string) *memory.Store {
		return memory.New(memory.Config{Shared: store.Memories{Records: s, Agent: agent}})
	}
	a, b := of("main"), of("main") // two processes
	load := func(m *memory.Store, owner string) memory.Part {
		t.Helper()
		all, err := m.Load(now, owner)
		must(t, err)
		return all.Own
	}
	if p := load(a, "people/ann"); p.LongTerm != "" || p.Notes != nil {
		t.Errorf("an empty store remembers %+v", p)
	}
	_, err := a.Change(ctx, "people/ann", memory.Change{New: "likes \"tea\" \x00 茶"})
	must(t, err)
	for _, day := range []int{-40, -1, 0} {
		must(t, a.Note(ctx, "people/ann", now.AddDate(0, 0, day), "met"))
	}
	p := load(b, "people/ann")
	if p.LongTerm != "likes \"tea\" \x00 茶\n" || len(p.Notes) != 2 ||
		p.Notes[1] != (memory.Note{Day: "2026-03-01", Text: "- 12:00 met\n"}) {
		t.Errorf("the other process remembers %+v", p)
	}
	same, err := b.Load(now, "people/ann")
	must(t, err)
	if again, err := b.Load(now, "people/ann"); err != nil || again != same {
		t.Error("nothing changed, and it was made again", err)
	}
	if notes, err := b.Notes("people/ann", 400); err != nil || len(notes) != 3 || notes[2].Day != "2026-01-20" {
		t.Errorf("notes %+v, %v", notes, err)
	}
	if notes, err := b.Notes("people/ann", 1); err != nil || len(notes) != 1 || notes[0].Day != "2026-03-01" {
		t.Errorf("the newest note is %+v, %v", notes, err)
	}
	for _, other := range []memory.Part{load(a, "people/bob"), load(of("other"), "people/ann"), load(a, "")} {
		if other.LongTerm != "" {
			t.Errorf("somebody else's conversation reads %q", other.LongTerm)
		}
	}
	var all sync.WaitGroup
	for n := range 20 {
		all.Go(func() {
			_, err := []*memory.Store{a, b}[n%2].Change(ctx, "people/bob",
				memory.Change{New: fmt.Sprintf("fact %d.", n)})
			must(t, err)
		})
	}
	all.Wait()
	if p := load(a, "people/bob"); strings.Count(p.LongTerm, "fact") != 20 {
		t.Errorf("of 20 changes at once %q is left", p.LongTerm)
	}
	base := load(a, "people/ann").LongTerm
	_, err = b.Change(ctx, "people/ann", memory.Change{New: "has a dog"})
	must(t, err)
	if text, err := a.StoreEdit(ctx, "people/ann", base, "likes coffee\n"); err != nil ||
		text != "likes coffee\nhas a dog\n" {
		t.Errorf("edited: %q, %v", text, err)
	}
	if _, err := a.Change(ctx, "people/ann", memory.Change{New: strings.Repeat("x", memory.MaxEntry)}); err != nil {
		t.Error(err)
	}
	for range 4 {
		_, err = a.Change(ctx, "people/ann", memory.Change{New: strings.Repeat("x", memory.MaxEntry)})
	}
	if err == nil || len(load(b, "people/ann").LongTerm) > memory.MaxLongTerm {
		t.Errorf("%d bytes are remembered, %v", len(load(b, "people/ann").LongTerm), err)
	}
	for _, there := range []bool{true, false} {
		if found, err := b.Forget(ctx, "people/ann"); found != there || err != nil {
			t.Errorf("forgetting: %v, %v, want %v", found, err, there)
		}
	}
	if notes, err := a.Notes("people/ann", 400); err != nil || len(notes) != 0 ||
		load(a, "people/ann").LongTerm != "" || load(a, "people/bob").LongTerm == "" {
		t.Errorf("after forgetting there is %+v, %v", notes, err)
	}
}
