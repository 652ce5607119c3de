package enrich

import (
	"errors"
	"slices"
	"strings"

	"github.com/etui-run/etui/internal/printable"
	"github.com/etui-run/etui/phrase"
)

// maxExamples is how many examples a tool may have.
const maxExamples = 100

// AddExample adds a question to the texts about a tool, as a person's. It returns the line about the
// tool before and after; the file is changed only if save says so.
func (f *File) AddExample(tool, example string, save bool) (before, after Line, err error) {
	example = strings.Join(strings.Fields(example), " ")
	if example == "" || len(example) > maxExample || printable.OneLine(example) != example {
		return before, after, phrase.Errorf("an example is one line of at most %d bytes", maxExample)
	}
	change := func(lines map[string]Line) {
		before = lines[tool]
		if len(before.Examples) >= maxExamples {
			err = phrase.Errorf("%s has %d examples already; edit %s", tool, maxExamples, f.path)
			return
		}
		after = before
		after.Tool = tool
		if !slices.Contains(before.Examples, example) {
			after.Examples = append(slices.Clone(before.Examples), example)
		}
		if after.Sum != "" && after.Edited() {
			after.For, after.By, after.Sum = "", "", "" // it is a person's now, for each version of the tool
		}
		lines[tool] = after
	}
	if save {
		failed := f.change(change)
		return before, after, errors.Join(err, failed)
	}
	lines, failed := f.Read()
	if failed == nil {
		change(lines)
	}
	return before, after, errors.Join(err, failed)
}
