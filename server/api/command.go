package api

import (
	"net/http"

	"github.com/etui-run/etui/command"
	"github.com/etui-run/etui/server/wire"
)

// Reply answers a command, such as /status. Without Done it is a message: send it as one.
type Reply struct {
	Reply string `json:"reply"`
	Done  bool   `json:"done"`
}

// Command answers a [Message] whose text is a command that needs no turn with a [Reply].
func (a *API) Command(w http.ResponseWriter, r *http.Request) {
	var x Message
	m, ok := read(w, r, &x, &x)
	if !ok {
		return
	}
	reply, done, err := command.Answer(r.Context(), a.engine, m)
	wire.Answer(w, Reply{reply, done}, err)
}
