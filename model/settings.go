package model

import (
	"encoding/json"
	"fmt"
	"strings"
)

// Settings say how an answer is to be. The zero value leaves everything to the model. A
// model that cannot follow one refuses the request with [ErrUnsupported].
type Settings struct {
	// MaxTokens bounds the answer; 0 leaves it to the model.
	MaxTokens int `json:"max_tokens,omitempty"`
	// Temperature, from 0 to 2, and TopP, from 0 to 1, say how varied the answer is.
	Temperature *float64 `json:"temperature,omitempty"`
	TopP        *float64 `json:"top_p,omitempty"`
	// Stop are at most sixteen texts that end the answer and are not part of it.
	Stop []string `json:"stop,omitempty"`
	// Seed makes the answer repeatable, as far as the provider can.
	Seed *int64 `json:"seed,omitempty"`
	// Format is OpenAI's response_format, as in {"type":"json_object"}; nil means text.
	Format json.RawMessage `json:"response_format,omitempty"`
	// Thinking is the field of Anthropic's API; nil means none. Models of other APIs ignore it.
	Thinking json.RawMessage `json:"thinking,omitempty"`
	// Extra are further fields of OpenAI's API. Models of other APIs ignore them.
	Extra map[string]json.RawMessage `json:"extra,omitempty"`
}

const maxFormat, maxExtra = 64 << 10, 64 << 10

// SettingError is a setting that no model follows, or that one model does not know.
type SettingError struct {
	// Name is the setting as in JSON: "top_p".
	Name string
	// Says is what is wrong with it.
	Says string
}

func (e *SettingError) Error() string { return e.Name + " " + e.Says }

// Check reports the first setting that no model follows, as a [*SettingError].
func (s Settings) Check() error {
	var format struct {
		Type string `json:"type"`
	}
	switch {
	case s.MaxTokens < 0:
		return &SettingError{"max_tokens", "must be at least 1"}
	case s.Temperature != nil && (*s.Temperature < 0 || *s.Temperature > 2):
		return &SettingError{"temperature", "must be from 0 to 2"}
	case s.TopP != nil && (*s.TopP < 0 || *s.TopP > 1):
		return &SettingError{"top_p", "must be from 0 to 1"}
	case len(s.Stop) > 16:
		return &SettingError{"stop", "may have at most 16 texts"}
	case len(s.Format) > maxFormat:
		return &SettingError{"response_format", fmt.Sprintf("may have at most %d bytes", maxFormat)}
	case s.Format != nil && (json.Unmarshal(s.Format, &format) != nil ||
		format.Type != "text" && format.Type != "json_object" && format.Type != "json_schema"):
		return &SettingError{"response_format", "must have the type text, json_object or json_schema"}
	}
	size := 0
	for name, value := range s.Extra {
		if size += len(value); size > maxExtra {
			return &SettingError{name, fmt.Sprintf("and others have more than %d bytes", maxExtra)}
		}
	}
	for _, stop := range s.Stop {
		if strings.TrimSpace(stop) == "" {
			return &SettingError{"stop", "must not be empty"}
		}
	}
	return nil
}

// Refuse returns the error of a model that does not know a setting.
func Refuse(model, setting string) error {
	return &Error{Model: model, Kind: fmt.Errorf("%w: %w", ErrUnsupported,
		&SettingError{setting, "is not supported by this model"})}
}
