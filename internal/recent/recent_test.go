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

func TestSizesCount(t *testing.T) {
	c := recent.NewSized[string](10, func(s string) int { return len(s) })
	c.Put("a", "1234")
	c.Put("b", "1234")
	c.Put("b", "123456")
	if _, ok := c.Get("a"); !ok {
		t.Error("a was forgotten, although both fit")
	}
	c.Put("c", "1")
	if _, ok := c.Get("b"); ok {
		t.Error("b was used longest ago and is still there")
	}
	c.Put("d", "more than ten")
	if _, ok := c.Get("d"); ok {
		t.Error("a value that is too large was kept")
	}
	c.Put("e", "1234567890")
	if _, ok := c.Get("e"); !ok {
		t.Error("a value that fits alone was not kept")
	}
}
