package openai

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/server/wire"
)

// part is a part of a message's content.
type part struct {
	Type string `json:"type"`
	Text string `json:"text"`
	// Refusal is what a model said that declined to answer.
	Refusal string `json:"refusal"`
	Image   struct {
		URL string `json:"url"`
	} `json:"image_url"`
	Audio struct {
		Data []byte `json:"data"`
	} `json:"input_audio"`
	File struct {
		Name string `json:"filename"`
		Data string `json:"file_data"`
		ID   string `json:"file_id"`
	} `json:"file"`
}

// system is the role of instructions, which are no message of the conversation.
const system chat.Role = "system"

// older begins the IDs of calls in their older form, which has none.
const older = "function_"

// read reads a message. Made are the names of the calls so far, by their IDs.
func (m completionMessage) read(made map[string]string) (chat.Message, *refusal) {
	said := chat.Message{Role: chat.Role(m.Role)}
	var err error
	if said.Text, said.Files, err = m.content(); err != nil {
		return said, &refusal{says: err.Error()}
	}
	switch m.Role {
	case "system", "developer":
		said.Role = system
	case "user":
	case "assistant":
		said.Text += m.Refusal
		if f := m.FunctionCall; f != nil && f.Name != "" {
			m.ToolCalls = append(m.ToolCalls, toolCall{ID: older + f.Name, Function: f})
		}
		for _, c := range m.ToolCalls {
			if c.ID == "" || c.Function == nil || c.Function.Name == "" {
				return said, &refusal{field: "tool_calls", says: "a call needs an id and a function with a name"}
			}
			made[c.ID] = c.Function.Name
			said.Calls = append(said.Calls, chat.Call{
				ID: c.ID, Name: c.Function.Name, Arguments: wire.Arguments(c.Function.Arguments), Client: true,
			})
		}
	case "tool", "function":
		if m.Role == "function" {
			m.ToolCallID, said.Role = older+m.Name, chat.Tool
		}
		name, known := made[m.ToolCallID]
		if !known {
			return said, &refusal{
				field: "tool_call_id",
				says:  fmt.Sprintf("no assistant's message before it has the call %q", m.ToolCallID),
			}
		}
		said.Result = &chat.Result{CallID: m.ToolCallID, Name: name, Text: said.Text, Images: said.Files}
		said.Text, said.Files = "", nil
	default:
		return said, &refusal{field: "role", code: "unsupported_parameter",
			says: fmt.Sprintf("role %q is not supported", m.Role)}
	}
	return said, nil
}

// content reads a message's content: a string, or a list of parts. A file of text becomes a
// part of the text.
func (m completionMessage) content() (text string, pictures []chat.File, err error) {
	if len(m.Content) == 0 || string(m.Content) == "null" || json.Unmarshal(m.Content, &text) == nil {
		return text, nil, nil
	}
	var parts []part
	if err := json.Unmarshal(m.Content, &parts); err != nil {
		return "", nil, errors.New("a message's content must be a text or a list of parts")
	}
	var all strings.Builder
	for _, p := range parts {
		switch {
		case p.Type == "text":
			all.WriteString(p.Text)
		case p.Type == "refusal" && m.Role == "assistant":
			all.WriteString(p.Refusal)
		case m.Role != "user" && m.Role != "tool":
			return "", nil, fmt.Errorf("parts of type %q are not supported in a message of role %q, only text", p.Type,
				m.Role)
		case p.Type == "image_url":
			picture, err := wire.Picture(p.Image.URL)
			if err != nil {
				return "", nil, fmt.Errorf("image_url: %w", err)
			}
			pictures = append(pictures, picture)
		case p.Type == "input_audio" && len(p.Audio.Data) > 0:
			pictures = append(pictures, chat.File{Data: p.Audio.Data})
		case p.Type == "file":
			written, pdf, err := p.file()
			if err != nil {
				return "", nil, fmt.Errorf("file: %w", err)
			}
			all.WriteString(written)
			if pdf != nil {
				pictures = append(pictures, chat.File{Name: p.File.Name, Data: pdf})
			}
		default:
			return "", nil, fmt.Errorf("parts of type %q are not supported, only text, image_url, file and input_audio",
				p.Type)
		}
	}
	pictures, err = wire.Check(pictures)
	return all.String(), pictures, err
}

// file returns a file of text as the model reads it, or the bytes of a PDF.
func (p part) file() (text string, pdf []byte, err error) {
	if p.File.ID != "" {
		return "", nil, errors.New("etui keeps no uploaded files: send file_data instead of file_id")
	}
	return wire.File(p.File.Name, p.File.Data)
}
