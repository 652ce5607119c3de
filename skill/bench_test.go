package skill_test

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/etui-run/etui/skill"
)

// logs is a skill of the usual size.
const logs = `name: %s
description: Search the logs of a pod, the %s one.
provider: http
endpoint: http://127.0.0.1:8081/execute
timeout: 30
risk_level: read
headers:
  Authorization: Bearer abc
parameters:
  type: object
  properties:
    namespace: {type: string, description: Namespace of the pod}
    pod: {type: string, description: Name of the pod}
    keyword: {type: string, description: What to look for}
  required: [namespace, pod]
`

func BenchmarkParseYAML(b *testing.B) {
	text := fmt.Appendf(nil, logs, "search_logs", "first")
	b.ReportAllocs()
	for b.Loop() {
		if _, err := skill.ParseYAML("a.yaml", text, skill.Variables{}); err != nil {
			b.Fatal(err)
		}
	}
}

func tenThousand(b *testing.B) (dir string, c skill.LoaderConfig) {
	ws := b.TempDir()
	dir = filepath.Join(ws, "skills")
	for i := range 10_000 {
		name := fmt.Sprintf("skill_%d", i)
		put(b, dir, name+".yaml", fmt.Sprintf(logs, name, name))
	}
	return dir, config(ws)
}

func BenchmarkLoad10000(b *testing.B) {
	_, c := tenThousand(b)
	for b.Loop() {
		table := skill.NewTable(nil)
		if r := skill.NewLoader(table, c).Load(b.Context()); len(r.Loaded) != 10_000 {
			b.Fatal(len(r.Loaded), r.Problems)
		}
	}
}

// BenchmarkChange1Of10000 is what a look at everything costs, in which one file
// has changed.
func BenchmarkChange1Of10000(b *testing.B) {
	dir, c := tenThousand(b)
	table := skill.NewTable(nil)
	l := skill.NewLoader(table, c)
	l.Load(b.Context())
	l.Load(b.Context()) // the new ones are looked at twice
	i := 0
	for b.Loop() {
		i++
		put(b, dir, "skill_7.yaml", fmt.Sprintf(logs, "skill_7", fmt.Sprint(i)))
		if r := l.Load(b.Context()); r.Changed != 1 {
			b.Fatal(r.Changed)
		}
		if got := len(table.ToTools()); got != 10_000 {
			b.Fatal(got)
		}
	}
}

// BenchmarkNotice1Of10000 is the time from the writing of a file to its being in
// force, of which a tenth of a second waits for the end of the writing.
func BenchmarkNotice1Of10000(b *testing.B) {
	dir, c := tenThousand(b)
	table := skill.NewTable(nil)
	l := skill.NewLoader(table, c)
	ctx, cancel := context.WithCancel(b.Context())
	var running sync.WaitGroup
	running.Go(func() { l.Run(ctx) })
	defer running.Wait()
	defer cancel()
	for len(table.List()) < 10_000 {
		time.Sleep(10 * time.Millisecond)
	}
	changed := make(chan string, 10)
	table.Watch(func(s *skill.Snapshot) {
		e, _ := s.Get("skill_7")
		changed <- e.Skill.Description()
	})
	i := 0
	for b.Loop() {
		i++
		put(b, dir, "skill_7.yaml", fmt.Sprintf(logs, "skill_7", fmt.Sprint(i)))
		for !strings.Contains(<-changed, fmt.Sprintf("the %d one", i)) {
		}
	}
}

func filled(b *testing.B, n int) *skill.Table {
	table := skill.NewTable(nil)
	for i := range n {
		if err := table.Register(plain{name: fmt.Sprintf("skill_%d", i)}); err != nil {
			b.Fatal(err)
		}
		if err := table.Enable(fmt.Sprintf("skill_%d", i)); err != nil {
			b.Fatal(err)
		}
	}
	return table
}

func BenchmarkRegister(b *testing.B) {
	for _, n := range []int{100, 10_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			table := filled(b, n)
			for b.Loop() {
				if err := table.Register(plain{name: "skill_50", version: "2"}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkList100(b *testing.B) {
	table := filled(b, 100)
	b.ReportAllocs()
	for b.Loop() {
		if len(table.List()) != 100 {
			b.Fatal("not all")
		}
	}
}

func BenchmarkGet(b *testing.B) {
	table := filled(b, 10_000)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := table.Get("skill_77"); err != nil {
			b.Fatal(err)
		}
	}
}
