package selection_test

import (
	"encoding/json"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/etui-run/etui/catalog"
	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/selection"
	"github.com/etui-run/etui/tool"
)

func many(tb testing.TB, n, filters int) *selection.Selector {
	return selection.New(crowd(tb, n, filters).Catalog(), selection.Config{})
}

func crowd(tb testing.TB, n, filters int) *catalog.Registry {
	verbs := strings.Fields("get list create update delete search export import check send open close approve assign")
	things := strings.Fields("invoice ticket customer pod server report meeting mail file order contract employee backup alert pipeline budget")
	r := catalog.NewRegistry(nil)
	tools := make([]tool.Tool, n)
	for i := range tools {
		v, th := verbs[i%len(verbs)], things[(i/len(verbs))%len(things)]
		tools[i] = described{tool.Definition{
			Name: fmt.Sprintf("%s_%s_%d", v, th, i), Description: fmt.Sprintf("%s a %s of department %d with its history and owner", v, th, i%50), Groups: []string{th},
			Parameters: json.RawMessage(`{"type":"object","properties":{"id":{"type":"string","description":"identifier"},"status":{"type":"string","enum":["open","closed"]}}}`),
		}}
	}
	if filters == 0 {
		must(tb, r.Register(tools...))
	}
	for i := range filters {
		role := fmt.Sprint("role", i)
		must(tb, r.RegisterAllWithFilter(func(f chat.Facts) bool { return f.Channel == "web" || f.HasRole(role) }, tools[i*n/filters:(i+1)*n/filters]...))
	}
	return r
}

func BenchmarkSelect(b *testing.B) {
	req := selection.Request{Query: "approve the overdue invoice of the customer", Facts: chat.Facts{Channel: "web", Roles: []string{"user"}}}
	for _, n := range []int{200, 1000, 10_000, 50_000} {
		guarded := 100
		if n == 200 {
			guarded = 150
		}
		for _, filters := range []int{0, guarded} {
			b.Run(fmt.Sprintf("tools=%d/filters=%d", n, filters), func(b *testing.B) {
				s := many(b, n, filters)
				b.ReportAllocs()
				for b.Loop() {
					s.Select(req)
				}
			})
		}
	}
}

// BenchmarkMeaning also compares vectors of 1,024 numbers.
func BenchmarkMeaning(b *testing.B) {
	for _, n := range []int{1000, 10_000} {
		s := many(b, n, 0)
		vectors := make([][]float32, n)
		for i := range vectors {
			vectors[i] = make([]float32, 1024)
			vectors[i][i%1024] = 1
		}
		s = s.WithVectors(vectors)
		req := selection.Request{Query: "approve the overdue invoice of the customer", Vector: vectors[7]}
		b.Run(fmt.Sprintf("tools=%d", n), func(b *testing.B) {
			for b.Loop() {
				s.Select(req)
			}
		})
	}
}

func BenchmarkIndex10000(b *testing.B) {
	c := many(b, 10_000, 0).Catalog()
	b.ReportAllocs()
	for b.Loop() {
		selection.New(c, selection.Config{})
	}
}

// BenchmarkIndexMemory is what an index of 50,000 tools keeps, in MB, without the
// tools themselves.
func BenchmarkIndexMemory(b *testing.B) {
	c := crowd(b, 50_000, 0).Catalog()
	var before, after runtime.MemStats
	for b.Loop() {
		runtime.GC()
		runtime.ReadMemStats(&before)
		s := selection.New(c, selection.Config{})
		runtime.GC()
		runtime.ReadMemStats(&after)
		runtime.KeepAlive(s)
	}
	b.ReportMetric((float64(after.HeapAlloc)-float64(before.HeapAlloc))/1e6, "MB")
}

// BenchmarkEnriched is BenchmarkSelect, and the making of an index, with five names and five
// requests for each tool.
func BenchmarkEnriched(b *testing.B) {
	req := selection.Request{Query: "approve the overdue invoice of the customer"}
	for _, n := range []int{1000, 10_000, 50_000} {
		r := crowd(b, n, 0)
		texts := map[string]catalog.Enrichment{}
		for e := range r.Catalog().All() {
			var t tool.Texts
			for i := range 5 {
				t.Aliases = append(t.Aliases, fmt.Sprintf("%s way %d", strings.ReplaceAll(e.Definition.Name, "_", " "), i))
				t.Examples = append(t.Examples, fmt.Sprintf("please %s for me, it is number %d of the month", strings.ReplaceAll(e.Definition.Name, "_", " "), i))
			}
			texts[e.Definition.Name] = catalog.Enrichment{Texts: t, For: e.Hash()}
		}
		r.Enrich(texts)
		s := selection.New(r.Catalog(), selection.Config{})
		b.Run(fmt.Sprintf("select/tools=%d", n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				s.Select(req)
			}
		})
		b.Run(fmt.Sprintf("index/tools=%d", n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				selection.New(r.Catalog(), selection.Config{})
			}
		})
	}
}
