package skill_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/etui-run/etui/catalog"
	"github.com/etui-run/etui/skill"
	"github.com/etui-run/etui/skill/builtin"
	"github.com/etui-run/etui/skill/markdown"
)

// A program opens a folder of skills. Its agents can use them at once, and what is
// changed in the folder takes effect while the program runs.
func ExampleOpen() {
	dir, err := os.MkdirTemp("", "skills")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	file := "name: loud\ndescription: Says a text loudly.\nprovider: builtin\nfunction: shout\nrisk_level: read\n"
	if err := os.WriteFile(filepath.Join(dir, "loud.yaml"), []byte(file), 0o600); err != nil {
		panic(err)
	}

	shout := func(_ context.Context, in struct{ Text string }) (string, error) {
		return strings.ToUpper(in.Text) + "!", nil
	}
	registry := catalog.NewRegistry(nil)
	skills, err := skill.Open(dir, registry, skill.OpenConfig{
		Providers: []skill.Provider{builtin.New(map[string]builtin.Function{"shout": builtin.Func(shout)})},
		Package:   markdown.LocalMachine().Load,
	})
	if err != nil {
		panic(err)
	}
	defer skills.Close()

	loud, _ := registry.Catalog().Get("loud")
	fmt.Println(loud.Definition.Description)
	fmt.Println(skills.Call(context.Background(), "loud", []byte(`{"Text": "hello"}`)))
	// Output:
	// Says a text loudly.
	// HELLO! <nil>
}
