package wire_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/etui-run/etui/skill/mcp/internal/wire"
)

// server is a program that answers with results, by method. Writes says how it writes an answer;
// nil is as the protocol says.
type server struct {
	results map[string]string
	writes  func(answer string) string
	before  string // that it writes first
}

const (
	hello = `{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}`
	tools = `{"tools":[{"name":"say","description":"Says.","inputSchema":{"type":"object"}}]}`
	said  = `{"content":[{"type":"text","text":"hi"}]}`
)

// connect connects a client to a server.
func connect(t *testing.T, s server) (*sdk.ClientSession, *wire.Wire, error) {
	t.Helper()
	stdin, requests := io.Pipe()
	answers, stdout := io.Pipe()
	go func() {
		_, _ = io.WriteString(stdout, s.before)
		for lines := bufio.NewScanner(stdin); lines.Scan(); {
			var m struct {
				ID     json.RawMessage
				Method string
			}
			if json.Unmarshal(lines.Bytes(), &m) != nil || m.ID == nil || m.Method == "" {
				continue
			}
			answer := fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no such method"}}`, m.ID)
			for method, result := range map[string]string{"initialize": hello, "tools/list": tools, "tools/call": said} {
				if own := s.results[method]; own != "" {
					result = own
				}
				if m.Method == method {
					answer = fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, result)
				}
			}
			if s.writes != nil {
				answer = s.writes(answer)
			} else {
				answer += "\n"
			}
			if _, err := io.WriteString(stdout, answer); err != nil {
				return
			}
		}
	}()
	w := &wire.Wire{}
	client := sdk.NewClient(&sdk.Implementation{Name: "t"}, &sdk.ClientOptions{ToolListChangedHandler: func(context.Context, *sdk.ToolListChangedRequest) {}})
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	session, err := client.Connect(ctx, w.Program(answers, requests), nil)
	t.Cleanup(func() {
		stdout.Close()
		stdin.Close()
		if session != nil {
			session.Close()
		}
	})
	return session, w, err
}

// call connects, lists the tools and calls the only one. It returns what the result says.
func call(t *testing.T, s server) (string, *wire.Wire) {
	t.Helper()
	session, w, err := connect(t, s)
	if err != nil {
		t.Errorf("connecting: %v", err)
		return "", w
	}
	list, err := session.ListTools(t.Context(), nil)
	if err != nil || len(list.Tools) != 1 || list.Tools[0].Name != "say" {
		t.Errorf("listing: %+v, %v", list, err)
	}
	r, err := session.CallTool(t.Context(), &sdk.CallToolParams{Name: "say"})
	if err != nil {
		return err.Error(), w
	}
	var all []string
	for _, c := range r.Content {
		switch c := c.(type) {
		case *sdk.TextContent:
			all = append(all, c.Text)
		case *sdk.ImageContent:
			all = append(all, fmt.Sprintf("%s %q", c.MIMEType, c.Data))
		case *sdk.AudioContent:
			all = append(all, fmt.Sprintf("%s %q", c.MIMEType, c.Data))
		case *sdk.EmbeddedResource:
			all = append(all, fmt.Sprintf("%s %s%s", c.Resource.URI, c.Resource.Text, c.Resource.Blob))
		case *sdk.ResourceLink:
			all = append(all, c.URI)
		}
	}
	if r.StructuredContent != nil {
		raw, _ := json.Marshal(r.StructuredContent)
		all = append(all, string(raw))
	}
	if r.IsError {
		all = append(all, "error")
	}
	return strings.Join(all, "|"), w
}

func replace(pairs ...string) func(string) string {
	r := strings.NewReplacer(pairs...)
	return func(answer string) string { return r.Replace(answer) + "\n" }
}

func between(before, after string) func(string) string {
	return func(answer string) string { return before + answer + after }
}

