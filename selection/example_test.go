package selection_test

import (
	"context"
	"fmt"
	"strings"

	"github.com/etui-run/etui/catalog"
	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/selection"
	"github.com/etui-run/etui/tool"
)

// Selecting from a thousand tools, without a gateway, a store or a model: the
// question gets three, and a tool that only administrators may use stays hidden.
func Example() {
	var open, guarded []tool.Tool
	for _, verb := range strings.Fields("create read update delete export import approve assign archive share") {
		for _, thing := range strings.Fields("invoice ticket meeting parcel contract budget survey poster server recipe") {
			for _, place := range strings.Fields("berlin london madrid mumbai nairobi osaka paris quito sydney toronto") {
				d := tool.Definition{Name: verb + "_" + thing + "_" + place, Description: verb + " a " + thing + " of the office in " + place}
				t := tool.Func(d, func(_ context.Context, in struct{ ID string }) (string, error) { return "done: " + in.ID, nil })
				if verb == "delete" {
					guarded = append(guarded, t)
				} else {
					open = append(open, t)
				}
			}
		}
	}
	registry := catalog.NewRegistry(nil)
	if err := registry.Register(open...); err != nil {
		panic(err)
	}
	if err := registry.RegisterAllWithFilter(func(f chat.Facts) bool { return f.HasRole("admin") }, guarded...); err != nil {
		panic(err)
	}
	selector := selection.New(registry.Catalog(), selection.Config{Limit: 3})

	sel := selector.Select(selection.Request{Query: "please delete last month's invoices in Osaka"})
	for _, m := range sel.Ranked {
		fmt.Println(m.Definition.Name)
	}
	fmt.Printf("%.0f %% of the tokens saved\n", sel.Tokens().SavedPercent)
	for _, a := range sel.Alternatives(selection.Try{Roles: []string{"admin"}}) {
		fmt.Println("an", a.Value, "would get", a.Added[0])
	}
	// Output:
	// create_invoice_osaka
	// read_invoice_osaka
	// update_invoice_osaka
	// 99 % of the tokens saved
	// an admin would get delete_invoice_osaka
}
