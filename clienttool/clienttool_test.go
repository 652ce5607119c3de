package clienttool_test

import (
	"strings"
	"testing"

	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/clienttool"
)

// TestParameters: a schema is read without a type, and refused when it is none or too deep.
func TestParameters(t *testing.T) {
	for raw, want := range map[string]string{
		``: "-", `null`: "-", ` {"type":"object"} `: `{"type":"object"}`,
		`{"properties":{"type":{"type":"string"}}}`: `{"properties":{"type":{"type":"string"}},"type":"object"}`,
		`{"title":"type","a":"\\\"type\":"}`:        `{"a":"\\\"type\":","title":"type","type":"object"}`,
		`{"type" : "object"}`:                       `{"type":"object"}`,
		`{}`:                                        `{"type":"object"}`,
		`[]`:                                        "", `7`: "", `"x"`: "",
		strings.Repeat(`{"a":`, 65) + "1" + strings.Repeat("}", 65): "",
	} {
		o := clienttool.Offer{Tools: []clienttool.Tool{{Name: "a", Parameters: []byte(raw)}}}
		if err := o.Check(); (err != nil) != (want == "") {
			t.Errorf("%.60s: %v", raw, err)
		}
		d := clienttool.NewDesk(o, func(string) bool { return false })
		if got := d.Tools()[0]; want == "-" && got.Parameters != nil || want != "" && want != "-" && string(got.Schema()) != want {
			t.Errorf("%s is %s, want %s", raw, got.Schema(), want)
		}
	}
}

// TestTokens: the calls of a conversation lead to what is kept of it, and those of others do not.
func TestTokens(t *testing.T) {
	o := clienttool.Offer{Token: clienttool.NewToken()}
	said := func(ids ...string) (list []chat.Message) {
		for _, id := range ids {
			list = append(list, chat.Message{Role: chat.Assistant, Calls: []chat.Call{{ID: id}}})
		}
		return list
	}
	one, two := o.NewID(), o.NewID()
	if one == two || len(one) > 40 {
		t.Errorf("the IDs are %q and %q", one, two)
	}
	if got := clienttool.TokenOf(said(one, "toolu_1", "call_"+strings.Repeat("x", 29))); got != o.Token {
		t.Errorf("the token is %q, want %q", got, o.Token)
	}
	if got := clienttool.TokenOf(said("call_1")); got != "" {
		t.Errorf("the token is %q", got)
	}
}

// TestNames: a name is refused that people could take for another one in the audit.
func TestNames(t *testing.T) {
	for name, good := range map[string]bool{
		"read_file": true, "mcp__a.b/c:d": true, "\u8bfb\u53d6": true, "a b": false, "a\nb": false, "a\x7fb": false, "a\u009b2Jb": false,
		"a\u202eb": false, "a\u200bb": false, "a\u00a0b": false, "a\xffb": false, "": false,
	} {
		if err := (&clienttool.Offer{Tools: []clienttool.Tool{{Name: name}}}).Check(); (err == nil) != good {
			t.Errorf("%q: %v", name, err)
		}
	}
}
