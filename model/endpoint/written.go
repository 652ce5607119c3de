package endpoint

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"

	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/internal/nearjson"
)

// calls returns the calls that the model has written as the whole of its text, and drops the text.
// Each names a tool of the request and has arguments of its schema; otherwise it is a text. A thought
// that has not ended may end with them. In the marks of a protocol, a call of another name is one, too,
// so that the model reads which tools there are. Beside is a thought that came beside the text.
func (p *prose) calls(names Declarations, beside string) []*Call {
	text, marked := strings.TrimSpace(p.text), false
	switch {
	case p.step == calls:
		marked = callTag.MatchString(text) || opened.MatchString(text)
	case p.step == thinks && !p.guess && p.tools != nil:
		text = ending(p.tail + p.text)
	case !p.said && text == "" && p.tools != nil:
		text = ending(beside)
	default:
		return nil
	}
	var list []*Call
	for _, w := range written(text) {
		own := names.Own(w.name)
		parameters := p.tools[own]
		known := parameters != nil && fits(*parameters, names.schemas[own].Restore(w.arguments))
		if !known && (!marked || w.foreign) {
			return nil
		}
		list = append(list, &Call{Call: chat.Call{Name: w.name, Arguments: w.arguments}})
	}
	if len(list) > 0 {
		p.text = ""
	}
	return list
}

// ending returns the calls with which a thought ends; empty if it ends otherwise.
func ending(thought string) string {
	if at := inThought.FindStringIndex(thought); at != nil {
		return strings.TrimSpace(thought[at[0]:])
	}
	return ""
}

// inThought matches the beginning of a call in a thought.
var inThought = regexp.MustCompile(`<(?:\w+:)?tool_call>|<function=|` +
	`<\|tool_calls_section_begin\|>|<｜tool▁calls▁begin｜>`)

// writtenCall is a call as models write it. A foreign one is written in a language of programs.
type writtenCall struct {
	name      string
	arguments json.RawMessage
	foreign   bool
}

// The marks around calls, in tags of many spellings: <tool_call>, <|tool_calls_section_begin|>,
// <｜tool▁call▁begin｜>, <TOOLCALL>, <seed:tool_call>, <|action_start|>.
const (
	mark = `(?i:[a-z]+:|｜DSML｜)?(?i:start_)?(?i:tools?|functions?|toolcalls?|python|action|plugin|call)` +
		`(?:[_▁ ]?(?i:calls?|use|code|tag|start|section|begin))*`
	markEnd = `(?i:[a-z]+:|｜DSML｜)?(?i:end_)?(?i:tools?|functions?|toolcalls?|python|action|plugin|call|invoke)` +
		`(?:[_▁ ]?(?i:calls?|use|code|end|section))*`
	ended = `<[|｜]?/` + markEnd + `[|｜]?>|` +
		`<[|｜]?(?i:tool|function|python|action|plugin|end)[_▁ ]` +
		`(?:(?i:calls?|action|function|section)[_▁ ])*(?i:end|call)[|｜]?>|` +
		`<(?i:tool_call|end_function_call)[|]?>|` +
		`<\|(?i:call|im_end|eot_id|eom_id|end_action)\|>|<｜end▁of▁sentence｜>|</s>`
)

var (
	// mayCall matches the beginning of a text that may be a call.
	mayCall = regexp.MustCompile("^(?:\\{|\\[\\s*\\{|\\[[\\w.]+\\(|functools\\[|" +
		"(?:Action:? *)?```\\w{0,12}[ \t]*\n\\s*(?:\\[?\\{|" + tag + "))|^```tool_\\w+[ \t]*\n|^" + tag)
	callTag = regexp.MustCompile(`^\s*(?:<[|｜]?` + mark + `[|｜]?>|\[TOOL_CALLS\])\s*`)
	callEnd = regexp.MustCompile(`^\s*(?:` + ended + "|```|;)" + `\s*`)
	anyEnd  = regexp.MustCompile(`\s*(?:` + ended + `)`)
	fence   = regexp.MustCompile("(?s)^(?:Action:? *)?```\\w*[ \t]*\n(.*?)\n?```$")
	// opened is a tag with the name of a tool in it, and closed the end of one.
	opened = regexp.MustCompile(`^<(?:\w+:|｜DSML｜)?(?i:function|function_call|tool_call|tool|invoke)` +
		`(?:\s*=\s*|\s+name\s*=\s*)["']?([\w.:/-]+)["']?[^>]*>\s*`)
	closed = regexp.MustCompile(`\s*</(?:\w+:|｜DSML｜)?(?i:function|function_call|tool_call|tool|invoke)>`)
	// parameter and argument begin a value by its name.
	parameter = regexp.MustCompile(`<(?:\w+:|｜DSML｜)?(?i:parameter|arg|argument)` +
		`(?:=| name=)["']?([\w.$-]+)["']?[^>]*>|` +
		`<arg_key>\s*([\w.$-]+)\s*</arg_key>\s*<arg_value>`)
	valueEnd = regexp.MustCompile(`</(?:\w+:|｜DSML｜)?(?i:parameter|arg|argument|arg_value)>\s*$`)
	// named is a name before its arguments.
	named = regexp.MustCompile(`^(?:function<[|｜]tool[▁_]sep[|｜]>|call:|<(?:tool_|function_)?name>\s*)?([\w.:/-]+)\s*` +
		`(?:<[|｜]tool[▁_]sep[|｜]>|<\|tool_call_argument_begin\|>|\[CALL_ID\]\w+|\[ARGS\]|` +
		`</(?:tool_|function_)?name>\s*<(?:arguments|parameters|args|input)>)*\s*(?:` + "```json" + `\s*)?`)
	argumentsEnd = regexp.MustCompile(`^\s*</(?:arguments|parameters|args|input)>`)
)

