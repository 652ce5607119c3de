package skilltest_test

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"

	"github.com/etui-run/etui/skill"
	"github.com/etui-run/etui/skill/builtin"
	"github.com/etui-run/etui/skill/skilltest"
)

// harness names a config for each behavior that the provider's skills can have.
func harness(*testing.T) skilltest.Harness {
	type object = map[string]json.RawMessage
	echo := func(_ context.Context, in object) (object, error) { return in, nil }
	return skilltest.Harness{
		Provider: builtin.New(map[string]builtin.Function{"echo": builtin.Func(echo)}),
		Echo:     skill.Config{Name: "echo", Parameters: json.RawMessage(`{"type":"object"}`)},
		Bad:      map[string]skill.Config{"function": {Name: "bad", Function: "none"}},
	}
}

func TestProvider(t *testing.T) { skilltest.Test(t, harness) }

// The test of a provider is TestProvider, which hands its harness to the suite.
func Example() {
	fmt.Println(harness(nil).Provider.Type())
	// Output: builtin
}
