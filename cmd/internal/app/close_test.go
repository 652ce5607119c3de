package app

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/etui-run/etui/cmd/internal/config"
	"github.com/etui-run/etui/cmd/internal/workdir"
	"github.com/etui-run/etui/sandbox"
	"github.com/etui-run/etui/secret"
)

// TestCloseFreesPrograms: what the sandbox holds in memory to start programs goes with the App.
func TestCloseFreesPrograms(t *testing.T) { // not parallel: it counts what the process has open
	if runtime.GOOS != "linux" {
		t.Skip("the sandbox holds nothing here")
	}
	held := func() (n int) {
		open, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range open {
			if to, err := os.Readlink("/proc/self/fd/" + f.Name()); err == nil && strings.HasPrefix(to, "/memfd:") {
				n++
			}
		}
		return n
	}
	before, dir := held(), t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, config.File), []byte("skills: {global: []}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	w, err := workdir.Open(dir, "", []string{"ETUI_STATE=" + t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	a, err := New(t.Context(), w, Config{Secrets: &secret.Set{}})
	if err != nil {
		t.Fatal(err)
	}
	mode, while := a.Sandbox().Mode, held()
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	if mode == sandbox.Strong && while == before {
		t.Error("nothing was held: the test shows nothing")
	}
	if after := held(); after != before {
		t.Errorf("%d files in memory are open, %d were before", after, before)
	}
}
