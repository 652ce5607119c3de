package tune

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/etui-run/etui/catalog"
	"github.com/etui-run/etui/phrase"
	"github.com/etui-run/etui/rank"
	"github.com/etui-run/etui/usage"
)

// Fitting is the result of fitting the weights of the ranking, and those of the recommender.
type Fitting struct {
	Report[rank.Weights]
	// Recommender is what was found out about its weights; nil if they were not fitted, for
	// the reason Unfitted.
	Recommender *Report[Recommender] `json:"recommender,omitempty"`
	Unfitted    string               `json:"recommender_not_fitted,omitempty"`
	// Written is the file with the weights, if they are better.
	Written string `json:"written,omitempty"`
}

// Past says how [FitPast] fits weights.
type Past struct {
	Before WeightsFile
	// Questions are those of the turns, as they vote.
	Questions []rank.PastQuestion
	// Votes lets past turns vote, as in etui.
	Votes   bool
	Workers int // as in [Config]
	// Start are the recommender's weights. Fixed says why they are not fitted; empty means
	// that they are.
	Start Recommender
	Fixed string
	// Progress is called with each better fit, of the recommender or not; nil is not called.
	Progress func(recommender bool, p Progress)
}

// FitPast fits the weights of the ranking, and those of the recommender over it, to past turns.
// Every tool of c must be visible to a caller without facts.
func FitPast(ctx context.Context, c *catalog.Catalog, turns []usage.Turn, p Past) (report Fitting, err error) {
	progress := func(recommender bool) func(Progress) {
		if p.Progress == nil {
			return nil
		}
		return func(at Progress) { p.Progress(recommender, at) }
	}
	ranking := Config[rank.Weights]{Start: p.Before.Weights, Votes: p.Votes, Workers: p.Workers,
		Progress: progress(false)}
	report.Report, err = Run(ctx, c, p.Questions, ranking)
	if err != nil {
		return report, err
	}
	if p.Fixed != "" {
		report.Unfitted = p.Fixed
		return report, nil
	}
	err = report.FitRecommender(ctx, c, turns,
		Config[Recommender]{Start: p.Start, Votes: p.Votes, Workers: p.Workers, Progress: progress(true)})
	return report, err
}

// Apply returns the weights with what a fitting found better, and whether it found anything.
func (f WeightsFile) Apply(r Fitting) (now WeightsFile, better bool) {
	now = WeightsFile{Weights: f.Weights, Recommender: f.Recommender, Made: time.Now(), Report: r.Report,
		RecommenderReport: r.Recommender}
	if r.Better {
		now.Weights = r.Weights
	}
	if r.Recommender != nil && r.Recommender.Better {
		now.Recommender = &r.Recommender.Weights
		return now, true
	}
	return now, r.Better
}

// FitRecommender fits the recommender to past turns, over the ranking as it was fitted. Too
// few turns are no error: then it says so in Unfitted.
func (r *Fitting) FitRecommender(ctx context.Context, c *catalog.Catalog, turns []usage.Turn,
	cfg Config[Recommender]) error {
	words := r.Start
	if r.Better {
		words = r.Weights
	}
	found, err := Recommend(ctx, c, turns, words, cfg)
	if few := (*TooFewError)(nil); errors.As(err, &few) {
		r.Unfitted = fmt.Sprintf("%d past turns have a channel and a conversation, and it needs %d", few.Have, few.Need)
		return nil
	}
	r.Recommender = &found
	return err
}

// Text describes the result for people; file is how they know the one that was written. A
// dry run writes nothing.
func (r Fitting) Text(lang, file string, dry bool) string {
	var b strings.Builder
	phrase.Fprintf(&b, lang, "%d tools; fitted to %d questions, judged by %d others; %d weights tried\n\n", r.Tools,
		r.Fitted, r.HeldOut, r.Tried)
	r.gain(&b, lang)
	better := r.Better
	switch {
	case r.Recommender != nil:
		phrase.Fprintf(&b, lang, "\nthe recommender over it; fitted to %d turns, judged by %d others; %d weights tried\n\n", r.Recommender.Fitted, r.Recommender.HeldOut, r.Recommender.Tried)
		r.Recommender.gain(&b, lang)
		better = better || r.Recommender.Better
	case r.Unfitted != "":
		phrase.Fprintf(&b, lang, "\nThe weights of the recommender are not fitted: %s.\n",
			phrase.Word(lang, r.Unfitted))
	}
	switch {
	case !better:
		phrase.Fprintf(&b, lang, "\nThat is not better than chance would have it: nothing is changed.\n")
	case dry:
		phrase.Fprintf(&b, lang, "\nNothing is written, as --dry-run says.\n")
	default:
		phrase.Fprintf(&b, lang, "\nWhat is better is written to %s. A running gateway uses it at once. etui tune --undo goes back.\n", file)
	}
	return b.String()
}

func (r Report[W]) gain(b *strings.Builder, lang string) {
	fmt.Fprintf(b, "          nDCG@5    R@5\nbefore   %7.1f %6.1f\nafter    %7.1f %6.1f\n", 100*r.Before.NDCG,
		100*r.Before.Recall, 100*r.After.NDCG, 100*r.After.Recall)
	verdict := phrase.Word(lang, "standard error")
	if !r.Better {
		verdict += phrase.Word(lang, "; not better than chance would have it")
	}
	fmt.Fprintf(b, "gain     %+7.1f ± %.1f (%s)\n", 100*r.Gain, 100*r.Noise, verdict)
	for _, change := range r.Changes() {
		fmt.Fprintf(b, "  %s\n", change)
	}
}
