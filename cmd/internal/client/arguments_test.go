package client_test

import (
	"strings"
	"testing"

	"github.com/etui-run/etui/cmd/internal/client"
)

func TestArguments(t *testing.T) {
	parameters := []byte(`{"type":"object","properties":{"text":{"type":"string"},"n":{"type":"integer"},"list":{"type":"array"},"any":{}}}`)
	for _, c := range []struct{ words, want, err string }{
		{"text=12 n=3", `{"n":3,"text":"12"}`, ""},
		{"text=a=b list=[1,2]", `{"list":[1,2],"text":"a=b"}`, ""},
		{"any=true", `{"any":true}`, ""},
		{"any=words n=x", `{"any":"words","n":"x"}`, ""}, // the tool's schema refuses n
		{"text=", `{"text":""}`, ""},
		{"text", "", "write name=value"},
		{"tex=1", "", `did you mean "text"?`},
		{"n=1 n=2", "", "given twice"},
	} {
		got, err := client.Arguments(parameters, strings.Fields(c.words))
		if c.err == "" && err != nil {
			t.Errorf("%s: %v", c.words, err)
		}
		if c.err != "" && (err == nil || !strings.Contains(err.Error(), c.err)) {
			t.Errorf("%s: the error is %v, want %q", c.words, err, c.err)
		}
		if string(got) != c.want {
			t.Errorf("%s: got %s, want %s", c.words, got, c.want)
		}
	}
}
