package engine

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"slices"
	"sync"
	"time"

	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/internal/panics"
	"github.com/etui-run/etui/session"
	"github.com/etui-run/etui/store"
)

// This file makes a request that a program repeats one message, also without an
// IdempotencyKey: see [Message.Received].

const (
	// lingering is how long a turn goes on when its sender has gone: programs repeat a request
	// within some seconds.
	lingering = 10 * time.Second
	// lostFor is how long an answer is kept that nobody got, and repeatedFor one that somebody
	// may have got, for a sender who says that the request is a repeated one.
	lostFor, repeatedFor = 5 * time.Minute, time.Minute
	// maxAnswers and maxAnswered bound the answers that are kept, and their bytes. The oldest
	// go first.
	maxAnswers, maxAnswered = 1000, 8 << 20
	// maxRepeats is how often an answer is given again.
	maxRepeats = 100
)

// joins reports whether a message is the same as one with the same sender and content.
func (m mail) joins() bool {
	return m.Received != nil && m.IdempotencyKey == "" && m.History == nil && len(m.Reply) == 0
}

// answers are the messages that others may join: those under way, and those whose answer may
// have been lost. The zero value is ready to use.
type answers struct {
	mu     sync.Mutex
	items  map[int64]*joined
	ended  []*joined // with a reply, the oldest first
	bytes  int       // of their results
	lookUp map[string]*joined
}

// joined is a message with all who sent it.
type joined struct {
	key      string // of the item
	senders  int    // that wait
	received []func() bool
	result   json.RawMessage // nil until it has ended
	at       time.Time       // it ended
}

// join adds a sender to an item that was just accepted.
func (a *answers) join(i store.Item, received func() bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.items == nil {
		a.items, a.lookUp = map[int64]*joined{}, map[string]*joined{}
	}
	j := a.items[i.ID]
	if j == nil {
		j = &joined{key: i.Key}
		a.items[i.ID] = j
	}
	j.senders++
	if received != nil {
		j.received = append(j.received, received)
	}
}

// leave is called when a sender has the answer, or waits no longer.
func (a *answers) leave(item int64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if j := a.items[item]; j != nil {
		if j.senders--; j.senders == 0 {
			delete(a.items, item)
		}
	}
}

// senders returns how many wait for an item.
func (a *answers) senders(item int64) int {
	a.mu.Lock()
	defer a.mu.Unlock()
	if j := a.items[item]; j != nil {
		return j.senders
	}
	return 0
}

// end keeps how an item has ended: for those who wait, and for a sender who did not get it.
func (a *answers) end(item int64, raw json.RawMessage, now time.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	j := a.items[item]
	if j == nil || j.result != nil {
		return
	}
	j.result, j.at = raw, now
	var r result
	if json.Unmarshal(raw, &r) != nil || r.Done == nil || r.Done.Stopped { // it can be asked anew
		return
	}
	a.drop(a.lookUp[j.key])
	a.lookUp[j.key] = j
	a.ended = append(a.ended, j)
	for a.bytes += len(raw); len(a.ended) > maxAnswers || a.bytes > maxAnswered || len(a.ended) > 0 && now.Sub(a.ended[0].at) > lostFor; {
		a.drop(a.ended[0])
	}
}

// drop forgets an answer. The caller holds the lock.
func (a *answers) drop(j *joined) {
	if at := slices.Index(a.ended, j); at >= 0 {
		a.ended = slices.Delete(a.ended, at, at+1)
		a.bytes -= len(j.result)
		delete(a.lookUp, j.key)
	}
}

// of returns how an item has ended, for those who wait for it.
func (a *answers) of(item int64) json.RawMessage {
	a.mu.Lock()
	defer a.mu.Unlock()
	if j := a.items[item]; j != nil {
		return j.result
	}
	return nil
}

// clear forgets all answers that may have been lost.
func (a *answers) clear() {
	a.mu.Lock()
	defer a.mu.Unlock()
	for len(a.ended) > 0 {
		a.drop(a.ended[0])
	}
}

// lost returns the answer to a message that its sender did not get. Said says that the sender
// repeats it. Once somebody has an answer, the next message with this key is another one.
func (a *answers) lost(key string, m mail, now time.Time) json.RawMessage {
	a.mu.Lock()
	defer a.mu.Unlock()
	j := a.lookUp[key]
	if j == nil {
		return nil
	}
	got := slices.ContainsFunc(j.received, func(received func() bool) bool { return received() })
	if age := now.Sub(j.at); got && (!m.Repeated || age > repeatedFor) || age > lostFor || len(j.received) == maxRepeats {
		a.drop(j)
		return nil
	}
	j.received = append(j.received, m.Received)
	return j.result
}

// goOnWith makes a question that the same sender has just asked, and that got no answer because
// its turn failed or was cancelled, the turn of a message: it goes on where that one ended.
func (j *job) goOnWith(q *question) {
	m, s := &q.mail, &q.session
	at := len(s.Messages) - 1
	for at >= 0 && s.Messages[at].Role != chat.User {
		at--
	}
	if at < 0 || s.Turn.ID != "" || s.Flow.Runs() || m.Workflow != "" || len(s.Awaits) > 0 || m.History != nil || m.Outcome != nil || len(m.Answers) > 0 {
		return
	}
	asked, last := s.Messages[at], s.Messages[len(s.Messages)-1]
	if last.Role == chat.Assistant && len(last.Calls) == 0 || asked.Text != m.Text || asked.User != j.engine.sender(*m).Record() || asked.Channel != m.Channel ||
		!slices.EqualFunc(asked.Files, m.Files, func(a, b chat.File) bool { return a.SHA256 == b.SHA256 }) || j.engine.config.Now().Sub(asked.Time) > lostFor {
		return
	}
	s.Turn = session.Turn{ID: rand.Text(), Request: j.engine.stored(*m)}
	m.Text, m.Files, j.left = "", nil, true
}

// linger ends a turn some time after its sender has gone, unless the sender has come back or
// another one has joined; at once when the conversation goes on with another message.
func (j *job) linger(ctx context.Context, end context.CancelCauseFunc) (stop func()) {
	left, item := make(chan struct{}), j.item
	gone := context.AfterFunc(ctx, func() {
		defer panics.Log(j.engine.config.Log, "waiting for a sender to come back")
		j.unheard.Store(true)
		for alone := lookAgain; ; alone += lookAgain {
			select {
			case <-time.After(lookAgain):
			case <-left:
				return
			}
			switch {
			case j.engine.answers.senders(item.ID) > 1:
				alone = 0
			case j.engine.goesOn(item), alone >= lingering && !j.engine.wanted(item.Session):
				end(context.Cause(ctx))
				return
			}
		}
	})
	return func() { gone(); close(left) }
}

// goesOn reports whether people have sent something else to the session of an item.
func (e *Engine) goesOn(item store.Item) bool {
	ctx, cancel := context.WithTimeout(e.life, maxStore)
	defer cancel()
	list, err := e.config.Store.Items(ctx, store.ItemFilter{Session: item.Session, State: store.Waiting, Limit: 2})
	return err == nil && slices.ContainsFunc(list, func(i store.Item) bool { return i.ID != item.ID && i.Priority == store.People })
}

// wanted reports whether somebody waits for a session at another process.
func (e *Engine) wanted(key session.Key) bool {
	if e.shared == nil {
		return false
	}
	ctx, cancel := context.WithTimeout(e.life, maxStore)
	defer cancel()
	wanted, err := e.shared.Wanted(ctx, key)
	return wanted || err != nil
}
