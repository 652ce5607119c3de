//go:build !etui_nogloss

package rank_test

import (
	"slices"
	"testing"

	"github.com/etui-run/etui/rank"
	"github.com/etui-run/etui/tool"
)

// Synonyms, translations and traditional characters find definitions, for each
// sentence of a request.
func TestWordsWithTheSameMeaning(t *testing.T) {
	t.Parallel()
	tools := []*tool.Definition{
		{Name: "delete_file", Description: "Delete a file", Groups: []string{"files"}},
		{Name: "translate_text", Description: "Translate a text", Groups: []string{"language"}},
		{Name: "book_flight", Description: "Book a flight", Groups: []string{"travel"}},
		{Name: "create_meeting", Description: "Create a meeting", Groups: []string{"calendar"}},
		{Name: "query_inventory", Description: "查询仓库库存", Groups: []string{"erp"}},
	}
	for question, want := range map[string][]string{
		"remove it, the document file": {"delete_file"},
		"预订航班":                         {"book_flight"},
		"預訂航班":                         {"book_flight"},
		"warehouse stock":              {"query_inventory"},
		"book a flight to Rome. Then set up a meeting. 最后翻译一下这个文本":      {"book_flight", "create_meeting", "translate_text"},
		"First delete the file; after that, translate the text for Bob": {"delete_file", "translate_text"},
	} {
		got := found(tools, rank.Query{Text: question}, len(want))
		for _, name := range want {
			if !slices.Contains(got, name) {
				t.Errorf("%q finds %v first, want %v", question, got, want)
			}
		}
	}
}

// A question finds definitions in the other language, in simplified and in
// traditional characters.
func TestBothLanguages(t *testing.T) {
	t.Parallel()
	var tools []*tool.Definition
	for _, d := range [][2]string{
		{"t1", "申请或更换护照"}, {"t2", "投诉施工或邻居噪音"}, {"t3", "查询物流，查看包裹位置"},
		{"t4", "Report a street lamp that is out"}, {"t5", "Enrol a child in kindergarten"}, {"t6", "Reserve a book of the library"},
	} {
		tools = append(tools, &tool.Definition{Name: d[0], Description: d[1]})
	}
	for query, want := range map[string]string{
		"renew my passport": "t1", "換護照": "t1", "a complaint about noise": "t2", "查包裹": "t3",
		"路灯坏了": "t4", "路燈": "t4", "孩子上幼儿园": "t5", "圖書館的書": "t6", "this 护照 is old": "t1",
	} {
		if got := found(tools, rank.Query{Text: query}, 1); !slices.Equal(got, []string{want}) {
			t.Errorf("%s finds %v, want %s", query, got, want)
		}
	}
	x := rank.New(tools, rank.Weights{})
	r := x.Rank(rank.Query{Text: "a passport"})
	terms, _ := r.Explain(0)
	x.Fields(tools[0], terms)
	if len(terms) == 0 {
		t.Fatalf("len(terms) = %v, want another than 0: %+v", len(terms), terms)
	}
	if terms[0].From != "passport" {
		t.Errorf("terms[0].From = %q, want %q", terms[0].From, "passport")
	}
	if terms[0].Fields["translation"] <= 0 {
		t.Errorf("terms[0].Fields[\"translation\"] = %v, want more than 0", terms[0].Fields["translation"])
	}
}

// An English word that a definition has, and that its Chinese words mean, too, adds to the
// score twice: the explanation says from which fields.
func TestFieldsOfWordsThatAreMeant(t *testing.T) {
	t.Parallel()
	d := &tool.Definition{Name: "find_flight", Description: "航班"}
	index := rank.New([]*tool.Definition{d, {Name: "get_weather"}}, rank.DefaultWeights())
	r := index.Rank(rank.Query{Text: "flight"})
	terms, _ := r.Explain(0)
	index.Fields(d, terms)
	got := map[string]bool{}
	for _, term := range terms {
		for field := range term.Fields {
			got[term.Word+" from "+term.From+" in "+field] = true
		}
	}
	for _, want := range []string{"flight from  in name", "flight from flight in translation"} {
		if !got[want] {
			t.Errorf("no %q in %v", want, terms)
		}
	}
	if got["flight from flight in name"] {
		t.Errorf("a meaning comes from the name: %v", terms)
	}
}
