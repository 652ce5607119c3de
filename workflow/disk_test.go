package workflow_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/workflow"
)

// TestDisk: conditions read files by their names, and nothing else.
func TestDisk(t *testing.T) {
	t.Parallel()
	disk := fstest.MapFS{
		"out/report.md": {Data: []byte("# Report\nall is well")},
		"cover.json":    {Data: []byte(`{"branch": 81.5}`)},
		"big.json":      {Data: []byte(`"` + strings.Repeat("x", workflow.MaxData) + `"`)},
		"raw":           {Data: []byte("a\xffb")},
	}
	var many []string
	for i := range 300 {
		name := fmt.Sprint("many/", i)
		disk[name], many = &fstest.MapFile{}, append(many, strconv.Quote(name))
	}
	for when, want := range map[string]string{
		`"out/report.md" in disk`:                                    "done",
		`disk["./out/../out/report.md"].text.startsWith("# Report")`: "done",
		`disk["out/report.md"].size > 10`:                            "done",
		`disk[target].data.branch >= 80`:                             "done",
		`["raw", "cover.json"].all(name, name in disk)`:              "done",
		`disk.raw.text == "ab"`:                                      "done",
		`size(disk["big.json"].text) == 16384`:                       "done",
		`has(disk["big.json"].data)`:                                 "",
		`"missing" in disk`:                                          "",
		`disk["missing"].size >= 0`:                                  "no such key",
		`"out" in disk`:                                              "",
		`"../cover.json" in disk || "/cover.json" in disk`:           "",
		`results.list.data.all(name, name in disk)`:                  "more than 200 files",
	} {
		p := plan(t, phases(workflow.Phase{Name: "a", Next: []workflow.Next{{When: when, To: "done"}}}))
		f := p.Begin("", "cover.json", nil)
		workflow.Observe(f, "list", chat.Result{Text: "[" + strings.Join(many, ",") + "]"})
		v := p.In(disk).Judge(f, nil)
		switch {
		case want == "done" || want == "":
			if v.To != want {
				t.Errorf("%s: %+v, want %q", when, v, want)
			}
		case v.To != "" || !strings.Contains(strings.Join(v.Open, ""), want):
			t.Errorf("%s: %+v, want %s", when, v, want)
		}
		if want == "done" && p.Judge(f, nil).To != "" {
			t.Errorf("%s holds without files", when)
		}
	}
}

// TestDiskListed: what would list the files is refused.
func TestDiskListed(t *testing.T) {
	t.Parallel()
	for _, when := range []string{"disk.exists(name, true)", "disk.size() > 0", "size(disk) > 0", "disk == {}", "{} == disk", "disk in [results]", "(finished ? disk : results).x.failed", "[disk].all(d, true)", "disk", "disk[disk].size > 0"} {
		_, err := workflow.Compile(phases(workflow.Phase{Name: "a", Next: []workflow.Next{{When: when, To: "done"}}}))
		if err == nil || !strings.Contains(err.Error(), "disk cannot be listed") && !strings.Contains(err.Error(), "no matching overload") && !strings.Contains(err.Error(), "must be true") {
			t.Errorf("%s: %v", when, err)
		}
	}
}
