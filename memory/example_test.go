package memory_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/etui-run/etui/memory"
)

func ExampleStore_Load() {
	workspace, err := os.MkdirTemp("", "example")
	defer os.RemoveAll(workspace)
	file := filepath.Join(workspace, "memory", "MEMORY.md")
	if err := errors.Join(err, os.Mkdir(filepath.Dir(file), 0o700), os.WriteFile(file, []byte("Deploys are on Mondays."), 0o600)); err != nil {
		fmt.Println(err)
		return
	}
	m, err := memory.New(memory.Config{Workspace: workspace}).Load(time.Now(), "")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(m.Shared.LongTerm)
	// Output: Deploys are on Mondays.
}
