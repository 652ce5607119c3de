package mcp

import "github.com/etui-run/etui/server/wire"

// refused is the code of JSON-RPC for a refusal of the server's own.
const refused = -32000

// Problem returns a refusal of a whole request as an error of JSON-RPC: nobody knows which of its messages it
// is about.
func Problem(status int, p wire.Problem) any {
	type failure struct {
		Code    int            `json:"code"`
		Message string         `json:"message"`
		Data    map[string]any `json:"data"`
	}
	return struct {
		Version string  `json:"jsonrpc"`
		ID      *int    `json:"id"`
		Error   failure `json:"error"`
	}{"2.0", nil, failure{refused, p.Error.Message, map[string]any{"status": status, "code": p.Error.Code}}}
}
