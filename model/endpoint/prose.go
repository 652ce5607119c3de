package endpoint

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/model"
)

// prose is the text of an answer as it arrives, without what a model means for its server: thoughts
// in tags, marks of channels, and calls that it writes as text. These stand at the beginning, so an
// ordinary answer is passed on at once.
type prose struct {
	tools map[string]*json.RawMessage // parameters of what may be called; nil when text is no call
	late  *atomic.Bool                // the model is known to close thoughts that it did not open
	step  step
	text  string          // that was not passed on yet
	until string          // what ends the thought
	said  bool            // something was passed on
	guess bool            // text without a beginning may be a thought, because the last one was
	ended bool            // a thought has ended, so that a mark of its end is a text
	marks bool            // it came in a channel of harmony
	exact bool            // JSON was asked for
	held  strings.Builder // what may be a thought, before text
}

type step int

const (
	begins  step = iota // what the text is, is not known yet
	thinks              // it is a thought
	calls               // it may be a call
	replies             // it is for the person
)

// thoughts are what opens a thought, and what closes it.
var thoughts = [][2]string{
	{"<think>", "</think>"}, {"<thinking>", "</thinking>"}, {"<thought>", "</thought>"}, {"<reasoning>", "</reasoning>"},
	{"[THINK]", "[/THINK]"}, {"<|START_THINKING|>", "<|END_THINKING|>"}, {"◁think▷", "◁/think▷"},
}

// callMarks are what a call begins with that is written as text.
var callMarks = []string{"<tool_call>", "<function=", "<function_call>", "[TOOL_CALLS]", "<|tool_call|>", "<|python_tag|>", "{", "[{", "```json\n{", "```\n{"}

// channelMark and messageMark stand around the name of a harmony channel.
const channelMark, messageMark = "<|channel|>", "<|message|>"

// harmony are the marks between its messages.
var harmony = strings.NewReplacer("<|start|>assistant", "", "<|end|>", "", "<|return|>", "", "<|call|>", "")

// maxHeld bounds the text of which it is not known what it is, in bytes.
const maxHeld = 64 << 10

func newProse(req model.Request, late *atomic.Bool, verbatim bool) *prose {
	p := &prose{late: late, guess: late.Load(), exact: len(req.Format) > 0}
	if p.exact || verbatim || len(req.Tools) == 0 {
		return p
	}
	p.tools = map[string]*json.RawMessage{}
	for i := range req.Tools {
		p.tools[req.Tools[i].Name] = &req.Tools[i].Parameters
	}
	for i := range req.Deferred {
		p.tools[req.Deferred[i].Name] = &req.Deferred[i].Parameters
	}
	return p
}

// add adds a piece and returns what can be passed on.
func (p *prose) add(piece string) string {
	p.text += piece
	for {
		switch p.step {
		case begins:
			if !p.decide() {
				return ""
			}
		case thinks:
			_, rest, ends := strings.Cut(p.text, p.until)
			if !ends {
				if n := len(p.text) - len(p.until); n > 0 {
					if p.guess {
						p.held.WriteString(p.text[:n])
					}
					p.text = p.text[n:]
				}
				if p.held.Len() > maxGuess { // nobody is answered at such length
					p.guess = false
					p.held.Reset()
				}
				return ""
			}
			p.text, p.step, p.guess, p.ended = rest, begins, false, true
			p.held.Reset()
		case calls:
			if len(p.text) < maxHeld {
				return ""
			}
			p.step = replies
		case replies:
			return p.pass()
		}
	}
}

