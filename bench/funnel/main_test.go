package main

import (
	"bytes"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

var update = flag.Bool("update", false, "draw the picture anew")

const picture = "../../docs/funnel.svg"

// TestGeneratedPicture compares the picture of the README with one of today's demo.
func TestGeneratedPicture(t *testing.T) {
	etui := os.Getenv("TEST_ETUI") // make test has built it
	if etui == "" {
		etui = filepath.Join(t.TempDir(), "etui")
		if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", etui, "../../cmd/etui").CombinedOutput(); err != nil {
			t.Fatalf("building etui: %v\n%s", err, out)
		}
	}
	cmd := exec.CommandContext(t.Context(), etui, "select", "--demo", "--skill", "oncall", "--json", "show me the error logs of the checkout pod in namespace prod")
	cmd.Env = []string{"HOME=" + t.TempDir(), "PATH=" + os.Getenv("PATH")}
	cmd.Stderr = os.Stderr
	selected, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	var drawn bytes.Buffer
	if err := draw(bytes.NewReader(selected), &drawn); err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile(picture, drawn.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if have, err := os.ReadFile(picture); err != nil || !bytes.Equal(have, drawn.Bytes()) {
		t.Errorf("docs/funnel.svg is not what the demo selects today: run `make picture` (%v)", err)
	}
}
