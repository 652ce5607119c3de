package approval

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/phrase"
	"github.com/etui-run/etui/route"
	"github.com/etui-run/etui/session"
	"github.com/etui-run/etui/store"
)

// ErrNone says that nothing waits for an approval, and no lasting approval exists, under an ID.
var ErrNone = phrase.Errorf("no such approval")

// Grant is a lasting approval: the tool may be called without asking.
type Grant struct {
	// ID is that of the approval which made it.
	ID string `json:"id"`
	// Tool may be called through Agent for User. An empty User is the operator, on Channel.
	// Hash is that of the tool's definition: a tool that changes is asked about again.
	Tool    string `json:"tool"`
	Hash    string `json:"hash,omitempty"`
	Agent   string `json:"agent,omitempty"`
	User    string `json:"user,omitempty"`
	Channel string `json:"channel,omitempty"`
	// By gave it at Time; By is empty for a guest.
	By   string    `json:"by,omitempty"`
	Time time.Time `json:"time"`
}

// Covers reports whether a tool with a hash may be called for a caller.
func (g Grant) Covers(f chat.Facts, tool, hash string) bool {
	return g.Tool == tool && g.Hash == hash && g.Agent == f.Agent && g.User == f.Record() &&
		(g.User != "" || g.Channel == f.Channel && route.Operator(session.Key(f.Session)))
}

// Grants are the lasting approvals in a store.
type Grants struct {
	records store.Records
	log     *slog.Logger
}

// grants is the kind of their records.
const grants = "approval"

// List returns all lasting approvals.
func (s *Grants) List(ctx context.Context) ([]Grant, error) {
	records, err := s.records.Records(ctx, grants)
	list := make([]Grant, len(records))
	for i, r := range records {
		if err == nil {
			err = json.Unmarshal(r.Value, &list[i])
		}
	}
	return list, err
}

// Covering returns why a call that the policy asks about may run: a lasting approval.
func (s *Grants) Covering(ctx context.Context, f chat.Facts, tool, hash string) (reason string, ok bool) {
	list, err := s.List(ctx)
	if err != nil {
		s.log.ErrorContext(ctx, "lasting approvals could not be read, so the call is asked about",
			"tool", tool, "error", err)
		return "", false
	}
	i := slices.IndexFunc(list, func(g Grant) bool { return g.Covers(f, tool, hash) })
	if i < 0 {
		return "", false
	}
	return fmt.Sprintf("approved always by %s (%s)", cmp.Or(list[i].By, "a guest"), list[i].ID), true
}

// Put stores a lasting approval, in place of the one with its ID.
func (s *Grants) Put(ctx context.Context, g Grant) error {
	value, _ := json.Marshal(g) // texts and a time
	return s.records.Put(ctx, grants, g.ID, value)
}

// Revoke removes a lasting approval. It returns [ErrNone] if there is none.
func (s *Grants) Revoke(ctx context.Context, id string) error {
	found, err := s.records.Remove(ctx, grants, id)
	if err == nil && !found {
		err = fmt.Errorf("%q: %w", id, ErrNone)
	}
	if err == nil {
		s.log.InfoContext(ctx, "lasting approval revoked", "id", id)
	}
	return err
}

// Erase removes the lasting approvals for a person, and the person's name from those for others.
func (s *Grants) Erase(ctx context.Context, names []string) (map[string]int, error) {
	list, err := s.List(ctx)
	n := 0
	for _, g := range list {
		switch {
		case err != nil:
		case slices.Contains(names, g.User):
			err = s.Revoke(ctx, g.ID)
			n++
		case slices.Contains(names, g.By): // it is somebody else's, and stays in effect
			g.By = ""
			err = s.Put(ctx, g)
		}
	}
	return map[string]int{"approvals": n}, err
}
