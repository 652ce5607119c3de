package postgres_test

import (
	"context"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/etui-run/etui/audit"
	"github.com/etui-run/etui/store"
	"github.com/etui-run/etui/store/postgres"
	"github.com/etui-run/etui/store/postgrestest"
	"github.com/etui-run/etui/store/storetest"
	"github.com/etui-run/etui/usage"
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

// TestFirstVersion opens a database that etui wrote when it had this schema for the first time. It
// refuses older ones.
func TestFirstVersion(t *testing.T) {
	url := server.Database(t)
	dump, err := os.ReadFile("testdata/first.sql")
	must(t, err)
	db, err := pgx.Connect(t.Context(), url)
	must(t, err)
	defer db.Close(context.Background())
	_, err = db.Exec(t.Context(), string(dump))
	must(t, err)
	s := open(t, url)
	storetest.Filled(t, s, "ann")
	storetest.Fill(t, s, "bob")
	storetest.Filled(t, s, "bob")
	must(t, s.Calls().Add(t.Context(), audit.Record{Time: time.Now(), Skill: "weather", User: "bob", Outcome: audit.OK}))
	if v, err := s.Calls().Verify(t.Context(), nil); err != nil || !v.Unbroken || int64(v.Records)+v.Dropped != 2 { // the log drops the copy's in April 2027
		t.Errorf("the audit is %+v, %v", v, err)
	}
	turns := s.Turns(postgres.TurnLimits{})
	must(t, turns.Add(t.Context(), usage.Turn{Time: time.Now(), Agent: "main", User: "bob", Text: "ho"}))
	if list, err := turns.List(t.Context(), usage.Filter{Agent: "main"}); err != nil || len(list) == 0 || list[0].Text != "ho" {
		t.Errorf("the turns are %+v, %v", list, err)
	}
	_, err = db.Exec(t.Context(), `UPDATE etui.version SET version = 7`)
	must(t, err)
	if _, err := postgres.Open(t.Context(), url, nil); err == nil || !strings.Contains(err.Error(), "before the first release (version 7") {
		t.Errorf("an older database: %v", err)
	}
}
