package openai

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/model"
	"github.com/etui-run/etui/model/endpoint"
	"github.com/etui-run/etui/tool"
)

// request is the body of a chat completion, without its tools and messages, which come
// last.
type request struct {
	MaxCompletionTokens int             `json:"max_completion_tokens,omitempty"`
	MaxTokens           int             `json:"max_tokens,omitempty"`
	Model               string          `json:"model"`
	ResponseFormat      json.RawMessage `json:"response_format,omitempty"`
	Seed                *int64          `json:"seed,omitempty"`
	Stop                []string        `json:"stop,omitempty"`
	Stream              bool            `json:"stream"`
	StreamOptions       *streamOptions  `json:"stream_options,omitempty"`
	Temperature         *float64        `json:"temperature,omitempty"`
	TopP                *float64        `json:"top_p,omitempty"`
}

// perMessage and perTool are about how many bytes a message and a tool take beside their
// texts.
const perMessage, perTool = 32, 128

type streamOptions struct {
	IncludeUsage bool `json:"include_usage"`
}

type message struct {
	Role string `json:"role"`
	// Content is a string, a list of parts, or null if an assistant only makes calls.
	Content    any        `json:"content"`
	ToolCalls  []toolCall `json:"tool_calls,omitempty"`
	ToolCallID string     `json:"tool_call_id,omitempty"`
	state
}

// state is what a server wants back with a message that makes calls.
type state struct {
	Reasoning        string            `json:"reasoning_content,omitempty"`
	ReasoningDetails []json.RawMessage `json:"reasoning_details,omitempty"`
	// Plain is what OpenRouter, Ollama and newer vLLM call the reasoning.
	Plain string          `json:"reasoning,omitempty"`
	Extra json.RawMessage `json:"extra_content,omitempty"`
}

// shownPart is a part of a message that shows pictures.
type shownPart struct {
	Type  string    `json:"type"`
	Text  string    `json:"text,omitempty"`
	Image *imageURL `json:"image_url,omitempty"`
	File  *fileData `json:"file,omitempty"`
	Audio *audio    `json:"input_audio,omitempty"`
}

type audio struct {
	Data   []byte `json:"data"`
	Format string `json:"format"`
}

type fileData struct {
	Name string `json:"filename"`
	Data string `json:"file_data"`
}

type imageURL struct {
	URL string `json:"url"`
}

type toolCall struct {
	ID       string   `json:"id"`
	Type     string   `json:"type"`
	Function function `json:"function"`
	callState
}

// callState is the same of a call.
type callState struct {
	Extra json.RawMessage `json:"extra_content,omitempty"`
}

type function struct {
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}

// request encodes a request for OpenAI's API.
func (m *Model) request(req model.Request, names endpoint.Declarations) ([]byte, error) {
	out := request{Model: m.config.Model, Stream: true, StreamOptions: &streamOptions{IncludeUsage: true},
		Temperature: req.Temperature, TopP: req.TopP, Stop: req.Stop, Seed: req.Seed, ResponseFormat: req.Format}
	limit := req.MaxTokens
	if limit == 0 {
		limit = m.config.MaxTokens
	}
	if m.noOptions.Load() {
		out.StreamOptions = nil
	}
	if newLimit(m.server.URL().Hostname()) != m.otherLimit.Load() {
		out.MaxCompletionTokens = limit
	} else {
		out.MaxTokens = limit
	}
	size := len(req.System)
	for i := range req.Messages {
		size += len(req.Messages[i].Text) + len(req.Messages[i].Note) + perMessage
	}
	for i := range req.Tools {
		size += len(req.Tools[i].Description) + len(req.Tools[i].Parameters) + perTool
	}
	b := &body{}
	b.Grow(size + size/16)
	if err := b.encode(out); err != nil {
		return nil, err
	}
	b.Truncate(b.Len() - len("}"))
	for _, name := range slices.Sorted(maps.Keys(req.Extra)) {
		b.WriteString(`,"` + name + `":`)
		b.Write(req.Extra[name])
	}
	if len(req.Tools) > 0 {
		b.choice(req, names)
		b.WriteString(`,"tools":[`)
		for _, d := range req.Tools {
			b.tool(d, names)
		}
		b.WriteByte(']')
	}
	b.WriteString(`,"messages":[`)
	if req.System != "" {
		b.text("system", req.System)
	}
	var images []chat.File
	for i := range req.Messages {
		said := &req.Messages[i]
		if m.shortIDs.Load() && i > 0 && said.Role == chat.User && req.Messages[i-1].Role == chat.Tool {
			b.text("assistant", afterResults)
		}
		if err := b.message(said, names, m); err != nil {
			return nil, err
		}
		if said.Result != nil {
			images = append(images, said.Result.Images...)
		}
		if last := i+1 == len(req.Messages) || req.Messages[i+1].Role != chat.Tool; last && len(images) > 0 {
			if m.shortIDs.Load() {
				b.text("assistant", afterResults)
			}
			if err := b.encode(show(resultPictures, images)); err != nil {
				return nil, err
			}
			images = nil
		}
	}
	b.WriteString("]}")
	return b.Bytes(), nil
}

