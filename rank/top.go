package rank

import "slices"

// Top keeps the best of the values that are added.
type Top[T any] struct {
	// List holds them, best first.
	List    []T
	limit   int
	compare func(a, b T) int
}

// NewTop returns a Top of at most limit values, and of none when that is not above zero.
// Compare is negative when a is better than b.
func NewTop[T any](limit int, compare func(a, b T) int) *Top[T] {
	limit = max(limit, 0)
	return &Top[T]{make([]T, 0, min(limit, 1024)+1), limit, compare}
}

// Add adds a value.
func (t *Top[T]) Add(v T) {
	if len(t.List) == t.limit && (t.limit == 0 || t.compare(v, t.List[t.limit-1]) > 0) {
		return
	}
	i, _ := slices.BinarySearchFunc(t.List, v, t.compare)
	t.List = slices.Insert(t.List, i, v)
	t.List = t.List[:min(len(t.List), t.limit)]
}
