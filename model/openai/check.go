package openai

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"

	"github.com/etui-run/etui/internal/printable"
	"github.com/etui-run/etui/model"
)

// maxList limits the server's list of models, in bytes.
const maxList = 4 << 20

// Check reports whether the server can be reached, takes the key and lists the model. It
// asks no model, so it costs nothing. The text describes what it found.
func (m *Model) Check(ctx context.Context) (says string, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	asked, err := http.NewRequestWithContext(ctx, http.MethodGet, m.base.JoinPath("models").String(), nil)
	if err != nil {
		return "", err
	}
	body, err := m.send(asked)
	var refused *refusal
	if errors.As(err, &refused) && !m.unversioned() && errors.Is(model.KindOf(refused.status), model.ErrNoModel) {
		return "the server answers, but does not list its models", nil
	}
	if err != nil {
		return "", m.failure(ctx, err)
	}
	defer body.Close()
	var list struct {
		Data []struct {
			ID string `json:"id"`
		} `json:"data"`
	}
	if err := json.NewDecoder(io.LimitReader(body, maxList)).Decode(&list); err != nil {
		return "", m.failure(ctx, errors.New("something answers, but not with a list of models as OpenAI's API does"+m.hint()))
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
func (m *Model) unversioned() bool { return strings.Trim(m.base.Path, "/") == "" }

// hint is what may be wrong with the address, if anything.
func (m *Model) hint() string {
	if m.unversioned() {
		return "; does base_url need /v1 at its end?"
	}
	return ""
}
