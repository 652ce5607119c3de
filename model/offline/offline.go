// Package offline answers without a language model, and says so: it picks the tool
// that fits the message best, fills its arguments from the message, calls it and
// reports the result. With it the first run, the demo and the tests work without a
// network.
//
// It makes one call per message and never invents an argument: it leaves out what the
// message does not say, or asks for it. The same conversation gives the same answer.
package offline

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"slices"
	"sort"
	"strings"
	"time"
	"unicode"

	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/model"
	"github.com/etui-run/etui/phrase"
	"github.com/etui-run/etui/tool"
)

// Config sets up a [Model]. The zero value works.
type Config struct {
	// Lookup finds the definitions of tools that messages announce but a request's
	// Tools lack; nil finds none.
	Lookup func(name string) (tool.Definition, bool)
	// Now is the clock, for words such as "tomorrow"; nil means time.Now.
	Now func() time.Time
}

// Model is the offline model.
type Model struct{ config Config }

var _ model.Model = (*Model)(nil)

// New returns the model.
func New(cfg Config) *Model {
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Lookup == nil {
		cfg.Lookup = func(string) (tool.Definition, bool) { return tool.Definition{}, false }
	}
	return &Model{cfg}
}

// Info implements [model.Model].
func (m *Model) Info() model.Info { return model.Info{Name: "offline", Offline: true} }

// Stream implements [model.Model]. Its usage is an estimate.
func (m *Model) Stream(ctx context.Context, req model.Request) iter.Seq2[model.Event, error] {
	return func(yield func(model.Event, error) bool) {
		if err := ctx.Err(); err != nil {
			yield(model.Event{}, err)
			return
		}
		if name := unknown(req.Settings); name != "" {
			yield(model.Event{}, model.Refuse("offline", name))
			return
		}
		usage := model.Tokens{Input: size(req)}
		made, text := m.answer(req)
		if made != nil {
			usage.Output = chat.Tokens(made.Arguments)
			if yield(model.Event{Call: made}, nil) {
				yield(model.Event{Stop: model.ToolCalls, Usage: &usage}, nil)
			}
			return
		}
		stop := model.Done
		if req.MaxTokens > 0 && chat.Tokens(text) > req.MaxTokens {
			n := sort.Search(len(text), func(i int) bool { return chat.Tokens(text[:i+1]) > req.MaxTokens })
			text, stop = strings.ToValidUTF8(text[:n], ""), model.Length
		}
		usage.Output = chat.Tokens(text)
		for line := range strings.SplitAfterSeq(text, "\n") {
			if line != "" && !yield(model.Event{Text: line}, nil) {
				return
			}
		}
		yield(model.Event{Stop: stop, Usage: &usage}, nil)
	}
}

// unknown returns the first setting that it cannot follow; empty if there is none. It
// always gives the same answer to the same request, whatever the seed and temperature.
func unknown(s model.Settings) string {
	switch {
	case s.Stop != nil:
		return "stop"
	case s.Format != nil:
		return "response_format"
	}
	return ""
}

func size(req model.Request) int {
	n := chat.Tokens(req.System)
	for _, m := range req.Messages {
		n += chat.Tokens(m.Note) + chat.Tokens(m.Text)
		if m.Result != nil {
			n += chat.Tokens(m.Result.Text)
		}
	}
	for _, d := range req.Tools {
		n += chat.Tokens(d.Name) + chat.Tokens(d.Description) + chat.Tokens(d.Parameters)
	}
	return n
}

// answer decides what to say or call.
func (m *Model) answer(req model.Request) (*chat.Call, string) {
	question, results, asked := newest(req.Messages)
	lang := languageOf(req)
	if len(results) > 0 {
		return nil, lang.report(req.Messages, results)
	}
	if last := req.Messages; question == "" && len(last) > 0 && len(last[len(last)-1].Files) > 0 {
		return nil, model.UserText(chat.Message{Files: last[len(last)-1].Files})
	}
	if last := req.Messages; question == "" && len(last) > 0 && last[len(last)-1].Note != "" && len(req.Ranked) == 0 {
		if _, said, ok := strings.Cut(last[len(last)-1].Note, "\n"); ok {
			return nil, said // the outcome of a pending call
		}
	}
	if d, args, missing, ok := m.usual(req, question); ok && asked == "" && len(missing) > 0 {
		return nil, lang.ask(d, missing)
	} else if ok && asked == "" {
		return call(req, d.Name, args), ""
	}
	ranked := m.candidates(req, question)
	if asked != "" {
		ranked = append([]string{asked}, req.Ranked[:min(len(req.Ranked), maxCandidates-1)]...)
	}
	// Take the best tool if the message gives its arguments, else the first of the
	// next ones that only reads. Otherwise ask for the arguments of the best one.
	toAsk := ""
	for _, name := range ranked {
		d, ok := m.definition(req, name)
		if !ok || toAsk != "" && d.Risk != tool.Read {
			continue // a guess may read, but not change anything
		}
		if removal().MatchString(question) && !removesIt(d, question) {
			continue // to say that nothing fits is better than to change or to remove something else
		}
		if misses(d, question) {
			continue
		}
		args, missing := fill(d, question, m.config.Now())
		if len(missing) > 0 {
			if toAsk == "" {
				toAsk = lang.ask(d, missing)
			}
			continue
		}
		return call(req, name, args), ""
	}
	if toAsk != "" {
		return nil, toAsk
	}
	return nil, lang.nothing(question)
}

