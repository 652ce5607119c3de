package tune

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/etui-run/etui/catalog"
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

// FitRecommender fits the recommender to past turns, over the ranking as it was fitted. Too
// few turns are no error: then it says so in Unfitted.
func (r *Fitting) FitRecommender(ctx context.Context, c *catalog.Catalog, turns []usage.Turn, cfg Config[Recommender]) error {
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
func (r Fitting) Text(file string, dry bool) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d tools; fitted to %d questions, judged by %d others; %d weights tried\n\n", r.Tools, r.Fitted, r.HeldOut, r.Tried)
	r.gain(&b)
	better := r.Better
	switch {
	case r.Recommender != nil:
		fmt.Fprintf(&b, "\nthe recommender over it; fitted to %d turns, judged by %d others; %d weights tried\n\n", r.Recommender.Fitted, r.Recommender.HeldOut, r.Recommender.Tried)
		r.Recommender.gain(&b)
		better = better || r.Recommender.Better
	case r.Unfitted != "":
		fmt.Fprintf(&b, "\nThe weights of the recommender are not fitted: %s.\n", r.Unfitted)
	}
	switch {
	case !better:
		b.WriteString("\nThat is not better than chance would have it: nothing is changed.\n")
	case dry:
		b.WriteString("\nNothing is written, as --dry-run says.\n")
	default:
		fmt.Fprintf(&b, "\nWhat is better is written to %s. It is used from the next start; etui tune --reset goes back.\n", file)
	}
	return b.String()
}

func (r Report[W]) gain(b *strings.Builder) {
	fmt.Fprintf(b, "          nDCG@5    R@5\nbefore   %7.1f %6.1f\nafter    %7.1f %6.1f\n", 100*r.Before.NDCG, 100*r.Before.Recall, 100*r.After.NDCG, 100*r.After.Recall)
	verdict := ""
	if !r.Better {
		verdict = "; not better than chance would have it"
	}
	fmt.Fprintf(b, "gain     %+7.1f ± %.1f (standard error%s)\n", 100*r.Gain, 100*r.Noise, verdict)
	for _, change := range r.Changes() {
		fmt.Fprintf(b, "  %s\n", change)
	}
}
