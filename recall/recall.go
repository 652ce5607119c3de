// Package recall shows, changes and searches what agents remember: of a caller's own memory, and of
// what was said in the caller's conversations.
package recall

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/etui-run/etui/agent"
	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/engine"
	"github.com/etui-run/etui/identity"
	"github.com/etui-run/etui/memory"
	"github.com/etui-run/etui/phrase"
	"github.com/etui-run/etui/rank"
	"github.com/etui-run/etui/route"
	"github.com/etui-run/etui/session"
	"github.com/etui-run/etui/store"
	"github.com/etui-run/etui/tool"
)

// Engine has agents with a memory, and conversations; see [engine.Engine].
type Engine interface {
	Agents() *agent.Agents
	Now() time.Time
	Sessions() *engine.Sessions
	Store() store.Store
}

// Service reads and changes the memory of an engine's agents, for callers whom [agent.Agents.Caller]
// names. It is safe for concurrent use.
type Service struct{ engine Engine }

// New returns the memory of an engine's agents.
func New(e Engine) *Service { return &Service{e} }

// Remembered is what an agent remembers in a conversation.
type Remembered struct {
	Agent string `json:"agent"`
	// Owner is whose memory it is, see [memory.Owner].
	Owner string `json:"owner"`
	// Text is MEMORY.md of the owner, and Notes are the newest of its notes.
	Text  string        `json:"text"`
	Notes []memory.Note `json:"notes,omitempty"`
	// Shared is what everybody's conversations with the agent read, too.
	Shared string `json:"shared,omitempty"`
}

// maxNotes is how many notes of an owner are shown or searched.
const maxNotes = 400

// of returns the memory of a caller's agent, and its owner.
func (s *Service) of(caller chat.Facts) (*memory.Store, string, error) {
	kept, err := s.engine.Agents().Memory(caller.Agent)
	return kept, route.Remembered(session.Key(caller.Session)), err
}

// Remembered returns what is remembered in a caller's conversation, with at most n notes.
func (s *Service) Remembered(caller chat.Facts, n int) (r Remembered, err error) {
	kept, owner, err := s.of(caller)
	if err != nil {
		return r, err
	}
	m, err := kept.Load(s.engine.Now(), owner)
	if err != nil {
		return r, err
	}
	r = Remembered{Agent: caller.Agent, Owner: owner, Text: m.Own.LongTerm, Shared: m.Shared.LongTerm}
	if owner != "" {
		r.Notes, err = kept.Notes(owner, min(n, maxNotes))
	}
	return r, err
}

// Remember changes what is remembered of a caller, and returns the new text.
func (s *Service) Remember(ctx context.Context, caller chat.Facts, c memory.Change) (string, error) {
	kept, owner, err := s.of(caller)
	if err != nil {
		return "", err
	}
	if err := s.whole(c.New); err != nil {
		return "", err
	}
	return kept.Change(ctx, owner, c)
}

// Note adds a line to today's note of a caller.
func (s *Service) Note(ctx context.Context, caller chat.Facts, text string) error {
	kept, owner, err := s.of(caller)
	if err != nil {
		return err
	}
	if err := s.whole(text); err != nil {
		return err
	}
	return kept.Note(ctx, owner, s.engine.Now(), text)
}

// whole refuses a text with a secret, or with the trace of one.
func (s *Service) whole(text string) error {
	secrets := s.engine.Agents().Secrets().Redactor()
	if err := secrets.Whole(secrets.Text(text)); err != nil {
		return phrase.Errorf("%w: the text is %w", engine.ErrInvalid, err)
	}
	return nil
}

// EditMemory stores what a person made of a caller's MEMORY.md, see [memory.Store.StoreEdit].
func (s *Service) EditMemory(ctx context.Context, caller chat.Facts, base, text string) (string, error) {
	kept, owner, err := s.of(caller)
	if err != nil {
		return "", err
	}
	return kept.StoreEdit(ctx, owner, base, text)
}

