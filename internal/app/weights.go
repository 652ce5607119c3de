package app

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/etui-run/etui/internal/atomicfile"
	"github.com/etui-run/etui/internal/tune"
	"github.com/etui-run/etui/rank"
)

// Fitted is the file with the weights that etui tune wrote.
type Fitted struct {
	Weights rank.Weights `json:"weights"`
	Made    time.Time    `json:"made"`
	// From is the folder they were fitted to; empty means past turns.
	From   string      `json:"from,omitempty"`
	Report tune.Report `json:"report"`
}

// WeightsFile is the file in a state folder with fitted weights.
func WeightsFile(state string) string { return filepath.Join(state, "weights.json") }

// LoadWeights reads the weights of a workspace. Without a file, or with one that
// cannot be used, they are the default ones.
func LoadWeights(state string) (rank.Weights, error) {
	f := Fitted{Weights: rank.DefaultWeights()} // for weights that a file does not know
	raw, err := os.ReadFile(WeightsFile(state))
	if errors.Is(err, fs.ErrNotExist) {
		return f.Weights, nil
	}
	if err == nil {
		err = json.Unmarshal(raw, &f)
	}
	if err == nil {
		err = f.Weights.Check()
	}
	if err != nil {
		return rank.DefaultWeights(), fmt.Errorf("%s: %w; the default weights are used. etui tune makes it anew, etui tune --reset removes it", WeightsFile(state), err)
	}
	return f.Weights, nil
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
