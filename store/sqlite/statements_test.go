package sqlite_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/etui-run/etui/session"
	"github.com/etui-run/etui/store"
	"github.com/etui-run/etui/store/sqlite"
)

// TestManyStatements: more statements than a connection keeps, one of them within itself, give
// what each would give alone.
func TestManyStatements(t *testing.T) {
	if err := sqlite.Statements(filepath.Join(t.TempDir(), "etui.db"), 200); err != nil {
		t.Fatal(err)
	}
}

// TestFailedTransaction: one that fails, or whose caller goes in it, leaves nothing behind, and
// the next one works.
func TestFailedTransaction(t *testing.T) {
	s := open(t, filepath.Join(t.TempDir(), "etui.db"))
	failed := errors.New("no")
	for i := range 3 {
		ctx, cancel := context.WithCancel(t.Context())
		err := s.Change(ctx, "kind", "key", func(json.RawMessage) (json.RawMessage, error) {
			if i == 0 {
				return nil, failed
			}
			cancel()
			return json.RawMessage(fmt.Sprint(i)), nil
		})
		cancel()
		if want := []error{failed, context.Canceled, context.Canceled}[i]; !errors.Is(err, want) {
			t.Errorf("%d: %v, want %v", i, err, want)
		}
	}
	if list, err := s.Records(t.Context(), "kind"); err != nil || len(list) > 0 {
		t.Errorf("%v, %v", list, err)
	}
	if _, added, err := s.Accept(t.Context(), store.Item{Session: "k", Message: json.RawMessage(`{}`)}); err != nil || !added {
		t.Errorf("accepted: %v, %v", added, err)
	}
	if err := s.Append(t.Context(), "k", session.State{}); err != nil {
		t.Error(err)
	}
}
