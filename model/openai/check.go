package openai

import (
	"context"
	"errors"
	"strings"

	"github.com/etui-run/etui/model"
	"github.com/etui-run/etui/model/endpoint"
)

// Models returns the names of the models that the server lists. A server without a list is
// [model.ErrNoModel].
func (m *Model) Models(ctx context.Context) ([]string, error) {
	var list struct {
		Data []struct {
			ID string `json:"id"`
		} `json:"data"`
	}
	err := m.server.Get(ctx, "models", &list, "something answers, but not with a list of models as OpenAI's API does"+m.hint())
	if err != nil {
		return nil, err
	}
	names := make([]string, len(list.Data))
	for i, d := range list.Data {
		names[i] = strings.TrimPrefix(d.ID, "models/") // as Gemini lists them
	}
	return names, nil
}

// Check reports whether the server can be reached, takes the key and lists the model. It
// asks no model, so it costs nothing. The text describes what it found.
func (m *Model) Check(ctx context.Context) (says string, err error) {
	names, err := m.Models(ctx)
	switch {
	case errors.Is(err, model.ErrNoModel) && !m.unversioned():
		return "the server answers, but does not list its models", nil
	case err != nil:
		return "", err
	}
	return endpoint.Offers(names, m.config.Model)
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
