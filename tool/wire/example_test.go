package wire_test

import (
	"fmt"

	"github.com/etui-run/etui/tool/wire"
)

// Generated code reads arguments and writes results like this.
func Example() {
	var part string
	var amount int64
	r := wire.Read([]byte(`{"part": "hinge", "amount": 14, "note": "unknown fields are skipped"}`))
	r.Object()
	for name, ok := r.Field(); ok; name, ok = r.Field() {
		switch name {
		case "part":
			part = r.String()
		case "amount":
			amount = r.Int(64)
		default:
			r.Skip()
		}
	}
	if err := r.End(); err != nil {
		fmt.Println(err)
		return
	}
	b := wire.String(wire.Field([]byte{'{'}, "part"), part)
	b = wire.Int(wire.Field(b, "amount"), amount)
	fmt.Println(string(append(b, '}')))
	// Output: {"part":"hinge","amount":14}
}
