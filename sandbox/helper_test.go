package sandbox_test

import (
	"bytes"
	"crypto/sha256"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "build the helpers anew")

var architectures = []string{"amd64", "arm64"}

// TestGeneratedHelper proves that the helpers that are part of etui were made from
// their source. Another version of Go makes other bytes of it, so what is compared
// is the source, as it was noted when they were built; with the same version they
// are built again and compared, too. `make generate` builds them.
func TestGeneratedHelper(t *testing.T) {
	const note = "internal/helper/built/sums"
	if *update {
		for _, arch := range architectures {
			buildHelper(t, arch, "internal/helper/built/"+arch)
		}
		if err := os.WriteFile(note, []byte(sums(t)), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	noted, err := os.ReadFile(note)
	if err != nil {
		t.Fatal(err)
	}
	now := sums(t)
	version := func(s string) string { return strings.SplitN(s, "\n", 2)[0] }
	if strings.TrimPrefix(string(noted), version(string(noted))) != strings.TrimPrefix(now, version(now)) {
		t.Fatalf("the helpers were not made from their source as it is: run `make generate`\nnoted:\n%snow:\n%s", noted, now)
	}
	if version(string(noted)) != version(now) || !slices.Contains(architectures, runtime.GOARCH) {
		t.Logf("built with %s, which is not at hand to build them again", version(string(noted)))
		return
	}
	again := filepath.Join(t.TempDir(), "helper")
	buildHelper(t, runtime.GOARCH, again)
	a, _ := os.ReadFile(again)
	b, _ := os.ReadFile("internal/helper/built/" + runtime.GOARCH)
	if !bytes.Equal(a, b) {
		t.Error("the same source makes another helper: run `make generate`")
	}
}

func buildHelper(t *testing.T, arch, path string) {
	t.Helper()
	cmd := exec.Command("go", "build", "-trimpath", "-buildvcs=false", "-ldflags=-s -w -buildid=", "-o", path, "./internal/helper")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux", "GOARCH="+arch, "GOAMD64=v1", "GOARM64=v8.0", "GOFLAGS=", "GOEXPERIMENT=")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("building the helper: %v\n%s", err, out)
	}
	if err := os.Chmod(path, 0o644); err != nil {
		t.Fatal(err)
	}
}

// sums are the version of Go, and the hashes of the source and of what was built.
func sums(t *testing.T) string {
	t.Helper()
	var sources []string
	for _, pattern := range []string{"internal/helper/*.go", "internal/wire/*.go"} {
		found, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		sources = append(sources, found...)
	}
	h := sha256.New()
	for _, path := range sources {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(h, "%s %d\n%s", path, len(text), text)
	}
	modules, err := os.ReadFile("../go.sum")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(modules)) {
		if strings.HasPrefix(line, "golang.org/x/sys ") {
			h.Write([]byte(line))
		}
	}
	text := fmt.Sprintf("%s\nsource %x\n", runtime.Version(), h.Sum(nil))
	for _, arch := range architectures {
		built, err := os.ReadFile("internal/helper/built/" + arch)
		if err != nil {
			t.Fatal(err)
		}
		text += fmt.Sprintf("%s %x\n", arch, sha256.Sum256(built))
	}
	return text
}
