package anthropic

import (
	"cmp"
	"encoding/json"
	"strings"

	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/model"
	"github.com/etui-run/etui/model/endpoint"
	"github.com/etui-run/etui/tool"
)

// request encodes a request for the API. Native reports that the API holds the answer to a schema.
func (m *Model) request(req model.Request, names endpoint.Declarations) (raw []byte, native bool, err error) {
	out := request{
		Model: m.config.Model, Stream: true, MaxTokens: cmp.Or(req.MaxTokens, m.config.MaxTokens),
		TopP: req.TopP, StopSequences: req.Stop, Thinking: req.Thinking,
	}
	if req.Temperature != nil {
		most := min(*req.Temperature, 1) // the API's most
		out.Temperature = &most
	}
	for _, d := range req.Tools {
		out.Tools = append(out.Tools, define(d, names))
	}
	if strings.TrimSpace(req.System) != "" {
		out.System = []block{textBlock(req.System)}
	}
	if len(req.Tools) > 0 && (req.Only != "" || req.Required || req.Serial) {
		out.ToolChoice = &choice{Type: "auto", Serial: req.Serial}
		if req.Only != "" {
			out.ToolChoice.Type, out.ToolChoice.Name = "tool", names.Provider(req.Only)
		} else if req.Required {
			out.ToolChoice.Type = "any"
		}
	}
	c := conversation{names: names, deferred: map[string]bool{}, blind: m.config.Blind, own: m.api.Name()}
	if m.config.Deferral {
		for _, d := range req.Deferred {
			c.deferred[d.Name] = true
		}
	}
	for _, said := range req.Messages {
		c.add(said)
	}
	out.Messages = c.messages
	trim(c.messages)
	mark(&out)
	if m.config.Deferral {
		for _, d := range req.Deferred { // after the breakpoint: deferred tools may not carry one
			t := define(d, names)
			t.DeferLoading = true
			out.Tools = append(out.Tools, t)
		}
	}
	if req.Format != nil {
		native = m.format(&out, req.Format)
	}
	raw, err = json.Marshal(out) // with HTML escaped, as ever: the provider's cache compares the bytes
	return raw, native, err
}

func define(d tool.Definition, names endpoint.Declarations) definition {
	description, schema := names.Tool(d)
	return definition{Name: names.Provider(d.Name), Description: description, InputSchema: schema.Parameters}
}

// trim cuts the blanks at the end of an answer that the model goes on with: the API refuses them.
func trim(messages []message) {
	if n := len(messages); n > 0 && messages[n-1].Role == roleAssistant {
		b := &messages[n-1].Content[len(messages[n-1].Content)-1]
		b.Text = strings.TrimRight(b.Text, " \t\r\n")
	}
}

// mark sets the cache breakpoints: four, as many as the API allows.
func mark(out *request) {
	breakpoint := &cacheControl{Type: "ephemeral"}
	if n := len(out.Tools); n > 0 {
		out.Tools[n-1].CacheControl = breakpoint
	}
	if n := len(out.System); n > 0 {
		out.System[n-1].CacheControl = breakpoint
	}
	left := 2
	for i := len(out.Messages) - 1; i >= 0 && left > 0; i-- {
		if m := out.Messages[i]; m.Role == roleUser {
			m.Content[len(m.Content)-1].CacheControl = breakpoint
			left--
		}
	}
}

// conversation follows the API's rules: user and assistant alternate, the user begins,
// no block is empty, and the results of a round of calls share one message.
type conversation struct {
	messages []message
	names    endpoint.Declarations
	deferred map[string]bool // by our name
	blind    bool
	own      string // the model's name
}

const (
	roleUser      = "user"
	roleAssistant = "assistant"
)

// Placeholders for messages that the API would reject.
const (
	earlier  = "(The conversation goes on.)"
	noText   = "(empty)"
	noAnswer = "(no answer)"
)

func (c *conversation) add(m chat.Message) {
	switch m.Role {
	case chat.Assistant:
		if len(c.messages) == 0 {
			c.append(roleUser, textBlock(earlier))
		}
		if len(m.Calls) > 0 && (m.StateOf == c.own || m.StateOf == endpoint.FromMessages) {
			var state struct {
				Thinking []block `json:"thinking"`
			}
			_ = json.Unmarshal(m.State, &state) // it was made here
			for _, b := range state.Thinking {
				c.append(roleAssistant, b)
			}
		}
		if len(m.Calls) == 0 || strings.TrimSpace(m.Text) != "" {
			c.append(roleAssistant, textBlock(orElse(m.Text, noAnswer)))
		}
		for _, call := range m.Calls {
			c.append(roleAssistant, block{Type: "tool_use", ID: callID(call.ID), Input: object(call.Arguments),
				Name: c.names.Provider(call.Name)})
		}
	case chat.Tool:
		if m.Result != nil {
			c.append(roleUser, c.result(*m.Result))
		}
	default:
		m, _ = endpoint.WithoutFiles(m, endpoint.Sound)
		text, pictures := model.UserContent(m)
		if c.blind {
			text, pictures = model.UserText(m), nil
		}
		for _, f := range pictures {
			c.append(roleUser, shown(f))
		}
		if text != "" || len(pictures) == 0 {
			c.append(roleUser, textBlock(orElse(text, noText)))
		}
	}
}

func (c *conversation) append(role string, b block) {
	if n := len(c.messages); n > 0 && c.messages[n-1].Role == role {
		c.messages[n-1].Content = append(c.messages[n-1].Content, b)
		return
	}
	c.messages = append(c.messages, message{Role: role, Content: []block{b}})
}

// result encodes the result of a call. The names of deferred tools load them: the API
// shows their definitions in place of the text, which says less. Tools that are gone
// by now are left out, because the API knows only those of the request.
func (c *conversation) result(r chat.Result) block {
	out := block{Type: "tool_result", ToolUseID: callID(r.CallID), IsError: r.Failed}
	for _, name := range r.Tools {
		if c.deferred[name] {
			out.Content = append(out.Content, block{Type: "tool_reference", ToolName: c.names.Provider(name)})
		}
	}
	if len(out.Content) == 0 && strings.TrimSpace(r.Text) != "" {
		out.Content = []block{textBlock(r.Text)}
	}
	if c.blind && len(r.Images) > 0 {
		r.Images = nil
		out.Content = append(out.Content, textBlock("(The picture cannot be shown: the model takes none.)"))
	}
	for _, f := range r.Images {
		out.Content = append(out.Content, shown(f))
	}
	return out
}

func textBlock(text string) block { return block{Type: "text", Text: text} }

// shown encodes a picture or a PDF.
func shown(f chat.File) block {
	b := block{Type: "image", Source: &source{Type: "base64", MediaType: f.MediaType, Data: f.Data}}
	if f.MediaType == chat.PDF {
		b.Type, b.Title = "document", f.Name
	}
	return b
}

func orElse(text, otherwise string) string {
	if strings.TrimSpace(text) == "" {
		return otherwise
	}
	return text
}

// callID maps a call's ID to characters that the API allows. The ID may come from
// another provider.
func callID(id string) string {
	return strings.Map(func(r rune) rune {
		if r == '_' || r == '-' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' {
			return r
		}
		return '_'
	}, id)
}

// object returns a call's arguments as the object that the API requires: anything else
// becomes a string field.
func object(args json.RawMessage) any {
	var fields map[string]json.RawMessage
	switch {
	case len(args) == 0:
		return struct{}{}
	case json.Unmarshal(args, &fields) == nil && fields != nil:
		return args
	}
	return map[string]string{"arguments": string(args)}
}
