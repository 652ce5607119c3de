package secret_test

import (
	"testing"

	"github.com/etui-run/etui/secret"
)

// TestOrdinary: placeholders and common words are no secrets, and what may be a password is one.
func TestOrdinary(t *testing.T) {
	for _, v := range []secret.Value{
		"", "x", "none", "EMPTY", "test", "ollama", "Ollama", "lm-studio", "lmstudio", "LM Studio", "sk-xxx", "sk-xxxxxxxxxxxxxxxxxxxxxxxx", "sk-...", "xxxxxxxx", "********",
		"your-api-key", "YOUR_API_KEY", "<your api key>", "yourApiKey", "YOUR_API_KEY_HERE", "${API_KEY}", "{{TOKEN}}", "[token]", "api_key", "apikey",
		"not-needed", "no-key-required", "sk-no-key-required", "changeme", "change-me", "placeholder", "dummy-key", "dummy", "fake", "anything", "whatever",
		"123456", "1234567890", "12345678901234567890", "000000", "sk-1234", "sk-0000000000000000", "token-abc123", "test123", "test-key-1", "abcdef", "password", "secret", "localhost",
		"vllm", "llama.cpp", "koboldcpp", "litellm", "sglang", "mistral", "openrouter", "gpt4all", "Bearer ollama", "sk-litellm", "my-ollama-key",
		"https://api.example.com/v1", "http://127.0.0.1:8080", "http://localhost:11434/api/chat",
	} {
		if !v.Ordinary() {
			t.Errorf("%q is taken for a secret", string(v))
		}
	}
	for _, v := range []secret.Value{
		"hunter2", "tr0ub4dor", "s3cret", "Summer2026", "correct horse battery", "horse-battery", "sk-proj-0aZ_9-xY8wQ2", "483920", "1234567a", "7654321", "qwmzkxvprtlb", "kxqzvw",
		"päßwörter", "пароль", "ghp_wQz7Rk2LmVx9", "aBcDeFgHiJkL", "AKIAIOSFODNN7EXAMPLE", "0123abcd9f", "Bearer hunter2", "sunny-otter-lamp", "my-k3y", "ZmFrZQ==", "12-93-77",
		"https://user:hunter2@example.com", "https://hooks.example.com/T0B1/xYz", "https://example.com/?key=abc", "https://example.com/abcdefghijklmn",
	} {
		if v.Ordinary() {
			t.Errorf("%q is not taken for a secret", string(v))
		}
	}
}

// TestKnownIgnoresOrdinary: words stay in texts unless they were marked, also those in a header.
func TestKnownIgnoresOrdinary(t *testing.T) {
	var k secret.Set
	if err := k.Set("etui.yaml", "ollama", "Bearer ollama", "Basic b2xsYW1hOm9sbGFtYQ==", "Bearer tr0ub4dor&3"); err != nil {
		t.Fatal(err)
	}
	if got := k.Redactor().Text("install ollama, not tr0ub4dor&3"); got != "install ollama, not (hidden)" {
		t.Errorf("got %q", got)
	}
	if err := k.Mark("marked", "sunshine"); err != nil {
		t.Fatal(err)
	}
	if got := k.Redactor().Text("here comes sunshine"); got != "here comes (hidden)" {
		t.Errorf("got %q", got)
	}
}
