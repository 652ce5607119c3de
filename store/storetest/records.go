package storetest

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/etui-run/etui/session"
	"github.com/etui-run/etui/store"
)

// records is the part of the suite about [store.Records].
func records(t *testing.T, s store.Store) {
	for _, r := range []struct{ kind, key, value string }{{"task", "b", `1`}, {"task", "a", `{"x":[1]}`},
		{"other", "a", `2`}, {"task", "b", `"new"`}} {
		must(t, s.Put(t.Context(), r.kind, r.key, []byte(r.value)))
	}
	want := func(kind, want string) {
		t.Helper()
		list, err := s.Records(t.Context(), kind)
		must(t, err)
		got := ""
		for _, r := range list {
			got += fmt.Sprintf("%s=%s ", r.Key, r.Value)
		}
		if got != want {
			t.Errorf("the records of kind %s are %s, want %s", kind, got, want)
		}
	}
	want("task", `a={"x":[1]} b="new" `)
	want("other", "a=2 ")
	want("nothing", "")
	some, err := s.Records(t.Context(), "task", "b", "nothing")
	if must(t, err); len(some) != 1 || some[0].Key != "b" {
		t.Errorf("the records of two keys are %+v, want that of b", some)
	}
	for _, there := range []bool{true, false} {
		if found, err := s.Remove(t.Context(), "task", "a"); found != there || err != nil {
			t.Errorf("Remove: %v, %v, want %v", found, err, there)
		}
	}
	want("task", `b="new" `)
	want("other", "a=2 ")
	change := func(key, value string, fails error) {
		t.Helper()
		err := s.Change(t.Context(), "task", key, func(before json.RawMessage) (json.RawMessage, error) {
			if value == "" {
				return nil, fails
			}
			return json.RawMessage(`["` + strings.ReplaceAll(string(before), `"`, "") + value + `"]`), fails
		})
		if !errors.Is(err, fails) {
			t.Errorf("Change: %v", err)
		}
	}
	change("b", "er", nil)
	change("c", "first", nil)
	want("task", `b=["newer"] c=["first"] `)
	change("c", "lost", session.ErrNotFound)
	change("b", "", nil)
	change("nothing", "", nil)
	want("task", `c=["first"] `)
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() {
			must(t, s.Change(t.Context(), "count", "n", func(before json.RawMessage) (json.RawMessage, error) {
				n := 0
				if before != nil {
					if err := json.Unmarshal(before, &n); err != nil {
						return nil, err
					}
				}
				return json.Marshal(n + 1)
			}))
		})
	}
	all.Wait()
	want("count", "n=20 ")
}
