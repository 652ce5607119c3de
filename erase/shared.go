package erase

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/etui-run/etui/store"
)

// requestKind is the kind of the records that ask the processes of a [store.Shared] to erase a
// person. Each stays only until all have.
const requestKind = "forget"

// maxWaiting is how long Erase waits for the other processes, and maxStore how long the store may
// be away when the request is to be removed.
const maxWaiting, maxStore = 10 * time.Second, time.Minute

// errNoAnswer says that another process did not answer.
var errNoAnswer = errors.New("another etui has not answered, and may still keep past turns and memory of the person: " +
	"forget the person again")

// request is one of these records.
type request struct {
	Names []string  `json:"names"`
	At    time.Time `json:"at"`
	By    string    `json:"by"` // the process that asks
	// Done is what the others removed, by process.
	Done map[string]Report `json:"done"`
}

// elsewhere has the other processes remove what each keeps by itself.
func (s *Eraser) elsewhere(ctx context.Context, names []string, count map[string]int) error {
	if s.shared == nil {
		return nil
	}
	ctx, cancel := context.WithTimeoutCause(ctx, maxWaiting, errNoAnswer)
	defer cancel()
	key := rand.Text()
	mine := request{Names: names, At: s.config.Engine.Now(), By: s.shared.Holder()}
	value, _ := json.Marshal(mine) // texts and a time
	if err := s.store.Put(ctx, requestKind, key, value); err != nil {
		return fmt.Errorf("asking the other etui: %w: %w", store.ErrAway, err)
	}
	defer func() { // the name is not kept either
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), maxStore)
		defer cancel()
		if _, err := s.store.Remove(ctx, requestKind, key); err != nil {
			s.config.Log.ErrorContext(ctx, "the name of a person who was forgotten could not be removed; "+
				"the next one who is forgotten removes it", "error", err)
		}
	}()
	for {
		all, err := s.requests(ctx)
		var alive []string
		if err == nil {
			alive, err = s.shared.Alive(ctx)
		}
		if err != nil {
			return err
		}
		done := all[key].Done
		if !slices.ContainsFunc(alive, func(holder string) bool { _, ok := done[holder]; return !ok }) {
			for _, other := range done {
				add(count, other.Count)
			}
			return nil
		}
		select {
		case <-s.asks:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

func (s *Eraser) requests(ctx context.Context) (map[string]request, error) {
	records, err := s.store.Records(ctx, requestKind)
	all := map[string]request{}
	for _, r := range records {
		var one request
		if err := json.Unmarshal(r.Value, &one); err != nil {
			return nil, fmt.Errorf("a request to forget somebody: %w", err)
		}
		all[r.Key] = one
	}
	return all, err
}

// Follow removes what other processes ask this one to remove, until ctx ends. Without a
// [store.Shared] it returns at once.
func (s *Eraser) Follow(ctx context.Context) {
	if s.shared == nil {
		return
	}
	changed := s.shared.Changed(requestKind)
	for {
		if err := s.answerAll(ctx); err != nil && ctx.Err() == nil {
			s.config.Log.ErrorContext(ctx, "a person could not be forgotten as another etui asked", "error", err)
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return
		}
	}
}

func (s *Eraser) answerAll(ctx context.Context) error {
	all, err := s.requests(ctx)
	for key, r := range all {
		_, done := r.Done[s.shared.Holder()]
		switch {
		case err != nil || r.By == s.shared.Holder():
		case s.config.Engine.Now().Sub(r.At) > 2*maxWaiting: // the one who asked is gone
			_, err = s.store.Remove(ctx, requestKind, key)
		case !done:
			err = s.answer(ctx, key, r.Names)
		}
	}
	return err
}

// answer removes what only this process keeps of a person, and says so.
func (s *Eraser) answer(ctx context.Context, key string, names []string) error {
	done := Report{Count: map[string]int{}}
	if err := eraseFrom(ctx, s.config.Local, names, done.Count); err != nil {
		return err
	}
	return s.store.Change(ctx, requestKind, key, func(value json.RawMessage) (json.RawMessage, error) {
		var r request
		if value == nil { // nobody waits any more
			return nil, nil
		}
		if err := json.Unmarshal(value, &r); err != nil {
			return nil, err
		}
		if r.Done == nil {
			r.Done = map[string]Report{}
		}
		r.Done[s.shared.Holder()] = done
		return json.Marshal(r)
	})
}