// TestMessages: a message in another form is read; what is none is skipped.
func TestMessages(t *testing.T) {
	t.Parallel()
	pretty := func(answer string) string {
		var v any
		_ = json.Unmarshal([]byte(answer), &v)
		raw, _ := json.MarshalIndent(v, "", "  ")
		return string(raw) + "\n"
	}
	id := func(form string) func(string) string {
		return func(answer string) string {
			head, rest, _ := strings.Cut(answer, `"id":`)
			n, rest, _ := strings.Cut(rest, ",")
			return head + `"id":` + fmt.Sprintf(form, n) + "," + rest + "\n"
		}
	}
	for name, c := range map[string]struct {
		server
		repaired string
	}{
		"as the protocol says":   {server{}, ""},
		"ID as text":             {server{writes: id(`"%s"`)}, "another form of the ID"},
		"ID as a fraction":       {server{writes: id(`%s.0`)}, "another form of the ID"},
		"no ID":                  {server{writes: func(a string) string { return strings.Replace(id(`null%.0s`)(a), `"id":null,`, "", 1) }}, "another form of the ID"},
		"ID null":                {server{writes: id(`null%.0s`)}, "another form of the ID"},
		"no jsonrpc":             {server{writes: replace(`"jsonrpc":"2.0",`, "")}, "without jsonrpc"},
		"jsonrpc 1.0":            {server{writes: replace(`"2.0"`, `"1.0"`)}, "without jsonrpc"},
		"jsonrpc as a number":    {server{writes: replace(`"2.0"`, `2.0`)}, "without jsonrpc"},
		"error null":             {server{writes: replace(`,"result"`, `,"error":null,"result"`)}, ""},
		"error empty":            {server{writes: replace(`,"result"`, `,"error":"","result"`)}, ""},
		"error 0 and no words":   {server{writes: replace(`,"result"`, `,"error":{"code":0,"message":""},"result"`)}, ""},
		"the method again":       {server{writes: replace(`"result":{"content"`, `"method":"tools/call","params":{},"result":{"content"`)}, "repeat the method"},
		"NaN":                    {server{writes: replace(`"hi"}`, `"hi","weight":NaN}`)}, "not quite JSON"},
		"a tab in a text":        {server{writes: replace(`"hi"}`, "\"hi\",\"note\":\"a\tb\"}")}, "not quite JSON"},
		"a comma too many":       {server{writes: replace(`]}`, `],}`)}, "not quite JSON"},
		"quite another tool":     {server{results: map[string]string{"tools/list": `{"tools":[{"type":"function","function":{"name":"say","description":"Says.","parameters":{"type":"object"}}}]}`}}, "another protocol"},
		"a schema of a model":    {server{results: map[string]string{"tools/list": strings.Replace(tools, "inputSchema", "input_schema", 1)}}, "another protocol"},
		"method null":            {server{writes: replace(`,"result"`, `,"method":null,"result"`)}, ""},
		"error as text":          {server{writes: replace(`{"code":-32601,"message":"no such method"}`, `"no such method"`)}, "errors of another form"},
		"code as text":           {server{writes: replace(`-32601`, `"-32601"`)}, "errors of another form"},
		"mark of the byte order": {server{before: "\ufeff"}, ""},
		"marks of each line":     {server{writes: between("\ufeff", "\n")}, ""},
		"noise first":            {server{before: "Starting v1 ...\n\n\x1b[32mINFO\x1b[0m ready\n[debug] {\n{\"level\":30,\"msg\":\"x\"}\n"}, ""},
		"noise before each":      {server{writes: between("INFO ", "\n")}, ""},
		"no UTF-8":               {server{writes: between("\xff\xfe\n", "\n")}, ""},
		"CR and LF":              {server{writes: between("", "\r\n")}, ""},
		"empty lines":            {server{writes: between("\n \n", "\n\n")}, ""},
		"over several lines":     {server{writes: pretty}, "several lines"},
		"an open bracket first":  {server{before: "[\n", writes: between("", "\n")}, ""},
		"open braces between":    {server{writes: between("{\n", "\n")}, ""},
		"no end of the line":     {server{writes: between("", "")}, ""},
		"two on a line":          {server{writes: between(`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"x"}}`, "\n")}, ""},
		"a batch":                {server{writes: between("[", "]\n")}, ""},
		"framed as LSP has it":   {server{writes: func(a string) string { return fmt.Sprintf("Content-Length: %d\r\n\r\n%s", len(a), a) }}, ""},
		"early":                  {server{before: `{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}` + "\n" + `{"jsonrpc":"2.0","id":"x","method":"ping"}` + "\n" + `{"jsonrpc":"2.0","id":{},"method":"roots/list"}` + "\n"}, ""},
		"answers to nobody":      {server{writes: between(`{"jsonrpc":"2.0","id":99,"result":{}}`+"\n"+`{"jsonrpc":"2.0","id":null,"result":{}}`[:0], "\n")}, ""},
		"a newer version":        {server{results: map[string]string{"initialize": strings.Replace(hello, "2025-11-25", "2099-01-01", 1)}}, "2099-01-01"},
		"an older version":       {server{results: map[string]string{"initialize": strings.Replace(hello, "2025-11-25", "2024-10-07", 1)}}, "taken as 2024-11-05"},
		"a version between":      {server{results: map[string]string{"initialize": strings.Replace(hello, "2025-11-25", "2025-05-01", 1)}}, "taken as 2025-03-26"},
		"no version":             {server{results: map[string]string{"initialize": strings.Replace(hello, `"protocolVersion":"2025-11-25",`, "", 1)}}, "taken as 2025-11-25"},
		"no capabilities":        {server{results: map[string]string{"initialize": strings.Replace(hello, `"capabilities":{"tools":{}},`, "", 1)}}, ""},
		"capabilities null":      {server{results: map[string]string{"initialize": strings.Replace(hello, `{"tools":{}}`, "null", 1)}}, ""},
		"capabilities as a list": {server{results: map[string]string{"initialize": strings.Replace(hello, `{"tools":{}}`, "[]", 1)}}, "greeting"},
		"capabilities true":      {server{results: map[string]string{"initialize": strings.Replace(hello, `{"tools":{}}`, `{"tools":true,"logging":false,"prompts":null}`, 1)}}, "greeting"},
		"capability as a list":   {server{results: map[string]string{"initialize": strings.Replace(hello, `{"tools":{}}`, `{"tools":[],"resources":{"subscribe":"true"}}`, 1)}}, "greeting"},
		"no name":                {server{results: map[string]string{"initialize": strings.Replace(hello, `,"serverInfo":{"name":"s","version":"1"}`, "", 1)}}, ""},
		"name as text":           {server{results: map[string]string{"initialize": strings.Replace(hello, `{"name":"s","version":"1"}`, `"s"`, 1)}}, "greeting"},
		"version as a number":    {server{results: map[string]string{"initialize": strings.Replace(hello, `"1"`, `1.5`, 1)}}, "greeting"},
		"tools as a result":      {server{results: map[string]string{"tools/list": tools[len(`{"tools":`) : len(tools)-1]}}, "list instead of a result"},
		"tools by name":          {server{results: map[string]string{"tools/list": `{"tools":{"say":{"description":"Says.","inputSchema":{"type":"object"}}}}`}}, "object instead of a list"},
		"cursor as a number":     {server{results: map[string]string{"tools/list": strings.Replace(tools, "}]}", `}],"nextCursor":7}`, 1)}}, "another type"},
		"cursor null":            {server{results: map[string]string{"tools/list": strings.Replace(tools, "}]}", `}],"nextCursor":null}`, 1)}}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, w := call(t, c.server)
			if got != "hi" {
				t.Errorf("the result is %q", got)
			}
			if repaired := strings.Join(w.Repairs(), "; "); (c.repaired == "") != (repaired == "") || !strings.Contains(repaired, c.repaired) {
				t.Errorf("repaired %q, want %q", repaired, c.repaired)
			}
		})
	}
}

