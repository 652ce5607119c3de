package app

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/etui-run/etui/catalog"
	"github.com/etui-run/etui/internal/atomicfile"
	"github.com/etui-run/etui/internal/eval"
	"github.com/etui-run/etui/internal/tune"
	"github.com/etui-run/etui/internal/workspace"
	"github.com/etui-run/etui/rank"
	"github.com/etui-run/etui/usage"
)

// Fitted is the file with the weights that etui tune wrote.
type Fitted struct {
	Weights rank.Weights `json:"weights"`
	// Recommender are the recommender's weights; nil if they were not fitted.
	Recommender *tune.Recommender `json:"recommender,omitempty"`
	Made        time.Time         `json:"made"`
	// From is the folder they were fitted to; empty means past turns.
	From string `json:"from,omitempty"`
	// Report and RecommenderReport are what the last fitting found.
	Report            tune.Report[rank.Weights]      `json:"report"`
	RecommenderReport *tune.Report[tune.Recommender] `json:"recommender_report,omitempty"`
}

// WeightsFile is the file in a state folder with fitted weights.
func WeightsFile(state string) string { return filepath.Join(state, "weights.json") }

// LoadWeights reads the fitted weights of a workspace. Without a file, or with one that
// cannot be used, they are the default ones.
func LoadWeights(state string) (Fitted, error) {
	none := Fitted{Weights: rank.DefaultWeights()}
	f := none // for weights that a file does not know
	raw, err := os.ReadFile(WeightsFile(state))
	if errors.Is(err, fs.ErrNotExist) {
		return none, nil
	}
	if err == nil {
		err = json.Unmarshal(raw, &f)
	}
	if err == nil {
		err = f.Weights.Check()
	}
	if err == nil && f.Recommender != nil {
		err = f.Recommender.Check()
	}
	if err != nil {
		return none, fmt.Errorf("%s: %w; the default weights are used. etui tune makes it anew, etui tune --reset removes it", WeightsFile(state), err)
	}
	return f, nil
}

// Recommends says which weights the recommender of a workspace has, and whether they may
// be fitted: it is on, and etui.yaml leaves them to etui.
func (f Fitted) Recommends(w *workspace.Workspace) (now tune.Recommender, fit bool, why string) {
	c := w.Config.Recommend
	now = weightsOf(c)
	switch {
	case c.Mode == "off":
		return now, false, "recommend.mode is off"
	case now != tune.DefaultRecommender():
		return now, false, "etui.yaml sets its weights"
	case f.Recommender != nil:
		now = *f.Recommender
	}
	return now, true, ""
}

// Write replaces the weights of a state folder in one step, so that no reader sees half
// a file.
func (f Fitted) Write(state string) error {
	raw, err := json.MarshalIndent(f, "", "  ")
	if err == nil {
		err = os.MkdirAll(state, 0o700)
	}
	if err != nil {
		return err
	}
	if err := atomicfile.Write(WeightsFile(state), append(raw, '\n')); err != nil {
		return fmt.Errorf("writing the weights: %w; the state folder must be writable", err)
	}
	return nil
}

// ResetWeights removes the fitted weights, and reports whether there were any.
func ResetWeights(state string) (removed bool, err error) {
	err = os.Remove(WeightsFile(state))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("removing the weights: %w", err)
	}
	return true, nil
}

// PastTurns returns the workspace's tools, visible to everybody, and the past turns.
func PastTurns(ctx context.Context, w *workspace.Workspace, cfg Config) (tools *catalog.Catalog, turns []usage.Turn, err error) {
	a, err := New(ctx, w, cfg)
	if err != nil {
		return nil, nil, err
	}
	defer func() { err = errors.Join(err, a.Close()) }()
	if log := a.Config.Learning.Log; log != nil {
		if turns, err = log.List(ctx, usage.Filter{}); err != nil {
			return nil, nil, err
		}
	}
	tools, err = eval.Open(a.Engine.Catalog())
	return tools, turns, err
}
