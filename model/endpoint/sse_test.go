package endpoint_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"strings"
	"testing"
	"testing/iotest"
	"testing/synctest"

	"github.com/etui-run/etui/model"
	"github.com/etui-run/etui/model/endpoint"
)

// stream reads a body as the answer to a request. The body breaks off when the request ends.
func stream(t *testing.T, body io.Reader, read endpoint.ReadFunc) iter.Seq2[model.Event, error] {
	t.Helper()
	api, err := endpoint.New(endpoint.Config{Adapter: "test", Model: "m", BaseURL: "http://127.0.0.1", Retries: -1})
	if err != nil {
		t.Fatal(err)
	}
	ask := func(ctx context.Context, _ model.Request, _ endpoint.Declarations) (io.ReadCloser, error) {
		if pipe, ok := body.(*io.PipeReader); ok {
			context.AfterFunc(ctx, func() { _ = pipe.CloseWithError(context.Cause(ctx)) })
		}
		return io.NopCloser(body), nil
	}
	return api.Stream(t.Context(), model.Request{}, ask, read)
}

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
		read := func(a *endpoint.Answer, e endpoint.Event) (string, error) {
			a.Begun, a.Complete = true, true
			fmt.Fprintf(&got, "%s=%s ", e.Name, e.Data)
			return "", nil
		}
		_, _, _, err := model.Answer(stream(t, strings.NewReader(body), read))
		if got.String() != want || (err != nil) != (body == "") {
			t.Errorf("%q: got %q and %v, want %q", body, got.String(), err, want)
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
		read := func(*endpoint.Answer, endpoint.Event) (string, error) {
			t.Errorf("%s: an event was read", name)
			return "", nil
		}
		_, _, _, err := model.Answer(stream(t, body, read))
		want := "model test/m: the provider is not available: the server sent an event of more than 16 MB"
		if err == nil || err.Error() != want {
			t.Errorf("%s: the error is %v, want %s", name, err, want)
		}
	}
}

// end ends an answer with its first event.
func end(*endpoint.Answer, endpoint.Event) (string, error) { return "", io.EOF }

// TestDrain: the end of a body is read, so that its connection can be used again.
func TestDrain(t *testing.T) {
	body := strings.NewReader("data: x\n\n: the end\n")
	_, _, stop, err := model.Answer(stream(t, iotest.OneByteReader(body), end))
	if stop != model.Done || err != nil || body.Len() != 0 {
		t.Errorf("got %s and %v, and %d bytes are left", stop, err, body.Len())
	}
}

// TestDrainNoEnd: an answer does not wait for the end of a body that does not come.
func TestDrainNoEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, w := io.Pipe()
		go func() { _, _ = io.WriteString(w, "data: x\n\n") }()
		if _, _, stop, err := model.Answer(stream(t, r, end)); stop != model.Done || err != nil {
			t.Errorf("got %s and %v", stop, err)
		}
	})
}

// broken fails after a text.
type broken struct {
	io.Reader
	err error
}

func (b broken) Read(p []byte) (int, error) {
	n, err := b.Reader.Read(p)
	if err != nil {
		err = b.err
	}
	return n, err
}

// TestBreaksOff: an answer that breaks off before its text is asked for again, as often as configured.
func TestBreaksOff(t *testing.T) {
	reset := errors.New("connection reset by peer")
	answer := "data: {\"t\":\"yes\"}\n\ndata: {\"end\":true}\n\n"
	for _, c := range []struct {
		name    string
		bodies  []io.Reader
		retries int
		asked   int
		want    string // the text, or a part of the error
	}{
		{"at once", []io.Reader{broken{strings.NewReader(""), reset}, strings.NewReader(answer)}, 2, 2, "yes"},
		{"in a thought", []io.Reader{broken{strings.NewReader("data: {\"t\":\"<think>no\"}\n\n"), io.ErrUnexpectedEOF}, strings.NewReader(answer)}, 2, 2, "yes"},
		{"empty, twice", []io.Reader{strings.NewReader(""), strings.NewReader(""), strings.NewReader(answer)}, 2, 3, "yes"},
		{"too often", []io.Reader{strings.NewReader(""), strings.NewReader("")}, 1, 2, "empty answer"},
		{"never", []io.Reader{strings.NewReader("")}, -1, 1, "empty answer"},
		{"overloaded", []io.Reader{strings.NewReader("data: {\"fail\":503}\n\n"), strings.NewReader(answer)}, 2, 2, "yes"},
		{"refused", []io.Reader{strings.NewReader("data: {\"fail\":400}\n\n")}, 2, 1, "refused the request"},
		{"after text", []io.Reader{broken{strings.NewReader("data: {\"t\":\"ye\"}\n\n"), reset}}, 2, 1, "connection reset"},
		{"a web page", []io.Reader{strings.NewReader("<html><title>Sign in</title>")}, 2, 1, "Sign in"},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				api, err := endpoint.New(endpoint.Config{Adapter: "test", Model: "m", BaseURL: "http://127.0.0.1", Retries: c.retries})
				if err != nil {
					t.Fatal(err)
				}
				asked := 0
				ask := func(context.Context, model.Request, endpoint.Declarations) (io.ReadCloser, error) {
					asked++
					return io.NopCloser(c.bodies[asked-1]), nil
				}
				read := func(a *endpoint.Answer, e endpoint.Event) (string, error) {
					var said struct {
						T    string
						End  bool
						Fail int
					}
					if err := json.Unmarshal(e.Data, &said); err != nil {
						return "", err
					}
					if said.Fail != 0 {
						return "", &model.Error{Status: said.Fail, Kind: endpoint.KindOf(said.Fail)}
					}
					a.Begun, a.Complete = true, said.End
					return said.T, nil
				}
				got, _, _, err := model.Answer(api.Stream(t.Context(), model.Request{}, ask, read))
				if err != nil {
					got.Text = err.Error()
				}
				if asked != c.asked || !strings.Contains(got.Text, c.want) {
					t.Errorf("asked %d times, %q", asked, got.Text)
				}
			})
		})
	}
}
