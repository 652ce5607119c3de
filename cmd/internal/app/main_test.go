package app_test

import (
	"os"
	"testing"
)

// TestMain keeps the state of the tests out of the user's home: which configurations were confirmed.
func TestMain(m *testing.M) {
	home, err := os.MkdirTemp("", "etui-app-")
	if err != nil {
		panic(err)
	}
	_ = os.Setenv("XDG_STATE_HOME", home)
	code := m.Run()
	_ = os.RemoveAll(home)
	os.Exit(code)
}
