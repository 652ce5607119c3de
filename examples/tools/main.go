// Command tools is an agent whose tools are plain Go functions: stock.go has the
// functions, tools_gen.go is made of them by `go generate`. Copy the folder into a
// module of your own; docs/tools-in-go.md tells the rest.
package main

import (
	"context"
	"fmt"
	"os"
	"strings"

	"github.com/etui-run/etui"
	"github.com/etui-run/etui/model/offline"
)

func main() {
	stock := &Stock{parts: map[string]map[Shelf]int{"screw M4": {Front: 120, Attic: 900}, "hinge": {Back: 14}}}
	agent, err := etui.New(offline.New(offline.Config{}), etui.Config{Tools: Tools(stock)})
	if err == nil {
		var reply string
		reply, err = agent.Ask(context.Background(), strings.Join(os.Args[1:], " "))
		fmt.Fprintln(os.Stdout, reply)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
