package secret_test

import (
	"fmt"

	"github.com/etui-run/etui/secret"
)

func ExampleSet() {
	var known secret.Set
	if err := known.Set("etui.yaml", "Bearer tr0ub4dor&3"); err != nil {
		fmt.Println(err)
	}
	fmt.Println(known.Redactor().Text("GET /?key=tr0ub4dor%263: no access with tr0ub4dor&3"))
	// Output: GET /?key=(hidden): no access with (hidden)
}
