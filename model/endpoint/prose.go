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
	tools   map[string]*json.RawMessage // parameters of what may be called; nil when text is no call
	late    *atomic.Bool                // the model is known to close thoughts that it did not open
	step    step
	text    string          // that was not passed on yet
	until   string          // what ends the thought
	said    bool            // something was passed on
	guess   bool            // text without a beginning may be a thought, because the last one was
	ended   bool            // a thought has ended, so that a mark of its end is a text
	marks   bool            // it came in a channel of harmony
	wrapped bool            // it began with one of the answers
	exact   bool            // JSON was asked for
	held    strings.Builder // what may be a thought, before text
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
	{"<think>", "</think>"}, {"<thinking>", "</thinking>"}, {"<thought>", "</thought>"}, {"<reasoning>",
		"</reasoning>"},
	{"<THINK>", "</THINK>"}, {"<seed:think>", "</seed:think>"}, {"<|begin_of_thought|>", "<|end_of_thought|>"},
	{"<unused94>thought", "<unused95>"},
	{"[THINK]", "[/THINK]"}, {"<|START_THINKING|>", "<|END_THINKING|>"}, {"◁think▷", "◁/think▷"},
}

// callMarks are what a call begins with that is written as text.
var callMarks = []string{
	"<tool_call>", "<function=", "<function_call>", "<function_calls>", "<tools>", "<invoke name=",
	"<minimax:tool_call>", "<｜DSML｜",
	"[TOOL_CALLS]", "<|tool_call|>", "<|python_tag|>", "<|tool_calls_section_begin|>", "<|tool_call_begin|>",
	"<｜tool▁calls▁begin｜>", "<｜tool▁call▁begin｜>", harmonyCall,
	"{", "[{", "```json\n{", "```\n{", "```tool_call\n{",
}

// harmonyCall stands for the head of a harmony message that is a call.
const harmonyCall = "<|call|>"

// answers are what some models write around the text after a thought.
var answers = [][2]string{{"<answer>", "</answer>"}, {"<|begin_of_solution|>", "<|end_of_solution|>"}}