// body is a request as it is written.
type body struct{ bytes.Buffer }

// encode writes the request or a message as JSON.
func (b *body) encode(value any) error {
	b.next()
	e := json.NewEncoder(b)
	e.SetEscapeHTML(false)
	if err := e.Encode(value); err != nil {
		return err
	}
	b.Truncate(b.Len() - len("\n"))
	return nil
}

// next separates a message from the one before it.
func (b *body) next() {
	if n := b.Len(); n > 0 && b.Bytes()[n-1] != '[' {
		b.WriteByte(',')
	}
}

// text writes a message that is a text, as almost all of a long conversation are: without
// reflection, and without a copy of the text.
func (b *body) text(role, text string) {
	b.next()
	b.WriteString(`{"role":"` + role + `","content":`)
	quoted, _ := jsontext.AppendQuote(b.AvailableBuffer(), text) // what is not UTF-8 is replaced
	b.Write(quoted)
	b.WriteByte('}')
}

// tool writes a tool.
func (b *body) tool(d tool.Definition, names endpoint.Declarations) {
	description, schema := names.Tool(d)
	b.next()
	b.WriteString(`{"type":"function","function":{"name":"` + names.Provider(d.Name) + `"`)
	if description != "" {
		b.WriteString(`,"description":`)
		quoted, _ := jsontext.AppendQuote(b.AvailableBuffer(), description) // what is not UTF-8 is replaced
		b.Write(quoted)
	}
	if schema.Strict {
		b.WriteString(`,"strict":true`)
	}
	if schema.Parameters != nil {
		b.WriteString(`,"parameters":`)
		b.Write(schema.Parameters)
	}
	b.WriteString("}}")
}

// choice writes which tool the model must call, and how many.
func (b *body) choice(req model.Request, names endpoint.Declarations) {
	switch {
	case req.Only != "":
		b.WriteString(`,"tool_choice":{"type":"function","function":{"name":"` + names.Provider(req.Only) + `"}}`)
	case req.Required:
		b.WriteString(`,"tool_choice":"required"`)
	}
	if req.Serial {
		b.WriteString(`,"parallel_tool_calls":false`)
	}
}

// message writes a message of the conversation with a model.
func (b *body) message(said *chat.Message, names endpoint.Declarations, m *Model) error {
	switch {
	case said.Role == chat.Tool && said.Result != nil:
		return b.encode(message{Role: "tool", Content: said.Result.Text, ToolCallID: m.id(said.Result.CallID)})
	case said.Role == chat.Assistant && len(said.Calls) == 0:
		b.text("assistant", said.Text)
		return nil
	case said.Role == chat.Assistant:
		return b.encode(m.calling(said, names))
	}
	text, pictures := model.UserContent(*said)
	if len(pictures) == 0 {
		b.text("user", text)
		return nil
	}
	return b.encode(show(text, pictures))
}

