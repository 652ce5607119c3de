package anthropic

import (
	"encoding/base64"
	"encoding/json"
	"strings"

	"github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/packages/param"

	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/model"
	"github.com/etui-run/etui/tool"
)

// request encodes a request for the API.
func (m *Model) request(req model.Request, names model.Names) anthropic.MessageNewParams {
	out := anthropic.MessageNewParams{Model: m.config.Model, MaxTokens: int64(m.config.MaxTokens)}
	if req.MaxTokens > 0 {
		out.MaxTokens = int64(req.MaxTokens)
	}
	if req.Temperature != nil {
		out.Temperature = param.NewOpt(min(*req.Temperature, 1)) // the API's most
	}
	if req.TopP != nil {
		out.TopP = param.NewOpt(*req.TopP)
	}
	out.StopSequences = req.Stop
	for _, d := range req.Tools {
		out.Tools = append(out.Tools, anthropic.ToolUnionParam{OfTool: define(d, names)})
	}
	if strings.TrimSpace(req.System) != "" {
		out.System = []anthropic.TextBlockParam{{Text: req.System}}
	}
	c := conversation{names: names, deferred: map[string]bool{}, blind: m.config.Blind}
	if m.config.Deferral {
		for _, d := range req.Deferred {
			c.deferred[d.Name] = true
		}
	}
	for _, said := range req.Messages {
		c.add(said)
	}
	out.Messages = c.messages
	mark(&out)
	if m.config.Deferral {
		for _, d := range req.Deferred { // after the breakpoint: deferred tools may not carry one
			t := define(d, names)
			t.DeferLoading = param.NewOpt(true)
			out.Tools = append(out.Tools, anthropic.ToolUnionParam{OfTool: t})
		}
	}
	return out
}

// unknown returns the first setting that the API does not know; empty if it knows all.
func unknown(s model.Settings) string {
	switch {
	case s.Seed != nil:
		return "seed"
	case s.Format != nil:
		return "response_format"
	}
	return ""
}

func define(d tool.Definition, names model.Names) *anthropic.ToolParam {
	t := anthropic.ToolParam{Name: names.Provider(d.Name), InputSchema: param.Override[anthropic.ToolInputSchemaParam](d.Schema())}
	if d.Description != "" {
		t.Description = param.NewOpt(d.Description)
	}
	return &t
}

// mark sets the cache breakpoints: four, as many as the API allows.
func mark(out *anthropic.MessageNewParams) {
	breakpoint := anthropic.NewCacheControlEphemeralParam()
	if n := len(out.Tools); n > 0 {
		out.Tools[n-1].OfTool.CacheControl = breakpoint
	}
	if n := len(out.System); n > 0 {
		out.System[n-1].CacheControl = breakpoint
	}
	left := 2
	for i := len(out.Messages) - 1; i >= 0 && left > 0; i-- {
		if m := out.Messages[i]; m.Role == anthropic.MessageParamRoleUser {
			if at := m.Content[len(m.Content)-1].GetCacheControl(); at != nil {
				*at = breakpoint
			}
			left--
		}
	}
}

// conversation follows the API's rules: user and assistant alternate, the user begins,
// no block is empty, and the results of a round of calls share one message.
type conversation struct {
	messages []anthropic.MessageParam
	names    model.Names
	deferred map[string]bool // by our name
	blind    bool
}

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
			c.append(anthropic.MessageParamRoleUser, anthropic.NewTextBlock(earlier))
		}
		if len(m.Calls) == 0 || strings.TrimSpace(m.Text) != "" {
			c.append(anthropic.MessageParamRoleAssistant, anthropic.NewTextBlock(orElse(m.Text, noAnswer)))
		}
		for _, call := range m.Calls {
			c.append(anthropic.MessageParamRoleAssistant, anthropic.NewToolUseBlock(callID(call.ID), object(call.Arguments), c.names.Provider(call.Name)))
		}
	case chat.Tool:
		if m.Result != nil {
			c.append(anthropic.MessageParamRoleUser, c.result(*m.Result))
		}
	default:
		text, pictures := model.Seen(m)
		if c.blind {
			text, pictures = model.UserText(m), nil
		}
		for _, f := range pictures {
			block := anthropic.ContentBlockParamUnion{OfImage: picture(f)}
			if f.MediaType == chat.PDF {
				block = document(f)
			}
			c.append(anthropic.MessageParamRoleUser, block)
		}
		if text != "" || len(pictures) == 0 {
			c.append(anthropic.MessageParamRoleUser, anthropic.NewTextBlock(orElse(text, noText)))
		}
	}
}

func (c *conversation) append(role anthropic.MessageParamRole, block anthropic.ContentBlockParamUnion) {
	if n := len(c.messages); n > 0 && c.messages[n-1].Role == role {
		c.messages[n-1].Content = append(c.messages[n-1].Content, block)
		return
	}
	c.messages = append(c.messages, anthropic.MessageParam{Role: role, Content: []anthropic.ContentBlockParamUnion{block}})
}

// result encodes the result of a call. The names of deferred tools load them: the API
// shows their definitions in place of the text, which says less. Tools that are gone
// by now are left out, because the API knows only those of the request.
func (c *conversation) result(r chat.Result) anthropic.ContentBlockParamUnion {
	block := anthropic.ToolResultBlockParam{ToolUseID: callID(r.CallID)}
	for _, name := range r.Tools {
		if c.deferred[name] {
			block.Content = append(block.Content, anthropic.ToolResultBlockParamContentUnion{
				OfToolReference: &anthropic.ToolReferenceBlockParam{ToolName: c.names.Provider(name)},
			})
		}
	}
	if len(block.Content) == 0 && strings.TrimSpace(r.Text) != "" {
		block.Content = []anthropic.ToolResultBlockParamContentUnion{{OfText: &anthropic.TextBlockParam{Text: r.Text}}}
	}
	if c.blind && len(r.Images) > 0 {
		r.Images = nil
		block.Content = append(block.Content, anthropic.ToolResultBlockParamContentUnion{OfText: &anthropic.TextBlockParam{Text: "(The picture cannot be shown: the model takes none.)"}})
	}
	for _, f := range r.Images {
		block.Content = append(block.Content, anthropic.ToolResultBlockParamContentUnion{OfImage: picture(f)})
	}
	if r.Failed {
		block.IsError = param.NewOpt(true)
	}
	return anthropic.ContentBlockParamUnion{OfToolResult: &block}
}

// document encodes a PDF.
func document(f chat.File) anthropic.ContentBlockParamUnion {
	d := &anthropic.DocumentBlockParam{Source: anthropic.DocumentBlockParamSourceUnion{OfBase64: &anthropic.Base64PDFSourceParam{Data: base64.StdEncoding.EncodeToString(f.Data)}}}
	if f.Name != "" {
		d.Title = param.NewOpt(f.Name)
	}
	return anthropic.ContentBlockParamUnion{OfDocument: d}
}

func picture(f chat.File) *anthropic.ImageBlockParam {
	return &anthropic.ImageBlockParam{Source: anthropic.ImageBlockParamSourceUnion{OfBase64: &anthropic.Base64ImageSourceParam{
		MediaType: anthropic.Base64ImageSourceMediaType(f.MediaType), Data: base64.StdEncoding.EncodeToString(f.Data),
	}}}
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
