package secret_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/etui-run/etui/secret"
)

func TestURLs(t *testing.T) {
	for text, want := range map[string]string{
		"no address, user:pw@host":                              "no address, user:pw@host",
		"http://127.0.0.1:1/v1?model=a":                         "http://127.0.0.1:1/v1?model=a",
		"http://user:hunter2secret@127.0.0.1:1/v1?key=SECRET":   "http://user:(hidden)@127.0.0.1:1/v1?key=(hidden)",
		"https://ghp_token@example.com/x":                       "https://(hidden)@example.com/x",
		"postgres://u:p@ss:w@h:5432/db?sslmode=off":             "postgres://u:(hidden)@h:5432/db?sslmode=off",
		`"url":"https://h/?a=1\u0026api_key=x\u0026b=2"`:        `"url":"https://h/?a=1\u0026api_key=(hidden)\u0026b=2"`,
		"GET https://h/a?X-Amz-Signature=f00&Expires=5: failed": "GET https://h/a?X-Amz-Signature=(hidden)&Expires=5: failed",
		"https://h/a?%6Bey=x&access%5Ftoken=y":                  "https://h/a?%6Bey=(hidden)&access%5Ftoken=(hidden)",
		"https://h/a?sig=x;pwd=y&code=z&n=1":                    "https://h/a?sig=(hidden);pwd=(hidden)&code=(hidden)&n=1",
		"https://h/a#access_token=x&n=1":                        "https://h/a#access_token=(hidden)&n=1",
		"https://h/a#s3cret":                                    "https://h/a#(hidden)",
		"https://matrix.to/#/!room:h":                           "https://matrix.to/#/!room:h",
		"<https://a:b@h> and wss://c:d@h/x":                     "<https://a:(hidden)@h> and wss://c:(hidden)@h/x",
		"mail https://h/@name":                                  "mail https://h/@name",
	} {
		if got := secret.URLs(text); got != want {
			t.Errorf("%s\ngot  %s\nwant %s", text, got, want)
		}
	}
}

func TestInURL(t *testing.T) {
	for text, want := range map[string]string{
		"key=x":                      "[]",
		"http://h/?q=x":              "[]",
		"http://u:pass@h/?key=k&n=1": "[k pass]",
		"https://token@h":            "[token]",
		"https://h/#access_token=t":  "[t]",
		"https://h/#part":            "[part]",
	} {
		var got []string
		for _, v := range secret.InURL(text) {
			got = append(got, string(v))
		}
		slices.Sort(got)
		if fmt.Sprint(got) != want {
			t.Errorf("%s: %q, want %s", text, got, want)
		}
	}
}
