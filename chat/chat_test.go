package chat_test

import (
	"strings"
	"testing"

	"github.com/etui-run/etui/chat"
)

func TestTokens(t *testing.T) {
	for text, want := range map[string]int{"": 0, "a": 1, "four": 1, "fives": 2, "你好": 2, "你好 world": 4, "查询 Pod": 3, "é": 1, "\xff\xfe": 1, "こんにちは": 5, "안녕": 2, strings.Repeat("word ", 100): 125} {
		if got := chat.Tokens(text); got != want {
			t.Errorf("%q: %d, want %d", text, got, want)
		}
		if got := chat.Tokens([]byte(text)); got != want {
			t.Errorf("%q as bytes: %d, want %d", text, got, want)
		}
	}
}

func TestHasRole(t *testing.T) {
	f := chat.Facts{Roles: []string{"user", "admin"}}
	if !f.HasRole("admin") || f.HasRole("Admin") || (chat.Facts{}).HasRole("") {
		t.Error("roles are compared exactly")
	}
}

func TestChinese(t *testing.T) {
	for text, want := range map[string]bool{"我还剩几天年假？": true, "what is 年假?": true, "what is it?": false, "今日は天気がいい": false, "": false} {
		if got := chat.Chinese(text); got != want {
			t.Errorf("%q: %t", text, got)
		}
	}
}
