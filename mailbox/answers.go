package mailbox

import (
	"encoding/json"
	"slices"
	"sync"
	"time"

	"github.com/etui-run/etui/store"
)

const (
	// LostFor is how long an answer is kept that nobody got, and repeatedFor one that somebody
	// may have got, for a sender who says that the request is a repeated one.
	LostFor, repeatedFor = 5 * time.Minute, time.Minute
	// maxAnswers and maxAnswered bound the answers that are kept, and their bytes. The oldest
	// go first.
	maxAnswers, maxAnswered = 1000, 8 << 20
	// maxRepeats is how often an answer is given again.
	maxRepeats = 100
)

// Answers are the messages that others may join: those under way, and those whose answer may
// have been lost. The zero value is ready to use.
type Answers struct {
	mu     sync.Mutex
	items  map[int64]*jointMessage
	ended  []*jointMessage // with a reply, the oldest first
	bytes  int             // of their results
	lookUp map[string]*jointMessage
}

// jointMessage is a message with all who sent it.
type jointMessage struct {
	key      string // of the item
	senders  int    // that wait
	received []func() bool
	result   json.RawMessage // nil until it has ended
	at       time.Time       // it ended
}

// Join adds a sender to an item that was just accepted.
func (a *Answers) Join(i store.Item, received func() bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.items == nil {
		a.items, a.lookUp = map[int64]*jointMessage{}, map[string]*jointMessage{}
	}
	j := a.items[i.ID]
	if j == nil {
		j = &jointMessage{key: i.Key}
		a.items[i.ID] = j
	}
	j.senders++
	if received != nil {
		j.received = append(j.received, received)
	}
}

// Leave is called when a sender has the answer, or waits no longer.
func (a *Answers) Leave(item int64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if j := a.items[item]; j != nil {
		if j.senders--; j.senders == 0 {
			delete(a.items, item)
		}
	}
}

// Senders returns how many wait for an item.
func (a *Answers) Senders(item int64) int {
	a.mu.Lock()
	defer a.mu.Unlock()
	if j := a.items[item]; j != nil {
		return j.senders
	}
	return 0
}

// end keeps how an item has ended: for those who wait, and for a sender who did not get it.
func (a *Answers) end(item int64, raw json.RawMessage, now time.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	j := a.items[item]
	if j == nil || j.result != nil {
		return
	}
	j.result, j.at = raw, now
	var r struct {
		Done *struct {
			Stopped bool `json:"stopped"`
		} `json:"done"`
	}
	if json.Unmarshal(raw, &r) != nil || r.Done == nil || r.Done.Stopped { // it can be asked anew
		return
	}
	a.drop(a.lookUp[j.key])
	a.lookUp[j.key] = j
	a.ended = append(a.ended, j)
	for a.bytes += len(raw); len(a.ended) > maxAnswers || a.bytes > maxAnswered ||
		len(a.ended) > 0 && now.Sub(a.ended[0].at) > LostFor; {
		a.drop(a.ended[0])
	}
}

// drop forgets an answer. The caller holds the lock.
func (a *Answers) drop(j *jointMessage) {
	if at := slices.Index(a.ended, j); at >= 0 {
		a.ended = slices.Delete(a.ended, at, at+1)
		a.bytes -= len(j.result)
		delete(a.lookUp, j.key)
	}
}

// Of returns how an item has ended, for those who wait for it.
func (a *Answers) Of(item int64) json.RawMessage {
	a.mu.Lock()
	defer a.mu.Unlock()
	if j := a.items[item]; j != nil {
		return j.result
	}
	return nil
}

// Clear forgets all answers that may have been lost.
func (a *Answers) Clear() {
	a.mu.Lock()
	defer a.mu.Unlock()
	for len(a.ended) > 0 {
		a.drop(a.ended[0])
	}
}

// LostAnswer returns the answer to a message that its sender did not get. Repeated says that the sender
// repeats it. Once somebody has an answer, the next message with this key is another one.
func (a *Answers) LostAnswer(key string, repeated bool, received func() bool, now time.Time) json.RawMessage {
	a.mu.Lock()
	defer a.mu.Unlock()
	j := a.lookUp[key]
	if j == nil {
		return nil
	}
	got := slices.ContainsFunc(j.received, func(received func() bool) bool { return received() })
	if age := now.Sub(j.at); got && (!repeated || age > repeatedFor) || age > LostFor || len(j.received) == maxRepeats {
		a.drop(j)
		return nil
	}
	j.received = append(j.received, received)
	return j.result
}
