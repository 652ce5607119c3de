package endpoint

import (
	"fmt"
	"slices"
	"strings"

	"github.com/etui-run/etui/internal/nearest"
	"github.com/etui-run/etui/internal/printable"
)

// Offers says whether a provider that lists these models has one, and otherwise which is nearest.
// Ollama's list has the tag behind a name, and Gemini's a folder before it.
func Offers(names []string, name string) string {
	same := func(listed string) bool {
		listed = strings.TrimPrefix(listed, "models/")
		return strings.EqualFold(listed, name) || strings.HasPrefix(listed, name+":") || listed == strings.TrimPrefix(name, "models/")
	}
	if slices.ContainsFunc(names, same) {
		return "the server answers and has the model"
	}
	says := fmt.Sprintf("the server answers, but its list has no model %s", name)
	if near, ok := nearest.Name(name, slices.Values(names)); ok {
		return says + fmt.Sprintf("; did you mean %s? It has %s", near, printable.List(names))
	}
	return says + "; it has " + printable.List(names)
}
