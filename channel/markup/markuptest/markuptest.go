// Package markuptest holds a few dozen Markdown texts, and checks how a dialect writes them.
package markuptest

import (
	_ "embed"
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
)

//go:embed texts.txtar
var texts []byte

// Golden compares what render makes of every text with testdata/markup.txtar of the test's
// package; go test -run Golden -update rewrites it.
func Golden(t *testing.T, render func(markdown string) string) {
	path := filepath.Join("testdata", "markup.txtar")
	want := map[string]string{}
	if data, err := os.ReadFile(path); err == nil {
		for _, f := range txtar.Parse(data).Files {
			want[f.Name] = string(f.Data)
		}
	}
	got := &txtar.Archive{Comment: []byte("The texts of channel/markup/markuptest, as this package writes them.\n")}
	for _, f := range txtar.Parse(texts).Files {
		out := render(string(f.Data)) + "\n"
		got.Files = append(got.Files, txtar.File{Name: f.Name, Data: []byte(out)})
		if !*update && out != want[f.Name] {
			t.Errorf("%s:\n%s\nis written as\n%s\nwant\n%s", f.Name, f.Data, out, want[f.Name])
		}
	}
	if *update {
		if err := os.WriteFile(path, txtar.Format(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

var update = flag.Bool("update", false, "rewrite testdata/markup.txtar")
