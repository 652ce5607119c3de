// Package edited knows which part of a message that was handed over was written as which message of the
// platform, so that the newest text of one replaces that part only: not what else was written in a row, said
// in the group before, or read from files. It keeps no texts but those of edits that came too early.
package edited

import (
	"crypto/sha256"
	"strings"
	"sync"

	"github.com/etui-run/etui/internal/printable"
	"github.com/etui-run/etui/internal/recent"
)

const (
	// maxTaken is how many messages are remembered that were handed over, and maxEarly how many edits
	// that came before their message, with at most maxText bytes of text.
	maxTaken, maxEarly, maxText = 4000, 200, 64 << 10
)

// Text returns a text as it is handed over.
func Text(s string) string { return strings.TrimSpace(printable.Text(s)) }

// Part is what was written as one message, under the key that it has in its account.
type Part struct{ Key, Text string }

// Join returns the text of parts that are one message.
func Join(parts []Part) string {
	var texts []string
	for _, p := range parts {
		if text := Text(p.Text); text != "" {
			texts = append(texts, text)
		}
	}
	return strings.Join(texts, "\n")
}

// taken is where the parts of a message are in its text.
type taken struct {
	by, id string
	before int // bytes before the first part
	keys   []string
	sizes  []int
	sum    [sha256.Size]byte // of the parts together
}

// Memory is what an account has handed over. It is safe for concurrent use.
type Memory struct {
	mu    sync.Mutex
	taken *recent.Cache[string, *taken]
	early *recent.Cache[string, early]
}

// early is an edit that came before its message.
type early struct {
	by, text  string
	mentioned bool
}

// New returns an empty memory.
func New() *Memory {
	return &Memory{taken: recent.New[string, *taken](maxTaken), early: recent.New[string, early](maxEarly)}
}

// Keep remembers a message of somebody, with the ID under which it was handed over: its parts follow so
// many bytes of other text.
func (m *Memory) Keep(by, id string, before int, parts []Part) {
	t := &taken{by: by, id: id, before: before, sum: sha256.Sum256([]byte(Join(parts)))}
	for _, p := range parts {
		t.keys, t.sizes = append(t.keys, p.Key), append(t.sizes, len(Text(p.Text)))
	}
	m.put(t)
}

func (m *Memory) put(t *taken) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, key := range t.keys {
		m.taken.Put(key, t)
	}
}

// TooEarly remembers an edit whose message has not come yet.
func (m *Memory) TooEarly(key, by, text string, mentioned bool) {
	if len(text) <= maxText {
		m.early.Put(key, early{by, text, mentioned})
	}
}

// Newest returns the text of a message that comes now, and whether it mentions the account: as the edit
// says that came before it, if the same person wrote that.
func (m *Memory) Newest(key, by, text string, mentioned bool) (string, bool) {
	if e, ok := m.early.Get(key); ok && e.by == by {
		m.early.Remove(key)
		return e.text, mentioned || e.mentioned
	}
	return text, mentioned
}

// Edit is the newest text of a part.
type Edit struct {
	// ID is that under which the message was handed over.
	ID string

	memory    *Memory
	was, now  *taken
	key, text string
}

// Edit returns the edit of a message; false if the account has not handed it over, or somebody else wrote it.
func (m *Memory) Edit(key, by, text string) (*Edit, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	t, ok := m.taken.Get(key)
	if !ok || t.by != by {
		return nil, false
	}
	return &Edit{ID: t.id, memory: m, was: t, key: key, text: Text(text)}, true
}

// Of returns a text that was handed over as it is with the edit. One that is not as it was kept becomes
// what the edit says.
func (e *Edit) Of(text string) string {
	e.now = nil
	from, size := e.was.before, 0
	for _, n := range e.was.sizes {
		if n > 0 {
			size += n + 1
		}
	}
	size = max(size-1, 0)
	if from+size > len(text) || sha256.Sum256([]byte(text[from:from+size])) != e.was.sum {
		return e.text
	}
	var parts []Part
	for i, n := range e.was.sizes {
		part := Part{Key: e.was.keys[i], Text: text[from : from+n]}
		if n > 0 {
			from += min(n+1, len(text)-from) // with the end of its line
		}
		if part.Key == e.key {
			part.Text = e.text
		}
		parts = append(parts, part)
	}
	all, rest := Join(parts), text[e.was.before+size:]
	if size == 0 && rest != "" && all != "" {
		rest = "\n\n" + rest
	}
	e.now = &taken{by: e.was.by, id: e.was.id, before: e.was.before, sum: sha256.Sum256([]byte(all))}
	for _, p := range parts {
		e.now.keys, e.now.sizes = append(e.now.keys, p.Key), append(e.now.sizes, len(p.Text))
	}
	return text[:e.was.before] + all + rest
}

// Done remembers that the edit was made.
func (e *Edit) Done() {
	if e.now != nil {
		e.memory.put(e.now)
	}
}
