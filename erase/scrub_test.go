package erase_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/etui-run/etui/catalog"
	"github.com/etui-run/etui/engine"
	"github.com/etui-run/etui/identity"
	"github.com/etui-run/etui/schedule"
	"github.com/etui-run/etui/store/sqlite"
)

// TestForgottenLeaveNoByte: of a hundred people with conversations and tasks, those who are
// forgotten leave no byte in the files of the database, while it is open.
func TestForgottenLeaveNoByte(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	kept, err := sqlite.Open(t.Context(), filepath.Join(dir, "etui.db"))
	must(t, err)
	defer kept.Close()
	const people = 100
	users := make([]identity.User, people)
	for i := range people {
		users[i].Name = fmt.Sprintf("person-%03d", i)
	}
	known, err := identity.New(users)
	must(t, err)
	g := newEngine(t, func(c *engine.Config) {
		c.Store, c.Users = kept, func(*catalog.Catalog) *identity.Users { return known }
	})
	for _, u := range users {
		say(t, g, engine.Message{Text: "a question of " + u.Name, User: u.Name})
		task, err := schedule.NewTasks(g).Add(t.Context(), schedule.Task{When: "@hourly", Text: "a task of " + u.Name + ": " + fmt.Sprintf("%0300d", 7), Caller: identity.Caller{User: u.Name}})
		must(t, err)
		for _, paused := range []bool{true, false} {
			_, err = schedule.NewTasks(g).Pause(t.Context(), task.ID, paused)
			must(t, err)
		}
	}
	g.Wait(t.Context())
	for i := 0; i < people; i += 9 {
		_, err := eraser(g).Erase(t.Context(), users[i].Name)
		must(t, err)
	}
	files, err := filepath.Glob(filepath.Join(dir, "*"))
	must(t, err)
	for _, file := range files {
		text, err := os.ReadFile(file)
		must(t, err)
		for i, u := range users {
			if n := bytes.Count(text, []byte(u.Name)); i%9 == 0 && n > 0 {
				t.Errorf("%s is %d times in %s", u.Name, n, filepath.Base(file))
			}
		}
	}
	if list, err := schedule.NewTasks(g).List(t.Context()); err != nil || len(list) != people-12 {
		t.Errorf("%d tasks are left, %v", len(list), err)
	}
}
