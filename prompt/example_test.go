package prompt_test

import (
	"fmt"
	"strings"

	"github.com/etui-run/etui/catalog"
	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/prompt"
)

// The strategy lite leaves out everything but identity and history.
func ExampleBuilder_BuildMessagesWithOptions() {
	b := prompt.New(prompt.Config{Instructions: "You are Etta."})
	history := []chat.Message{{Role: chat.User, Text: "hello"}, {Role: chat.Assistant, Text: "Hello!"}}
	question := prompt.NewMessage("what can you do?", "", chat.Facts{User: "ann"}, nil, nil, prompt.Options{})
	p, err := b.BuildMessagesWithOptions(new(catalog.Catalog), history, question, prompt.Options{Strategy: prompt.Lite})
	identity, _, _ := strings.Cut(p.System, "\n")
	fmt.Println(identity, len(p.Messages), p.Messages[2].Note, err)
	// Output: You are Etta. 3 [user ann] <nil>
}
