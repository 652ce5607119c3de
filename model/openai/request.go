package openai

import (
	"bytes"
	"encoding/json"
	"net/url"
	"strings"

	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/model"
)

// request is the body of a chat completion.
type request struct {
	Model               string            `json:"model"`
	Stream              bool              `json:"stream"`
	StreamOptions       streamOptions     `json:"stream_options"`
	MaxTokens           int               `json:"max_tokens,omitempty"`
	MaxCompletionTokens int               `json:"max_completion_tokens,omitempty"`
	Tools               []json.RawMessage `json:"tools,omitempty"`
	Messages            []message         `json:"messages"`
}

type streamOptions struct {
	IncludeUsage bool `json:"include_usage"`
}

type message struct {
	Role string `json:"role"`
	// Content is null when an assistant only asks for calls.
	Content    *string    `json:"content"`
	ToolCalls  []toolCall `json:"tool_calls,omitempty"`
	ToolCallID string     `json:"tool_call_id,omitempty"`
}

type toolCall struct {
	ID       string   `json:"id"`
	Type     string   `json:"type"`
	Function function `json:"function"`
}

type function struct {
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}

// request writes a question in OpenAI's terms.
func (m *Model) request(req model.Request) ([]byte, error) {
	names := model.NewNames(req)
	out := request{Model: m.config.Model, Stream: true, StreamOptions: streamOptions{IncludeUsage: true}}
	limit := req.MaxTokens
	if limit == 0 {
		limit = m.config.MaxTokens
	}
	if newLimit(m.address) {
		out.MaxCompletionTokens = limit
	} else {
		out.MaxTokens = limit
	}
	for _, d := range req.Tools {
		d.Name = names.Provider(d.Name)
		raw, err := d.MarshalJSON()
		if err != nil {
			return nil, err
		}
		out.Tools = append(out.Tools, raw)
	}
	if req.System != "" {
		out.Messages = append(out.Messages, message{Role: "system", Content: &req.System})
	}
	for _, said := range req.Messages {
		out.Messages = append(out.Messages, write(said, names))
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false) // a schema's bytes stay as they are
	err := e.Encode(out)
	return bytes.TrimRight(b.Bytes(), "\n"), err
}

// newLimit reports whether a server wants the newer name of the limit. OpenAI's
// newer models refuse the older one, other servers do not know the newer one.
func newLimit(address string) bool {
	u, err := url.Parse(address)
	if err != nil {
		return false
	}
	host := u.Hostname()
	return host == "api.openai.com" || strings.HasSuffix(host, ".api.openai.com") || strings.HasSuffix(host, ".openai.azure.com")
}

func write(said chat.Message, names model.Names) message {
	switch {
	case said.Role == chat.Tool && said.Result != nil:
		return message{Role: "tool", Content: &said.Result.Text, ToolCallID: said.Result.CallID}
	case said.Role == chat.Assistant:
		out := message{Role: "assistant", Content: &said.Text}
		for _, c := range said.Calls {
			args := string(c.Arguments)
			if args == "" {
				args = "{}"
			}
			out.ToolCalls = append(out.ToolCalls, toolCall{c.ID, "function", function{names.Provider(c.Name), args}})
		}
		if said.Text == "" && len(said.Calls) > 0 {
			out.Content = nil
		}
		return out
	}
	text := model.UserText(said)
	return message{Role: "user", Content: &text}
}
