package mcp_test

import (
	"context"
	"net/http"
	"os"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/etui-run/etui/skill"
	"github.com/etui-run/etui/skill/mcp"
)

// wrong turns right answers of a server into wrong ones.
var wrong = strings.NewReplacer(
	`"description":"WRONG"`, `"description":5`,
	`{"type":"text","text":"VIDEO"}`, `{"type":"video","data":"AAAA"}`,
	`{"type":"text","text":"PICTURE"}`, `{"type":"image","mimeType":"image/png","data":"no base64!"}`,
	`"content":[{"type":"text","text":"ODD"}]`, `"content":{"odd":true}`,
	`"content":[{"type":"text","text":"NONE"}]`, `"isError":"yes"`,
)

func wrongServer() *sdk.Server {
	s := newServer()
	add(s, "good", "Says a word.", func(args string) (*sdk.CallToolResult, error) {
		r := text(strings.Trim(strings.TrimPrefix(args, `{"a":`), `"}`))
		if strings.Contains(args, "and") {
			r.Content = append(text("read this").Content, text("VIDEO").Content...)
		}
		return r, nil
	})
	add(s, "bad", "WRONG", echo)
	return s
}

// wrongWriter writes wrong answers to a client, or to standard output.
type wrongWriter struct{ http.ResponseWriter }

func (w wrongWriter) Write(p []byte) (int, error) {
	if w.ResponseWriter == nil {
		_, err := os.Stdout.WriteString(wrong.Replace(string(p)))
		return len(p), err
	}
	_, err := w.ResponseWriter.Write([]byte(wrong.Replace(string(p))))
	return len(p), err
}

func (wrongWriter) Close() error { return nil }

func (w wrongWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

func (w wrongWriter) Flush() { _ = http.NewResponseController(w.ResponseWriter).Flush() }

// A wrong value in one definition costs that tool alone, and one in a result is told in
// words: neither takes the server away.
func TestWrongAnswers(t *testing.T) {
	t.Parallel()
	handler := func(o *sdk.StreamableHTTPOptions) http.Handler {
		s := wrongServer()
		inner := sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return s }, o)
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { inner.ServeHTTP(wrongWriter{w}, r) })
	}
	for name, file := range map[string]skill.Config{
		"program": {Command: []string{os.Args[0]}, Env: map[string]skill.Secret{"ETUI_TEST": "wrong"}},
		"events":  {Endpoint: listen(t, handler(nil)).URL},
		"JSON":    {Endpoint: listen(t, handler(&sdk.StreamableHTTPOptions{JSONResponse: true})).URL},
	} {
		t.Run(name, func(t *testing.T) {
			r := start(t, mcp.Config{}, file)
			r.untilTools("mcp__srv__bad", "mcp__srv__good")
			if got, want := strings.Join(r.Status().Repaired, "; "), "bad: parts that cannot be read were left out: description"; got != want {
				t.Errorf("repaired: %q, want %q", got, want)
			}
			for say, want := range map[string]string{
				"VIDEO":   `a part of the type "video" was left out`,
				"and":     "read this\n(a part of the type \"video\" was left out",
				"PICTURE": `a part of the type "image" was left out`,
				"ODD":     `{"odd":true}`,
				"NONE":    "the server reported an error without saying which",
			} {
				got, err := r.call("mcp__srv__good", `{"a":"`+say+`"}`)
				said := got.Text
				if err != nil {
					said = err.Error()
				}
				if !strings.Contains(said, want) {
					t.Errorf("%s: %q, want %q", say, said, want)
				}
			}
			if got, err := r.call("mcp__srv__good", `{"a":"fine"}`); err != nil || got.Text != "fine" {
				t.Errorf("after the wrong results: %q, %v", got.Text, err)
			}
		})
	}
}

func runWrong() error {
	return wrongServer().Run(context.Background(), &sdk.IOTransport{Reader: os.Stdin, Writer: wrongWriter{}})
}
