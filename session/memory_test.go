package session_test

import (
	"testing"

	"github.com/etui-run/etui/internal/store/storetest"
	"github.com/etui-run/etui/session"
)

func TestMemoryStore(t *testing.T) {
	storetest.Test(t, func(*testing.T) session.Store { return &session.MemoryStore{} })
}
