package clienttool_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/etui-run/etui/clienttool"
)

// many is an offer of 200 tools.
func many() (o clienttool.Offer) {
	schema := `{"type":"object","properties":{` +
		strings.TrimSuffix(strings.Repeat(`"field_of_it":{"type":"string","description":"A \"text\" that says what it is"},`, 12), ",") + `}}`
	for i := range 200 {
		o.Tools = append(o.Tools, clienttool.Tool{Name: fmt.Sprint("tool_", i), Description: "Does a thing.", Parameters: []byte(schema)})
	}
	return o
}

// BenchmarkCheck: the cost of 200 tools before a turn begins: each door checks them, and so does the engine.
func BenchmarkCheck(b *testing.B) {
	o := many()
	for b.Loop() {
		again := o
		for range 2 {
			if again.Check() != nil {
				b.Fatal("it is refused")
			}
		}
		_ = clienttool.NewDesk(again, func(string) bool { return false })
	}
}
