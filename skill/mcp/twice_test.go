package mcp_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/etui-run/etui/skill"
	"github.com/etui-run/etui/skill/mcp"
)

// TestTaskIsNotRepeated: a service that forgets its session while a task runs has perhaps done what
// the task does.
func TestTaskIsNotRepeated(t *testing.T) {
	t.Parallel()
	var paid atomic.Int32
	url := listen(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var m struct {
			ID     json.RawMessage
			Method string
		}
		_ = json.NewDecoder(r.Body).Decode(&m)
		var result string
		switch m.Method {
		case "initialize":
			w.Header().Set("Mcp-Session-Id", "s")
			result = `{"protocolVersion":"2025-11-25","capabilities":{"tools":{},"tasks":{"requests":{"tools":{"call":{}}}}},"serverInfo":{"name":"t","version":"1"}}`
		case "tools/list":
			result = `{"tools":[{"name":"pay","description":"Pays.","inputSchema":{"type":"object"},"execution":{"taskSupport":"required"}}]}`
		case "tools/call":
			paid.Add(1)
			result = `{"task":{"taskId":"7","status":"working","ttl":1000,"pollInterval":1}}`
		case "tasks/get":
			w.WriteHeader(http.StatusNotFound)
			return
		default:
			w.WriteHeader(http.StatusAccepted)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, result)
	})).URL
	r := start(t, mcp.Config{}, skill.Config{Endpoint: url})
	r.until("connected", func(st mcp.Status) bool { return st.Phase == mcp.Connected })
	_, err := r.call("mcp__srv__pay", `{}`)
	if paid.Load() != 1 || err == nil || !strings.Contains(err.Error(), "check its effect") {
		t.Errorf("it ran %d times: %v", paid.Load(), err)
	}
}
