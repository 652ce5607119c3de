package selection_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/etui-run/etui/catalog"
	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/selection"
	"github.com/etui-run/etui/tool"
)

// words are the words of the tools of TestFollowIsExact, in several languages.
var words = strings.Fields("weather invoice calendar 天气 发票 日历 refund payment server restart logs searching searched mails metrics dashboards 重启 服务器 日志 query databases flights hotels Übersetzung météo")

func said(r *rand.Rand, n int) string {
	list := make([]string, n)
	for i := range list {
		list[i] = words[r.IntN(len(words))]
		if r.IntN(8) == 0 {
			list[i] = fmt.Sprintf("w%d", r.IntN(200)) // a word that comes and goes
		}
	}
	return strings.Join(list, " ")
}

// A selector that follows changes selects like a new one, to the last bit.
func TestFollowIsExact(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	registry := catalog.NewRegistry(nil)
	cfg := selection.Config{Direct: -1}
	follow := selection.Follow(registry, cfg)
	tools := map[string]tool.Tool{}
	skills := map[string]catalog.Skill{}
	for step := range 45 {
		for range 1 + r.IntN(6) {
			name := fmt.Sprint("tool_", r.IntN(60))
			d := tool.Definition{
				Name: name, Description: said(r, 6), Aliases: []string{said(r, 2)}, Translations: map[string]string{"zh": said(r, 2), "de": said(r, 2)},
				Parameters: json.RawMessage(fmt.Sprintf(`{"type":"object","properties":{"a":{"type":"string","description":%q},"b":{"enum":[%q]}}}`, said(r, 3), said(r, 1))),
			}
			if r.IntN(10) > 0 {
				d.Groups = []string{fmt.Sprint("group", r.IntN(4))} // all tools seldom have one
			}
			switch tools[name] = tool.Tool(&described{d}); r.IntN(5) {
			case 0:
				delete(tools, name)
			case 1:
				skills[name] = catalog.Skill{Name: "s" + name, Description: said(r, 5), Tools: []string{name}}
			case 2:
				delete(skills, name)
			}
		}
		var supply catalog.Supply
		for i := range 60 {
			name := fmt.Sprint("tool_", i)
			if tools[name] != nil {
				supply.Tools = append(supply.Tools, tools[name])
			}
			if s, ok := skills[name]; ok {
				supply.Skills = append(supply.Skills, s)
			}
		}
		registry.Supply("test", supply)
		fresh := selection.New(registry.Catalog(), cfg)
		for range 3 {
			req := selection.Request{Query: said(r, 3) + " serach", History: []chat.Message{{Role: chat.User, Text: said(r, 2)}}}
			got, _ := json.Marshal(follow().Select(req).Explain())
			want, _ := json.Marshal(fresh.Select(req).Explain())
			if string(got) != string(want) {
				t.Fatalf("step %d, %q:\n%s\n%s", step, req.Query, got, want)
			}
		}
	}
}

// BenchmarkOneOf10000 is what one changed tool among 10,000 costs, from the registry
// to the selector.
func BenchmarkOneOf10000(b *testing.B) {
	registry := catalog.NewRegistry(nil)
	follow := selection.Follow(registry, selection.Config{})
	list := make([]tool.Tool, 10_000)
	for i, e := 0, many(b, len(list), 0).Catalog(); i < len(list); i++ {
		list[i] = &described{e.At(i).Definition}
	}
	registry.Supply("test", catalog.Supply{Tools: list})
	n := 0
	b.ReportAllocs()
	for b.Loop() {
		n++
		d := list[5000].Definition()
		d.Description = fmt.Sprintf("Tell the weather %d", n)
		list[5000] = &described{d}
		registry.Supply("test", catalog.Supply{Tools: list})
		follow()
	}
}
