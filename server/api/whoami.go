package api

import (
	"net/http"

	"github.com/etui-run/etui/agent"
	"github.com/etui-run/etui/server/wire"
)

// Whoami says who the sender of a message is, and what the client's key may do.
type Whoami struct {
	agent.Whoami
	// Client is what the gateway knows of the client itself.
	Client wire.Caller `json:"client"`
}

// Whoami answers a [Message], whose text is not needed, with who its sender is.
func (a *API) Whoami(w http.ResponseWriter, r *http.Request) {
	var in Message
	m, ok := read(w, r, &in, &in)
	if !ok {
		return
	}
	who, err := a.engine.Agents().Whoami(m)
	wire.Answer(w, Whoami{who, wire.CallerOf(r)}, err)
}
