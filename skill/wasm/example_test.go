package wasm_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/etui-run/etui/skill"
	"github.com/etui-run/etui/skill/wasm"
)

// The module of this example writes what it reads.
func Example() {
	dir, err := os.MkdirTemp("", "")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	if err := os.WriteFile(filepath.Join(dir, "echo.wasm"), copier(), 0o600); err != nil {
		fmt.Println(err)
		return
	}
	folder, err := os.OpenRoot(dir)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer folder.Close()
	echo, err := wasm.New().Load(skill.Config{Name: "echo", Description: "Gives back its arguments.", Module: "echo.wasm", Folder: folder})
	if err != nil {
		fmt.Println(err)
		return
	}
	result, err := skill.Execute(context.Background(), echo, []byte(`{"a":1}`))
	fmt.Printf("%s %v\n", result, err)
	// Output: {"a":1} <nil>
}
