package engine

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/etui-run/etui/memory"
)

// forgetKind is the kind of the records that ask the processes of a [store.Shared] to
// forget a person. Each stays only until all have.
const forgetKind = "forget"

// maxForgetting is how long ForgetUser waits for the other processes.
const maxForgetting = 10 * time.Second

// errNotForgotten says that another process did not answer.
var errNotForgotten = errors.New("another etui has not answered, and may still keep past turns and memory of the person: forget the person again")

// forgetRequest is one of these records.
type forgetRequest struct {
	Names []string  `json:"names"`
	At    time.Time `json:"at"`
	By    string    `json:"by"` // the process that asks
	// Done is what the others removed, by process.
	Done map[string]Forgotten `json:"done"`
}

// elsewhere has the other processes remove what each keeps by itself: past turns, calls of
// before the database, memory.
func (f *forgetting) elsewhere(ctx context.Context) error {
	if f.engine.shared == nil {
		return nil
	}
	ctx, cancel := context.WithTimeoutCause(ctx, maxForgetting, errNotForgotten)
	defer cancel()
	changed, key := f.engine.asks, rand.Text()
	value, _ := json.Marshal(forgetRequest{Names: f.names, At: f.engine.config.Now(), By: f.engine.holder}) // texts and a time
	if err := f.engine.config.Store.Put(ctx, forgetKind, key, value); err != nil {
		return fmt.Errorf("asking the other etui: %w: %w", ErrStore, err)
	}
	defer func() { // the name is not kept either
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), maxStore)
		defer cancel()
		if _, err := f.engine.config.Store.Remove(ctx, forgetKind, key); err != nil {
			f.engine.config.Log.ErrorContext(ctx, "the name of a person who was forgotten could not be removed; the next one who is forgotten removes it", "error", err)
		}
	}()
	for {
		requests, err := f.engine.forgetRequests(ctx)
		var alive []string
		if err == nil {
			alive, err = f.engine.shared.Alive(ctx)
		}
		if err != nil {
			return err
		}
		done := requests[key].Done
		if !slices.ContainsFunc(alive, func(holder string) bool { _, ok := done[holder]; return !ok }) {
			for _, other := range done {
				f.done.Turns, f.done.Calls, f.done.Memories = f.done.Turns+other.Turns, f.done.Calls+other.Calls, f.done.Memories+other.Memories
			}
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

func (e *Engine) forgetRequests(ctx context.Context) (map[string]forgetRequest, error) {
	records, err := e.config.Store.Records(ctx, forgetKind)
	all := map[string]forgetRequest{}
	for _, r := range records {
		var one forgetRequest
		if err := json.Unmarshal(r.Value, &one); err != nil {
			return nil, fmt.Errorf("a request to forget somebody: %w", err)
		}
		all[r.Key] = one
	}
	return all, err
}

// forgetForOthers does what other processes ask for, until ctx ends.
func (e *Engine) forgetForOthers(ctx context.Context) {
	changed := e.shared.Changed(forgetKind)
	for {
		if err := e.forgetAsked(ctx); err != nil && ctx.Err() == nil {
			e.config.Log.ErrorContext(ctx, "a person could not be forgotten as another etui asked", "error", err)
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return
		}
	}
}

func (e *Engine) forgetAsked(ctx context.Context) error {
	requests, err := e.forgetRequests(ctx)
	for key, r := range requests {
		_, done := r.Done[e.holder]
		switch {
		case err != nil || r.By == e.holder:
		case e.config.Now().Sub(r.At) > 2*maxForgetting: // the one who asked is gone
			_, err = e.config.Store.Remove(ctx, forgetKind, key)
		case !done:
			err = e.forgetFor(ctx, key, r.Names)
		}
	}
	return err
}

// forgetFor removes what only this process keeps of a person, and answers.
func (e *Engine) forgetFor(ctx context.Context, key string, names []string) error {
	f := forgetting{engine: e, names: names}
	for _, name := range names {
		if err := f.own(ctx, name); err != nil {
			return err
		}
		calls, _, err := e.config.Calls.Erase(ctx, name)
		if f.done.Calls += calls; err != nil {
			return err
		}
	}
	return e.config.Store.Change(ctx, forgetKind, key, func(value json.RawMessage) (json.RawMessage, error) {
		var r forgetRequest
		if value == nil { // nobody waits any more
			return nil, nil
		}
		if err := json.Unmarshal(value, &r); err != nil {
			return nil, err
		}
		if r.Done == nil {
			r.Done = map[string]Forgotten{}
		}
		r.Done[e.holder] = f.done
		return json.Marshal(r)
	})
}

// own removes what each process keeps by itself of the person under a name, but for calls.
func (f *forgetting) own(ctx context.Context, name string) error {
	f.engine.box.Answers.Clear() // of everybody: an answer to others may name the person
	turns, err := f.engine.Forget(ctx, name, false)
	f.done.Turns += turns
	if err == nil {
		err = f.memories(ctx, name)
	}
	return err
}

// memories removes what the agents remember of the person under a name.
func (f *forgetting) memories(ctx context.Context, name string) error {
	for _, a := range f.engine.config.Agents {
		if a.Memory == nil {
			continue
		}
		for _, kind := range []string{"people", "peers"} {
			found, err := a.Memory.Forget(ctx, memory.Owner(kind, name))
			if err != nil {
				return err
			}
			if found {
				f.done.Memories++
			}
		}
	}
	return nil
}
