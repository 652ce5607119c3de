package storetest

import (
	"fmt"
	"testing"

	"github.com/etui-run/etui/store"
)

// records is the part of the suite about [store.Records].
func records(t *testing.T, s store.Store) {
	for _, r := range []struct{ kind, key, value string }{{"task", "b", `1`}, {"task", "a", `{"x":[1]}`}, {"other", "a", `2`}, {"task", "b", `"new"`}} {
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
	for _, there := range []bool{true, false} {
		if found, err := s.Remove(t.Context(), "task", "a"); found != there || err != nil {
			t.Errorf("Remove: %v, %v, want %v", found, err, there)
		}
	}
	want("task", `b="new" `)
	want("other", "a=2 ")
}
