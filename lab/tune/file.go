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

// WeightsFile is the file with the weights that etui tune wrote.
type WeightsFile struct {
	Weights rank.Weights `json:"weights"`
	// Recommender are the recommender's weights; nil if they were not fitted.
	Recommender *Recommender `json:"recommender,omitempty"`
	Made        time.Time    `json:"made"`
	// From is the folder they were fitted to; empty means past turns. By says who had them
	// fitted.
	From string `json:"from,omitempty"`
	By   string `json:"by,omitempty"`
	// Report and RecommenderReport are what the last fitting found.
	Report            Report[rank.Weights] `json:"report"`
	RecommenderReport *Report[Recommender] `json:"recommender_report,omitempty"`
}

// File is the file in a state folder with fitted weights.
func File(state string) string { return filepath.Join(state, "weights.json") }

// Info tells about the file; nil if there is none.
func Info(state string) fs.FileInfo {
	info, err := os.Stat(File(state))
	if err != nil {
		return nil
	}
	return info
}

// before is the file with the weights that the last ones replaced.
func before(state string) string { return filepath.Join(state, "weights.before.json") }

// Load reads the fitted weights of a workspace. Without a file, or with one that
// cannot be used, they are the default ones.
func Load(state string) (WeightsFile, error) { return load(File(state)) }

// Before reads the weights that the last change replaced, as [Load] does.
func Before(state string) (WeightsFile, error) { return load(before(state)) }

func load(file string) (WeightsFile, error) {
	none := WeightsFile{Weights: rank.DefaultWeights()}
	f := none // for weights that a file does not know
	raw, err := os.ReadFile(file)
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
		return none, fmt.Errorf("%s: %w; the default weights are used. etui tune makes it anew, etui tune --reset removes it", file, err)
	}
	return f, nil
}

// Write replaces the weights of a state folder in one step, so that no reader sees half
// a file. Those before it are kept for [Undo].
func (f WeightsFile) Write(state string) error {
	old, err := os.ReadFile(File(state))
	switch {
	case err == nil:
		err = atomicfile.Write(before(state), old)
	case errors.Is(err, fs.ErrNotExist):
		if err = os.Remove(before(state)); errors.Is(err, fs.ErrNotExist) {
			err = nil
		}
	}
	if err != nil {
		return fmt.Errorf("keeping the weights before: %w", err)
	}
	return f.write(state)
}

func (f WeightsFile) write(state string) error {
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

// Undo brings back the weights that the last ones replaced: those of the file before, or the
// default ones. It reports whether there was anything to undo. The time is noted, so that the
// same turns do not lead to the same weights again.
func Undo(state string, now time.Time) (undone bool, err error) {
	if _, err := os.Stat(File(state)); err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return false, nil
		}
		return false, fmt.Errorf("undoing the weights: %w", err)
	}
	f := WeightsFile{Weights: rank.DefaultWeights()}
	raw, err := os.ReadFile(before(state))
	if err == nil {
		err = json.Unmarshal(raw, &f)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return false, fmt.Errorf("undoing the weights: %w; etui tune --reset goes back to the default ones", err)
	}
	f.Made, f.By = now, "etui tune --undo"
	if err := f.write(state); err != nil {
		return false, err
	}
	if err := os.Remove(before(state)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return true, fmt.Errorf("undoing the weights: %w", err)
	}
	return true, nil
}

// Reset removes the fitted weights, and reports whether there were any.
func Reset(state string) (removed bool, err error) {
	if err := os.Remove(before(state)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return false, fmt.Errorf("removing the weights: %w", err)
	}
	err = os.Remove(File(state))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("removing the weights: %w", err)
	}
	return true, nil
}
