package openai

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/etui-run/etui/model"
)

// refusal says which field of a request cannot be used.
type refusal struct{ field, code, says string }

func (r *refusal) Error() string { return r.says }

func unsupported(field, says string) error { return &refusal{field, "unsupported_parameter", says} }

// settings are the fields of a request that concern the model's answer.
type settings struct {
	MaxTokens           *int            `json:"max_tokens"`
	MaxCompletionTokens *int            `json:"max_completion_tokens"`
	Temperature         *float64        `json:"temperature"`
	TopP                *float64        `json:"top_p"`
	Stop                json.RawMessage `json:"stop"`
	Seed                *int64          `json:"seed"`
	ResponseFormat      json.RawMessage `json:"response_format"`
}

// forModel returns the settings as package model has them.
func (c completionRequest) forModel() (model.Settings, error) {
	s := c.settings
	out := model.Settings{Temperature: s.Temperature, TopP: s.TopP, Seed: s.Seed, Extra: c.extra()}
	if most := cmp.Or(s.MaxCompletionTokens, s.MaxTokens); most != nil {
		if out.MaxTokens = *most; *most < 1 {
			return out, &refusal{"max_tokens", "invalid_request", "max_tokens must be at least 1"}
		}
	}
	if given(s.Stop) && json.Unmarshal(s.Stop, &out.Stop) != nil {
		out.Stop = make([]string, 1)
		if json.Unmarshal(s.Stop, &out.Stop[0]) != nil {
			return out, &refusal{"stop", "invalid_request", "stop must be a text or a list of texts"}
		}
	}
	if given(s.ResponseFormat) && !isText(s.ResponseFormat) {
		out.Format = s.ResponseFormat
	}
	var wrong *model.SettingError
	if errors.As(out.Check(), &wrong) {
		return out, &refusal{wrong.Name, "invalid_request", wrong.Error()}
	}
	return out, nil
}

// isText reports whether a response_format asks for what every answer is.
func isText(raw json.RawMessage) bool {
	var format struct {
		Type string `json:"type"`
	}
	return json.Unmarshal(raw, &format) == nil && format.Type == "text"
}

func given(raw json.RawMessage) bool { return len(raw) > 0 && string(raw) != "null" }

// passed are fields that only models of OpenAI's API know, for which they are.
var passed = []string{
	"frequency_penalty", "logit_bias", "logprobs", "presence_penalty", "reasoning_effort", "top_logprobs", "verbosity",
}

// unusable are the fields that would change the answer and that no agent follows, with
// the values that change nothing. Other fields are skipped: they do not concern the answer of
// an agent, as prediction, or OpenAI's own accounts and storage, or they are not OpenAI's.
var unusable = map[string][]string{
	"functions":          {"[]"},
	"function_call":      {`"auto"`, `"none"`},
	"modalities":         {`["text"]`},
	"audio":              nil,
	"web_search_options": nil,
}

// refuseMore refuses what would be dropped otherwise.
func (c completionRequest) refuseMore() error {
	for _, name := range slices.Sorted(maps.Keys(c.More)) {
		value := c.More[name].Clone()
		if err := value.Compact(); err != nil {
			return &refusal{name, "invalid_request", fmt.Sprintf("%s is not JSON", name)}
		}
		if same, ok := unusable[name]; ok && string(value) != "null" && !slices.Contains(same, string(value)) {
			return unsupported(name, fmt.Sprintf("%s is not supported: leave it out", name))
		}
	}
	return nil
}

// extra returns the fields that models of OpenAI's API get as they are.
func (c completionRequest) extra() map[string]json.RawMessage {
	extra := map[string]json.RawMessage{}
	for _, name := range passed {
		older := c.legacy && strings.HasSuffix(name, "logprobs") // it is a number there
		if value := json.RawMessage(c.More[name]); given(value) && !older {
			extra[name] = value
		}
	}
	if len(extra) == 0 {
		return nil
	}
	return extra
}
