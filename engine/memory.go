package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/identity"
	"github.com/etui-run/etui/memory"
	"github.com/etui-run/etui/rank"
	"github.com/etui-run/etui/route"
	"github.com/etui-run/etui/session"
	"github.com/etui-run/etui/tool"
)

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

// Caller returns the facts of a message's sender by which tools, and the methods that read
// and write memory, know the conversation. Its text is not needed.
func (e *Engine) Caller(sender Message) (chat.Facts, error) {
	m, err := e.told(newMail(sender))
	if err != nil {
		return chat.Facts{}, err
	}
	a, err := e.agent(m.Agent)
	if err != nil {
		return chat.Facts{}, err
	}
	f := e.facts(m, e.Catalog())
	f.Agent, f.Session = a.Name, string(e.key(a, m))
	return f, nil
}

// memory returns the memory of a caller's agent, and its owner.
func (e *Engine) memory(caller chat.Facts) (*memory.Store, string, error) {
	a, err := e.agent(caller.Agent)
	if err != nil {
		return nil, "", err
	}
	if a.Memory == nil {
		return nil, "", errors.New("the agent has no memory")
	}
	return a.Memory, route.Remembered(session.Key(caller.Session)), nil
}

// Remembered returns what is remembered in a caller's conversation, with at most n notes.
func (e *Engine) Remembered(caller chat.Facts, n int) (r Remembered, err error) {
	s, owner, err := e.memory(caller)
	if err != nil {
		return r, err
	}
	m, err := s.Load(e.config.Now(), owner)
	if err != nil {
		return r, err
	}
	r = Remembered{Agent: caller.Agent, Owner: owner, Text: m.Own.LongTerm, Shared: m.Shared.LongTerm}
	if owner != "" {
		r.Notes, err = s.Notes(owner, min(n, maxNotes))
	}
	return r, err
}

// Remember changes what is remembered of a caller, and returns the new text.
func (e *Engine) Remember(ctx context.Context, caller chat.Facts, c memory.Change) (string, error) {
	s, owner, err := e.memory(caller)
	if err != nil {
		return "", err
	}
	c.New = e.config.Turn.Secrets.Redactor().Text(c.New)
	return s.Change(ctx, owner, c)
}

// Note adds a line to today's note of a caller.
func (e *Engine) Note(ctx context.Context, caller chat.Facts, text string) error {
	s, owner, err := e.memory(caller)
	if err != nil {
		return err
	}
	return s.Note(ctx, owner, e.config.Now(), e.config.Turn.Secrets.Redactor().Text(text))
}

// EditMemory stores what a person made of a caller's MEMORY.md, see [memory.Store.Edited].
func (e *Engine) EditMemory(ctx context.Context, caller chat.Facts, base, text string) (string, error) {
	s, owner, err := e.memory(caller)
	if err != nil {
		return "", err
	}
	return s.Edited(ctx, owner, base, text)
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
func (e *Engine) Recall(ctx context.Context, caller chat.Facts, query string, limit int) ([]memory.Found, error) {
	if strings.TrimSpace(query) == "" {
		return nil, fmt.Errorf("%w: it has no words to look for", ErrInvalid)
	}
	leave, err := e.look(ctx, caller.Record())
	if err != nil {
		return nil, err
	}
	defer leave()
	r, err := e.Remembered(caller, maxNotes)
	if err != nil {
		return nil, err
	}
	var all pieces
	all.add("memory", r.Text)
	all.add("memory of all", r.Shared)
	for _, n := range r.Notes {
		all.add("notes of "+n.Day, n.Text)
	}
	if err := e.said(ctx, caller, r.Owner, &all); err != nil {
		return nil, err
	}
	docs := make([]*tool.Definition, len(all))
	for i, p := range all {
		docs[i] = &tool.Definition{Description: p.Text}
	}
	ranking := rank.New(docs, rank.Weights{}).Rank(rank.Query{Text: query})
	found := []memory.Found{}
	for _, hit := range ranking.Matches(limit) {
		found = append(found, all[hit.Position])
	}
	return found, ranking.Failed
}

// said adds what was said in the conversations of a caller, newest first. A conversation
// whose sender is unknown is the only one of its caller.
func (e *Engine) said(ctx context.Context, caller chat.Facts, owner string, all *pieces) error {
	keys := []session.Key{session.Key(caller.Session)}
	if kind, record := route.Owner(keys[0]); kind == identity.Person || kind == identity.Peer {
		list, err := e.config.Store.List(ctx, session.Filter{Users: e.Users().Names(record), Limit: maxRecalledSessions})
		if err != nil {
			return err
		}
		for _, s := range list {
			if route.Agent(s.Key) == caller.Agent && s.Key != keys[0] && route.Remembered(s.Key) == owner {
				keys = append(keys, s.Key)
			}
		}
	}
	read := 0
	for i, key := range keys {
		s, err := e.config.Store.Load(ctx, key, maxRecalled-read)
		if err != nil {
			return err
		}
		said := s.Messages
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
				all.add(fmt.Sprintf("%s, %s", m.Time.Format("2006-01-02 15:04"), cmp.Or(m.User, string(m.Role))), m.Text)
			}
		}
		if read >= maxRecalled {
			break
		}
	}
	return nil
}

// pieces are texts of at most about maxPiece bytes.
type pieces []memory.Found

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
		*p = append(*p, memory.Found{From: from, Text: text[:end]})
		text = text[end:]
	}
}
