package openai

import (
	"bytes"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/etui-run/etui/model"
)

// FuzzRead reads what servers may send: it must end, and say the same however
// the bytes arrive.
func FuzzRead(f *testing.F) {
	for _, seed := range []string{
		"", "data: [DONE]\n\n", ": comment\n\n", `{"choices":[{"message":{"content":"a"}}]}`, "event: error\ndata: {}\n\n",
		"data: {\"choices\":[{\"delta\":{\"content\":\"a\",\"tool_calls\":[{\"index\":3,\"function\":{\"arguments\":\"{\"}}]},\"finish_reason\":\"length\"}]}\r\n\r\n",
		"data: {\"choices\":[{\"delta\":{\"content\":[{\"type\":\"text\",\"text\":\"b\"}],\"tool_calls\":[{\"function\":{\"name\":\"t\",\"arguments\":null}}]}}]}\ndata: [DONE]",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		whole, calls, failed := read(bytes.NewReader(body))
		pieces, sameCalls, alsoFailed := read(iotest.OneByteReader(bytes.NewReader(body)))
		if whole != pieces || calls != sameCalls || failed != alsoFailed {
			t.Errorf("%q, %d calls, %t; byte by byte %q, %d calls, %t", whole, calls, failed, pieces, sameCalls, alsoFailed)
		}
	})
}

func read(body io.Reader) (said string, calls int, failed bool) {
	a := newAnswer(model.Request{})
	var b strings.Builder
	for text, err := range a.read(body) {
		if err != nil {
			return b.String(), 0, true
		}
		b.WriteString(text)
	}
	return b.String(), len(a.wholeCalls()), false
}
