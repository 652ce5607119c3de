package endpoint_test

import (
	"strings"
	"testing"

	"github.com/etui-run/etui/model/endpoint"
)

func TestOffers(t *testing.T) {
	names := []string{"qwen3:8b", "models/gemini-3-pro", "gpt-5.4-mini"}
	for name, want := range map[string]string{
		"qwen3": "has the model", "qwen3:8b": "has the model", "gemini-3-pro": "has the model", "models/gemini-3-pro": "has the model", "GPT-5.4-mini": "has the model",
		"gpt-5.4-mni": "did you mean gpt-5.4-mini?", "claude": "it has qwen3:8b",
	} {
		got, err := endpoint.Offers(names, name)
		if err != nil {
			got = err.Error()
		}
		if !strings.Contains(got, want) || (err == nil) != (want == "has the model") {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
}