// The bounds of a search: the sessions and messages that are read, and how many bytes a
// piece of text has at most.
const (
	maxRecalledSessions = 50
	maxRecalled         = 5000
	maxPiece            = 600
)

// Recall finds what was remembered or said in conversations of a caller's memory's owner:
// in MEMORY.md, the notes of the last 400 days that have one, and the newest 5,000 messages
// of at most 50 conversations. The best comes first.
func (s *Service) Recall(ctx context.Context, caller chat.Facts, query string, limit int) ([]memory.Passage, error) {
	if strings.TrimSpace(query) == "" {
		return nil, phrase.Errorf("%w: it has no words to look for", engine.ErrInvalid)
	}
	leave, err := s.engine.Sessions().Look(ctx, caller.Record())
	if err != nil {
		return nil, err
	}
	defer leave()
	r, err := s.Remembered(caller, maxNotes)
	if err != nil {
		return nil, err
	}
	var all pieces
	all.add("memory", r.Text)
	all.add("memory of all", r.Shared)
	for _, n := range r.Notes {
		all.add("notes of "+n.Day, n.Text)
	}
	if err := s.said(ctx, caller, r.Owner, &all); err != nil {
		return nil, err
	}
	docs := make([]*tool.Definition, len(all))
	for i, p := range all {
		docs[i] = &tool.Definition{Description: p.Text}
	}
	ranking := rank.New(docs, rank.Weights{}).Rank(rank.Query{Text: query})
	found := []memory.Passage{}
	for _, hit := range ranking.Matches(limit) {
		found = append(found, all[hit.Position])
	}
	return found, ranking.Failed
}

// said adds what was said in the conversations of a caller, newest first. A conversation
// whose sender is unknown is the only one of its caller.
func (s *Service) said(ctx context.Context, caller chat.Facts, owner string, all *pieces) error {
	keys := []session.Key{session.Key(caller.Session)}
	if kind, record := route.Owner(keys[0]); kind == identity.Person || kind == identity.Peer {
		names := s.engine.Agents().Users().Names(record)
		list, err := s.engine.Store().List(ctx, session.Filter{Users: names, Limit: maxRecalledSessions})
		if err != nil {
			return err
		}
		for _, other := range list {
			if route.Agent(other.Key) == caller.Agent && other.Key != keys[0] && route.Remembered(other.Key) == owner {
				keys = append(keys, other.Key)
			}
		}
	}
	read := 0
	for i, key := range keys {
		conversation, err := s.engine.Store().Load(ctx, key, maxRecalled-read)
		if err != nil {
			return err
		}
		said := conversation.Messages
		read += len(said)
		if i == 0 { // the question that searches is no find
			for len(said) > 0 && said[len(said)-1].Role != chat.User {
				said = said[:len(said)-1]
			}
			said = said[:max(0, len(said)-1)]
		}
		for i, m := range slices.Backward(said) {
			for n := i; m.Time.IsZero() && n > 0; n-- { // a reply was given when its question was asked
				m.Time = said[n-1].Time
			}
			if m.Role == chat.User || m.Role == chat.Assistant {
				from := fmt.Sprintf("%s, %s", m.Time.Format("2006-01-02 15:04"), cmp.Or(m.User, string(m.Role)))
				all.add(from, m.Text)
			}
		}
		if read >= maxRecalled {
			break
		}
	}
	return nil
}

// pieces are texts of at most about maxPiece bytes.
type pieces []memory.Passage

// add adds a text, by its paragraphs and lines.
func (p *pieces) add(from, text string) {
	for text = strings.TrimSpace(text); text != ""; text = strings.TrimSpace(text) {
		end := len(text)
		if end > maxPiece {
			end = maxPiece
			if line := strings.LastIndexByte(text[:end], '\n'); line > 0 {
				end = line
			}
			for end < len(text) && text[end]&0xC0 == 0x80 { // inside of a character
				end++
			}
		}
		*p = append(*p, memory.Passage{From: from, Text: text[:end]})
		text = text[end:]
	}
}
