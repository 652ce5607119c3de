package session_test

import (
	"testing"

	"github.com/etui-run/etui/session"
	"github.com/etui-run/etui/store/storetest"
)

func TestMemoryStore(t *testing.T) {
	storetest.Test(t, func(*testing.T) session.Store { return &session.MemoryStore{} })
}
