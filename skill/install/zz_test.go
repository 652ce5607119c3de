package install

import (
	"os"
	"strings"
	"testing"
)

func TestZZ(t *testing.T) {
	dir := os.Getenv("ZZ")
	if dir == "" {
		t.Skip()
	}
	list, _ := os.ReadDir(dir)
	n := 0
	per := map[string]int{}
	for _, d := range list {
		flags, err := Scan(os.DirFS(dir + "/" + d.Name()))
		if err != nil {
			t.Log(err)
			continue
		}
		if len(flags) > 0 {
			n++
		}
		seen := map[string]bool{}
		for _, f := range flags {
			if !seen[f.Rule] {
				per[f.Rule]++
				seen[f.Rule] = true
			}
			raw, _ := os.ReadFile(dir + "/" + d.Name() + "/" + f.File)
			ls := strings.Split(string(raw), "\n")
			x := ""
			if f.Line > 0 && f.Line <= len(ls) {
				x = ls[f.Line-1]
				if len(x) > 260 {
					x = x[:260]
				}
			}
			t.Logf("%s %s [%s] %s", d.Name(), f.String(), f.Rule, x)
		}
	}
	t.Logf("%d of %d; %v", n, len(list), per)
}