// tag matches the beginning of one that may hold a call.
const tag = `<[|｜]?(?:` + mark + `[|｜]?>|` +
	`(?:\w+:|｜DSML｜)?(?i:function|function_call|tool_call|tool|invoke)(?:\s*=|\s+name\s*=))|\[TOOL_CALLS\]`

// written reads a text that consists of calls; nil when it has anything else.
func written(text string) (list []writtenCall) {
	if inner := fence.FindStringSubmatch(text); inner != nil {
		text = inner[1]
	}
	text = quotes.Replace(strings.TrimPrefix(text, "functools"))
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
	return list
}

// quotes are what Gemma's models write for a quotation mark.
var quotes = strings.NewReplacer(`<|"|>`, `"`, "<escape>", `"`)

// nextCalls reads the call, or the list of calls, with which a text begins. Behind a mark, the name may
// come before the arguments.
func nextCalls(text string, marked bool) (list []writtenCall, rest string, ok bool) {
	if o := opened.FindStringSubmatch(text); o != nil {
		body := text[len(o[0]):]
		if at := closed.FindStringIndex(body); at != nil {
			body, rest = body[:at[0]], body[at[1]:]
		}
		args, ok := argumentsOf(body)
		return []writtenCall{{name: o[1], arguments: args}}, rest, ok
	}
	name, after := "", text
	if n := named.FindStringSubmatch(text); marked && n != nil {
		name, after = n[1], text[len(n[0]):]
		at := anyEnd.FindStringIndex(after + "</s>")[0]
		if strings.HasPrefix(after, "<arg_key>") || at == 0 && after != "" {
			args, ok := argumentsOf(after[:at])
			rest = after[at:]
			return []writtenCall{{name: name, arguments: args}}, rest, ok
		}
	}
	if list, rest, ok := pythonCalls(text); ok {
		return list, rest, true
	}
	if !strings.HasPrefix(after, "{") {
		name, after = "", text
	}
	raw, rest, ok := nextValue(after)
	switch {
	case !ok:
		return nil, "", false
	case name != "":
		return []writtenCall{{name: name, arguments: raw}}, rest[len(argumentsEnd.FindString(rest)):], true
	}
	list = callsIn(raw, maxNested)
	return list, rest, len(list) > 0
}

// nextValue reads the JSON with which a text begins, or nearly JSON up to the end of the call.
func nextValue(text string) (raw json.RawMessage, rest string, ok bool) {
	d := json.NewDecoder(strings.NewReader(text))
	if d.Decode(&raw) == nil {
		return raw, text[d.InputOffset():], true
	}
	end := len(text)
	if at := anyEnd.FindStringIndex(text); at != nil {
		end = at[0]
	}
	body := text[:end]
	if strings.HasPrefix(body, "{{") { // as some templates show it
		body = strings.TrimSuffix(body[1:], "}")
	}
	raw, err := nearjson.Value([]byte(body))
	return raw, text[end:], err == nil
}

// The members in which models put the name of a tool, its arguments and the call itself.
var (
	nameKeys     = []string{"name", "tool_name", "function_name", "tool", "function", "action"}
	argumentKeys = []string{"arguments", "parameters", "args", "input", "params",
		"tool_input", "tool_arguments", "action_input"}
	callKeys = []string{"tool_calls", "tool_call", "function_call", "function"}
)

