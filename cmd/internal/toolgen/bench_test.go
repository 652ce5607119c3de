package toolgen_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/etui-run/etui/cmd/internal/toolgen"
	"github.com/etui-run/etui/cmd/internal/toolgen/testdata/sample"
	"github.com/etui-run/etui/tool"
)

var arguments = json.RawMessage(`{"city":"Rome","days":5,"unit":"C","near":{"lat":41.9,"lon":12.5},"wants":["rain","wind"],"limit":9}`)

// forecasts are two ways to make the same function a tool.
func forecasts() map[string]tool.Tool {
	generated := sample.Tools(&sample.Service{})[0]
	return map[string]tool.Tool{
		"generated": generated,
		"func": tool.Func(tool.Definition{Name: "forecast", Parameters: generated.Definition().Parameters},
			func(_ context.Context, in sample.Forecast) (*sample.Weather, error) { return forecast(in) }),
	}
}

// forecast is the plain function. It is not inlined, just as in a tool.
//
//go:noinline
func forecast(in sample.Forecast) (*sample.Weather, error) { return &sample.Weather{Input: in}, nil }

// BenchmarkCall measures the cost of a call on top of the function.
func BenchmarkCall(b *testing.B) {
	for name, t := range forecasts() {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := t.Call(b.Context(), arguments); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
	b.Run("bare", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			_, _ = forecast(sample.Forecast{City: "Rome"})
		}
	})
}

// BenchmarkRegister measures the cost of creating the tools at program start.
func BenchmarkRegister(b *testing.B) {
	b.Run("generated", func(b *testing.B) {
		for b.Loop() {
			sample.Tools(&sample.Service{})
		}
	})
	b.Run("func", func(b *testing.B) {
		for b.Loop() {
			tool.Func(tool.Definition{Name: "forecast"}, func(context.Context, sample.Forecast) (sample.Weather, error) { return sample.Weather{}, nil })
			tool.Func(tool.Definition{Name: "show_map"}, func(context.Context, sample.Place) (string, error) { return "", nil })
		}
	})
}

func BenchmarkGenerate200(b *testing.B) {
	dir := b.TempDir()
	text := "package many\n\nimport \"context\"\n"
	for i := range 200 {
		text += fmt.Sprintf("\n// Input%[1]d is read.\ntype Input%[1]d struct {\n\t// A is a text.\n\tA string `json:\"a\" enum:\"x,y\"`\n\tB []int `json:\"b,omitempty\"`\n}\n\n// Tool%[1]d does thing %[1]d.\n//\n//etui:tool groups=g%[1]d risk=read\nfunc Tool%[1]d(_ context.Context, in Input%[1]d) (string, error) { return in.A, nil }\n", i)
	}
	for name, content := range map[string]string{"go.mod": "module many\n\ngo 1.26\n", "many.go": text} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o644); err != nil {
			b.Fatal(err)
		}
	}
	for b.Loop() {
		made, err := toolgen.Generate(b.Context(), dir)
		if err != nil || len(made[0].Tools) != 200 || strings.Count(string(made[0].Text), "wire.Tool(") != 200 {
			b.Fatal(err, len(made[0].Tools))
		}
	}
}
