package storetest_test

import (
	"testing"

	"github.com/etui-run/etui/session"
	"github.com/etui-run/etui/store/storetest"
)

// The test of a store hands the suite a function that opens an empty one.
func ExampleTest() {
	_ = func(t *testing.T) {
		storetest.Test(t, func(*testing.T) session.Store { return &session.MemoryStore{} })
	}
	// Output:
}