// callsIn reads the calls of a JSON value; nil when it has anything else.
func callsIn(raw json.RawMessage, depth int) (list []writtenCall) {
	var (
		each []json.RawMessage
		said map[string]json.RawMessage
	)
	if depth == 0 || json.Unmarshal(raw, &each) != nil && json.Unmarshal(raw, &said) != nil {
		return nil
	}
	for _, one := range each {
		calls := callsIn(one, depth-1)
		if calls == nil {
			return nil
		}
		list = append(list, calls...)
	}
	for _, key := range callKeys {
		if inner := said[key]; len(inner) > 0 && (inner[0] == '{' || inner[0] == '[') {
			return callsIn(inner, depth-1)
		}
	}
	var w writtenCall
	for _, key := range nameKeys {
		if w.name == "" {
			_ = json.Unmarshal(said[key], &w.name) // a value of another kind is no name
		}
	}
	for _, key := range argumentKeys {
		if w.arguments == nil {
			w.arguments = said[key]
		}
	}
	var inner string
	if json.Unmarshal(w.arguments, &inner) == nil { // encoded twice
		w.arguments = json.RawMessage(inner)
	}
	if w.name != "" {
		list = append(list, w)
	}
	return list
}

// argumentsOf reads arguments that are JSON, or written as tags; false if they are neither.
func argumentsOf(text string) (json.RawMessage, bool) {
	text = strings.TrimSpace(anyEnd.ReplaceAllString(text, ""))
	if strings.HasPrefix(text, "{") {
		raw, err := nearjson.Object([]byte(text))
		return raw, err == nil
	}
	args := map[string]any{}
	at := parameter.FindAllStringSubmatchIndex(text, -1)
	if len(at) == 0 && text != "" || len(at) > 0 && strings.TrimSpace(text[:at[0][0]]) != "" {
		return nil, false
	}
	for i, m := range at {
		end := len(text)
		if i+1 < len(at) {
			end = at[i+1][0]
		}
		name := text[max(m[2], m[4]):max(m[3], m[5])]
		value := text[m[1]:end]
		value = strings.TrimSuffix(strings.TrimPrefix(valueEnd.ReplaceAllString(value, ""), "\n"), "\n")
		args[name] = value
		if json.Valid([]byte(value)) && strings.ContainsAny(value[:1], `{["`) {
			args[name] = json.RawMessage(value)
		}
	}
	raw, err := json.Marshal(args)
	return raw, err == nil
}

// pythonName matches the beginning of a call as Python writes it.
var pythonName = regexp.MustCompile(`^([A-Za-z_][\w.]*?)(?:\.call)?\(\s*`)

// pythonCalls reads calls as Python writes them: [a(x=1), b(y="z")].
func pythonCalls(text string) (list []writtenCall, rest string, ok bool) {
	rest = text
	listed := strings.HasPrefix(rest, "[")
	rest = strings.TrimLeft(strings.TrimPrefix(rest, "["), " \n")
	for {
		inner, printed := strings.CutPrefix(rest, "print(")
		if printed {
			rest = inner
		}
		m := pythonName.FindStringSubmatch(rest)
		if m == nil {
			return nil, "", false
		}
		args, after, ok := pythonArguments(rest[len(m[0]):])
		if !ok {
			return nil, "", false
		}
		list = append(list, writtenCall{m[1], args, true})
		if printed {
			after = strings.TrimPrefix(after, ")")
		}
		if rest = strings.TrimLeft(after, ", \n"); pythonName.MatchString(rest) {
			continue
		}
		if listed && !strings.HasPrefix(rest, "]") {
			return nil, "", false
		}
		return list, strings.TrimPrefix(rest, "]"), true
	}
}

// pythonArguments reads named arguments up to the parenthesis that ends them.
func pythonArguments(text string) (args json.RawMessage, rest string, ok bool) {
	named := map[string]json.RawMessage{}
	depth, start, quote := 0, 0, byte(0)
	for i := 0; i < len(text); i++ {
		c := text[i]
		switch {
		case quote != 0 && c == '\\':
			i++
		case quote != 0 && c == quote:
			quote = 0
		case quote != 0:
		case c == '"' || c == '\'':
			quote = c
		case depth > 0 && (c == ')' || c == ']' || c == '}'):
			depth--
		case c == '(' || c == '[' || c == '{':
			depth++
		case c == ')' || c == ',' && depth == 0:
			if part := strings.TrimSpace(text[start:i]); part != "" {
				name, value, assigned := strings.Cut(part, "=")
				raw, err := nearjson.Value([]byte(strings.TrimSpace(value)))
				if !assigned || err != nil {
					return nil, "", false
				}
				named[strings.TrimSpace(name)] = raw
			}
			if start = i + 1; c == ')' {
				args, err := json.Marshal(named)
				return args, text[start:], err == nil
			}
		}
	}
	return nil, "", false
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
