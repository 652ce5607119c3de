package endpoint_test

import (
	"strings"
	"testing"
	"unicode/utf8"
)

// FuzzProse: no text of a model, in whatever pieces, breaks the reading of it, and a text without marks
// arrives whole.
func FuzzProse(f *testing.F) {
	for _, s := range []string{
		"a|b", "<think>a|b</think>c", "Okay, |</think>x", "<tool_call>|{\"name\":\"time\",\"arguments\":{}}", "[time(|x=1)]", "```tool_code|\ntime()", "<|channel|>|final<|message|>a",
		"x\n<think>|a", "{{|\"name\":1}}", "[TOOL_CALLS]|time[ARGS]{}", "Action: |```json\n[]", "Here is my| thought process:", "analysis|we", "a <|im_end|>|", "functools[|{}]",
		"<function=time><parameter=|zone>a", "<tool_call>time<arg_key>|zone</arg_key><arg_value>a", "a.<think>b|</think>`</think>`|```", "<tool_call>print(|", "\"\"\"|",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if !utf8.ValidString(s) || len(s) > 2000 {
			return
		}
		whole := strings.ReplaceAll(s, "|", "")
		got, calls := says(t, newEndpoint(t), strings.Split(s, "|")...)
		if !strings.ContainsAny(whole, "<[{(`◁:") && !strings.Contains(whole, "analysis") && len(calls) == 0 && got != strings.TrimLeft(whole, " \t\r\n") && strings.TrimSpace(whole) != "" {
			t.Errorf("%q arrives as %q", s, got)
		}
	})
}
