package anthropic

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"

	"github.com/etui-run/etui/model"
)

// maxInfo limits what the API says about a model, in bytes.
const maxInfo = 1 << 20

// Check reports whether the API can be reached, takes the key and knows the model. It
// asks no model, so it costs nothing. The text describes what it found.
func (m *Model) Check(ctx context.Context) (says string, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	body, err := m.send(ctx, http.MethodGet, "v1/models/"+url.PathEscape(m.config.Model), nil)
	if err != nil {
		if err = m.failure(ctx, err); errors.Is(err, model.ErrNoModel) {
			return fmt.Sprintf("the server answers, but does not know the model %s", m.config.Model), nil
		}
		return "", err
	}
	defer body.Close()
	var info struct{}
	if err := json.NewDecoder(io.LimitReader(body, maxInfo)).Decode(&info); err != nil {
		return "", m.failure(ctx, errors.New("something answers, but not about the model as Anthropic's API does"))
	}
	return "the server answers and has the model", nil
}
