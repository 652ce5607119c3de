package audit_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/etui-run/etui/audit"
)

// A recorder without a log only counts.
func ExampleRecorder() {
	r := audit.NewRecorder(nil, nil, nil)
	arguments := json.RawMessage(`{"city":"Rome"}`)
	r.Record(audit.Record{Skill: "weather", Outcome: audit.OK}, arguments, 120*time.Millisecond, nil)
	r.Record(audit.Record{Skill: "weather", Outcome: "timeout"}, arguments, 5*time.Second, errors.New("no answer within 5 s"))
	c := r.Counters("weather")
	fmt.Println(c.Calls, "calls, failures:", c.Failures)
	// Output: 2 calls, failures: map[timeout:1]
}
