package store_test

import (
	"testing"

	"github.com/etui-run/etui/store"
	"github.com/etui-run/etui/store/storetest"
)

func TestMemoryStore(t *testing.T) {
	storetest.Test(t, func(*testing.T) store.Store { return &store.Memory{} })
}
