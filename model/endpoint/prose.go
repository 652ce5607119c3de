package endpoint

import (
	"cmp"
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/etui-run/etui/model"
)

// prose is the text of an answer as it arrives, without what a model means for its server: thoughts
// in tags, marks of channels, and calls that it writes as text. These stand at the beginning, so an
// ordinary answer is passed on at once.
type prose struct {
	tools   map[string]*json.RawMessage // parameters of what may be called; nil when text is no call
	habit   *atomic.Int32               // what is known of the model's thoughts
	step    step
	text    string          // that was not passed on yet
	until   string          // what ends the thought
	said    bool            // something was passed on
	guess   bool            // what is held may be a thought, or a text
	ended   bool            // a thought has ended, so that a mark of its end is a text
	marks   bool            // it came in a channel of harmony
	wrapped string          // what ends the answer, as one of the answers
	tail    string          // the end of a thought that goes on, which may be a call
	plain   bool            // a mark in the text is a text
	before  string          // the end of what was passed on
	fences  int             // in what was passed on
	exact   bool            // JSON was asked for
	held    strings.Builder // what may be a thought, before text
}

// The habits of a model: whether it closes thoughts that it did not open.
const (
	unknown int32 = iota
	closes
	never
)

type step int

const (
	begins  step = iota // what the text is, is not known yet
	thinks              // it is a thought
	calls               // it may be a call
	replies             // it is for the person
)

// thoughtTag matches what opens a thought, in the tags of many models.
var thoughtTag = regexp.MustCompile(`^<((?i:[a-z]+[:_])?` +
	`(?i:think|thinking|thoughts?|reasoning|reflection|scratchpad|antthinking|cot_budget_reflect))(?: [^<>]*)?>`)

// middle matches one that opens a thought behind other text: at the beginning of a line or a sentence.
var middle = regexp.MustCompile(`(?:\n[ \t]*|[.!?:…。！？：]\s*)` +
	`(<((?i:[a-z]+[:_])?(?i:think|thinking|thoughts?|antthinking))>)`)

// thoughtIn matches what opens a thought, anywhere.
var thoughtIn = regexp.MustCompile(`<(?i:[a-z]+[:_])?(?i:think|thinking|thoughts?|antthinking)>`)

// thoughts are other marks that open a thought, and what closes it.
var thoughts = [][2]string{
	{"<|begin_of_thought|>", "<|end_of_thought|>"}, {"<unused94>thought", "<unused95>"},
	{"<|channel>thought", "<channel|>"},
	{"[THINK]", "[/THINK]"}, {"<|START_THINKING|>", "<|END_THINKING|>"}, {"◁think▷", "◁/think▷"},
	{"Here is my thought process:", "Here is my response:"}, {"analysis", "assistantfinal"},
}

// closing matches what closes a thought, of which the beginning may have been in the request.
var closing = regexp.MustCompile(`</((?i:[a-z]+[:_])?(?i:think|thinking|thoughts?|reasoning|antthinking))>|` +
	`\[/THINK\]|<\|END_THINKING\|>|<\|end_of_thought\|>|◁/think▷`)

// starts are what some models repeat of the request before their answer.
var starts = []string{
	"<|im_start|>assistant", "<|start_header_id|>assistant<|end_header_id|>", "<start_of_turn>model", "<|assistant|>",
	"<｜Assistant｜>", "<|begin_of_text|>", "<s>", "<bos>",
}

// harmonyCall stands for the head of a harmony message that is a call.
const harmonyCall = "<|call|>"

// answers are what some models write around the text after a thought.
var answers = [][2]string{
	{"<answer>", "</answer>"}, {"<response>", "</response>"}, {"<output>", "</output>"},
	{"<final_answer>", "</final_answer>"}, {"<|begin_of_solution|>", "<|end_of_solution|>"},
	{"<|START_RESPONSE|>", "<|END_RESPONSE|>"}, {"<|begin_of_box|>", "<|end_of_box|>"},
}

