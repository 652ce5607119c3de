package postgres

import (
	"context"
	"encoding/base64"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/etui-run/etui/session"
)

const (
	// maxTold bounds what is told of an item, in bytes; the rest comes with its result.
	maxTold = 256 << 10
	// piece is how many bytes a notification carries; PostgreSQL allows 8,000 with the rest.
	piece = 5_400
	// batch is how often news are sent to those who follow.
	batch = 60 * time.Millisecond
)

// transcript is what this process has told of an item that it works on.
type transcript struct {
	session session.Key
	text    []byte
	sent    int  // of it, to those who follow
	wanted  bool // somebody follows
}

// listener receives the transcript of an item that another process works on.
type listener struct {
	have    int // bytes that have come
	arrived chan []byte
}

func (l *listener) news() <-chan []byte {
	if l == nil {
		return nil
	}
	return l.arrived
}

// drain hands over what has come.
func (l *listener) drain(news func([]byte)) {
	for l != nil && len(l.arrived) > 0 {
		news(<-l.arrived)
	}
}

// Tell implements [store.Shared].
func (s *Store) Tell(key session.Key, item int64, news []byte) {
	s.process.mu.Lock()
	defer s.process.mu.Unlock()
	t := s.process.told[item]
	if t == nil {
		t = &transcript{session: key}
		s.process.told[item] = t
	}
	if len(t.text)+len(news) <= maxTold {
		t.text = append(t.text, news...)
	}
}

// listen registers for the news of an item. One sender of each item receives them.
func (p *process) listen(item int64) *listener {
	p.mu.Lock()
	defer p.mu.Unlock()
	l := &listener{arrived: make(chan []byte, 256)}
	p.heard[item] = l
	return l
}

// follow asks the process that works on an item for its news. It is repeated, so that it
// reaches the one that takes the item up next; those who send already begin anew.
func (p *process) follow(ctx context.Context, item int64, l *listener) {
	p.mu.Lock()
	have := l.have
	p.mu.Unlock()
	p.db.notify(ctx, fmt.Sprintf("follow %d %d", item, have))
}

func (d *database) notify(ctx context.Context, text string) {
	ctx, done := context.WithTimeout(ctx, patience)
	defer done()
	if _, err := d.pool.Exec(ctx, `SELECT pg_notify('etui', $1)`, text); err != nil && ctx.Err() == nil {
		d.log.DebugContext(ctx, "other processes were not notified", "error", d.explain(err))
	}
}

// tell sends what those who follow items have not had, every so often, until ctx ends.
func (p *process) tell(ctx context.Context) {
	tick := time.NewTicker(batch)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		p.mu.Lock()
		texts := p.untold("")
		p.mu.Unlock()
		for _, text := range texts {
			p.db.notify(ctx, text)
		}
	}
}

// untold returns the notifications with what is to be sent about a session; empty means
// all. The caller holds the lock.
func (p *process) untold(key session.Key) (texts []string) {
	for item, t := range p.told {
		for (key == "" || t.session == key) && t.wanted && t.sent < len(t.text) {
			end := min(len(t.text), t.sent+piece)
			texts = append(texts, fmt.Sprintf("news %d %d %s", item, t.sent,
				base64.StdEncoding.EncodeToString(t.text[t.sent:end])))
			t.sent = end
		}
	}
	return texts
}

// hear takes a notification.
func (p *process) hear(text string) {
	kind, rest, _ := strings.Cut(text, " ")
	p.mu.Lock()
	defer p.mu.Unlock()
	switch kind {
	case "free":
		for wake, key := range p.wakes {
			if string(key) == rest {
				signal(wake)
			}
		}
	case "left":
		p.wakeAll()
	case "records":
		for c, watched := range p.watched {
			if watched == rest {
				signal(c)
			}
		}
	case "stop":
		p.interrupted(rest)
	case "stopped":
		if number, err := strconv.ParseInt(rest, 10, 64); err == nil && p.asked[number] != nil {
			signal(p.asked[number])
		}
	case "follow":
		item, from, ok := numbers(rest)
		if t := p.told[item]; ok && t != nil {
			if t.sent = min(t.sent, from); !t.wanted {
				t.sent = min(from, len(t.text))
			}
			t.wanted = true
		}
	case "news":
		at, encoded, _ := strings.Cut(rest, " ")
		from, encoded, _ := strings.Cut(encoded, " ")
		item, have, ok := numbers(at + " " + from)
		l := p.heard[item]
		news, err := base64.StdEncoding.DecodeString(encoded)
		if !ok || l == nil || err != nil || have > l.have || have+len(news) <= l.have {
			return // not ours, a gap that the next follow closes, or known
		}
		select {
		case l.arrived <- news[l.have-have:]:
			l.have = have + len(news)
		default: // the one who waits is slow: it comes again
		}
	}
}

// wakeAll wakes all who wait. The caller holds the lock.
func (p *process) wakeAll() {
	for wake := range p.wakes {
		signal(wake)
	}
	for c := range p.watched {
		signal(c)
	}
	signal(p.left)
}

func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

func numbers(text string) (item int64, n int, ok bool) {
	a, b, _ := strings.Cut(text, " ")
	item, err := strconv.ParseInt(a, 10, 64)
	n, err2 := strconv.Atoi(b)
	return item, n, err == nil && err2 == nil && n >= 0
}
