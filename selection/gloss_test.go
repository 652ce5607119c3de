//go:build !etui_nogloss

package selection_test

import (
	"slices"
	"testing"

	"github.com/etui-run/etui/catalog"
	"github.com/etui-run/etui/selection"
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
