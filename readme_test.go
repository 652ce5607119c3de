package etui_test

import (
	"go/format"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestReadme builds the program of the README in a module of its own, as a reader would.
func TestReadme(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile("(?s)```go\n(.*?)```").FindAllSubmatch(text, -1)
	if len(found) != 1 {
		t.Fatalf("README.md has %d blocks of Go, want one program", len(found))
	}
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	sums, err := os.ReadFile("go.sum")
	if err != nil {
		t.Fatal(err)
	}
	own, err := os.ReadFile("go.mod") // with what etui requires, Go looks at no other module
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for name, content := range map[string]string{
		"main.go": string(found[0][1]),
		"go.sum":  string(sums),
		"go.mod":  strings.Replace(string(own), "module "+module, "module reader", 1) + "\nrequire " + module + " v0.0.0\n\nreplace " + module + " => " + here + "\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, args := range [][]string{{"build", "-mod=mod", "-o", "program", "."}, {"vet", "-mod=mod", "."}} {
		cmd := exec.CommandContext(t.Context(), "go", args...)
		cmd.Dir, cmd.Env = dir, append(os.Environ(), "GOPROXY=off", "GOFLAGS=-trimpath")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("go %v: %v\n%s", args, err, out)
		}
	}
	if text, err := os.ReadFile(filepath.Join(dir, "main.go")); err != nil || string(text) != gofmt(t, text) {
		t.Errorf("the program is not as gofmt writes it (%v)", err)
	}
}

func gofmt(t *testing.T, text []byte) string {
	t.Helper()
	formatted, err := format.Source(text)
	if err != nil {
		t.Fatal(err)
	}
	return string(formatted)
}
