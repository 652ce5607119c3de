package rules

import (
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/common/types/traits"
)

// lookupMap is the map that conditions see of a [Lookup]. They ask for names only, see
// lint.Listed.
type lookupMap struct {
	traits.Mapper // an empty one
	of            Lookup
}

var _ traits.Mapper = lookupMap{}

func look(of Lookup) lookupMap {
	return lookupMap{types.NewDynamicMap(types.DefaultTypeAdapter, map[string]any{}), of}
}

// Find returns the value of a key, or an error in its place.
func (l lookupMap) Find(key ref.Val) (ref.Val, bool) {
	name, ok := key.(types.String)
	if !ok {
		return types.MaybeNoSuchOverloadErr(key), true
	}
	value, ok, err := l.of(string(name))
	if err != nil {
		return types.WrapErr(err), true
	}
	if !ok {
		return nil, false
	}
	return types.DefaultTypeAdapter.NativeToValue(value), true
}

// Get is Find, with an error where there is no value.
func (l lookupMap) Get(key ref.Val) ref.Val {
	value, ok := l.Find(key)
	if !ok {
		return types.NewErr("no such key: %v", key.Value())
	}
	return value
}

// Contains reports whether there is a value.
func (l lookupMap) Contains(key ref.Val) ref.Val {
	value, ok := l.Find(key)
	if types.IsError(value) {
		return value
	}
	return types.Bool(ok)
}