var (
	// ends matches what models write at the end of an answer for their server.
	ends = regexp.MustCompile(`(?:\s*(?:<\|(?:im_end|end|eot_id|eom_id|eot|endoftext|end_of_text|` +
		`return|eos|user|observation)\|>|` +
		`</s>|<eos>|<end_of_turn>|<｜end▁of▁sentence｜>)` +
		`(?:\s*<\|im_start\|>(?:user|assistant)?)?)+\s*$`)
	// unsure matches an end that may go on as a mark, or be one.
	unsure = regexp.MustCompile(`(?:<[|｜/]?[\w▁:]{0,30}[|｜]?>\s*(?:user|assistant)?\s*)*` +
		`(?:<\|im_start\|>[a-z]{0,10}|<[|｜/]?[\w▁:]{0,30}[|｜]?>?|\[/?[A-Z]{0,5}|◁[/a-z]{0,6}|\x60{1,3})\s*$`)
)

// channelMark and messageMark stand around the name of a harmony channel.
const channelMark, messageMark = "<|channel|>", "<|message|>"

// harmony are the marks between its messages.
var harmony = strings.NewReplacer("<|start|>assistant", "", "<|end|>", "", "<|return|>", "", "<|call|>", "")

var (
	// message matches the head of a message of harmony, also without the mark before its channel.
	message = regexp.MustCompile(`^(?:<\|start\|>assistant)?` +
		`((?:<\|channel\|>| to=)[^<]*(?:<\|(?:channel|constrain)\|>[^<]*)*|analysis|commentary|final)<\|message\|>`)
	// opens matches the beginning of a mark that has not ended.
	opens = regexp.MustCompile(`^(?:<(?:[^\s<>◁▷][^<>▷\n]*)?|◁[^▷]*|\[[\w.]*|\[(?:TOOL_CALLS|/?THINK)|` +
		`(?:analysis|commentary|final)(?:<[^>]*)?)$`)
	// fenceHead matches that of a fenced block, before what is in it.
	fenceHead = regexp.MustCompile("^(?:Action:? *)?`{1,3}(?:\\w{0,12}[ \t]*(?:\n\\s*(?:<[^>\n]*|\\[\\s*)?)?)?$")
)

// maxHeld bounds the text of which it is not known what it is, in bytes.
const maxHeld = 64 << 10