// decide finds out what the text is. It reports whether it is known.
func (p *prose) decide() bool {
	text := strings.TrimLeft(p.text, " \t\r\n")
	if text == "" {
		p.text = p.text[:min(len(p.text), maxBlank)]
		return false
	}
	if p.exact && text[0] == '{' {
		p.step, p.text = replies, text
		return true
	}
	for _, mark := range thoughts {
		switch {
		case strings.HasPrefix(text, mark[0]):
			p.guess, p.exact = false, false
			p.step, p.until, p.text = thinks, mark[1], text[len(mark[0]):]
			return true
		case strings.HasPrefix(mark[0], text):
			return false
		}
	}
	if bare := strings.TrimPrefix(text, "<|start|>assistant"); strings.HasPrefix(bare, channelMark) {
		name, rest, ok := strings.Cut(bare[len(channelMark):], messageMark)
		switch {
		case !ok && len(name) < 200:
			return false
		case strings.HasPrefix(strings.TrimSpace(name), "final"):
			p.text, p.step = rest, replies
		default:
			p.text, p.step, p.until = rest, thinks, "<|end|>"
		}
		p.guess, p.marks = false, true
		return true
	}
	if strings.HasPrefix("<|start|>assistant"+channelMark, text) || strings.HasPrefix(channelMark, text) {
		return false
	}
	if p.guess {
		p.step, p.until = thinks, "</think>"
		return true
	}
	p.step = replies
	p.exact = p.exact && text[0] == '['
	if p.tools != nil && !p.said {
		for _, mark := range callMarks {
			if strings.HasPrefix(text, mark) {
				p.step = calls
				return true
			}
			if strings.HasPrefix(mark, text) {
				p.step = begins
				return false
			}
		}
	}
	if !p.said { // a thought before it leaves blank lines
		p.text = text
	}
	return true
}

// pass returns the text but for an end that may be the beginning of a mark.
func (p *prose) pass() string {
	if p.exact {
		out := p.text
		p.text, p.said = "", true
		return out
	}
	if before, rest, ends := strings.Cut(p.text, "</think>"); ends && !p.ended {
		p.late.Store(true)
		p.ended = true
		if p.text = before + rest; !p.said {
			p.text = strings.TrimLeft(rest, " \t\r\n")
		}
	}
	out := p.text
	if at := strings.LastIndexByte(out, '<'); at >= 0 && p.unsure(out[at:]) {
		out = out[:at]
	}
	p.text = p.text[len(out):]
	if p.marks {
		out = harmony.Replace(out)
	}
	p.said = p.said || out != ""
	return out
}

// unsure reports whether a text may go on as a mark.
func (p *prose) unsure(text string) bool {
	if !p.ended && strings.HasPrefix("</think>", text) {
		return true
	}
	return p.marks && slices.ContainsFunc([]string{"<|start|>assistant", "<|end|>", "<|return|>", "<|call|>"}, func(mark string) bool {
		return len(text) < len(mark) && strings.HasPrefix(mark, text)
	})
}

const (
	// maxGuess bounds what is held because it may be a thought, in bytes.
	maxGuess = 1 << 20
	// maxBlank bounds the blanks that are held before a text.
	maxBlank = 64
)

// end says that the answer is complete: what was guessed to be a thought, and did not end, is none.
func (p *prose) end() {
	if p.step != thinks || !p.guess {
		return
	}
	p.late.Store(false)
	p.guess, p.step, p.text = false, begins, p.held.String()+p.text
	p.held.Reset()
	p.text = p.add("") + p.text
}

// rest returns what is left when the answer has ended.
func (p *prose) rest() string {
	if p.step == thinks {
		return ""
	}
	text := p.text
	p.text = ""
	if p.exact {
		return text
	}
	if !p.marks && p.step != begins {
		return text
	}
	if text = harmony.Replace(text); !p.said && strings.TrimSpace(text) == "" {
		return ""
	}
	return text
}

// calls returns the calls that the model has written as the whole of its text, and drops the text.
// Each names a tool of the request and has arguments of its schema; otherwise it is a text.
func (p *prose) calls(names Declared) []*Call {
	if p.step != calls {
		return nil
	}
	var list []*Call
	for _, w := range written(strings.TrimSpace(p.text)) {
		own := names.Own(w.Name)
		parameters := p.tools[own]
		if parameters == nil || !fits(*parameters, names.schemas[own].Restore(w.Arguments)) {
			return nil
		}
		list = append(list, &Call{Call: chat.Call{Name: w.Name, Arguments: w.Arguments}})
	}
	if len(list) > 0 {
		p.text = ""
	}
	return list
}

