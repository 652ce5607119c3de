package openai

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/etui-run/etui/internal/printable"
	"github.com/etui-run/etui/model"
)

// Check reports whether the server can be reached, takes the key and lists the model. It
// asks no model, so it costs nothing. The text describes what it found.
func (m *Model) Check(ctx context.Context) (says string, err error) {
	var list struct {
		Data []struct {
			ID string `json:"id"`
		} `json:"data"`
	}
	err = m.server.Get(ctx, "models", &list, "something answers, but not with a list of models as OpenAI's API does"+m.hint())
	switch {
	case errors.Is(err, model.ErrNoModel) && !m.unversioned():
		return "the server answers, but does not list its models", nil
	case err != nil:
		return "", err
	}
	names := make([]string, len(list.Data))
	for i, d := range list.Data {
		names[i] = d.ID
	}
	if !slices.ContainsFunc(names, func(name string) bool { return name == m.config.Model || strings.HasPrefix(name, m.config.Model+":") }) {
		return fmt.Sprintf("the server answers, but its list has no model %s; it has %s", m.config.Model, printable.List(names)), nil
	}
	return "the server answers and has the model", nil
}

// unversioned reports whether the base URL is a mere host, as it is when the version was
// forgotten.
func (m *Model) unversioned() bool { return strings.Trim(m.server.URL().Path, "/") == "" }

// hint is what may be wrong with the address, if anything.
func (m *Model) hint() string {
	if m.unversioned() {
		return "; does base_url need /v1 at its end?"
	}
	return ""
}
