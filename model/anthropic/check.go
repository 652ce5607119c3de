package anthropic

import (
	"context"
	"errors"
	"fmt"

	"github.com/anthropics/anthropic-sdk-go"

	"github.com/etui-run/etui/model"
)

// Check reports whether the API can be reached, takes the key and knows the model. It
// asks no model, so it costs nothing. The text describes what it found.
func (m *Model) Check(ctx context.Context) (says string, err error) {
	_, err = m.client.Models.Get(ctx, m.config.Model, anthropic.ModelGetParams{})
	if err == nil {
		return "the server answers and has the model", nil
	}
	if err = m.failure(ctx, err); errors.Is(err, model.ErrNoModel) {
		return fmt.Sprintf("the server answers, but does not know the model %s", m.config.Model), nil
	}
	return "", err
}
