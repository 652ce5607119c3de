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
	return m.server.Models(ctx, "models",
		"something answers, but not with a list of models as OpenAI's API does"+m.hint())
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
