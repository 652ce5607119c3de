package usage_test

import (
	"fmt"

	"github.com/etui-run/etui/usage"
)

func ExampleClean() {
	fmt.Println(usage.Clean("mail alice@example.com about order 81234"))
	// Output: mail about order
}
