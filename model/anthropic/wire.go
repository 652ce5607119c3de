package anthropic

import "encoding/json"

// The API's requests. The order of the fields is the order of the bytes, which the
// provider's cache compares: a change makes it forget every conversation once.

type request struct {
	MaxTokens     int          `json:"max_tokens"`
	Model         string       `json:"model"`
	StopSequences []string     `json:"stop_sequences,omitempty"`
	Stream        bool         `json:"stream"`
	Temperature   *float64     `json:"temperature,omitempty"`
	TopP          *float64     `json:"top_p,omitempty"`
	Tools         []definition `json:"tools,omitempty"`
	System        []block      `json:"system,omitempty"`
	Messages      []message    `json:"messages"`
	ToolChoice    *choice      `json:"tool_choice,omitempty"`
	Output        *output      `json:"output_config,omitempty"`

	Thinking json.RawMessage `json:"thinking,omitempty"`
}

// choice says which tool the model must call.
type choice struct {
	Type   string `json:"type"`
	Name   string `json:"name,omitempty"`
	Serial bool   `json:"disable_parallel_tool_use,omitempty"`
}

type definition struct {
	InputSchema  json.RawMessage `json:"input_schema"`
	Name         string          `json:"name"`
	DeferLoading bool            `json:"defer_loading,omitempty"`
	Description  string          `json:"description,omitempty"`
	CacheControl *cacheControl   `json:"cache_control,omitempty"`
}

type message struct {
	Content []block `json:"content"`
	Role    string  `json:"role"`
}

// block is a part of a message. Type says which of the other fields it has.
type block struct {
	// Text is that of a text.
	Text string `json:"text,omitempty"`
	// Source is that of an image or a document, Title that of a document.
	Source *source `json:"source,omitempty"`
	Title  string  `json:"title,omitempty"`
	// ToolUseID, IsError and Content are those of a tool_result.
	ToolUseID string `json:"tool_use_id,omitempty"`
	IsError   bool   `json:"is_error,omitempty"`
	// ID, Input and Name are those of a tool_use.
	ID    string `json:"id,omitempty"`
	Input any    `json:"input,omitempty"`
	Name  string `json:"name,omitempty"`
	// ToolName is that of a tool_reference.
	ToolName     string        `json:"tool_name,omitempty"`
	CacheControl *cacheControl `json:"cache_control,omitempty"`
	Content      []block       `json:"content,omitempty"`
	Type         string        `json:"type"`
	// Thinking and Signature are those of a thinking, Data that of a redacted_thinking.
	Thinking  *string `json:"thinking,omitempty"`
	Signature string  `json:"signature,omitempty"`
	Data      string  `json:"data,omitempty"`
}

type source struct {
	Data      []byte `json:"data"` // base64
	MediaType string `json:"media_type"`
	Type      string `json:"type"`
}

type cacheControl struct {
	Type string `json:"type"`
}

// event is a piece of an answer. Type says which of the other fields it has.
type event struct {
	Type         string  `json:"type"`
	Index        int     `json:"index"`
	ContentBlock content `json:"content_block"`
	Delta        struct {
		Type        string `json:"type"`
		Text        string `json:"text"`
		PartialJSON string `json:"partial_json"`
		Thinking    string `json:"thinking"`
		Signature   string `json:"signature"`
		StopReason  string `json:"stop_reason"`
		// StopSequence is the stop of the request that ended the answer.
		StopSequence string `json:"stop_sequence"`
	} `json:"delta"`
	Message struct {
		Usage usage `json:"usage"`
	} `json:"message"`
	Usage usage `json:"usage"`
	// Content, StopReason and StopSequence are those of a whole message, in place of a stream.
	Content      []content `json:"content"`
	StopReason   string    `json:"stop_reason"`
	StopSequence string    `json:"stop_sequence"`
}

// content is a part of an answer. Type says which of the other fields it has.
type content struct {
	Type  string          `json:"type"`
	ID    string          `json:"id"`
	Name  string          `json:"name"`
	Input json.RawMessage `json:"input"`
	Text  string          `json:"text"`
	// Thinking and Signature are those of a thinking block, Data that of a redacted_thinking.
	Thinking  string `json:"thinking"`
	Signature string `json:"signature"`
	Data      string `json:"data"`
}

type usage struct {
	InputTokens              int `json:"input_tokens"`
	OutputTokens             int `json:"output_tokens"`
	CacheReadInputTokens     int `json:"cache_read_input_tokens"`
	CacheCreationInputTokens int `json:"cache_creation_input_tokens"`
}
