package api

import (
	"net/http"
	"time"

	"github.com/etui-run/etui/engine"

	"github.com/etui-run/etui/server/wire"
)

// Ranking is how much each part of a tool counts for the ranking, and each factor for the
// recommender.
type Ranking struct {
	// Weights are those of the ranking, Recommender those of the recommender.
	Weights     []Weight `json:"weights"`
	Recommender []Weight `json:"recommender"`
	// Fixed is why the recommender's weights are not fitted; empty when they may be.
	Fixed string `json:"fixed,omitempty"`
	// Made is when the weights were fitted last, and By who had that done. They are zero while
	// the default weights are in effect.
	Made time.Time `json:"made,omitzero"`
	By   string    `json:"by,omitempty"`
	// Judged is what the last fitting of the ranking gained, and JudgedRecommender that of the
	// recommender; nil without one.
	Judged            *FittingGain `json:"judged,omitempty"`
	JudgedRecommender *FittingGain `json:"judged_recommender,omitempty"`
	// Trouble is why the fitted weights cannot be used.
	Trouble string `json:"trouble,omitempty"`
}

// Weight is a weight: by default, before the last change, and now.
type Weight struct {
	Name    string  `json:"name"`
	Default float64 `json:"default"`
	Before  float64 `json:"before"`
	Now     float64 `json:"now"`
}

// FittingGain is how well the turns that were held out from a fitting found their tools before and
// after it, as nDCG@5, with the standard error of the gain.
type FittingGain struct {
	HeldOut int     `json:"held_out"`
	Before  float64 `json:"before"`
	After   float64 `json:"after"`
	Noise   float64 `json:"noise"`
}

// Ranker answers operators' requests about the ranking.
type Ranker struct {
	engine *engine.Engine
	config Config
}

// Weights answers with the [Ranking].
func (k Ranker) Weights(w http.ResponseWriter, r *http.Request) {
	if _, ok := wire.Query(w, r); !ok {
		return
	}
	now := Ranking{Weights: []Weight{}, Recommender: []Weight{}}
	if k.config.Ranking != nil {
		now = k.config.Ranking()
	}
	wire.Reply(w, http.StatusOK, now)
}
