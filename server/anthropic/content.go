package anthropic

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/engine"
	"github.com/etui-run/etui/message"
	"github.com/etui-run/etui/model/endpoint"
	"github.com/etui-run/etui/server/wire"
)

func invalid(format string, args ...any) error {
	return fmt.Errorf("%w: %s", engine.ErrInvalid, fmt.Sprintf(format, args...))
}

// clientMessage is a message of the client.
type clientMessage struct {
	Role    string `json:"role"`
	Content blocks `json:"content"`
}

// thought is a part of a message that the model has thought, or a piece of one. The last piece has the
// signature, or the data.
type thought struct {
	Thinking  *string `json:"thinking,omitempty"`
	Signature string  `json:"signature,omitempty"`
	Data      string  `json:"data,omitempty"`
}

// whole reports whether a provider takes the part back.
func (t thought) whole() bool { return t.Signature != "" && t.Thinking != nil || t.Data != "" }

// block is a part of a message. Type says which of the other fields it has.
type block struct {
	Type string `json:"type"`
	Text string `json:"text"`
	thought
	Title  string  `json:"title"`
	Source *source `json:"source"`
	// ID, Name and Input are those of a call.
	ID    string          `json:"id"`
	Name  string          `json:"name"`
	Input json.RawMessage `json:"input"`
	// ToolUseID, Content and Failed are those of a result. Content is decoded only there, not at each
	// depth to which a client nests it.
	ToolUseID string          `json:"tool_use_id"`
	Content   json.RawMessage `json:"content"`
	Failed    bool            `json:"is_error"`
}

type source struct {
	Type      string          `json:"type"`
	MediaType string          `json:"media_type"`
	URL       string          `json:"url"`
	Data      json.RawMessage `json:"data"`
}

// blocks are the content of a message: a text, or a list of parts.
type blocks []block

// UnmarshalJSON implements [json.Unmarshaler].
func (b *blocks) UnmarshalJSON(raw []byte) error {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		*b = blocks{{Type: "text", Text: text}}
		return nil
	}
	var list []json.RawMessage
	_ = json.Unmarshal(raw, &list)
	*b = make(blocks, len(list))
	for i, one := range list {
		if err := json.Unmarshal(one, &(*b)[i]); err != nil {
			return fmt.Errorf("part %d: %w", i+1, err)
		}
	}
	return nil
}

// read returns the conversation. Instructions get the messages that are none of it.
func (c request) read(instructions *[]string) ([]chat.Message, error) {
	history, made := []chat.Message{}, map[string]string{}
	for i, m := range c.Messages {
		var err error
		switch m.Role {
		case "user":
			history, err = m.user(history, made)
		case "assistant":
			history, err = m.assistant(history, made)
		case "system":
			for _, b := range m.Content {
				*instructions = append(*instructions, strings.TrimSpace(b.Text))
			}
		default:
			err = fmt.Errorf("role %q is not supported", m.Role)
		}
		if err != nil {
			return nil, invalid("messages.%d: %v", i, err)
		}
	}
	return history, nil
}

// reminder begins a text that a client adds by itself. Beside results it is no question.
const reminder = "<system-reminder>"

// user reads the results and the text of a message.
func (m clientMessage) user(history []chat.Message, made map[string]string) ([]chat.Message, error) {
	results, asks := 0, false
	for _, b := range m.Content {
		if b.Type != "tool_result" {
			continue
		}
		name, known := made[b.ToolUseID]
		if !known {
			return nil, fmt.Errorf("no assistant's message before it has the call %q", b.ToolUseID)
		}
		var content blocks
		if len(b.Content) > 0 {
			if err := json.Unmarshal(b.Content, &content); err != nil {
				return nil, fmt.Errorf("the result of %q has parts of another form than Anthropic's", b.ToolUseID)
			}
		}
		text, files, err := content.read()
		if err != nil {
			return nil, err
		}
		results++
		history = append(history, chat.Message{Role: chat.Tool, Result: &chat.Result{
			CallID: b.ToolUseID, Name: name, Text: text, Images: files, Failed: b.Failed,
		}})
	}
	text, files, err := m.Content.read()
	if err != nil {
		return nil, err
	}
	for _, b := range m.Content {
		asks = asks || b.Type == "text" && !strings.HasPrefix(strings.TrimSpace(b.Text), reminder)
	}
	switch {
	case results == 0 || asks || len(files) > 0:
		if results == 0 || text != "" || len(files) > 0 {
			history = append(history, chat.Message{Role: chat.User, Text: text, Files: files})
		}
	case text != "":
		history[len(history)-1].Result.Text += "\n\n" + text
	}
	return history, nil
}

// assistant reads the text, the thoughts and the calls of a message. etui keeps the thoughts, too: those
// of the client are for a model that is asked about calls of which nothing is kept any more.
func (m clientMessage) assistant(history []chat.Message, made map[string]string) ([]chat.Message, error) {
	text, _, err := m.Content.read()
	if err != nil {
		return nil, err
	}
	said := chat.Message{Role: chat.Assistant, Text: text}
	var thoughts []any
	for _, b := range m.Content {
		if (b.Type == "thinking" || b.Type == "redacted_thinking") && b.whole() {
			thoughts = append(thoughts, struct {
				Type string `json:"type"`
				thought
			}{b.Type, b.thought})
		}
		if b.Type != "tool_use" {
			continue
		}
		if b.ID == "" || b.Name == "" {
			return nil, fmt.Errorf("a tool_use needs an id and a name")
		}
		made[b.ID] = b.Name
		said.Calls = append(said.Calls, chat.Call{ID: b.ID, Name: b.Name, Arguments: b.Input, Client: true})
	}
	if len(said.Calls) > 0 && len(thoughts) > 0 {
		said.State, _ = json.Marshal(map[string]any{"thinking": thoughts}) // texts
		said.StateOf = endpoint.FromMessages
	}
	return append(history, said), nil
}

// read returns the text, the pictures and the PDFs of a content. Other parts are skipped.
func (b blocks) read() (string, []chat.File, error) {
	var texts []string
	var files []chat.File
	for _, part := range b {
		switch part.Type {
		case "text":
			texts = append(texts, part.Text)
		case "image", "document":
			text, file, err := part.file()
			if err != nil {
				return "", nil, fmt.Errorf("%s: %w", part.Type, err)
			}
			if file != nil {
				files = append(files, *file)
			} else {
				texts = append(texts, text)
			}
		}
	}
	files, err := wire.Check(files)
	return strings.Join(texts, "\n"), files, err
}

// file returns a picture or a PDF, or the text of a document.
func (b block) file() (text string, file *chat.File, err error) {
	switch {
	case b.Source == nil:
		return "", nil, fmt.Errorf("it has no source")
	case b.Source.Type == "text":
		if err := json.Unmarshal(b.Source.Data, &text); err != nil {
			return "", nil, fmt.Errorf("its data are not a text")
		}
		text, err = message.TextFile(b.Title, []byte(text))
		return text, nil, err
	case b.Source.Type == "url" && b.Type == "image":
		picture, remote := wire.Remote(b.Source.URL)
		if !remote {
			return "", nil, fmt.Errorf("its address must begin with http:// or https://")
		}
		return "", &picture, nil
	case b.Source.Type != "base64":
		return "", nil, fmt.Errorf(
			"a source of type %q is not supported, only base64, text, and url for an image", b.Source.Type,
		)
	}
	file = &chat.File{Name: b.Title}
	if err := json.Unmarshal(b.Source.Data, &file.Data); err != nil {
		return "", nil, fmt.Errorf("its data are not base64")
	}
	return "", file, nil
}
