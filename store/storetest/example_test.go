package storetest_test

import (
	"testing"

	"github.com/etui-run/etui/store"
	"github.com/etui-run/etui/store/storetest"
)

// The test of a store hands the suite a function that opens an empty one.
func ExampleTest() {
	_ = func(t *testing.T) {
		storetest.Test(t, func(*testing.T) store.Store { return &store.Memory{} })
	}
	// Output:
}
