package approval

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/etui-run/etui/phrase"
	"github.com/etui-run/etui/session"
)

// over is the kind of the records of what has ended, which those who answer too late read.
const over = "approval-over"

// remembered is how long one is kept: longer than anybody presses an old button.
const remembered = 30 * 24 * time.Hour

// ended is what became of a request. It does not say who asked, nor the reason of a refusal.
type ended struct {
	ID       string `json:"id"`
	Tool     string `json:"tool"`
	Original string `json:"original,omitempty"`
	Question bool   `json:"question,omitempty"`
	Ending
}

// Over keeps what became of a request.
func (s *Approvals) Over(ctx context.Context, a Approval, e Ending) error {
	e.Reason, e.From = "", ""
	value, _ := json.Marshal(ended{a.ID, a.Tool, a.Original, a.Question != "", e}) // texts and a time
	return s.config.Store.Put(ctx, over, a.ID, value)
}

// Ended returns what became of a request; false if it waits, or nothing is known of it any more.
func (s *Approvals) Ended(ctx context.Context, id string) (Ending, bool) {
	e, ok := s.ended(ctx, id)
	return e.Ending, ok
}

func (s *Approvals) ended(ctx context.Context, id string) (e ended, ok bool) {
	if !idLike(id) {
		return e, false
	}
	records, err := s.config.Store.Records(ctx, over, id)
	ok = err == nil && len(records) == 1 && json.Unmarshal(records[0].Value, &e) == nil
	return e, ok
}

// Gone returns [ErrNone] for an ID, with what became of its request.
func (s *Approvals) Gone(ctx context.Context, id string) error {
	if e, ok := s.ended(ctx, id); ok {
		return e
	}
	return phrase.Errorf("%q: %w: it was answered, it expired, or it never was", id, ErrNone)
}

// Error says what became of the request to somebody who answers it.
func (e ended) Error() string { return e.In(phrase.English) }

// In implements [phrase.LocalizedError].
func (e ended) In(language string) string {
	if e.Question && e.How == Approved {
		return phrase.In(language, "the question %s has an answer", e.ID)
	}
	a := Approval{Await: session.Await{ID: e.ID, Tool: e.Tool, Original: e.Original, Language: language}}
	return strings.TrimSuffix(e.Text(a), phrase.In(language, ".")) // [Why] ends the sentence
}

// Is makes it an [ErrNone].
func (e ended) Is(target error) bool { return target == ErrNone }

// Forget removes what ended long ago.
func (s *Approvals) Forget(ctx context.Context) error {
	return s.eachEnded(ctx, func(e ended) bool { return s.config.Now().Sub(e.Time) <= remembered })
}

// EraseEndings removes what a person has answered.
func (s *Approvals) EraseEndings(ctx context.Context, names []string) error {
	return s.eachEnded(ctx, func(e ended) bool { return !slices.Contains(names, e.By) })
}

// eachEnded removes the records that are not to be kept.
func (s *Approvals) eachEnded(ctx context.Context, keep func(ended) bool) error {
	records, err := s.config.Store.Records(ctx, over)
	for _, r := range records {
		var e ended
		if err == nil && (json.Unmarshal(r.Value, &e) != nil || !keep(e)) {
			_, err = s.config.Store.Remove(ctx, over, r.Key)
		}
	}
	return err
}
