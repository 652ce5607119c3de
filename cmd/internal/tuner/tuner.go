// Package tuner fits the weights of the ranking to past turns while a gateway runs, and puts
// weights into effect that changed, whoever changed them.
package tuner

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"reflect"
	"strings"
	"time"

	"github.com/etui-run/etui/audit"
	"github.com/etui-run/etui/catalog"
	"github.com/etui-run/etui/internal/filestamp"
	"github.com/etui-run/etui/lab/eval"
	"github.com/etui-run/etui/lab/tune"
	"github.com/etui-run/etui/learning"
	"github.com/etui-run/etui/usage"
)

const (
	// look is how often the file of weights is looked at.
	look = time.Second
	// pause is how often a fitting is considered, and first after a start.
	pause = time.Hour
	// longest is how long one fitting looks for better weights, on one processor.
	longest = 30 * time.Second
	// enough is how many turns must have been kept since the weights were last changed.
	enough = 3 * tune.MinHeldOut
)

// Config says how a [Tuner] works.
type Config struct {
	State string // the state folder, where the weights are
	// On fits weights. Without it, only weights that others fitted take effect.
	On bool
	// Turns are the past turns; nil fits nothing.
	Turns   usage.Log
	Votes   bool // past turns vote
	Catalog func() *catalog.Catalog
	// Recommender returns the recommender's weights, and why they are not fitted.
	Recommender func(tune.WeightsFile) (start tune.Recommender, fixed string)
	// Apply puts weights into effect, for the next message.
	Apply func(tune.WeightsFile)
	// Audit records what changed, and why.
	Audit func(audit.Decision)
	Log   *slog.Logger
}

// Tuner keeps the weights of a running gateway.
type Tuner struct {
	config Config
	now    tune.WeightsFile // in effect
	tried  time.Time        // the last fitting
	read   filestamp.Stamp  // of the file that was read last
}

// New returns a tuner of weights that are in effect.
func New(c Config, now tune.WeightsFile) *Tuner { return &Tuner{config: c, now: now} }

// Run follows the file of weights, and fits them each hour if there are enough new turns, until
// ctx ends.
func (t *Tuner) Run(ctx context.Context) {
	looking, fitting := time.NewTicker(look), time.NewTicker(pause)
	defer looking.Stop()
	defer fitting.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-looking.C:
			t.Follow(ctx)
		case now := <-fitting.C:
			if err := t.Fit(ctx, now); err != nil && ctx.Err() == nil {
				t.config.Log.WarnContext(ctx, "the weights of the ranking were not fitted to past turns", "error", err)
			}
			t.Follow(ctx)
		}
	}
}

// Follow puts the weights of the file into effect if they differ from those that are.
func (t *Tuner) Follow(ctx context.Context) {
	stamp := filestamp.Of(tune.Info(t.config.State))
	if none := stamp == (filestamp.Stamp{}); stamp == t.read && (none || stamp.Settled()) {
		return
	}
	t.read = stamp
	next, err := tune.Load(t.config.State)
	if err != nil || next.Weights == t.now.Weights && reflect.DeepEqual(next.Recommender, t.now.Recommender) {
		return // those in effect stay
	}
	why := reason(t.now, next)
	t.now = next
	t.config.Apply(next)
	t.config.Audit(audit.Decision{Time: time.Now(), User: next.By, Tool: "weights", Allowed: true, Rule: "usage.tune",
		Reason: why})
	t.config.Log.InfoContext(ctx, "the weights of the ranking changed", "by", next.By, "why", why)
}

// Fit fits the weights to past turns and writes those that are better, by more than chance. It
// does nothing before there are enough turns that came after the last change and the last fitting.
func (t *Tuner) Fit(ctx context.Context, now time.Time) error {
	if !t.config.On || t.config.Turns == nil {
		return nil
	}
	turns, err := t.config.Turns.List(ctx, usage.Filter{})
	if err != nil {
		return err
	}
	fresh := 0
	for _, turn := range turns {
		if turn.Time.After(t.now.Made) && turn.Time.After(t.tried) {
			fresh++
		}
	}
	if fresh < enough {
		return nil
	}
	t.tried = now
	tools, err := eval.Open(t.config.Catalog())
	if err != nil {
		return err
	}
	past := tune.Past{Before: t.now, Questions: learning.Votes(turns, false), Votes: t.config.Votes, Workers: 1}
	past.Start, past.Fixed = t.config.Recommender(t.now)
	fitting, cancel := context.WithTimeout(ctx, longest)
	defer cancel()
	report, err := tune.FitPast(fitting, tools, turns, past)
	if few := (*tune.TooFewError)(nil); errors.As(err, &few) || ctx.Err() != nil {
		return ctx.Err() // tools that are gone leave fewer questions
	}
	if err != nil {
		return err
	}
	next, better := t.now.Apply(report)
	if !better {
		return nil
	}
	next.By, next.Made = "etui", now
	return next.Write(t.config.State)
}

// reason says what changed, and what a fitting found.
func reason(before, next tune.WeightsFile) string {
	var list []string
	if r := next.Report; r.Better && next.By != "etui tune --undo" {
		list = append(list, fmt.Sprintf("nDCG@5 %.1f → %.1f (± %.1f) on %d turns that were held out",
			100*r.Before.NDCG, 100*r.After.NDCG, 100*r.Noise, r.HeldOut))
	}
	list = append(list, tune.Report[any]{Start: before.Weights, Weights: next.Weights}.Changes()...)
	if next.Recommender != nil || before.Recommender != nil {
		from, to := tune.DefaultRecommender(), tune.DefaultRecommender()
		if before.Recommender != nil {
			from = *before.Recommender
		}
		if next.Recommender != nil {
			to = *next.Recommender
		}
		list = append(list, tune.Report[any]{Start: from, Weights: to}.Changes()...)
	}
	return strings.Join(list, "; ")
}
