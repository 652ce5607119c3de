package memory_test

import (
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/etui-run/etui/memory"
)

func ExampleStore_Load() {
	workspace, err := os.MkdirTemp("", "example")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(workspace)
	if err := os.Mkdir(filepath.Join(workspace, "memory"), 0o700); err != nil {
		fmt.Println(err)
		return
	}
	if err := os.WriteFile(filepath.Join(workspace, "memory", "MEMORY.md"), []byte("Deploys are on Mondays."), 0o600); err != nil {
		fmt.Println(err)
		return
	}
	m, err := memory.New(workspace).Load(time.Now())
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(m.LongTerm)
	// Output: Deploys are on Mondays.
}
