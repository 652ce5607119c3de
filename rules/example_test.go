package rules_test

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/etui-run/etui/catalog"
	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/rules"
	"github.com/etui-run/etui/tool"
)

func shell() *catalog.Registry {
	registry := catalog.NewRegistry(nil)
	_ = registry.Register(described{tool.Definition{Name: "exec", Groups: []string{"shell"}}}) // it is valid
	return registry
}

// Visibility rules say which tools exist for a caller.
func ExampleCompile() {
	visible, err := rules.Compile(rules.Visibility, []rules.Rule{
		{Allow: []string{"group:shell"}, When: `"admin" in user.roles`},
	}, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	registry := shell()
	registry.SetRules(visible)
	fmt.Println("a guest sees", len(registry.Catalog().Definitions(chat.Facts{})))
	fmt.Println("an admin sees", len(registry.Catalog().Definitions(chat.Facts{Roles: []string{"admin"}})))
	// Output:
	// a guest sees 0
	// an admin sees 1
}

// Policy rules say whether a call may run. They may read its arguments.
func ExampleRules_Decide() {
	policy, err := rules.Compile(rules.Policy, []rules.Rule{
		{Name: "careful", Ask: []string{"exec"}, When: `"deletes" in command.risks`},
	}, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	c := shell().Catalog()
	exec, _ := c.Get("exec")
	for _, arguments := range []string{`{"command":"ls"}`, `{"command":"rm -rf build"}`} {
		d := policy.Decide(context.Background(), rules.Attempt{Catalog: c, Entry: exec, Arguments: json.RawMessage(arguments)})
		fmt.Printf("%s: %s\n", d.Effect, d.Reason)
	}
	// Output:
	// allow: tools of risk write are allowed by default
	// ask: rule careful asks for an approval (deletes: rm -rf build)
}
