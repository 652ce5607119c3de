package builtin_test

import (
	"context"
	"fmt"
	"strings"

	"github.com/etui-run/etui/skill"
	"github.com/etui-run/etui/skill/builtin"
)

// The program has a function; the config, as a YAML file gives it, makes it a
// skill:
//
//	name: loud
//	description: Says a text loudly.
//	provider: builtin
//	function: shout
//	risk_level: read
func Example() {
	type in struct {
		Text string `json:"text" jsonschema:"what to say"`
	}
	provider := builtin.New(map[string]builtin.Function{
		"shout": builtin.Func(func(_ context.Context, in in) (string, error) {
			return strings.ToUpper(in.Text) + "!", nil
		}),
	})
	loud, err := provider.Load(skill.Config{Name: "loud", Description: "Says a text loudly.", Function: "shout", RiskLevel: "read"})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(string(loud.Parameters()))
	fmt.Println(skill.Execute(context.Background(), loud, []byte(`{"text":"hello"}`)))
	_, err = skill.Execute(context.Background(), loud, []byte(`{"txt":"hello"}`))
	fmt.Println(skill.Status(err))
	// Output:
	// {"type":"object","properties":{"text":{"type":"string","description":"what to say"}},"required":["text"],"additionalProperties":false}
	// HELLO! <nil>
	// 400
}
