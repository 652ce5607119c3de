// Embed is a program of its own that uses etui as a library: two agents with memory, a
// durable store, a folder of skills, a tool for some callers only, and approvals.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"os/signal"
	"path/filepath"

	"github.com/etui-run/etui"
	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/engine"
	"github.com/etui-run/etui/memory"
	"github.com/etui-run/etui/model/offline"
	"github.com/etui-run/etui/rules"
	"github.com/etui-run/etui/skill"
	"github.com/etui-run/etui/skill/markdown"
	"github.com/etui-run/etui/store/sqlite"
	"github.com/etui-run/etui/tool"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, ".", os.Stdout); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, dir string, out io.Writer) (err error) {
	store, err := sqlite.Open(ctx, filepath.Join(dir, "state", "etui.db"))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	gateway, err := etui.New(offline.New(offline.Config{}), etui.Config{
		Agents: []engine.Agent{{Name: "main", Memory: memory.New(memory.Config{Workspace: dir, Own: filepath.Join(dir, "state", "memory")})}, {Name: "ops", Groups: "server", Instructions: "You keep the servers up."}},
		Store:  store, Folder: filepath.Join(dir, "skills"), FolderConfig: skill.OpenConfig{Package: markdown.Here().Load},
		Approve: func(_ context.Context, a rules.Attempt) bool { return a.Facts.HasRole("admin") }, // or ask a person
	})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, gateway.Close()) }()
	restart := tool.Func(tool.Definition{Name: "restart_server", Description: "Restart a server.", Groups: []string{"server"}},
		func(_ context.Context, in struct {
			Name string `json:"name"`
		}) (string, error) {
			return in.Name + " restarts.", nil
		})
	onCall := func(f chat.Facts) bool { return f.HasRole("oncall") }
	if err := gateway.Registry.RegisterWithFilter(restart, onCall); err != nil {
		return err
	}
	for e, err := range gateway.Send(ctx, engine.Message{Agent: "ops", User: "ann", Roles: []string{"oncall", "admin"}, Text: `Restart the server named "web1"`}) {
		if err != nil {
			return err
		}
		fmt.Fprint(out, e.Text)
	}
	fmt.Fprintln(out)
	return nil
}