func call(req model.Request, name string, args map[string]any) *chat.Call {
	raw, _ := json.Marshal(args) // texts, numbers and lists of them
	return &chat.Call{ID: fmt.Sprintf("offline-%d", calls(req.Messages)+1), Name: name, Arguments: raw}
}

// removesIt reports whether a tool removes what a message asks to remove: the tool's names, or its
// Chinese texts where it has some, must have a word of the message.
func removesIt(d tool.Definition, question string) bool {
	first, _, _ := strings.Cut(d.Description, " ")
	if !removes().MatchString(d.Name) && !removes().MatchString(first) {
		return false
	}
	if chinese := d.Translations["zh"] + strings.Join(d.Aliases, " "); chat.Chinese(question) {
		asked := []rune(question)
		for i := range len(asked) - 1 {
			if pair := string(asked[i : i+2]); chat.Chinese(pair) && !strings.ContainsAny(pair, "删除移清销毁卸载") &&
				strings.Contains(chinese, pair) {
				return true
			}
		}
		return d.Translations["zh"] == ""
	}
	asked := strings.FieldsFunc(strings.ToLower(question), func(r rune) bool { return r < 'a' || r > 'z' })
	things := strings.FieldsFunc(strings.ToLower(d.Name+" "+strings.Join(d.Aliases, " ")),
		func(r rune) bool { return r < 'a' || r > 'z' })
	return slices.ContainsFunc(asked, func(word string) bool {
		return len(word) > 2 && !removes().MatchString(word) && !fillers[word] &&
			slices.ContainsFunc(things, func(thing string) bool {
				return strings.TrimSuffix(thing, "s") == strings.TrimSuffix(word, "s")
			})
	})
}

// maxCandidates is the number of ranked tools to try.
const maxCandidates = 3

// candidates returns the tools to try, in order: the best ones. If the message asks to see
// something, those that only read come first.
func (m *Model) candidates(req model.Request, question string) []string {
	ranked := slices.Clone(req.Ranked[:min(len(req.Ranked), maxCandidates)])
	if looks().MatchString(question) {
		slices.SortStableFunc(ranked, func(a, b string) int { return first(m.reads(req, a), m.reads(req, b)) })
	}
	return ranked
}

func (m *Model) reads(req model.Request, name string) bool {
	d, ok := m.definition(req, name)
	return ok && d.Risk == tool.Read
}

func (m *Model) definition(req model.Request, name string) (tool.Definition, bool) {
	if i := slices.IndexFunc(req.Tools, func(d tool.Definition) bool { return d.Name == name }); i >= 0 {
		return req.Tools[i], true
	}
	return m.config.Lookup(name)
}

// newest returns the newest question and the results after it. If the answer before
// the question asked for the arguments of a tool, it also returns that tool, and both
// questions together.
func newest(messages []chat.Message) (question string, results []chat.Result, asked string) {
	i := len(messages) - 1
	for ; i >= 0 && messages[i].Role != chat.User; i-- {
		if r := messages[i].Result; r != nil {
			results = append([]chat.Result{*r}, results...)
		}
	}
	if i < 0 {
		return "", results, ""
	}
	question = messages[i].Text
	if i >= 2 && messages[i-1].Role == chat.Assistant && messages[i-2].Role == chat.User {
		if asked = askedFor(messages[i-1].Text); asked != "" {
			question = messages[i-2].Text + "\n" + question
		}
	}
	return question, results, asked
}

func calls(messages []chat.Message) int {
	n := 0
	for _, m := range messages {
		n += len(m.Calls)
	}
	return n
}

// language is a language of the answers.
type language int

const (
	english language = iota
	chinese
)

// languageOf returns the language of the newest message of a person that has one: a number, a path or a single
// word has none. Without one it is the language of the person.
func languageOf(req model.Request) language {
	for _, m := range slices.Backward(req.Messages) {
		if m.Role != chat.User {
			continue
		}
		if strings.ContainsFunc(m.Text, chat.Wide) {
			return chinese
		}
		words := strings.FieldsFunc(m.Text, func(r rune) bool { return !unicode.IsLetter(r) })
		if len(slices.DeleteFunc(words, func(w string) bool { return len(w) < 2 })) > 1 {
			return english
		}
	}
	if req.Language == phrase.Chinese {
		return chinese
	}
	return english
}