// writtenCall is a call as models write it.
type writtenCall struct {
	Name       string          `json:"name"`
	Arguments  json.RawMessage `json:"arguments"`
	Parameters json.RawMessage `json:"parameters"`
}

var (
	callTag   = regexp.MustCompile(`(?s)^\s*(?:<tool_call>|<function_call>|<\|tool_call\|>|<\|python_tag\|>|\[TOOL_CALLS\])\s*`)
	callEnd   = regexp.MustCompile(`(?s)^\s*(?:</tool_call>|</function_call>|<\|/tool_call\|>|</function>)\s*`)
	fence     = regexp.MustCompile("(?s)^```(?:json)?\n(.*?)\n?```$")
	function  = regexp.MustCompile(`(?s)^<function=([\w.:/-]+)>\s*(.*?)\s*</function>`)
	parameter = regexp.MustCompile(`(?s)<parameter=([\w.-]+)>\n?(.*?)\n?</parameter>`)
)

// written reads a text that consists of calls; nil when it has anything else.
func written(text string) (list []writtenCall) {
	if inner := fence.FindStringSubmatch(text); inner != nil {
		text = inner[1]
	}
	for text = strings.TrimSpace(text); text != ""; text = strings.TrimSpace(text) {
		if tag := callTag.FindString(text); tag != "" {
			text = text[len(tag):]
		}
		if f := function.FindStringSubmatch(text); f != nil {
			list = append(list, writtenCall{Name: f[1], Arguments: parametersOf(f[2])})
			text = text[len(f[0]):]
		} else {
			d := json.NewDecoder(strings.NewReader(text))
			var raw json.RawMessage
			if d.Decode(&raw) != nil {
				return nil
			}
			var several []writtenCall
			if json.Unmarshal(raw, &several) != nil {
				several = make([]writtenCall, 1)
				if json.Unmarshal(raw, &several[0]) != nil {
					return nil
				}
			}
			list, text = append(list, several...), text[d.InputOffset():]
		}
		for end := callEnd.FindString(text); end != ""; end = callEnd.FindString(text) {
			text = text[len(end):]
		}
	}
	for i, w := range list {
		if list[i].Arguments == nil {
			list[i].Arguments = w.Parameters
		}
		var inner string
		if json.Unmarshal(list[i].Arguments, &inner) == nil { // encoded twice
			list[i].Arguments = json.RawMessage(inner)
		}
	}
	return list
}

// parametersOf reads arguments that are written as tags. A value that is JSON is taken as it is.
func parametersOf(text string) json.RawMessage {
	args := map[string]any{}
	for _, p := range parameter.FindAllStringSubmatch(text, -1) {
		args[p[1]] = p[2]
		if json.Valid([]byte(p[2])) && strings.ContainsAny(p[2][:1], `{["`) {
			args[p[1]] = json.RawMessage(p[2])
		}
	}
	raw, _ := json.Marshal(args) // texts and valid JSON
	return raw
}

// fits reports whether arguments are an object whose names a schema knows, with those that it
// requires. Whoever runs the call checks the rest.
func fits(schema, args json.RawMessage) bool {
	var wanted struct {
		Properties map[string]json.RawMessage `json:"properties"`
		Required   []string                   `json:"required"`
	}
	given := map[string]json.RawMessage{}
	if json.Unmarshal(args, &given) != nil {
		return false
	}
	_ = json.Unmarshal(schema, &wanted) // a schema of another form restricts nothing
	for name := range given {
		if _, known := wanted.Properties[name]; !known && wanted.Properties != nil {
			return false
		}
	}
	return !slices.ContainsFunc(wanted.Required, func(name string) bool { _, has := given[name]; return !has })
}
