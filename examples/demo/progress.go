package demo

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"time"

	"github.com/etui-run/etui/tool"
)

// work answers a tool that takes long. The object of its verb is the steps and the
// outcome:
//
//	warming up, measuring: Load test of {service}: {#900-2400} requests a second.
//
// Each step is reported as it begins; the work stops when the caller disconnects.
func (s *service) work(ctx context.Context, w http.ResponseWriter, c *call) {
	list, outcome, _ := strings.Cut(c.tool.object, ": ")
	steps := strings.Split(list, ", ")
	lines := json.NewEncoder(w)
	flush := http.NewResponseController(w)
	for i, step := range steps {
		p := tool.Progress{Text: c.fill(step), Done: float64(i), Total: float64(len(steps))}
		if lines.Encode(reply{Progress: &p}) != nil {
			return
		}
		_ = flush.Flush() // a writer that cannot flush sends everything at the end
		if s.step > 0 {
			select {
			case <-ctx.Done():
				return
			case <-time.After(s.step):
			}
		}
	}
	_ = lines.Encode(c.say(c.fill(outcome))) // fails only if the caller has disconnected
}
