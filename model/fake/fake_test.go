package fake_test

import (
	"testing"

	"github.com/etui-run/etui/model"
	"github.com/etui-run/etui/model/fake"
	"github.com/etui-run/etui/model/modeltest"
)

func TestConformance(t *testing.T) {
	modeltest.Test(t, modeltest.Direct, func(_ *testing.T, s *modeltest.Server) model.Model {
		var steps []fake.Step
		for _, r := range s.Script() {
			for i := range r.Calls {
				if r.Calls[i].ID == "" {
					r.Calls[i].ID = string(rune('a' + i))
				}
			}
			steps = append(steps, fake.Step{Pieces: r.Text, Calls: r.Calls, Stop: r.Stop, Usage: r.Usage})
		}
		return fake.New(steps...)
	})
}
