package storetest

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/etui-run/etui/audit"
)

// TestAudit tests the log that open makes: empty, and with a function that changes its
// tables behind its back.
func TestAudit(t *testing.T, open func(t *testing.T) (log audit.Log, exec func(statement string))) {
	now := time.Now().UTC()
	filled := func(t *testing.T) (audit.Log, func(string)) {
		log, exec := open(t)
		for n := range 3 {
			at := now.Add(time.Duration(n) * time.Second)
			must(t, log.Add(t.Context(), audit.Record{Time: at, Skill: "weather", User: "ann", Outcome: audit.OK,
				Arguments: fmt.Sprint(n)}))
			must(t, log.AddDecisions(t.Context(),
				audit.Decision{Time: at, Tool: "look\x00", User: []string{"bob", "cid"}[n%2], Channel: "web",
					Allowed: true, Kind: audit.OK, Arguments: fmt.Sprint(n)}))
		}
		return log, exec
	}
	verify := func(t *testing.T, log audit.Log, kept *audit.Head) audit.Verdict {
		t.Helper()
		v, err := log.Verify(t.Context(), kept)
		must(t, err)
		if v.Unbroken != (len(v.Breaks) == 0) {
			t.Errorf("unbroken with %v", v.Breaks)
		}
		return v
	}
	t.Run("empty", func(t *testing.T) {
		log, _ := open(t)
		if v := verify(t, log, nil); !v.Unbroken || v.Records != 0 || v.Head != "" {
			t.Errorf("%+v", v)
		}
	})
	t.Run("unbroken", func(t *testing.T) {
		log, _ := filled(t)
		v := verify(t, log, nil)
		head, err := audit.ParseHead(v.Head)
		if err != nil || !v.Unbroken || v.Records != 6 || head.Number != 6 {
			t.Fatalf("%+v, %v", v, err)
		}
		must(t, log.Add(t.Context(), audit.Record{Time: now, Skill: "weather"}))
		if v = verify(t, log, &head); v.Compared != "same" || !v.Unbroken {
			t.Errorf("with the head of before: %+v", v)
		}
	})
	t.Run("a forgotten user leaves it unbroken", func(t *testing.T) {
		log, exec := filled(t)
		for _, erased := range []struct {
			user               string
			records, decisions int
		}{{"bob", 0, 2}, {"ann", 3, 0}, {"nobody", 0, 0}} {
			records, decisions, err := log.Erase(t.Context(), erased.user)
			if err != nil || records != erased.records || decisions != erased.decisions {
				t.Errorf("%s: %d, %d, %v", erased.user, records, decisions, err)
			}
		}
		v := verify(t, log, nil)
		if !v.Unbroken || v.Records != 3 || v.Dropped != 5 {
			t.Fatalf("%+v", v)
		}
		list, err := log.Decisions(t.Context(), audit.DecisionFilter{})
		if err != nil || len(list) != 3 || list[0].User+list[0].Arguments != "" || list[0].Tool != "look\x00" ||
			list[1].User != "cid" {
			t.Errorf("%+v, %v", list, err)
		}
		exec("DELETE FROM audit WHERE number = 4")
		exec("UPDATE audit_gaps SET ends = 6, hash = (SELECT hash FROM audit_gaps WHERE begins = 5) WHERE begins = 1")
		exec("DELETE FROM audit_gaps WHERE begins = 5")
		if v := verify(t, log, nil); v.Unbroken || !strings.Contains(v.Breaks[0].What, "not those that the log says") {
			t.Errorf("a hidden gap: %+v", v)
		}
	})
	for what, change := range map[string]struct {
		statements []string
		number     int64
	}{
		"changed": {[]string{"UPDATE audit SET record = replace(record, 'ann', 'eve') WHERE number = 3"},
			3},
		"changed as a whole":   {[]string{"UPDATE audit SET record = replace(record, 'ann', 'eve'), who = 'eve' WHERE number = 3"}, 3},
		"hidden from a search": {[]string{"UPDATE audit SET who = 'eve' WHERE number = 3"}, 3},
		"removed":              {[]string{"DELETE FROM audit WHERE number = 3"}, 3},
		"inserted": {[]string{
			"UPDATE audit SET number = number + 100 WHERE number > 2",
			"UPDATE audit SET number = number - 99 WHERE number > 100", "UPDATE audit_head SET number = number + 1",
			"INSERT INTO audit SELECT 3, class, time, who, name, outcome, salt, record, hash FROM audit WHERE number = 1",
		}, 3},
		"inserted without a hash": {[]string{"DELETE FROM audit WHERE number = 3",
			"INSERT INTO audit SELECT 3, class, time, who, name, outcome, salt, record, NULL FROM audit WHERE number = 1"}, 3},
		"reordered": {[]string{
			"UPDATE audit SET number = 99 WHERE number = 3", "UPDATE audit SET number = 3 WHERE number = 5",
			"UPDATE audit SET number = 5 WHERE number = 99",
		}, 3},
		"cut off at the end":       {[]string{"DELETE FROM audit WHERE number > 4"}, 5},
		"cut off at the beginning": {[]string{"DELETE FROM audit WHERE number < 4"}, 4},
		"all gone":                 {[]string{"DELETE FROM audit"}, 6},
		"added":                    {[]string{"UPDATE audit_head SET number = 5, hash = (SELECT hash FROM audit WHERE number = 5)"}, 6},
	} {
		t.Run(what, func(t *testing.T) {
			log, exec := filled(t)
			for _, s := range change.statements {
				exec(s)
			}
			if v := verify(t, log, nil); v.Unbroken || v.Breaks[0].Number != change.number {
				t.Errorf("%+v, want a break at %d", v, change.number)
			}
		})
	}
	t.Run("a tail that was cut off with its head", func(t *testing.T) {
		log, exec := filled(t)
		kept, err := audit.ParseHead(verify(t, log, nil).Head)
		must(t, err)
		exec("DELETE FROM audit WHERE number > 4")
		exec("UPDATE audit_head SET number = 4, hash = (SELECT hash FROM audit WHERE number = 4)")
		if v := verify(t, log, nil); !v.Unbroken {
			t.Errorf("without a head that was kept: %+v", v)
		}
		if v := verify(t, log, &kept); v.Compared != "missing" || v.Unbroken {
			t.Errorf("%+v", v)
		}
		must(t, log.Add(t.Context(), audit.Record{Time: now, Skill: "s"}, audit.Record{Time: now, Skill: "s"}))
		if v := verify(t, log, &kept); v.Compared != "different" || v.Unbroken {
			t.Errorf("after others were added: %+v", v)
		}
	})
}
