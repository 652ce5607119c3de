package recent_test

import (
	"testing"

	"github.com/etui-run/etui/internal/recent"
)

func TestTheOldestIsForgotten(t *testing.T) {
	c := recent.New[string, int](2)
	c.Put("a", 1)
	c.Put("b", 2)
	c.Put("a", 3)
	c.Get("a")
	c.Put("c", 4)
	if _, ok := c.Get("b"); ok {
		t.Error("b was used least recently and is still there")
	}
	if a, _ := c.Get("a"); a != 3 {
		t.Errorf("a is %d", a)
	}
	if v, ok := c.Get("c"); !ok || v != 4 {
		t.Errorf("c is %d, %t", v, ok)
	}
}
