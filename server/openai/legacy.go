package openai

import (
	"encoding/json"
	"net/http"

	"github.com/etui-run/etui/engine"
	"github.com/etui-run/etui/server/wire"
)

// textRequest is a request of the older API, in which a prompt is completed.
type textRequest struct {
	completionRequest
	Prompt json.RawMessage `json:"prompt"`
	Suffix string          `json:"suffix"`
	Echo   bool            `json:"echo"`
}

// prompts returns what is to be completed: each is a message of the user.
func (t textRequest) prompts() (list []string, err error) {
	var one string
	switch {
	case t.Suffix != "":
		return nil, unsupported("suffix", "suffix is not supported: leave it out")
	case json.Unmarshal(t.Prompt, &one) == nil && one != "":
		return []string{one}, nil
	case json.Unmarshal(t.Prompt, &list) == nil && len(list) > 0:
		return list, nil
	}
	return nil, &refusal{"prompt", "invalid_request", "prompt must be a text or a list of texts"}
}

// Texts runs a turn for each prompt, and answers in the form of the older API.
func (a *API) Texts(w http.ResponseWriter, r *http.Request) {
	var req textRequest
	if !wire.ReadForeign(w, r, &req) {
		return
	}
	list, err := req.prompts()
	if err != nil {
		refuse(w, err)
		return
	}
	req.legacy = true
	var before []string
	a.answer(w, r, req.completionRequest, func() (messages []engine.Message, err error) {
		for _, text := range list {
			said, _ := json.Marshal(text) // a text
			one := req.completionRequest
			one.Messages = []completionMessage{{Role: "user", Content: said}}
			all, err := one.messages(r)
			if err != nil {
				return nil, err
			}
			messages = append(messages, all...)
			for range all {
				before = append(before, text)
			}
		}
		return messages, nil
	}, func(i int) string {
		if req.Echo {
			return before[i]
		}
		return ""
	})
}
