package main

import (
	"context"
	"encoding/json"
	"testing"
)

// TestTools calls the tools as a model does.
func TestTools(t *testing.T) {
	stock := &Stock{parts: map[string]map[Shelf]int{"hinge": {Back: 14}}}
	call := func(name, args string) string {
		for _, tl := range Tools(stock) {
			if tl.Definition().Name == name {
				r, err := tl.Call(context.Background(), json.RawMessage(args))
				if err != nil {
					return err.Error()
				}
				return r.Text
			}
		}
		return "there is no " + name
	}
	for _, c := range [][3]string{
		{"find_parts", `{"part":"hinge"}`, `[{"part":"hinge","shelf":"back","amount":14}]`},
		{"move_parts", `{"from":"back","moves":[{"part":"hinge","shelf":"front","amount":4}]}`, "Done."},
		{"move_parts", `{"from":"back","moves":[{"part":"hinge","shelf":"front","amount":40}]}`, "there are only 10 of hinge on shelf back; find_parts tells where more are"},
		{"find_parts", `{"part":"hinge","shelf":"front"}`, `[{"part":"hinge","shelf":"front","amount":4}]`},
	} {
		if got := call(c[0], c[1]); got != c[2] {
			t.Errorf("%s %s = %s, want %s", c[0], c[1], got, c[2])
		}
	}
}
