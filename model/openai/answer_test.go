package openai_test

import (
	"bytes"
	"io"
	"net/http"
	"testing"
	"testing/iotest"

	"github.com/etui-run/etui/model"
	"github.com/etui-run/etui/model/openai"
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
		whole, calls, failed := read(t, bytes.NewReader(body))
		pieces, sameCalls, alsoFailed := read(t, iotest.OneByteReader(bytes.NewReader(body)))
		if whole != pieces || calls != sameCalls || failed != alsoFailed {
			t.Errorf("%q, %d calls, %t; byte by byte %q, %d calls, %t", whole, calls, failed, pieces, sameCalls, alsoFailed)
		}
	})
}

// read asks a server that answers with body.
func read(t *testing.T, body io.Reader) (text string, calls int, failed bool) {
	t.Helper()
	m, err := openai.New(openai.Config{Model: "test", Retries: -1, Transport: tripFunc(func(*http.Request) (*http.Response, error) {
		return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: io.NopCloser(body)}, nil
	})})
	if err != nil {
		t.Fatal(err)
	}
	said, _, _, err := model.Answer(m.Stream(t.Context(), model.Request{}))
	return said.Text, len(said.Calls), err != nil
}
