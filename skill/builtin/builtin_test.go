package builtin_test

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/etui-run/etui/skill"
	"github.com/etui-run/etui/skill/builtin"
	"github.com/etui-run/etui/skill/skilltest"
)

type object = map[string]json.RawMessage

func TestConformance(t *testing.T) {
	skilltest.Test(t, func(*testing.T) skilltest.Harness {
		return skilltest.Harness{
			Provider: builtin.New(map[string]builtin.Function{
				"echo":  builtin.Func(func(_ context.Context, in object) (object, error) { return in, nil }),
				"fails": builtin.Func(func(context.Context, object) (any, error) { return nil, errors.New("out of paper") }),
				"slow": builtin.Func(func(ctx context.Context, _ object) (any, error) {
					<-ctx.Done()
					return nil, ctx.Err()
				}),
				"away": builtin.Func(func(context.Context, object) (any, error) { return nil, skill.ErrProviderUnavailable }),
				"nan":  builtin.Func(func(context.Context, object) (float64, error) { return math.NaN(), nil }),
				"long": builtin.Func(func(context.Context, object) (string, error) { return strings.Repeat("x", skill.MaxResult), nil }),
				"panics": builtin.Func(func(context.Context, object) (any, error) {
					return *(*int)(nil), nil
				}),
			}),
			Echo: skill.Config{Name: "echo", Parameters: skill.ParameterSchema(`{"type":"object"}`)}, Fails: skill.Config{Name: "fails"}, Slow: skill.Config{Name: "slow"},
			Unavailable: skill.Config{Name: "away"}, Rubbish: skill.Config{Name: "nan"}, Large: skill.Config{Name: "long"},
			Panics: skill.Config{Name: "panics"},
			Bad: map[string]skill.Config{
				"function":            {Name: "x", Function: "ecko"},
				"name":                {Name: "ecko"},
				`did you mean "echo"`: {Name: "ecko"},
			},
		}
	})
}
