package responses

import (
	"encoding/json"
	"net/http"

	"github.com/etui-run/etui/server/wire"
)

// maxFollowers is how many clients follow a response in the background at once.
const maxFollowers = 16

// replay writes the events of a stored response, its text in one piece. One that still runs is waited for.
func (a *API) replay(w http.ResponseWriter, r *http.Request, found stored) {
	begun := a.current(r, found)
	one := a.run(found.key)
	if one != nil {
		if one.followers.Add(1) > maxFollowers {
			one.followers.Add(-1)
			wire.Refuse(w, http.StatusTooManyRequests, "too many clients follow the response")
			return
		}
		defer one.followers.Add(-1)
	}
	begun.Status, begun.Output, begun.Usage, begun.Error, begun.Incomplete = inProgress, []any{}, nil, nil, nil
	out := &writer{request: &request{}, head: begun, w: w}
	out.stream = wire.NewStream(w, out.begins(), keepAlive)
	defer out.close()
	if one != nil {
		select {
		case <-one.done:
			found.Response = one.now()
		case <-r.Context().Done():
			return
		}
	} else {
		found.Response = a.current(r, found)
	}
	for _, item := range found.Response.Output {
		if out.again(item) != nil {
			return // the client has gone
		}
	}
	out.head = found.Response
	_ = out.finish() // the client may have gone
}

// again writes the events of an item that was stored.
func (o *writer) again(stored any) error {
	raw, _ := json.Marshal(stored) // it was read from JSON, or will be
	var head struct {
		Type string `json:"type"`
	}
	_ = json.Unmarshal(raw, &head)
	switch head.Type {
	case "message":
		said := messageItem{}
		_ = json.Unmarshal(raw, &said)
		o.item = newItem()
		o.item.ID = said.ID
		for _, p := range said.Content {
			if err := o.say(p.Text); err != nil {
				return err
			}
		}
		return o.endText()
	case "function_call", "custom_tool_call":
		c := callItem{}
		if json.Unmarshal(raw, &c) == nil && *c.said() != nil {
			return o.call(c)
		}
	}
	return o.whole(stored)
}
