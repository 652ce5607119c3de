package form_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/etui-run/etui/skill/mcp/internal/form"
)

func params(t *testing.T, text string) *sdk.ElicitParams {
	t.Helper()
	var p sdk.ElicitParams
	if err := json.Unmarshal([]byte(text), &p); err != nil {
		t.Fatal(err)
	}
	return &p
}

// TestForm: each value is asked for by itself, and answers become values of the schema.
func TestForm(t *testing.T) {
	for name, c := range map[string]struct {
		asks    string
		asked   []string // parts of the questions, with their choices
		answers []string
		want    string
	}{
		"no values": {`{"message":"Go on?","requestedSchema":{"type":"object","properties":{}}}`, []string{"The MCP server srv asks: Go on?|yes,decline"}, []string{"yes"}, `{"action":"accept"}`},
		"kinds": {
			`{"message":"Which trip?","requestedSchema":{"type":"object","required":["to","days"],"properties":{"to":{"type":"string","title":"Where to"},"days":{"type":"integer"},"window":{"type":"boolean","description":"A seat at the window"}}}}`,
			[]string{"Where to\nWrite your answer, or \"decline\".|", "days\nWrite a whole number, or \"decline\".|", "3.5\" is no answer", "A seat at the window|yes,no,skip,decline"},
			[]string{"Oslo", "3.5", "3", "no"}, `{"action":"accept","content":{"days":3,"to":"Oslo","window":false}}`,
		},
		"choices": {
			`{"message":"Which?","requestedSchema":{"type":"object","required":["size"],"properties":{"size":{"type":"string","oneOf":[{"const":"s","title":"Small"},{"const":"l","title":"Large"}]},"with":{"type":"array","items":{"type":"string","enum":["milk","sugar"]}}}}}`,
			[]string{"size|Small,Large,decline", "several are possible"}, []string{"large", "milk, sugar"}, `{"action":"accept","content":{"size":"l","with":["milk","sugar"]}}`,
		},
		"skipped": {`{"message":"Note?","requestedSchema":{"type":"object","properties":{"note":{"type":"string"}}}}`, []string{"note\nWrite your answer, or \"decline\". \"skip\" leaves it out.|"}, []string{"skip"}, `{"action":"accept"}`},
		"bounds": {
			`{"message":"A table?","requestedSchema":{"type":"object","required":["people","day"],"properties":{"people":{"type":"integer","minimum":1,"maximum":10},"day":{"type":"string","format":"date"}}}}`,
			[]string{"Write a whole number from 1 to 10, or", "12\" is no answer", "Write a date such as 2026-12-24, or", "24.12.2026\" is no answer"},
			[]string{"12", "1", "24.12.2026", "2026-12-24"}, `{"action":"accept","content":{"day":"2026-12-24","people":1}}`,
		},
		"declined": {`{"message":"Note?","requestedSchema":{"type":"object","properties":{"note":{"type":"string"}}}}`, []string{""}, []string{"Decline"}, `{"action":"decline"}`},
		"wrong":    {`{"message":"Age?","requestedSchema":{"type":"object","required":["age"],"properties":{"age":{"type":"integer"}}}}`, []string{"", "", ""}, []string{"a", "b", "c"}, `{"action":"cancel"}`},
		"Chinese":  {`{"message":"继续吗？","requestedSchema":{"type":"object"}}`, []string{"MCP 服务器 srv 询问：继续吗？|是,拒绝"}, []string{"是"}, `{"action":"accept"}`},
		"link":     {`{"mode":"url","message":"Sign in","elicitationId":"1","url":"https://example.com/in?x=1"}`, []string{"page at example.com: https://example.com/in?x=1"}, []string{"I have opened it"}, `{"action":"accept"}`},
	} {
		f, err := form.New("srv", params(t, c.asks))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		for i, answer := range c.answers {
			if f.Result() != nil {
				t.Fatalf("%s: it ended before question %d", name, i+1)
			}
			text, choices := f.Question()
			if asked := text + "|" + strings.Join(choices, ","); !strings.Contains(asked, c.asked[i]) {
				t.Errorf("%s: question %q, want %q", name, asked, c.asked[i])
			}
			f.Take(answer, true)
		}
		if got, _ := json.Marshal(f.Result()); string(got) != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
	f, _ := form.New("srv", params(t, `{"message":"Go on?"}`))
	if f.Take("", false); f.Result().Action != "cancel" {
		t.Errorf("no answer is %s", f.Result().Action)
	}
}

// TestSecrets: nobody is asked for a secret, whatever it is called, nor to open what is no page.
func TestSecrets(t *testing.T) {
	for _, asks := range []string{
		`{"message":"Log in","requestedSchema":{"type":"object","properties":{"password":{"type":"string"}}}}`,
		`{"message":"Log in","requestedSchema":{"type":"object","properties":{"x":{"type":"string","title":"API key"}}}}`,
		`{"message":"Log in","requestedSchema":{"type":"object","properties":{"apiKey":{"type":"string"}}}}`,
		`{"message":"Log in","requestedSchema":{"type":"object","properties":{"github_token":{"type":"string"}}}}`,
		`{"message":"Your one-time password, please","requestedSchema":{"type":"object","properties":{"x":{"type":"string"}}}}`,
		`{"message":"请输入密码","requestedSchema":{"type":"object","properties":{"x":{"type":"string"}}}}`,
		`{"message":"Pay","requestedSchema":{"type":"object","properties":{"x":{"type":"string","description":"the card number"}}}}`,
		`{"message":"Go on","requestedSchema":{"type":"object","properties":{"recovery_code":{"type":"string"}}}}`,
		`{"message":"Go on","requestedSchema":{"type":"object","properties":{"x":{"type":"string","title":"Passwort"}}}}`,
		`{"message":"Go on","requestedSchema":{"type":"object","properties":{"password1":{"type":"string"}}}}`,
		`{"message":"Write your api_key","requestedSchema":{"type":"object","properties":{"x":{"type":"string"}}}}`,
	} {
		if _, err := form.New("srv", params(t, asks)); !errors.Is(err, form.ErrSecret) {
			t.Errorf("%s: %v", asks, err)
		}
	}
	for _, asks := range []string{
		`{"mode":"url","message":"x","url":"javascript:alert(1)"}`,
		`{"mode":"url","message":"x","url":"file:///etc/passwd"}`,
		`{"mode":"url","message":"x","url":"https://bank.example@evil.example/"}`,
		`{"message":"x","requestedSchema":{"type":"object","properties":{"a":{},"b":{},"c":{},"d":{},"e":{},"f":{},"g":{},"h":{},"i":{}}}}`,
	} {
		if _, err := form.New("srv", params(t, asks)); err == nil {
			t.Errorf("%s is asked", asks)
		}
	}
	if _, err := form.New("srv", params(t, `{"message":"Which keyboard?","requestedSchema":{"type":"object","properties":{"keys":{"type":"integer"},"pinned":{"type":"boolean"}}}}`)); err != nil {
		t.Error(err)
	}
}
