package mcp_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/etui-run/etui/skill"
	"github.com/etui-run/etui/skill/mcp"
)

// TestManyValues: an answer of a few megabytes that holds a million values does not become hundreds
// of them, and the server's other answers are taken.
func TestManyValues(t *testing.T) {
	lists := map[string]string{
		"content":    `{"content":[` + strings.Repeat("0,", 1<<20) + `0]}`,
		"parts":      `{"content":[` + strings.Repeat("0,", 400_000) + `0]}`,
		"structured": `{"content":[],"structuredContent":{"a":[` + strings.Repeat("{},", 1<<20) + `{}]}}`,
		"meta":       `{"content":[],"_meta":{"a":[` + strings.Repeat("[],", 1<<20) + `[]]}}`,
	}
	url := listen(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var request struct {
			ID     any
			Method string
			Params struct{ Arguments struct{ Text string } }
		}
		body, _ := io.ReadAll(r.Body)
		_ = json.Unmarshal(body, &request)
		result := `{"supportedVersions":["2026-07-28"],"capabilities":{"tools":{}}}`
		switch request.Method {
		case "tools/list":
			result = `{"tools":[{"name":"say","description":"Says.","inputSchema":{"type":"object","properties":{"text":{"type":"string"}}}}]}`
		case "tools/call":
			if result = lists[request.Params.Arguments.Text]; result == "" {
				result = `{"content":[{"type":"text","text":"fine"}]}`
			}
		}
		if request.Params.Arguments.Text == "lines" {
			w.Header().Set("Content-Type", "text/event-stream")
			fmt.Fprintf(w, "data: {\"jsonrpc\":\"2.0\",\"id\":%v,\"result\":{\"content\":[],\"structuredContent\":{\"a\":[\n%sdata: 0]}}}\n\n", request.ID, strings.Repeat("data: "+strings.Repeat("{},", 400_000)+"\n", 10))
			return
		}
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%v,"result":%s}`, request.ID, result)
	})).URL
	r := start(t, mcp.Config{}, skill.Config{Endpoint: url, Timeout: 2 * time.Minute})
	r.untilTools("mcp__srv__say")
	for _, name := range []string{"content", "parts", "structured", "meta", "lines"} {
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		result, err := r.call("mcp__srv__say", `{"text":"`+name+`"}`)
		runtime.ReadMemStats(&after)
		if n := (after.TotalAlloc - before.TotalAlloc) >> 20; n > 250 {
			t.Errorf("%s: it took %d MiB: %.100q, %v", name, n, result.Text, err)
		}
		if name == "lines" { // a line of a stream has no answer of its own: the stream ends
			continue
		}
		if err == nil || !strings.Contains(err.Error(), "values") {
			t.Errorf("%s: %.100q, %v", name, result.Text, err)
		}
		if result, err := r.call("mcp__srv__say", `{"text":"x"}`); err != nil || result.Text != "fine" {
			t.Errorf("after %s: %q, %v", name, result.Text, err)
		}
	}
}
