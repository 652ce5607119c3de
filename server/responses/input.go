package responses

import (
	"crypto/rand"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/server/wire"
)

// input is a text, or a list of items.
type input struct {
	list []item
	raw  json.RawMessage // as the client wrote it
}

// item is a part of a conversation. Type says which of the other fields it has.
type item struct {
	Type    string  `json:"type"`
	Role    string  `json:"role"`
	Content content `json:"content"`
	// CallID ties a call to its output; the rest is that of a call.
	CallID    string  `json:"call_id"`
	Name      string  `json:"name"`
	Namespace string  `json:"namespace"`
	Arguments string  `json:"arguments"`
	Input     string  `json:"input"` // of a custom tool
	Output    content `json:"output"`
	Encrypted string  `json:"encrypted_content"` // of reasoning
}

// content is a text, or a list of parts.
type content []part

type part struct {
	Type    string `json:"type"`
	Text    string `json:"text"`
	Refusal string `json:"refusal"`
	Image   string `json:"image_url"`
	Name    string `json:"filename"`
	Data    string `json:"file_data"`
}

// UnmarshalJSON implements [json.Unmarshaler].
func (i *input) UnmarshalJSON(raw []byte) error {
	i.raw = slices.Clone(raw)
	var text string
	if json.Unmarshal(raw, &text) == nil {
		i.list = []item{{Role: "user", Content: content{{Type: "input_text", Text: text}}}}
		return nil
	}
	return json.Unmarshal(raw, &i.list)
}

// items returns what the client wrote as a list of items, each with a type and an ID.
func (i input) items() []json.RawMessage {
	var list []map[string]json.RawMessage
	if json.Unmarshal(i.raw, &list) != nil { // it is a text
		list = []map[string]json.RawMessage{{"role": json.RawMessage(`"user"`), "content": i.raw}}
	}
	items := make([]json.RawMessage, len(list))
	for n, one := range list {
		if one == nil {
			one = map[string]json.RawMessage{}
		}
		if one["type"] == nil {
			one["type"] = json.RawMessage(`"message"`)
		}
		if one["id"] == nil {
			one["id"] = quoted("item_" + rand.Text())
		}
		if text := one["content"]; len(text) > 0 && text[0] == '"' {
			kind := map[bool]string{true: "output_text", false: "input_text"}[string(one["role"]) == `"assistant"`]
			one["content"] = json.RawMessage(`[{"type":"` + kind + `","text":` + string(text) + `}]`)
		}
		items[n], _ = json.Marshal(one) // it was read from JSON
	}
	return items
}

func quoted(text string) json.RawMessage {
	raw, _ := json.Marshal(text) // never fails for a string
	return raw
}

// UnmarshalJSON implements [json.Unmarshaler].
func (c *content) UnmarshalJSON(raw []byte) error {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		*c = content{{Type: "input_text", Text: text}}
		return nil
	}
	var parts []part
	if json.Unmarshal(raw, &parts) != nil {
		parts = []part{{Type: "input_text", Text: string(raw)}} // an object, as some outputs are
	}
	*c = parts
	return nil
}

// read returns the conversation. Instructions get the messages that are none of it. Where the
// conversation goes on, calls are known by etui and need not be among the items. Open opens reasoning.
func (i input) read(instructions *[]string, goesOn bool, open func(string) *reasoning) ([]chat.Message, error) {
	var thought *reasoning // behind the calls that come next
	history, made := []chat.Message{}, map[string]string{}
	for n, one := range i.list {
		wrong := func(err error) error { return refuse(fmt.Sprintf("input[%d]", n), "input[%d]: %v", n, err) }
		switch one.Type {
		case "", "message":
			text, files, err := one.Content.read()
			switch {
			case err != nil:
				return nil, wrong(err)
			case one.Role == "system" || one.Role == "developer":
				*instructions = append(*instructions, text)
			case one.Role == "user" || one.Role == "assistant":
				history = append(history, chat.Message{Role: chat.Role(one.Role), Text: text, Files: files})
			default:
				return nil, wrong(fmt.Errorf("role %q is not supported", one.Role))
			}
		case "function_call", "custom_tool_call":
			call := chat.Call{
				ID: one.CallID, Name: fullName(one.Namespace, one.Name), Arguments: wire.Arguments(one.Arguments),
				Client: true,
			}
			if one.Type == "custom_tool_call" {
				call.Arguments = customArguments(one.Input)
			}
			if call.ID == "" || one.Name == "" {
				return nil, wrong(fmt.Errorf("a call needs a call_id and a name"))
			}
			made[call.ID] = call.Name
			if last := len(history) - 1; last >= 0 && history[last].Role == chat.Assistant {
				history[last].Calls = append(history[last].Calls, call)
			} else {
				history = append(history, chat.Message{Role: chat.Assistant, Calls: []chat.Call{call}})
			}
			thought.giveBack(&history[len(history)-1])
		case "reasoning":
			thought = open(one.Encrypted)
		case "function_call_output", "custom_tool_call_output":
			thought = nil
			name, known := made[one.CallID]
			if !known && !goesOn {
				return nil, wrong(fmt.Errorf("no item before it is the call %q", one.CallID))
			}
			text, files, err := one.Output.read()
			if err != nil {
				return nil, wrong(err)
			}
			history = append(history, chat.Message{Role: chat.Tool, Result: &chat.Result{
				CallID: one.CallID, Name: name, Text: text, Images: files,
			}})
		}
		// Others say nothing to an agent.
	}
	return history, nil
}

// read returns the text, the pictures and the PDFs of a content.
func (c content) read() (string, []chat.File, error) {
	var all strings.Builder
	var files []chat.File
	for _, p := range c {
		switch p.Type {
		case "input_image":
			picture, err := wire.Picture(p.Image)
			if err != nil {
				return "", nil, fmt.Errorf("input_image: %w", err)
			}
			files = append(files, picture)
		case "input_file":
			text, pdf, err := wire.File(p.Name, p.Data)
			if err != nil {
				return "", nil, fmt.Errorf("input_file: %w", err)
			}
			all.WriteString(text)
			if pdf != nil {
				files = append(files, chat.File{Name: p.Name, Data: pdf})
			}
		default:
			all.WriteString(p.Text + p.Refusal)
		}
	}
	files, err := wire.Check(files)
	return all.String(), files, err
}
