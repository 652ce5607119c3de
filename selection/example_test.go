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

// Selecting from a thousand tools, without a gateway, a store or a model: the
// question gets three, and a tool that only administrators may use stays hidden.
func Example() {
	verbs := strings.Fields("create read update export import approve assign archive share delete")
	things := strings.Fields("invoice ticket meeting parcel contract budget survey poster server recipe")
	places := strings.Fields("berlin london madrid mumbai nairobi osaka paris quito sydney toronto")
	var tools []tool.Tool
	for i := range 1000 {
		verb, thing, place := verbs[i/100], things[i/10%10], places[i%10]
		d := tool.Definition{Name: verb + "_" + thing + "_" + place, Description: verb + " a " + thing + " of the office in " + place}
		tools = append(tools, tool.Func(d, func(_ context.Context, in struct{ ID string }) (string, error) { return "done: " + in.ID, nil }))
	}
	registry := catalog.NewRegistry(nil)
	admins := func(f chat.Facts) bool { return f.HasRole("admin") }
	if err := errors.Join(registry.Register(tools[:900]...), registry.RegisterAllWithFilter(admins, tools[900:]...)); err != nil {
		panic(err)
	}
	sel := selection.New(registry.Catalog(), selection.Config{Limit: 3}).Select(selection.Request{Query: "please delete last month's invoices in Osaka"})
	for _, m := range sel.Ranked {
		fmt.Println(m.Definition.Name)
	}
	fmt.Printf("%.0f %% of the tokens saved\n", sel.Tokens().SavedPercent)
	admin := sel.Alternatives(selection.Try{Roles: []string{"admin"}})[0]
	fmt.Println("an", admin.Value, "would get", admin.Added[0])
	// Output:
	// create_invoice_osaka
	// read_invoice_osaka
	// update_invoice_osaka
	// 99 % of the tokens saved
	// an admin would get delete_invoice_osaka
}
