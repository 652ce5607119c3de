package postgres_test

import (
	"os"
	"testing"

	"github.com/etui-run/etui/store"
	"github.com/etui-run/etui/store/postgres"
	"github.com/etui-run/etui/store/postgrestest"
	"github.com/etui-run/etui/store/storetest"
)

var server *postgrestest.Server

func TestMain(m *testing.M) {
	if os.Getenv("ETUI_TEST_POISONED") != "" { // a process of TestPoisonedCall
		os.Exit(m.Run())
	}
	os.Exit(postgrestest.Main(m, &server))
}

func open(t testing.TB, url string) *postgres.Store {
	t.Helper()
	s, err := postgres.Open(t.Context(), url, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func TestStore(t *testing.T) {
	storetest.Test(t, func(t *testing.T) store.Store { return open(t, server.Database(t)) })
}
