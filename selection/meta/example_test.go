package meta_test

import (
	"fmt"

	"github.com/etui-run/etui/selection/meta"
)

func Example() {
	for _, d := range meta.Definitions() {
		fmt.Println(d.Name)
	}
	// Output:
	// call_tool
	// describe_tool
	// find_tools
	// finish_phase
	// use_skill
}