// ends are what models write at the end of an answer for their server.
var ends = []string{"<|im_end|>", "</s>", "<|eot_id|>", "<|eom_id|>", "<|endoftext|>", "<end_of_turn>", "<｜end▁of▁sentence｜>", "</answer>", "<|end_of_solution|>"}

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
		case p.tools != nil && !p.said && strings.Contains(name, " to="):
			_, called, _ := strings.Cut(name, " to=")
			called, _, _ = strings.Cut(strings.TrimSpace(called), " ")
			p.text, p.step = harmonyCall+called+rest, calls
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
	for _, around := range answers {
		switch {
		case !p.ended || p.said:
		case strings.HasPrefix(text, around[0]):
			p.text, p.wrapped = text[len(around[0]):], true
			return true
		case strings.HasPrefix(around[0], text):
			return false
		}
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
	if slices.ContainsFunc(ends, func(mark string) bool { return strings.HasPrefix(mark, text) }) {
		return true
	}
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
	for _, mark := range ends {
		around := slices.ContainsFunc(answers, func(a [2]string) bool { return a[1] == mark })
		if before, ended := strings.CutSuffix(strings.TrimRight(text, " \n"), mark); ended && (p.wrapped || !around) {
			text = before
		}
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
	text := strings.TrimSpace(p.text)
	marked := !strings.HasPrefix(text, "{") && !strings.HasPrefix(text, "[{") && !strings.HasPrefix(text, "```")
	var list []*Call
	for _, w := range written(text) {
		own := names.Own(w.Name)
		parameters := p.tools[own]
		known := parameters != nil && fits(*parameters, names.schemas[own].Restore(w.Arguments))
		if !known && !marked {
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
	callTag = regexp.MustCompile(`^\s*(?:<(?:tool_call|function_calls?|tools|minimax:tool_call)>|<｜DSML｜(?:function|tool)_calls>|<\|(?:tool_call|python_tag|call|tool_calls_section_begin|tool_call_begin)\|>|` +
		`<｜tool▁calls▁begin｜>|<｜tool▁call▁begin｜>|\[TOOL_CALLS\])\s*`)
	callEnd = regexp.MustCompile(`^\s*(?:</(?:tool_call|function_calls?|function|tools|minimax:tool_call)>|</｜DSML｜(?:function|tool)_calls>|<\|/?(?:tool_call|call|tool_calls_section_end|tool_call_end|im_end|eot_id|eom_id)\|>|` +
		`<｜tool▁calls?▁end｜>|<｜end▁of▁sentence｜>|</s>|` + "```" + `)\s*`)
	fence     = regexp.MustCompile("(?s)^```(?:json|tool_call)?\n(.*?)\n?```$")
	function  = regexp.MustCompile(`(?s)^<function=([\w.:/-]+)>\s*(.*?)\s*</function>`)
	invoke    = regexp.MustCompile(`(?s)^<(?:｜DSML｜)?invoke name="([\w.:/-]+)"[^>]*>\s*(.*?)\s*</(?:｜DSML｜)?invoke>`)
	parameter = regexp.MustCompile(`(?s)<(?:｜DSML｜)?parameter(?:=| name=")([\w.$-]+)"?[^>]*>\n?(.*?)\n?</(?:｜DSML｜)?parameter>|` +
		`<arg_key>\s*([\w.$-]+)\s*</arg_key>\s*<arg_value>\n?(.*?)\n?</arg_value>`)
	// named is a name before its arguments, as JSON or in tags.
	named  = regexp.MustCompile(`^(?:function<｜tool▁sep｜>)?([\w.:/-]+)\s*(?:<｜tool▁sep｜>|<\|tool_call_argument_begin\|>|\[ARGS\])?\s*(?:` + "```json" + `\s*)?`)
	tagged = regexp.MustCompile(`(?s)^(?:<arg_key>.*?</arg_key>\s*<arg_value>.*?</arg_value>\s*)+`)
)

// written reads a text that consists of calls; nil when it has anything else.
func written(text string) (list []writtenCall) {
	if inner := fence.FindStringSubmatch(text); inner != nil {
		text = inner[1]
	}
	for text = strings.TrimSpace(text); text != ""; text = strings.TrimSpace(text) {
		marked := false
		for tag := callTag.FindString(text); tag != ""; tag = callTag.FindString(text) {
			text, marked = text[len(tag):], true
		}
		calls, rest, ok := nextCalls(text, marked)
		if !ok {
			return nil
		}
		list, text = append(list, calls...), rest
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

// nextCalls reads the call, or the list of calls, with which a text begins. Behind a mark, the name may
// come before the arguments.
func nextCalls(text string, marked bool) (list []writtenCall, rest string, ok bool) {
	for _, form := range []*regexp.Regexp{function, invoke} {
		if f := form.FindStringSubmatch(text); f != nil {
			args := json.RawMessage(f[2])
			if !strings.HasPrefix(f[2], "{") || !json.Valid(args) {
				args = parametersOf(f[2])
			}
			return []writtenCall{{Name: f[1], Arguments: args}}, text[len(f[0]):], true
		}
	}
	name := ""
	if n := named.FindStringSubmatch(text); marked && n != nil {
		after := text[len(n[0]):]
		if args := tagged.FindString(after); args != "" {
			return []writtenCall{{Name: n[1], Arguments: parametersOf(args)}}, after[len(args):], true
		}
		if strings.HasPrefix(after, "{") {
			name, text = n[1], after
		}
	}
	d := json.NewDecoder(strings.NewReader(text))
	var raw json.RawMessage
	if d.Decode(&raw) != nil {
		return nil, "", false
	}
	if rest = text[d.InputOffset():]; name != "" {
		return []writtenCall{{Name: name, Arguments: raw}}, rest, true
	}
	if json.Unmarshal(raw, &list) == nil {
		return list, rest, true
	}
	var one writtenCall
	if json.Unmarshal(raw, &one) != nil {
		return nil, "", false
	}
	return []writtenCall{one}, rest, true
}

// parametersOf reads arguments that are written as tags. A value that is JSON is taken as it is.
func parametersOf(text string) json.RawMessage {
	args := map[string]any{}
	for _, p := range parameter.FindAllStringSubmatch(text, -1) {
		name, value := p[1]+p[3], p[2]+p[4]
		args[name] = value
		if json.Valid([]byte(value)) && strings.ContainsAny(value[:1], `{["`) {
			args[name] = json.RawMessage(value)
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
