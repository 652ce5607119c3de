package selection_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/etui-run/etui/catalog"
	"github.com/etui-run/etui/selection"
)

// A question in a language that no tool has gets the tools that were used lately, and says why.
func TestUncoveredLanguage(t *testing.T) {
	t.Parallel()
	s := many(t, 1000, 0)
	sel := s.Select(selection.Request{
		Query: "¿Cuándo vence la factura del cliente?", Mode: selection.Preselect,
		Used: []selection.Use{{Tool: "list_invoice_1"}, {Tool: "get_invoice_0"}, {Tool: "list_invoice_1"}, {Tool: "gone"}},
	})
	var got []string
	for _, m := range sel.Ranked {
		got = append(got, m.Definition.Name)
	}
	if want := []string{"list_invoice_1", "get_invoice_0"}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if !slices.ContainsFunc(sel.Declared, func(e *catalog.Entry) bool { return e.Definition.Name == selection.FindTools }) {
		t.Error("find_tools is not declared")
	}
	x := sel.Explain()
	if v := x.Tools[0]; x.Language != "Spanish" || !strings.Contains(v.Reason, "used lately; the question is in Spanish") {
		t.Errorf("%s: %s", x.Language, v.Reason)
	}
}
