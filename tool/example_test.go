package tool_test

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/etui-run/etui/tool"
)

// A payment may be repeated after a crash, because the service knows it by its key.
func ExampleFunc() {
	type payment struct {
		To     string `json:"to" jsonschema:"who gets the money"`
		Amount int    `json:"amount" jsonschema:"in cents"`
	}
	pay := tool.Func(tool.Definition{Name: "pay", Description: "Pay somebody.", Replay: tool.Keyed},
		func(ctx context.Context, p payment) (string, error) {
			return fmt.Sprintf("paid %d to %s, key %q", p.Amount, p.To, tool.IdempotencyKey(ctx)), nil
		})
	ctx := tool.WithHost(context.Background(), tool.Host{Key: "turn-1"})
	result, err := pay.Call(ctx, json.RawMessage(`{"to":"Ann","amount":250}`))
	fmt.Println(result.Text, err)
	// Output: paid 250 to Ann, key "turn-1" <nil>
}
