package selection_test

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/etui-run/etui/catalog"
	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/selection"
	"github.com/etui-run/etui/tool"
)

// Selecting from a thousand tools, without a gateway, a store or a model. Those
// that delete are for administrators only.
func Example() {
	verbs := strings.Fields("delete create read update export import approve assign archive share")
	things := strings.Fields("invoice ticket meeting parcel contract budget survey poster server recipe")
	cities := strings.Fields("berlin london madrid mumbai nairobi osaka paris quito sydney toronto")
	var tools []tool.Tool
	for i := range 1000 {
		verb, thing, city := verbs[i/100], things[i/10%10], cities[i%10]
		tools = append(tools, tool.Func(
			tool.Definition{Name: verb + "_" + thing + "_" + city, Description: verb + " a " + thing + " of the office in " + city},
			func(_ context.Context, in struct{ ID string }) (string, error) { return "done: " + in.ID, nil }))
	}
	registry := catalog.NewRegistry(nil)
	admins := func(f chat.Facts) bool { return f.HasRole("admin") }
	if err := errors.Join(registry.RegisterAllWithFilter(admins, tools[:100]...), registry.Register(tools[100:]...)); err != nil {
		panic(err)
	}
	selector := selection.New(registry.Catalog(), selection.Config{Limit: 3})
	for _, role := range []string{"user", "admin"} {
		sel := selector.Select(selection.Request{Query: "please delete last month's invoices in Osaka", Facts: chat.Facts{Roles: []string{role}}})
		fmt.Printf("%s: %s, %.0f %% of the tokens saved\n", role, sel.Ranked[0].Definition.Name, sel.Tokens().SavedPercent)
	}
	// Output:
	// user: create_invoice_osaka, 99 % of the tokens saved
	// admin: delete_invoice_osaka, 99 % of the tokens saved
}
