package mcp_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/etui-run/etui/skill/mcp"
)

// odd is a program that answers by hand. The answer of a mode to a method replaces the usual one.
func odd(mode string) {
	usual := map[string]string{
		"initialize": `{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}`,
		"tools/list": `{"tools":[{"name":"say","description":"Says.","inputSchema":{"type":"object"}}]}`,
		"tools/call": `{"content":[{"type":"text","text":"hi"}]}`,
	}
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		var m struct {
			ID     json.RawMessage
			Method string
			Params struct{ Cursor string }
		}
		if json.Unmarshal(lines.Bytes(), &m) != nil || m.ID == nil {
			continue
		}
		answer, known := usual[m.Method]
		switch {
		case !known:
			fmt.Printf(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no such method"}}`+"\n", m.ID)
			continue
		case mode == "odd: pages" && m.Params.Cursor != "":
			fmt.Printf(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32602,"message":"bad cursor"}}`+"\n", m.ID)
			continue
		case mode == "odd: pages" && m.Method == "tools/list":
			answer = strings.TrimSuffix(answer, "}") + `,"nextCursor":"2"}`
		}
		if part, own := strings.CutPrefix(mode, "odd: part "); own && m.Method == "tools/call" {
			answer = `{"content":[` + part + `]}`
		}
		fmt.Printf(`{"jsonrpc":"2.0","id":%s,"result":%s}`+"\n", m.ID, answer)
		if mode == "odd: exits" && m.Method == "tools/call" {
			return
		}
	}
}

// TestRefusedPage: a server that names a page of its tools and then refuses it has the others.
func TestRefusedPage(t *testing.T) {
	t.Parallel()
	r := start(t, mcp.Config{}, self("odd: pages"))
	r.untilTools("mcp__srv__say")
	if loose := strings.Join(r.Status().Loose, ""); !strings.Contains(loose, "names and refuses") {
		t.Errorf("repaired: %q", loose)
	}
}

// TestExitsAfterEachCall: a program that ends after each call is started for the next one, which
// waits for that.
func TestExitsAfterEachCall(t *testing.T) {
	t.Parallel()
	r := start(t, mcp.Config{}, self("odd: exits"))
	r.untilTools("mcp__srv__say")
	for n := range 3 {
		if got, err := r.call("mcp__srv__say", `{}`); err != nil || got.Text != "hi" {
			t.Fatal(got.Text, err)
		}
		r.until("away", func(st mcp.Status) bool { return st.Phase != mcp.Connected || st.Restarts > n })
	}
}

// TestParts: the model reads what a part is.
func TestParts(t *testing.T) {
	t.Parallel()
	const png = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg=="
	for part, want := range map[string]string{
		`{"type":"image","mimeType":"image/jpeg","data":"` + png + `"}`:                              "(image image-1.png, image/png, 70 bytes, handed to the user)",
		`{"type":"image","data":"` + png + `"}`:                                                      "(image image-1.png, image/png, 70 bytes, handed to the user)",
		`{"type":"image","mimeType":"image/svg+xml","data":"PHN2Zy8+"}`:                              "(image image-1.bin, application/octet-stream, 6 bytes, handed to the user)",
		`{"type":"resource","resource":{"text":"inside"}}`:                                           "inside",
		`{"type":"resource_link","uri":"https://x.example/b"}`:                                       "resource https://x.example/b",
		`{"type":"resource_link","uri":"https://x.example/b","name":"b","description":"the second"}`: "resource https://x.example/b (b): the second",
	} {
		r := start(t, mcp.Config{}, self("odd: part "+part))
		r.untilTools("mcp__srv__say")
		if got, err := r.call("mcp__srv__say", `{}`); err != nil || got.Text != want {
			t.Errorf("%s\n got %q, %v\nwant %q", part, got.Text, err, want)
		}
		r.stop()
	}
}
