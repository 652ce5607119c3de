// Package wire stands between the SDK and an MCP server. It repairs what a server sends, so
// that one odd value costs at most itself, and tells what it repaired. It sends exactly what
// the protocol says.
package wire

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/etui-run/etui/internal/jsonsize"
)

// Wire is what is known about the messages of one connection. Its zero value is ready, and it
// is safe for concurrent use.
type Wire struct {
	mu      sync.Mutex
	pending map[string]string // methods of requests without an answer, by ID
	repairs []string
	noise   noise
}

// MaxMessage bounds a message, in bytes. maxValues bounds its values: once it is read, each takes
// many times its bytes. maxParts bounds the parts of a result, and the tools of a list, each of
// which is read by itself.
const (
	MaxMessage = 16 << 20
	maxValues  = 500_000
	maxParts   = 10_000
	maxPending = 10_000
	maxRepairs = 32
)

// Repairs returns what was repaired, each kind once.
func (w *Wire) Repairs() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.repairs)
}

// Note notes what was repaired.
func (w *Wire) Note(repair string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.repairs) < maxRepairs && !slices.Contains(w.repairs, repair) {
		w.repairs = append(w.repairs, repair)
	}
}

// sent notes a message that goes to the server. It reports whether the server is to get it.
func (w *Wire) sent(message []byte) bool {
	var m struct {
		ID     json.RawMessage
		Method string
		Params struct {
			RequestID json.RawMessage `json:"requestId"`
		}
	}
	if json.Unmarshal(message, &m) != nil {
		return true
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case m.Method == "notifications/cancelled":
		method := w.pending[string(m.Params.RequestID)]
		delete(w.pending, string(m.Params.RequestID))
		return method != discover // a server that did not answer it waits for initialize, and nothing else
	case m.ID != nil && m.Method != "" && len(w.pending) < maxPending:
		if w.pending == nil {
			w.pending = map[string]string{}
		}
		w.pending[string(m.ID)] = m.Method
	}
	return true
}

const discover = "server/discover"

// forget notes that a request has no answer.
func (w *Wire) forget(id json.RawMessage) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.pending, string(id))
}