// newLimit reports whether a server wants the newer name of the token limit. OpenAI's
// newer models reject the older name; other servers do not know the newer one.
func newLimit(host string) bool {
	return host == "api.openai.com" || strings.HasSuffix(host, ".api.openai.com") ||
		strings.HasSuffix(host, ".openai.azure.com")
}

// resultPictures begins the message with the pictures of a round of calls: results
// themselves cannot contain pictures.
const resultPictures = "(The pictures of the results above.)"

// afterResults stands between results and a message of the user, for servers that want an answer there.
const afterResults = "(The results are there.)"

// calling returns an assistant's message that makes calls.
func (m *Model) calling(said *chat.Message, names endpoint.Declarations) message {
	out := message{Role: "assistant"}
	mine := said.StateOf == m.server.Name()
	if mine && len(said.State) > 0 {
		_ = json.Unmarshal(said.State, &out.state) // it was made here
	}
	if m.reasoning.Load() && out.Reasoning == "" {
		out.Reasoning = " " // an empty text would be none
	}
	if said.Text != "" {
		out.Content = said.Text
	}
	for i, c := range said.Calls {
		args := string(c.Arguments)
		if args == "" {
			args = "{}"
		}
		call := toolCall{ID: m.id(c.ID), Type: "function", Function: function{names.Provider(c.Name), args}}
		if mine && len(c.State) > 0 {
			_ = json.Unmarshal(c.State, &call.callState)
		}
		if i == 0 && call.Extra == nil && out.Extra == nil && m.gemini {
			call.Extra = skipSignature
		}
		out.ToolCalls = append(out.ToolCalls, call)
	}
	return out
}

// show returns a user's message with a text, if there is one, and its files.
func show(text string, images []chat.File) message {
	var parts []shownPart
	if text != "" {
		parts = append(parts, shownPart{Type: "text", Text: text})
	}
	for _, f := range images {
		url := "data:" + f.MediaType + ";base64," + base64.StdEncoding.EncodeToString(f.Data)
		switch {
		case pdf(f):
			parts = append(parts, shownPart{Type: "file", File: &fileData{cmp.Or(f.Name, "file.pdf"), url}})
			continue
		case endpoint.Sound(f):
			format := "wav"
			if f.MediaType == chat.MP3 {
				format = "mp3"
			}
			parts = append(parts, shownPart{Type: "input_audio", Audio: &audio{f.Data, format}})
			continue
		}
		parts = append(parts, shownPart{Type: "image_url", Image: &imageURL{url}})
	}
	return message{Role: "user", Content: parts}
}

// without returns what tells a model in words about the files that it does not take.
func without(kind func(chat.File) bool) func(model.Request) (model.Request, bool) {
	return func(req model.Request) (told model.Request, had bool) {
		req.Messages = slices.Clone(req.Messages)
		for i, m := range req.Messages {
			one := false
			req.Messages[i], one = endpoint.WithoutFiles(m, kind)
			had = had || one
		}
		return req, had
	}
}

func pdf(f chat.File) bool { return f.MediaType == chat.PDF }

// withoutImages returns the request for a model that accepts neither pictures nor PDFs.
func withoutImages(req model.Request) (blind model.Request, had bool) {
	req.Messages = slices.Clone(req.Messages)
	for i, m := range req.Messages {
		if m.Result != nil && len(m.Result.Images) > 0 {
			r := *m.Result
			r.Images, r.Text = nil, r.Text+"\n(The picture cannot be shown: the model takes none.)"
			req.Messages[i].Result, had = &r, true
		}
		if _, pictures := model.UserContent(m); len(pictures) > 0 {
			req.Messages[i].Text, req.Messages[i].Note, req.Messages[i].Files, had = model.UserText(m), "", nil, true
		}
	}
	return req, had
}
