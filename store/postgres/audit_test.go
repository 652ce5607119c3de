package postgres_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/etui-run/etui/audit"
	"github.com/etui-run/etui/store/storetest"
)

func TestAudit(t *testing.T) {
	url := server.Database(t)
	log := open(t, url).Calls()
	exec := func(statement string) {
		must(t, server.Exec(t.Context(), database(url), "SET search_path = etui", statement))
	}
	storetest.TestAudit(t, func(*testing.T) (audit.Log, func(string)) {
		exec(`TRUNCATE audit, audit_gaps; UPDATE audit_head SET number = 0, hash = decode(repeat('00', 32), 'hex')`)
		return log, exec
	})
}

// Processes that add at once make one chain, in which nothing is missing.
func TestAuditOfTwoProcesses(t *testing.T) {
	url := server.Database(t)
	logs := []audit.Log{open(t, url).Calls(), open(t, url).Calls()}
	const writers, each = 8, 20
	var all sync.WaitGroup
	for n := range writers {
		all.Go(func() {
			for i := range each {
				if err := logs[n%2].Add(t.Context(), audit.Record{Time: time.Now(), Skill: "s", User: fmt.Sprint(n), Arguments: fmt.Sprint(i)}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	for _, log := range logs {
		v, err := log.Verify(t.Context(), nil)
		if err != nil || !v.Unbroken || v.Records != writers*each {
			t.Errorf("%+v, %v", v, err)
		}
		list, err := log.List(t.Context(), audit.Filter{User: "3"})
		if err != nil || len(list) != each || list[0].Arguments != fmt.Sprint(each-1) {
			t.Errorf("%d calls of one user, %v", len(list), err)
		}
	}
}
