//go:build unix

package command_test

import (
	"context"
	"fmt"

	"github.com/etui-run/etui/sandbox"
	"github.com/etui-run/etui/skill"
	"github.com/etui-run/etui/skill/command"
)

// The program reads its arguments as JSON and writes JSON; the sandbox keeps it from
// the rest of the machine.
func Example() {
	box, err := sandbox.New(sandbox.Config{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer box.Close()
	upper, err := command.New(box).Load(skill.Config{
		Name: "upper", Description: "Writes a text in capitals.", Command: []string{"tr", "a-z", "A-Z"},
		Parameters: skill.ParameterSchema(`{"type":"object","properties":{"TEXT":{"type":"string"}}}`),
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	result, err := skill.Execute(context.Background(), upper, []byte(`{"TEXT":"hello"}`))
	fmt.Printf("%s %v\n", result, err)
	// Output: {"TEXT":"HELLO"} <nil>
}