func newProse(req model.Request, habit *atomic.Int32, verbatim bool) *prose {
	p := &prose{habit: habit, guess: habit.Load() == closes, exact: len(req.Format) > 0, before: "\n"}
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
func (p *prose) add(piece string) (said string) {
	p.text += piece
	for {
		switch p.step {
		case begins:
			if !p.decide() {
				return said
			}
		case thinks:
			before, rest, ends := p.cut()
			switch {
			case !ends:
				p.think(before)
				return said
			case p.guess && p.until == "" && thoughtIn.MatchString(p.held.String()+before):
				// it is in the midst of a text
				p.text, p.step, p.guess = p.held.String()+p.text, replies, false
			default:
				if p.until == "" {
					p.habit.Store(closes)
				}
				p.text, p.step, p.guess, p.ended, p.tail = rest, begins, false, true, ""
			}
			p.held.Reset()
		case calls:
			if len(p.text) < maxHeld {
				return said
			}
			p.step = replies
		case replies:
			out := p.pass()
			if p.step == replies {
				return said + out
			}
			said += out
		}
	}
}

// cut returns what is certainly of the thought, and what comes behind it once it has ended.
func (p *prose) cut() (before, rest string, ends bool) {
	if !p.guess || p.until != "" {
		before, rest, ends = strings.Cut(p.text, p.until)
	} else if at := closing.FindStringIndex(p.text); at != nil {
		before, rest, ends = p.text[:at[0]], p.text[at[1]:], true
	}
	if !ends {
		before = p.text[:max(0, len(p.text)-maxMark)]
	}
	return before, rest, ends
}

// think takes a piece of a thought out of the text.
func (p *prose) think(piece string) {
	p.text = p.text[len(piece):]
	if p.guess {
		p.held.WriteString(piece)
	} else {
		p.tail += piece
		p.tail = p.tail[max(0, len(p.tail)-maxTail):]
	}
	if p.held.Len() > maxGuess { // nobody is answered at such length
		p.guess, p.until = false, cmp.Or(p.until, "</think>")
		p.held.Reset()
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
	if !p.said {
		for _, start := range starts {
			if rest, repeated := strings.CutPrefix(text, start); repeated {
				p.text = rest
				return true
			}
		}
		if p.ended {
			if again := closing.FindStringIndex(text); again != nil && again[0] == 0 {
				p.text = text[again[1]:]
				return true
			}
		}
	}
	if p.unclear(text) {
		return false
	}
	if tag := thoughtTag.FindStringSubmatch(text); tag != nil {
		p.guess, p.exact = false, false
		p.step, p.until, p.text = thinks, "</"+tag[1]+">", text[len(tag[0]):]
		return true
	}
	if m := message.FindStringSubmatch(text); m != nil {
		name, rest := m[1], text[len(m[0]):]
		switch {
		case strings.HasPrefix(strings.TrimSpace(strings.TrimPrefix(name, channelMark)), "final"):
			p.text, p.step = rest, replies
		case p.tools != nil && !p.said && strings.Contains(name, " to="):
			_, called, _ := strings.Cut(name, " to=")
			called, _, _ = strings.Cut(strings.Fields(called + " ?")[0], "<|")
			p.text, p.step = harmonyCall+called+rest, calls
		default:
			p.text, p.step, p.until = rest, thinks, "<|end|>"
		}
		p.guess, p.marks = false, true
		return true
	}
	for _, mark := range thoughts {
		if strings.HasPrefix(text, mark[0]) {
			p.guess, p.exact = bare(mark[0]), false
			p.step, p.until, p.text = thinks, mark[1], text[len(mark[0]):]
			if p.guess {
				p.held.WriteString(mark[0])
			}
			return true
		}
	}
	if p.guess || p.wonder() && musing(text) {
		p.step, p.until, p.guess = thinks, "", true
		return true
	}
	for _, around := range answers {
		if p.ended && !p.said && strings.HasPrefix(text, around[0]) {
			p.text, p.wrapped = text[len(around[0]):], around[1]
			return true
		}
	}
	p.step = replies
	p.exact = p.exact && text[0] == '['
	if p.tools != nil && !p.said && mayCall.MatchString(text) {
		p.step = calls
		return true
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
	if !strings.ContainsAny(p.text, "<[◁`") { // almost always: no mark begins or ends here
		out := p.text
		p.text = ""
		return p.tell(out)
	}
	if at := p.orphan(); at != nil {
		p.habit.Store(closes)
		p.ended = true
		before, rest := p.text[:at[0]], p.text[at[1]:]
		if p.text = before + rest; !p.said {
			p.text, p.step = rest, begins
			return ""
		}
	}
	line := p.before + p.text
	at := middle.FindStringSubmatchIndex(line)
	if at != nil && !p.plain && !p.code(line[len(p.before):at[2]]) {
		out := line[len(p.before):at[2]]
		p.held.WriteString(line[at[2]:at[3]])
		p.step, p.guess, p.until, p.text = thinks, true, "</"+line[at[4]:at[5]]+">", line[at[3]:]
		return p.tell(out)
	}
	out := p.text
	sure := max(0, len(out)-maxHead)
	if at := unsure.FindStringIndex(out[sure:]); at != nil {
		out = out[:sure+at[0]]
	}
	p.text = p.text[len(out):]
	if p.marks {
		out = harmony.Replace(out)
	}
	return p.tell(out)
}

// tell notes what is passed on.
func (p *prose) tell(out string) string {
	p.said = p.said || out != ""
	p.ended = p.ended || strings.Contains(out, "<") && thoughtIn.MatchString(out)
	p.fences += strings.Count(out, "```")
	p.before += out[max(0, len(out)-maxBefore):]
	p.before = p.before[max(0, len(p.before)-maxBefore):]
	return out
}

// wonder reports whether the answer may begin with a thought that has no mark of its beginning.
func (p *prose) wonder() bool { return p.habit.Load() == unknown && !p.said && !p.ended && !p.exact }

// musing reports whether a text begins as thoughts do. If it is none, the answer has waited for its end
// once.
func musing(text string) bool {
	return slices.ContainsFunc(musings, func(m string) bool {
		return len(text) >= len(m) && strings.EqualFold(text[:len(m)], m)
	})
}

var musings = []string{
	"okay", "ok,", "alright", "hmm", "well,", "so ", "now ", "first", "let me", "let's", "let us", "i need", "i should",
	"i'll", "i will", "i have to", "i must", "i can ", "i think",
	"we need", "we should", "we have", "we must", "the user",
	"user ", "the question", "the task", "the person", "this is",
	"thinking", "thought", "got it", "looking", "to answer",
	"need to", "analy", "step 1", "wait",
	"好的", "嗯", "用户", "首先", "让我", "我需要", "我应该", "我要", "我们",
	"现在", "这个问题", "问题", "思考", "先",
}

// code reports whether a text that goes on so is in a block of code.
func (p *prose) code(text string) bool { return (p.fences+strings.Count(text, "```"))%2 == 1 }

// orphan finds the end of a thought that did not begin. A text that speaks of the mark, in quotes or
// behind the one that opens, has none.
func (p *prose) orphan() []int {
	at := closing.FindStringSubmatchIndex(p.text)
	if p.ended || at == nil {
		return nil
	}
	before := p.before + p.text[:at[0]]
	opened := at[2] >= 0 && strings.Contains(before, "<"+p.text[at[2]:at[3]])
	if opened || p.code(p.text[:at[0]]) || strings.HasSuffix(before, "`") || strings.HasSuffix(before, `"`) {
		return nil
	}
	return at[:2]
}

// unclear reports whether the beginning of a text may go on as a mark.
func (p *prose) unclear(text string) bool {
	if len(text) < maxMark && opens.MatchString(text) || p.tools != nil && fenceHead.MatchString(text) {
		return true
	}
	if strings.HasPrefix(text, "<|start|>") || strings.HasPrefix(text, channelMark) {
		return !strings.Contains(text, messageMark) && len(text) < maxHead
	}
	begun := func(mark string) bool { return len(text) < len(mark) && strings.HasPrefix(mark, text) }
	muses := func(m string) bool { return len(text) < len(m) && strings.EqualFold(m[:len(text)], text) }
	thinks := func(mark [2]string) bool { return begun(mark[0]) }
	return p.wonder() && slices.ContainsFunc(musings, muses) || slices.ContainsFunc(starts, begun) ||
		text == "analysis" || slices.ContainsFunc(thoughts, thinks) ||
		p.tools != nil && (begun("functools[") || begun("Action: ```json\n"))
}

// bare reports whether a mark of a thought is an ordinary text: it opens a thought that ends.
func bare(mark string) bool { return mark[0] >= 'A' && mark[0] <= 'z' && mark[0] != '[' }

const (
	// maxGuess bounds what is held because it may be a thought, in bytes.
	maxGuess = 1 << 20
	// maxBlank bounds the blanks that are held before a text.
	maxBlank = 64
	// maxMark bounds a mark, and maxHead the head of a message of harmony, in bytes.
	maxMark, maxHead = 80, 240
	// maxBefore is enough for the end of a sentence, in bytes.
	maxBefore = 4
	// maxTail bounds what is kept of a thought that goes on, in bytes.
	maxTail = 16 << 10
)

// end says that the answer is complete, or was cut: what was guessed to be a thought, and did not end, is
// none. Of a model that is known to close thoughts, a cut one is.
func (p *prose) end(cut bool) {
	if p.step != thinks || !p.guess || cut && p.habit.Load() == closes {
		return
	}
	if p.guess, p.text = false, p.held.String()+p.text; p.until == "" {
		if !cut {
			p.habit.Store(never)
		}
		p.ended, p.step = true, begins
	} else {
		p.plain, p.step = true, replies
	}
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
	if !p.said {
		text = strings.TrimLeft(text, " \t\r\n")
	}
	text = ends.ReplaceAllString(text, "")
	if p.wrapped != "" {
		text = strings.TrimSuffix(strings.TrimRight(text, " \n"), p.wrapped)
	}
	if !p.marks && p.step != begins {
		return text
	}
	if text = harmony.Replace(text); !p.said && strings.TrimSpace(text) == "" {
		return ""
	}
	return text
}
