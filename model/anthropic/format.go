package anthropic

import (
	"encoding/json"
	"errors"
	"strings"

	"github.com/etui-run/etui/model"
	"github.com/etui-run/etui/model/schema"
)

// output holds the answer to a schema.
type output struct {
	Format struct {
		Type   string          `json:"type"`
		Schema json.RawMessage `json:"schema"`
	} `json:"format"`
}

// format has the answer in a form: by the API's own means where it holds a model to the schema, else by
// asking for it. It reports whether it used these means.
func (m *Model) format(out *request, format json.RawMessage) (native bool) {
	var f struct {
		Type string `json:"type"`
		JSON struct {
			Schema json.RawMessage `json:"schema"`
		} `json:"json_schema"`
	}
	if json.Unmarshal(format, &f) != nil || f.Type == "text" {
		return false
	}
	if f.Type == "json_schema" && len(f.JSON.Schema) > 0 && !m.formless.Load() && !old.MatchString(m.config.Model) {
		if adapted := schema.Structured().Adapt(f.JSON.Schema); adapted.Strict {
			out.Output = &output{}
			out.Output.Format.Type, out.Output.Format.Schema = "json_schema", adapted.Parameters
			return true
		}
	}
	ask := "Your last answer is one JSON object, without any text before or after it, and without a code fence."
	if len(f.JSON.Schema) > 0 {
		ask += " It follows this JSON Schema:\n" + string(f.JSON.Schema)
	}
	out.System = append(out.System, textBlock(ask))
	return false
}

// knowsNoFormat reports whether a refusal means that the model cannot be held to a schema: those before
// Claude 4.5, and some servers with this API. It is asked for the form from then on.
func (m *Model) knowsNoFormat(err error) bool {
	if err == nil || !errors.Is(err, model.ErrRequest) {
		return false
	}
	text := strings.ToLower(err.Error())
	for _, word := range []string{"output_config", "output_format", "output format", "structured output"} {
		if strings.Contains(text, word) {
			if m.formless.CompareAndSwap(false, true) && m.config.Log != nil {
				m.config.Log.Warn("the model cannot be held to a JSON Schema; it is asked to follow it", "model",
					m.api.Name())
			}
			return true
		}
	}
	return false
}
