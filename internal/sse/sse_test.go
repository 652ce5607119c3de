package sse_test

import (
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/etui-run/etui/internal/sse"
)

func TestEvents(t *testing.T) {
	for body, want := range map[string]string{
		"": "",
		"event: a\ndata: {\"x\":1}\n\n: a comment\n\ndata: {}\n\n": `a={"x":1} ={} `,
		"event: a\r\ndata: {}\r\n\r\n":                             `a={} `,
		"id: 7\nretry: 10\nevent: a\ndata:{}\n\n":                  `a={} `,
		"event: empty\n\ndata: x\n\n":                              "empty=x ",
		"data: {\ndata: \"x\":1}\n\n":                              "={\n\"x\":1} ",
		"data: {\"n\":1}\ndata: {\"n\":2}\n":                       `={"n":1} ={"n":2} `,
		"data: cut off":                                            "=cut off ",
		"data: [\ndata: 1]\ndata: 2\n\ndata: 3\n\n":                "=[\n1]\n2 =3 ",
		" \n{\"error\":\n{}}":                                      "={\"error\":\n{}} ",
	} {
		var got strings.Builder
		for e, err := range sse.Events(strings.NewReader(body)) {
			if err != nil {
				t.Errorf("%q: %v", body, err)
			}
			fmt.Fprintf(&got, "%s=%s ", e.Name, e.Data)
		}
		if got.String() != want {
			t.Errorf("%q: got %q, want %q", body, got.String(), want)
		}
	}
}

// endless repeats a text, or its beginning, without end.
type endless string

func (e endless) Read(p []byte) (int, error) { return copy(p, e), nil }

// TestTooLarge: neither a line, an event of many lines nor a whole body grows without end.
func TestTooLarge(t *testing.T) {
	for name, body := range map[string]io.Reader{
		"line":  io.MultiReader(strings.NewReader("data: "), endless(strings.Repeat("x", 4096))),
		"event": endless("data: " + strings.Repeat("x", 4000) + "\n"),
		"body":  io.MultiReader(strings.NewReader("{"), endless(strings.Repeat(" ", 4096))),
	} {
		n := 0
		var last error
		for _, last = range sse.Events(body) {
			n++
		}
		if want := "the server sent an event of more than 16 MB"; n != 1 || last == nil || last.Error() != want {
			t.Errorf("%s: %d events, the last error is %v, want %s", name, n, last, want)
		}
	}
}

// TestDrain: the end of a body is read, and one that does not come is not waited for.
func TestDrain(t *testing.T) {
	ended := strings.NewReader("\n")
	sse.Drain(ended, func() { t.Error("it was cancelled") })
	if ended.Len() != 0 {
		t.Errorf("%d bytes are left", ended.Len())
	}
	r, w := io.Pipe()
	defer w.Close()
	sse.Drain(r, func() { _ = r.CloseWithError(io.ErrClosedPipe) })
}
