package catalog_test

import (
	"context"
	"fmt"

	"github.com/etui-run/etui/catalog"
	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/tool"
)

type server struct {
	Name string `json:"name"`
}

// A filter decides for each caller whether a tool exists.
func Example() {
	restart := tool.Func(tool.Definition{Name: "restart_server", Description: "Restart a server"},
		func(_ context.Context, s server) (string, error) { return s.Name + " restarts", nil })
	registry := catalog.NewRegistry(nil)
	if err := registry.RegisterWithFilter(restart, func(f chat.Facts) bool { return f.HasRole("admin") }); err != nil {
		fmt.Println(err)
		return
	}
	c := registry.Catalog() // does not change any more
	fmt.Println("a guest sees", len(c.Definitions(chat.Facts{})))
	fmt.Println("an admin sees", len(c.Definitions(chat.Facts{Roles: []string{"admin"}})))
	// Output:
	// a guest sees 0
	// an admin sees 1
}
