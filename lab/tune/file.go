package tune

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/etui-run/etui/internal/atomicfile"
	"github.com/etui-run/etui/rank"
)

// Fitted is the file with the weights that etui tune wrote.
type Fitted struct {
	Weights rank.Weights `json:"weights"`
	// Recommender are the recommender's weights; nil if they were not fitted.
	Recommender *Recommender `json:"recommender,omitempty"`
	Made        time.Time    `json:"made"`
	// From is the folder they were fitted to; empty means past turns.
	From string `json:"from,omitempty"`
	// Report and RecommenderReport are what the last fitting found.
	Report            Report[rank.Weights] `json:"report"`
	RecommenderReport *Report[Recommender] `json:"recommender_report,omitempty"`
}

// File is the file in a state folder with fitted weights.
func File(state string) string { return filepath.Join(state, "weights.json") }

// Load reads the fitted weights of a workspace. Without a file, or with one that
// cannot be used, they are the default ones.
func Load(state string) (Fitted, error) {
	none := Fitted{Weights: rank.DefaultWeights()}
	f := none // for weights that a file does not know
	raw, err := os.ReadFile(File(state))
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
		return none, fmt.Errorf("%s: %w; the default weights are used. etui tune makes it anew, etui tune --reset removes it", File(state), err)
	}
	return f, nil
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
	if err := atomicfile.Write(File(state), append(raw, '\n')); err != nil {
		return fmt.Errorf("writing the weights: %w; the state folder must be writable", err)
	}
	return nil
}

// Reset removes the fitted weights, and reports whether there were any.
func Reset(state string) (removed bool, err error) {
	err = os.Remove(File(state))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("removing the weights: %w", err)
	}
	return true, nil
}
