package endpoint

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/etui-run/etui/internal/nearest"
	"github.com/etui-run/etui/internal/printable"
)

// Models returns the names in the list of models at a path. If the answer is something else, the error
// says what otherwise says.
func (e *Endpoint) Models(ctx context.Context, path, otherwise string) ([]string, error) {
	var list struct {
		Data []struct {
			ID string `json:"id"`
		} `json:"data"`
	}
	if err := e.Get(ctx, path, &list, otherwise); err != nil {
		return nil, err
	}
	names := make([]string, len(list.Data))
	for i, d := range list.Data {
		names[i] = strings.TrimPrefix(d.ID, "models/") // as Gemini lists them
	}
	return names, nil
}

// Offers says that a provider that lists these models has one. Otherwise the error names the nearest.
// Ollama's list has the tag behind a name, and Gemini's a folder before it.
func Offers(names []string, name string) (says string, err error) {
	same := func(listed string) bool {
		listed = strings.TrimPrefix(listed, "models/")
		return strings.EqualFold(listed, name) || strings.HasPrefix(listed, name+":") ||
			listed == strings.TrimPrefix(name, "models/")
	}
	switch {
	case len(names) == 0:
		return "the server answers, but does not list its models", nil
	case slices.ContainsFunc(names, same):
		return "the server answers and has the model", nil
	}
	says = fmt.Sprintf("the server answers, but its list has no model %s", name)
	if near, ok := nearest.Name(name, slices.Values(names)); ok {
		return "", fmt.Errorf("%s; did you mean %s? It has %s", says, near, printable.List(names))
	}
	return "", fmt.Errorf("%s; it has %s", says, printable.List(names))
}
