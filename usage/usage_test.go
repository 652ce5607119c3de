package usage_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/etui-run/etui/usage"
)

func FuzzClean(f *testing.F) {
	for _, text := range []string{"a@b.c 1-2-3", "\xff token=\x00", "密码：１２３４ x://y", strings.Repeat("9a", 900)} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got := usage.Clean(text)
		if len(got) > 500 || !utf8.ValidString(got) {
			t.Errorf("Clean(%q) = %q", text, got)
		}
	})
}

func TestClean(t *testing.T) {
	for text, want := range map[string]string{
		"write to Alice.B+x@example.com about it":              "write to about it",
		"发给alice@example.com吧":                                 "发给 吧",
		"open https://shop.example/a?token=x#y and www.x.io/1": "open and",
		"call +49 170 123-4567 or 030/99":                      "call or",
		"pay 1.250,50 to DE89 3704 0044 0532 0130 00":          "pay to DE",
		"use sk-proj-a1B2c3D4e5F6 please":                      "use please",
		"my password is hunter2, log in":                       "my password is log in",
		"密码：abc123 登录":                                         "密码： 登录",
		"reset my password":                                    "reset my password",
		"  two\n lines\t5 ":                                    "two lines 5",
		"run list_deployments_in_namespace":                    "run list_deployments_in_namespace",
		"\xff\xfe":                                             "",
	} {
		if got := usage.Clean(text); got != want {
			t.Errorf("Clean(%q) = %q, want %q", text, got, want)
		}
	}
	if got := usage.Clean(strings.Repeat("语言", 4000)); len(got) > 500 || !utf8.ValidString(got) {
		t.Errorf("%d bytes, valid: %v", len(got), utf8.ValidString(got))
	}
}