// answered returns the ID and the method of the request that an answer with an ID is for. An
// answer with an unknown ID is for the one to which it came, if that is known; one without an ID
// is for the only request there is.
func (w *Wire) answered(id, to json.RawMessage) (json.RawMessage, string) {
	own := string(id)
	var text string
	var number json.Number
	switch {
	case json.Unmarshal(id, &text) == nil && text != "":
		own = text
	case json.Unmarshal(id, &number) == nil && number != "":
		if f, err := number.Float64(); err == nil && f == float64(int64(f)) {
			own = strconv.FormatInt(int64(f), 10)
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	method, known := w.pending[own]
	if !known && to != nil {
		own = string(to)
		method, known = w.pending[own]
	}
	if !known && (len(id) == 0 || string(id) == "null") && len(w.pending) == 1 {
		for own, method = range w.pending {
			known = true
		}
	}
	if !known {
		return id, ""
	}
	delete(w.pending, own)
	return json.RawMessage(own), method
}

// message repairs a message; to is the ID of the request to which it came, if that is known. It
// returns nil for what is no message. The second result reports whether it answers a request.
func (w *Wire) message(raw []byte, to json.RawMessage) (_ []byte, answers bool) {
	raw = bytes.TrimSpace(raw)
	if many := jsonsize.Values(raw) > maxValues; many {
		var head struct {
			ID     json.RawMessage
			Method string
		}
		if json.Unmarshal(raw, &head) != nil || head.Method != "" || jsonsize.Values(head.ID) > 1 {
			return nil, false
		}
		id, _ := w.answered(head.ID, to)
		return refusal(id), true
	}
	var fields map[string]json.RawMessage
	if json.Unmarshal(raw, &fields) != nil || fields == nil {
		return nil, false
	}
	changed := false
	set := func(key string, value json.RawMessage, repair string) {
		if !bytes.Equal(fields[key], value) {
			fields[key], changed = value, true
			w.Note(repair)
		}
	}
	drop := func(key string) {
		if _, there := fields[key]; there {
			delete(fields, key)
			changed = true
		}
	}
	var method, version string
	_ = json.Unmarshal(fields["method"], &method) // a method of another type is none
	_ = json.Unmarshal(fields["jsonrpc"], &version)
	if method != "" && w.echoes(method, fields) {
		method = ""
		w.Note("answers that repeat the method")
	}
	switch {
	case method != "":
		if version != "2.0" && !strings.Contains(method, "/") && method != "ping" {
			return nil, false
		}
	case version != "2.0" && (isNull(fields["id"]) || fields["result"] == nil && fields["error"] == nil):
		return nil, false
	case fields["result"] == nil && fields["error"] == nil && isNull(fields["id"]):
		return nil, false
	}
	if method != "" {
		if id := fields["id"]; id != nil && id[0] != '"' && (id[0] < '0' || id[0] > '9') && id[0] != '-' {
			if !isNull(id) {
				return nil, false // nobody can answer it
			}
			drop("id")
		}
		set("jsonrpc", json.RawMessage(`"2.0"`), "messages without jsonrpc")
		if params := fields["params"]; isNull(params) || string(params) == "[]" {
			drop("params")
		}
		if method == "notifications/progress" && fields["params"] != nil {
			kinds := map[string]kind{"progress": aNumber, "total": aNumber, "message": aText}
			set("params", object(fields["params"], kinds), "progress of another type")
		}
		return written(fields, raw, changed), false
	}
	drop("method") // the SDK takes an empty one for a request
	id, asked := w.answered(fields["id"], to)
	if asked == "" && version != "2.0" || len(id) == 0 || id[0] != '"' && (id[0] < '0' || id[0] > '9') && id[0] != '-' {
		return nil, false
	}
	set("id", id, "answers with another form of the ID")
	set("jsonrpc", json.RawMessage(`"2.0"`), "messages without jsonrpc")
	if fields["error"] != nil {
		if now := failure(fields["error"], !isNull(fields["result"])); now != nil {
			set("error", now, "errors of another form")
			drop("result")
		} else {
			drop("error")
		}
	}
	if fields["error"] == nil {
		now, refused := w.result(asked, fields["result"])
		if refused {
			return refusal(id), true
		}
		if !bytes.Equal(now, fields["result"]) {
			fields["result"], changed = now, true
		}
	}
	return written(fields, raw, changed), true
}

// echoes reports whether a message with a method is the answer to a request of it.
func (w *Wire) echoes(method string, fields map[string]json.RawMessage) bool {
	if fields["result"] == nil && fields["error"] == nil {
		return false
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.pending[strings.Trim(string(fields["id"]), `"`)] == method
}

func written(fields map[string]json.RawMessage, raw []byte, changed bool) []byte {
	if !changed {
		return raw
	}
	return encoded(fields)
}

func isNull(raw json.RawMessage) bool { return len(raw) == 0 || string(raw) == "null" }

// failure returns an error in the form of the protocol; nil if it is none, as a false or an
// empty one is beside a result.
func failure(raw json.RawMessage, hasResult bool) json.RawMessage {
	if isNull(raw) || hasResult && slices.Contains([]string{"false", `""`, "{}", "0", "[]"}, string(raw)) {
		return nil
	}
	var said struct {
		Code    any             `json:"code"`
		Message any             `json:"message"`
		Data    json.RawMessage `json:"data,omitempty"`
	}
	if json.Unmarshal(raw, &said) != nil {
		said.Message = textOf(raw)
	}
	code, named := int64(jsonrpc.CodeInternalError), ""
	switch c := said.Code.(type) {
	case float64:
		code = int64(c)
	case string:
		if n, err := strconv.ParseInt(strings.TrimSpace(c), 10, 64); err == nil {
			code = n
		} else if said.Message == nil {
			said.Message = c
		} else if c != "" {
			named = c + ": "
		}
	}
	message, isText := said.Message.(string)
	if hasResult && code == 0 && (said.Message == nil || isText && message == "") && isNull(said.Data) {
		return nil // no error
	}
	if !isText || message == "" {
		if message = string(raw); said.Message != nil {
			message = string(encoded(said.Message))
		}
	} else if c, same := said.Code.(float64); same && c == float64(code) {
		return raw
	}
	fixed := map[string]any{"code": code, "message": named + message}
	if said.Data != nil {
		fixed["data"] = said.Data
	}
	return encoded(fixed)
}
