package builtin_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"
)

// soon runs a call whose context ends after 100 ms, and fails when the call goes on for
// long after that.
func (w *workspace) soon(name, args string) {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), 100*time.Millisecond)
	defer cancel()
	done := make(chan struct{})
	go func() {
		_, _ = w.tools[name].Call(ctx, json.RawMessage(args)) // it may say that its time is over
		close(done)
	}()
	select {
	case <-done:
	case <-time.After(10 * time.Second):
		w.t.Errorf("%s %.80s goes on after its context has ended", name, args)
	}
}

// TestPatternsEnd: no pattern of a model keeps a core busy after the call has ended.
func TestPatternsEnd(t *testing.T) {
	t.Parallel()
	deep := strings.Repeat("a/", 60)
	w := open(t, map[string]string{deep + "b": "x", "text": strings.Repeat("a", 200<<10) + "\n"})
	// One alternative in braces makes ** of *, which the limit of three ** did not count.
	many := strings.Repeat("*{*}/a/", 24) + "c"
	w.soon("find_files", `{"pattern":"`+many+`"}`)
	w.soon("search_text", `{"pattern":"x","files":"`+many+`"}`)
	w.soon("search_text", `{"pattern":"(?:`+strings.Repeat(".?", 200)+`){900}z"}`)
	w.soon("search_text", `{"pattern":"(?:`+strings.Repeat(".?", 200)+`){900}z","path":"text"}`)
}

// TestDeepFolders: folders that a program has nested deeply do not cost memory with the
// square of their depth.
func TestDeepFolders(t *testing.T) {
	w := open(t, map[string]string{"a": "x"})
	at, err := os.OpenRoot(w.dir)
	if err != nil {
		t.Fatal(err)
	}
	name := strings.Repeat("d", 250)
	for range 1500 { // as a command does: mkdir and cd
		if err := at.Mkdir(name, 0o755); err != nil {
			t.Fatal(err)
		}
		next, err := at.OpenRoot(name)
		_ = at.Close()
		if err != nil {
			t.Fatal(err)
		}
		at = next
	}
	_ = at.Close()
	if err := os.Link(filepath.Join(w.dir, "a"), filepath.Join(w.dir, "../a")); err != nil {
		t.Fatal(err)
	}
	for _, c := range [][2]string{
		{"find_files", `{"pattern":"*.txt"}`}, {"search_text", `{"pattern":"nothing"}`}, {"read_file", `{"path":"a"}`},
		{"remove_file", `{"path":"` + name + `","recursive":true}`},
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		text := w.call(c[0], c[1])
		runtime.ReadMemStats(&after)
		if n := (after.TotalAlloc - before.TotalAlloc) >> 20; n > 50 {
			t.Errorf("%s took %d MiB: %.80s", c[0], n, text)
		}
	}
}

// TestPipeIsMoved: a tool does not wait for a program at the other end of a pipe.
func TestPipeIsMoved(t *testing.T) {
	t.Parallel()
	w := open(t, nil)
	if err := syscall.Mkfifo(filepath.Join(w.dir, "pipe"), 0o644); err != nil {
		t.Skip(err)
	}
	w.soon("rename_file", `{"from":"pipe","to":"other"}`)
	if _, err := os.Lstat(filepath.Join(w.dir, "other")); err != nil {
		t.Error(err)
	}
}

// TestEditsDoNotGrow: a short text in place of each letter of a file does not become gigabytes,
// which would end the process.
func TestEditsDoNotGrow(t *testing.T) {
	w := open(t, map[string]string{"a": strings.Repeat("a", 1<<20)})
	long := strings.Repeat("b", 1000)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	w.want("edit_file", `{"path":"a","old":"a","new":"`+long+`","all":true}`, "! ")
	w.want("multi_edit", `{"path":"a","edits":[{"old":"a","new":"`+long+`","all":true}]}`, "! ")
	runtime.ReadMemStats(&after)
	if n := (after.TotalAlloc - before.TotalAlloc) >> 20; n > 100 {
		t.Errorf("they took %d MiB", n)
	}
	w.want("edit_file", `{"path":"a","old":"a","new":"b","all":true}`, "Replaced 1048576")
}