// TestFlood: of very many notifications the rest is dropped, and the answer behind them is read. No time
// passes meanwhile, however slow the machine is.
func TestFlood(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const one = `{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"x"}}` + "\n"
		got, w := call(t, server{before: strings.Repeat(one, 5100)})
		if said := strings.Join(w.Repairs(), "; "); got != "hi" || !strings.Contains(said, "more than 5000 notifications") || w.Noise() != "" {
			t.Errorf("%q, %q, %q", got, said, w.Noise())
		}
	})
}

// TestResults: of a result, everything is read that can be, and the rest is named.
func TestResults(t *testing.T) {
	t.Parallel()
	const png = "iVBORw0KGgo="
	for result, want := range map[string]string{
		`"words"`:                              "words",
		`42`:                                   "42",
		`null`:                                 "",
		`["a","b"]`:                            `["a","b"]`,
		`{"answer":42}`:                        `{"answer":42}`,
		`[{"type":"text","text":"in a list"}]`: "in a list",
		`{"toolResult":{"old":1}}`:             `{"old":1}`,
		`{"toolResult":"old words"}`:           "old words",
		`{"content":"just words"}`:             "just words",
		`{"content":{"type":"text","text":"one"}}`:                                                                "one",
		`{"content":null,"structuredContent":[1]}`:                                                                `[1]`,
		`{"content":[],"isError":"true"}`:                                                                         "error",
		`{"content":[],"isError":1}`:                                                                              "error",
		`{"content":[],"isError":"no"}`:                                                                           "",
		`{"content":[[{"type":"text","text":"alone"}]]}`:                                                          "alone",
		`{"content":[[{"type":"text","text":"in"},{"type":"text","text":"side"}]]}`:                               "in|side",
		`{"content":[{"type":"text","text":"bad"}],"is_error":true}`:                                              "bad|error",
		`{"content":[{"type":"text","text":"x","annotations":{"audience":"user","priority":"high"}}]}`:            "x",
		`{"content":[{"type":"image","data":null,"mimeType":"image/png"},{"type":"text","text":"after"}]}`:        `(a part of the type "image" has no data)|after`,
		`{"content":["a",7,null,true]}`:                                                                           "a|7||true",
		`{"content":[{"type":"text","text":42}]}`:                                                                 "42",
		`{"content":[{"type":"text","text":{"a":[1]}}]}`:                                                          `{"a":[1]}`,
		`{"content":[{"type":"text"}]}`:                                                                           "",
		`{"content":[{"type":"TEXT","text":"upper"}]}`:                                                            "upper",
		`{"content":[{"text":"untyped"}]}`:                                                                        "untyped",
		`{"content":[{"a":1}]}`:                                                                                   `{"a":1}`,
		`{"content":[{"type":"json","json":{"a":1}}]}`:                                                            `{"a":1}`,
		`{"content":[{"type":"text","text":"x","annotations":"high","_meta":[]}]}`:                                "x",
		`{"content":[{"type":"image","mimeType":"image/png","data":"data:image/png;base64,` + png + `"}]}`:        `image/png "\x89PNG\r\n\x1a\n"`,
		`{"content":[{"type":"image","data":"data:image/png;base64,` + png + `"}]}`:                               `image/png "\x89PNG\r\n\x1a\n"`,
		`{"content":[{"type":"image","mime_type":"image/png","data":"iVBORw0KGgo"}]}`:                             `image/png "\x89PNG\r\n\x1a\n"`,
		`{"content":[{"type":"audio","mimeType":"audio/wav","data":"_-8=\n"}]}`:                                   `audio/wav "\xff\xef"`,
		`{"content":[{"type":"image_url","image_url":{"url":"data:image/png;base64,` + png + `"}}]}`:              `image/png "\x89PNG\r\n\x1a\n"`,
		`{"content":[{"type":"image_url","image_url":"https://example.com/a.png"}]}`:                              "https://example.com/a.png",
		`{"content":[{"type":"image","source":{"type":"base64","media_type":"image/png","data":"` + png + `"}}]}`: `image/png "\x89PNG\r\n\x1a\n"`,
		`{"content":[{"type":"resource","uri":"a://b","text":"flat"}]}`:                                           "a://b flat",
		`{"content":[{"type":"resource","resource":{"uri":"a://b","text":5}}]}`:                                   "a://b 5",
		`{"content":[{"type":"resource","resource":{"uri":"a://b","blob":"data:text/csv,a%2Cb"}}]}`:               "a://b a,b",
		`{"content":[{"type":"resource","resource":"a://b"}]}`:                                                    "resource a://b",
		`{"content":[{"type":"resource_link","uri":"a://b","name":null,"size":"5"}]}`:                             "a://b",
		`{"content":[{"type":"image","data":"!!"}]}`:                                                              `(a part of the type "image" was left out: etui cannot read it: illegal base64 data at input byte 0)`,
		`{"content":[{"type":"video","data":"AA"},{"type":"text","text":"after"}]}`:                               `(a part of the type "video" was left out: etui cannot read it: it knows no parts of this type)|after`,
		`{"content":[{"type":"chart","text":"a bar"}]}`:                                                           "(a part of the type \"chart\", which etui does not know:)\na bar",
	} {
		if got, _ := call(t, server{results: map[string]string{"tools/call": result}}); got != want {
			t.Errorf("%s\n got %q\nwant %q", result, got, want)
		}
	}
}

// TestErrors: an error says what the server says, in whatever form.
func TestErrors(t *testing.T) {
	t.Parallel()
	for form, want := range map[string]string{
		`{"code":-32000,"message":"the disk is full"}`:   "the disk is full",
		`"the disk is full"`:                             "the disk is full",
		`{"code":"E_FULL","message":"the disk is full"}`: "E_FULL: the disk is full",
		`{"code":"E_FULL","message":{"disk":"full"}}`:    `E_FULL: {"disk":"full"}`,
		`{"code":"-32000","message":"the disk is full"}`: "calling \"tools/call\": the disk is full",
		`{"code":"E_FULL"}`:                              "E_FULL",
		`{"code":-1,"message":{"reason":"full"}}`:        `{"reason":"full"}`,
		`{"reason":"full"}`:                              `{"reason":"full"}`,
		`true`:                                           "true",
	} {
		got, _ := call(t, server{writes: func(answer string) string {
			return strings.Replace(answer, `"result":`+said, `"error":`+form, 1) + "\n"
		}})
		if !strings.HasSuffix(got, want) {
			t.Errorf("%s: %q, want %q", form, got, want)
		}
	}
}
