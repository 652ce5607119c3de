package skill_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/etui-run/etui/skill"
)

func TestRedactor(t *testing.T) {
	home := t.TempDir() // as ${HOME}
	config := skill.Config{
		Headers: map[string]skill.Secret{
			"Authorization": "Bearer s3cr3t/+=\"", "X-Tenant": "production", "X-From": "from-environment", "Cookie": "short",
			"Proxy-Authorization": skill.Secret("Basic " + base64.StdEncoding.EncodeToString([]byte("user:pass-word"))),
		},
		Env:      map[string]skill.Secret{"API_KEY": "4827193"},
		Expanded: []skill.Secret{"from-environment", "", skill.Secret(home), "https://api.example.com/v1"},
	}
	r := config.Redactor()
	for text, want := range map[string]string{
		`got Bearer s3cr3t/+="`:             "got (hidden)",
		home + "/chart.png goes to you":     home + "/chart.png goes to you",
		"see https://api.example.com/v1":    "see https://api.example.com/v1",
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
		`{"n":-4827193.5e3,"m":123}`: `{"n":"(hidden)","m":123}`,
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

// TestExpanded: what a file takes from the environment is hidden, whatever the
// header's name.
func TestExpanded(t *testing.T) {
	lookup := func(string) (string, bool) { return "from-environment", true }
	c, err := skill.ParseYAML("a.yaml", []byte(`{name: a, description: b, provider: http, endpoint: "http://a.test", headers: {X-From: "by ${WHO}", X-Tenant: production}}`), skill.Variables{Lookup: lookup})
	if err != nil {
		t.Fatal(err)
	}
	r := c.Redactor()
	if got := r.Text("production from-environment"); got != "production (hidden)" {
		t.Error(got)
	}
}

// FuzzAnswer: the result of any answer is JSON without a secret.
func FuzzAnswer(f *testing.F) {
	config := skill.Config{Expanded: []skill.Secret{`s3cr/"t`, "-12345.6"}}
	for _, seed := range []string{`{"a":"s3cr\/\u0022t"}`, `"s3cr/\"t"`, `[-12345.67,"\\"]`, "[[", `"\ud800"`, "nul"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		result, err := skill.Answer(raw, config.Redactor())
		if err != nil {
			return
		}
		text, err := json.Marshal(result)
		var decoded any
		d := json.NewDecoder(bytes.NewReader(text))
		d.UseNumber()
		if err != nil || d.Decode(&decoded) != nil {
			t.Fatalf("%q became %v, %v", raw, result, err)
		}
		if s := fmt.Sprintf("%q", decoded); strings.Contains(s, `s3cr/\"t`) {
			t.Errorf("%q became %s", raw, s)
		}
	})
}
