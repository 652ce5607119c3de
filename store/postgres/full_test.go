package postgres_test

import (
	"errors"
	"testing"

	"github.com/etui-run/etui/engine"
	"github.com/etui-run/etui/session"
)

// While the database has no room, an accepted message waits and a new one is refused. When
// there is room again, the first one is answered, without a restart.
func TestFullDisk(t *testing.T) {
	url := server.Database(t)
	kept := open(t, url)
	exec := func(statements ...string) {
		t.Helper()
		must(t, server.Exec(t.Context(), database(url), append([]string{"SET search_path = etui"}, statements...)...))
	}
	// The code is what PostgreSQL answers when a table space is full.
	exec(`CREATE FUNCTION full_disk() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'could not extend file: No space left on device' USING ERRCODE = '53100'; END $$`)
	fill := func() {
		exec(`CREATE TRIGGER full_disk BEFORE INSERT ON messages EXECUTE FUNCTION full_disk()`, `CREATE TRIGGER full_disk BEFORE INSERT ON inbox EXECUTE FUNCTION full_disk()`)
	}
	goOn := make(chan struct{})
	e := newEngine(t, kept, piecemeal{"hello", goOn})
	first := engine.Message{Text: "hi", User: "ann", IdempotencyKey: "k"}
	var accepted error
	for event, err := range e.Send(t.Context(), first) {
		if event.Text == "hello" {
			fill()
			close(goOn)
		}
		accepted = err
	}
	if !errors.Is(accepted, engine.ErrStore) {
		t.Errorf("the accepted message: %v", accepted)
	}
	for _, err := range e.Send(t.Context(), engine.Message{Text: "more", User: "bob"}) {
		if !errors.Is(err, engine.ErrStore) {
			t.Errorf("a new message: %v", err)
		}
	}
	exec(`DROP TRIGGER full_disk ON messages`, `DROP TRIGGER full_disk ON inbox`)
	text := ""
	for event, err := range e.Send(t.Context(), first) {
		must(t, err)
		text += event.Text
	}
	if text != "hello world" {
		t.Errorf("the answer is %q", text)
	}
	list, err := kept.List(t.Context(), session.Filter{})
	must(t, err)
	if len(list) != 1 || list[0].Messages != 2 {
		t.Errorf("stored is %+v", list)
	}
}
