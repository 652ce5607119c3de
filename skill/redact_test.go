package skill_test

import (
	"encoding/base64"
	"encoding/json"
	"testing"

	"github.com/etui-run/etui/skill"
)

func TestRedactor(t *testing.T) {
	config := skill.Config{
		Headers: map[string]skill.Secret{
			"Authorization": "Bearer s3cr3t/+=\"", "X-Tenant": "production", "X-From": "from-environment", "Cookie": "short",
			"Proxy-Authorization": skill.Secret("Basic " + base64.StdEncoding.EncodeToString([]byte("user:pass-word"))),
		},
		Env:      map[string]skill.Secret{"API_KEY": "1234567"},
		Expanded: []skill.Secret{"from-environment", ""},
	}
	r := config.Redactor()
	for text, want := range map[string]string{
		`got Bearer s3cr3t/+="`:             "got (hidden)",
		`got s3cr3t/+=" of production`:      "got (hidden) of production",
		"from-environment, short":           "(hidden), short",
		"?key=s3cr3t%2F%2B%3D%22&pass-word": "?key=(hidden)&(hidden)",
	} {
		if got := r.Text(text); got != want {
			t.Errorf("%s: got %s, want %s", text, got, want)
		}
	}
	for raw, want := range map[string]string{
		`{"b": 1.50, "a":"x\ny"}`:    `{"b": 1.50, "a":"x\ny"}`,
		`["s3cr3t\/+=\u0022", "\\"]`: `["(hidden)", "\\"]`,
		`{"from-environment":"\u0066rom-environment", "a": 1, "a":"\u0066rom-environment"}`: `{"(hidden)":"(hidden)", "a": 1, "a":"(hidden)"}`,
		`{"n":-1234567.5e3,"m":123}`: `{"n":"(hidden)","m":123}`,
		`"production"`:               `"production"`,
	} {
		got := string(r.JSON(json.RawMessage(raw)))
		if got != want {
			t.Errorf("%s: got %s, want %s", raw, got, want)
		}
	}
	if got := (skill.Redactor{}).Text("all"); got != "all" {
		t.Error(got)
	}
}
