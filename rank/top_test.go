package rank_test

import (
	"cmp"
	"slices"
	"testing"

	"github.com/etui-run/etui/rank"
)

func TestTop(t *testing.T) {
	t.Parallel()
	for limit, want := range map[int][]int{-1: nil, 0: nil, 1: {9}, 3: {9, 7, 5}, 9: {9, 7, 5, 3, 1}} {
		top := rank.NewTop(limit, func(a, b int) int { return cmp.Compare(b, a) })
		for _, v := range []int{3, 9, 1, 7, 5} {
			top.Add(v)
		}
		if !slices.Equal(top.List, want) {
			t.Errorf("the best %d are %d, want %d", limit, top.List, want)
		}
	}
}
