package protect_test

import (
	"path/filepath"
	"testing"

	"github.com/etui-run/etui/sandbox"
	"github.com/etui-run/etui/sandbox/protect"
)

// TestAccept: a person's change stays while a command runs, also through a crash, whatever
// the command writes over it. It counts once.
func TestAccept(t *testing.T) {
	for _, file := range []string{"etui.yaml", "skills"} { // skills is a file here, which is new
		for _, crash := range []bool{false, true} {
			w, folder := newJournal(t, sandbox.Landlock, map[string]string{"etui.yaml": "old"})
			find := func() protect.Workspace {
				t.Helper()
				list, err := protect.FindRunning(folder)
				if err != nil || len(list) != 1 {
					t.Fatal(list, err)
				}
				return list[0]
			}
			_, err := w.Begin()
			w.must(err)
			w.write(map[string]string{"etui.yaml": "evil", "skills": "evil", ".envrc": "evil"})
			r := find()
			if text, there, known := r.Before(w.path("etui.yaml")); string(text) != "old" || !there || !known {
				t.Errorf("before: %q, %v, %v", text, there, known)
			}
			if _, there, known := r.Before(w.path("sub/.envrc")); there || !known {
				t.Error("a new name is taken for a person's")
			}
			w.must(r.Accept(w.path(file), []byte("mine")))
			if text, known := w.Before(w.path(file)); string(text) != "mine" || !known {
				t.Errorf("accepted: %q, %v", text, known)
			}
			if text, there, _ := find().Before(w.path(file)); string(text) != "mine" || !there {
				t.Errorf("for others: %q, %v", text, there)
			}
			if crash {
				w.Crash()
				w.recover(folder)
			} else {
				w.End()
			}
			got := w.files()
			if got[file] != "mine" || got[".envrc"] != "" || file != "etui.yaml" && got["etui.yaml"] != "old" {
				t.Errorf("%s, %v: there are %v", file, crash, got)
			}
			if list, err := protect.FindRunning(folder); err != nil || len(list) != 0 {
				t.Error(list, err)
			}
			if crash {
				continue
			}
			// What was accepted before a command began says nothing about what it does.
			w.must(r.Accept(w.path("etui.yaml"), []byte("accepted too early")))
			_, err = w.Begin()
			w.must(err)
			w.write(map[string]string{"etui.yaml": "accepted too early"})
			w.End()
			if text := w.files()["etui.yaml"]; text == "accepted too early" {
				t.Error("a command has used what was accepted before it")
			}
			if left, _ := filepath.Glob(filepath.Join(folder, "*", "accepted")); len(left) > 0 {
				t.Errorf("%v is left", left)
			}
		}
	}
}

// TestUnchanged: other processes know what a running command has changed.
func TestUnchanged(t *testing.T) {
	for _, mode := range []sandbox.Mode{sandbox.Landlock, sandbox.Strong} {
		w, folder := newJournal(t, mode, map[string]string{"etui.yaml": "mine", "skills/a/x": "mine", "skills/b": "mine"})
		_, err := w.Begin()
		w.must(err)
		list, err := protect.FindRunning(folder)
		if err != nil || len(list) != 1 {
			t.Fatal(list, err)
		}
		is := func(name string, want bool) {
			t.Helper()
			if got := list[0].Unchanged(w.path(name)); got != want {
				t.Errorf("%s: %s unchanged is %v", mode, name, got)
			}
		}
		is("etui.yaml", true)
		is("skills", true)
		is("../elsewhere", true)
		is("notes.txt", false) // nobody knows
		w.write(map[string]string{"etui.yaml": "other", "skills/a/x": "other"})
		is("etui.yaml", mode == sandbox.Strong) // sealed: a person did
		is("skills", mode == sandbox.Strong)
		w.End()
	}
}