func (l language) pick(en, zh string) string {
	if l == chinese {
		return zh
	}
	return en
}

const (
	askEnglish = "(offline model) To use "
	askChinese = "（离线模型）要使用 "
)

// askedFor returns the tool for whose missing arguments an answer asked.
func askedFor(text string) string {
	for _, begin := range []string{askEnglish, askChinese} {
		if rest, ok := strings.CutPrefix(text, begin); ok {
			name, _, _ := strings.Cut(rest, " ")
			return name
		}
	}
	return ""
}

// ask asks for arguments that the message lacks.
func (l language) ask(d tool.Definition, missing []parameter) string {
	parts := make([]string, len(missing))
	for i, p := range missing {
		parts[i] = p.name
		if p.Description != "" {
			parts[i] += " (" + strings.TrimSuffix(p.Description, ".") + ")"
		}
	}
	return l.pick(
		askEnglish+d.Name+" I need: "+strings.Join(parts, ", ")+".",
		askChinese+d.Name+" 还需要："+strings.Join(parts, "，")+"。")
}

// nothing answers a message that fits no tool.
func (l language) nothing(question string) string {
	if greeting(question) {
		return l.pick(
			"Hello! I am etui's offline model: no language model is set up, so I can only call the tool that fits a message best. Ask for something a tool can do; `etui tools list` shows them.",
			"你好！我是 etui 的离线模型：还没有配置语言模型，所以我只能调用最适合消息的工具。请提出工具能完成的请求；`etui tools list` 会列出所有工具。")
	}
	return l.pick(
		"No tool fits this message, and I am only the offline model. Ask for something a tool can do (`etui tools list` shows them), or set OPENAI_API_KEY or ANTHROPIC_API_KEY to use a language model.",
		"没有工具适合这条消息，而我只是离线模型。请提出工具能完成的请求（`etui tools list` 会列出），或设置 OPENAI_API_KEY 或 ANTHROPIC_API_KEY 来使用语言模型。")
}

// abilities matches the ways to ask in Chinese what etui can do.
var abilities = lazily(`^(?:你好|您好)?[，, ]*(?:你|您)?(?:都)?(?:(?:能|会|可以|能够)(?:帮我|为我)?(?:做|干)?(?:些|点)?什么|能干嘛|有(?:什么|哪些)(?:功能|用)|是谁)$`)

// greeting reports whether a message only greets, or asks what etui can do.
func greeting(text string) bool {
	text = strings.ToLower(strings.Trim(text, " \t\r\n!.,?~！。，？"))
	return slices.Contains([]string{
		"hi", "hello", "hey", "good morning", "good evening", "hi there", "help", "what can you do", "who are you",
		"你好", "您好", "嗨", "早上好", "大家好", "帮助",
	}, text) || abilities().MatchString(text)
}

// confirming are the tools whose results are sentences of etui about what they did, and not what they found.
var confirming = []string{"write_file", "append_file", "edit_file", "multi_edit", "remove_file", "rename_file",
	"make_dir", "schedule"}

// report describes the results of calls.
func (l language) report(messages []chat.Message, results []chat.Result) string {
	var b strings.Builder
	for i, r := range results {
		if i > 0 {
			b.WriteString("\n\n")
		}
		called := r.Name + arguments(messages, r.CallID)
		switch {
		case r.Failed:
			fmt.Fprintf(&b, l.pick("I called %s, but it failed:\n", "我调用了 %s，但是失败了：\n"), called)
		case r.Pending:
			fmt.Fprintf(&b, l.pick("I called %s; it is still running:\n", "我调用了 %s，它仍在运行：\n"), called)
		default:
			fmt.Fprintf(&b, l.pick("I called %s and got:\n", "我调用了 %s，结果是：\n"), called)
		}
		if r.Failed || slices.Contains(confirming, r.Name) {
			r.Text = phrase.Reword(l.pick(phrase.English, phrase.Chinese), r.Text)
		}
		b.WriteString(r.Text)
	}
	return b.String()
}

// arguments formats the arguments of a call, as in " (namespace: prod, pod:
// checkout)".
func arguments(messages []chat.Message, id string) string {
	for _, m := range messages {
		for _, c := range m.Calls {
			var args map[string]json.RawMessage
			if c.ID != id || json.Unmarshal(c.Arguments, &args) != nil || len(args) == 0 {
				continue
			}
			parts := make([]string, 0, len(args))
			for name, value := range args {
				parts = append(parts, name+": "+strings.Trim(string(value), `"`))
			}
			slices.Sort(parts)
			return " (" + strings.Join(parts, ", ") + ")"
		}
	}
	return ""
}
