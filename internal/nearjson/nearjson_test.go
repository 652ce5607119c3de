package nearjson_test

import (
	"encoding/json"
	"testing"

	"github.com/etui-run/etui/internal/nearjson"
)

// TestObject: mistakes with one reading are repaired; the others are not guessed.
func TestObject(t *testing.T) {
	for text, want := range map[string]string{
		`{"n": 1}`:                 `{"n": 1}`,
		``:                         `{}`,
		`None`:                     `{}`,
		`undefined`:                `{}`,
		"\ufeff{\"n\": 1}":         `{"n": 1}`,
		`{"n": 1,}`:                `{"n": 1}`,
		`{'n': None, 'b': True}`:   `{"n": null, "b": true}`,
		"```json\n{\"n\": 1}\n```": `{"n": 1}`,
		`{n: 1}}`:                  `{"n": 1}`,
		`{"a": """x "y\n" z"""}`:   `{"a": "x \"y\\n\" z"}`,
		`"{\"n\": 1}"`:             `{"n": 1}`,
		`{"n": "x`:                 "",
		`{"n": 1`:                  "",
		`{"n": 1} {"m": 2}`:        "",
		`{"n": 1, "n": 2}`:         "",
		`[{"n": 1}]`:               "",
		`n is 1`:                   "",
	} {
		if got, err := nearjson.Object([]byte(text)); string(got) != want || (err != nil) != (want == "") {
			t.Errorf("%s: got %s, %v; want %s", text, got, err, want)
		}
	}
}

// TestValid: a conversation can hold the arguments, whatever the model wrote.
func TestValid(t *testing.T) {
	for text, want := range map[string]string{
		``: `{}`, `{"n": 1,}`: `{"n": 1}`, `[]`: `[]`, `{"n": "x`: `"{\"n\": \"x"`,
	} {
		if got := nearjson.Valid(t.Context(), json.RawMessage(text)); string(got) != want {
			t.Errorf("%s: got %s, want %s", text, got, want)
		}
	}
}
