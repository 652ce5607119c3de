//go:build !etui_nogloss

package selection_test

import (
	"slices"
	"testing"

	"github.com/etui-run/etui/catalog"
	"github.com/etui-run/etui/selection"
	"github.com/etui-run/etui/tool"
)

// TestWordsOfLikeMeaning finds tools by synonyms, translations and traditional
// characters, for each sentence of a request.
func TestWordsOfLikeMeaning(t *testing.T) {
	r := catalog.NewRegistry(nil)
	must(t, r.Register(define("delete_file", "Delete a file", "files"), define("translate_text", "Translate a text", "language"),
		define("book_flight", "Book a flight", "travel"), define("create_meeting", "Create a meeting", "calendar"), define("query_inventory", "查询仓库库存", "erp")))
	s := selection.New(r.Catalog(), selection.Config{Direct: -1})
	for question, want := range map[string][]string{
		"remove it, the document file": {"delete_file"},
		"预订航班":                         {"book_flight"},
		"預訂航班":                         {"book_flight"},
		"warehouse stock":              {"query_inventory"},
		"book a flight to Rome. Then set up a meeting. 最后翻译一下这个文本":      {"book_flight", "create_meeting", "translate_text"},
		"First delete the file; after that, translate the text for Bob": {"delete_file", "translate_text"},
	} {
		var got []string
		for _, m := range s.Select(selection.Request{Query: question}).Ranked {
			got = append(got, m.Definition.Name)
		}
		for _, name := range want {
			if i := slices.Index(got, name); i < 0 || i >= len(want) {
				t.Errorf("%q finds %v, want %v first", question, got, want)
			}
		}
	}
}

// TestBothLanguages: a question finds tools that are described in the other
// language, in simplified and in traditional characters.
func TestBothLanguages(t *testing.T) {
	r := catalog.NewRegistry(nil)
	for name, says := range map[string]string{
		"t1": "申请或更换护照", "t2": "投诉施工或邻居噪音", "t3": "查询物流，查看包裹位置",
		"t4": "Report a street lamp that is out", "t5": "Enrol a child in kindergarten", "t6": "Reserve a book of the library",
	} {
		must(t, r.Register(described{tool.Definition{Name: name, Description: says, Risk: tool.Read}}))
	}
	s := selection.New(r.Catalog(), choosing)
	for query, want := range map[string]string{
		"renew my passport": "t1", "換護照": "t1", "a complaint about noise": "t2", "查包裹": "t3",
		"路灯坏了": "t4", "路燈": "t4", "孩子上幼儿园": "t5", "圖書館的書": "t6", "this 护照 is old": "t1",
	} {
		if found := s.Search(selection.Request{Query: query}, 1); len(found) == 0 || found[0].Definition.Name != want {
			t.Errorf("%s finds %v, want %s", query, found, want)
		}
	}
	x := s.Select(selection.Request{Query: "a passport"}).Explain()
	if v := x.Tools[0]; v.Tool != "t1" || len(v.Terms) == 0 || v.Terms[0].From != "passport" || v.Terms[0].Fields["translation"] <= 0 {
		t.Errorf("explained as %+v", v)
	}
}
