// Package form makes questions of what an MCP server wants to know of a person, one for each
// value, and a result of the answers. It never asks for a secret.
package form

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"net/mail"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/etui-run/etui/internal/printable"
)

// The bounds of a form.
const (
	maxFields  = 8
	maxChoices = 18
	maxTries   = 3    // wrong answers to one question
	maxMessage = 1000 // characters
)

// ErrSecret says that a form wants a secret.
var ErrSecret = errors.New("it asks for a secret")

// Form is what a server wants to know. It is not safe for concurrent use.
type Form struct {
	message string
	fields  []field
	values  map[string]any
	wrong   string // why the last answer was none
	tries   int
	ended   string // the action, once it is known
	words   words
}

// field is one value. Without a name, it is a yes.
type field struct {
	name, about, kind string
	list              bool
	choices           []choice
	optional          bool
	limits            limits
}

type choice struct {
	value any
	title string
}

// New returns the form of a request by a server.
func New(server string, p *sdk.ElicitParams) (*Form, error) {
	f := &Form{values: map[string]any{}, words: english}
	message := strings.Join(strings.Fields(clean(p.Message, maxMessage)), " ") // its lines could imitate etui
	if strings.ContainsFunc(message, func(r rune) bool { return unicode.Is(unicode.Han, r) }) {
		f.words = chinese
	}
	f.message = fmt.Sprintf(f.words.asks, server, message)
	if p.Mode == "url" {
		u, err := url.Parse(p.URL)
		if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" || u.User != nil ||
			printable.Text(p.URL) != p.URL {
			return nil, errors.New("it names an address that is no link to a page")
		}
		f.message += "\n" + fmt.Sprintf(f.words.link, u.Host, p.URL)
		f.fields = []field{{choices: []choice{{true, f.words.done}}}}
		return f, nil
	}
	schema, _ := p.RequestedSchema.(map[string]any)
	properties, _ := schema["properties"].(map[string]any)
	required := texts(schema["required"])
	names := slices.DeleteFunc(slices.Clone(required), func(name string) bool { return properties[name] == nil })
	for _, name := range slices.Sorted(maps.Keys(properties)) {
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	if len(names) > maxFields {
		return nil, fmt.Errorf("it asks for %d values, and people are asked for at most %d", len(names), maxFields)
	}
	for _, name := range names {
		property, _ := properties[name].(map[string]any)
		one := fieldOf(name, property)
		one.optional = !slices.Contains(required, name)
		if secret.MatchString(spaced(name)) || secret.MatchString(one.about) || property["format"] == "password" {
			return nil, ErrSecret
		}
		f.fields = append(f.fields, one)
	}
	if secret.MatchString(spaced(message)) || secret.MatchString(message) {
		return nil, ErrSecret
	}
	if len(f.fields) == 0 {
		f.fields = []field{{choices: []choice{{true, f.words.yes}}}}
	}
	return f, nil
}

// secret matches what names a secret.
var secret = regexp.MustCompile(`(?i)\b(?:\w*pass ?(?:word|wd|phrase|code|key)s?\w*|pwd|passwort|kennwort|contraseña|mot de passe|senha|` +
	`(?:recovery|backup|sms|sign[- ]?in|log[- ]?in|authenticator|confirmation|\d+[- ]digit) ?codes?|ssh ?keys?|` +
	`(?:session )?cookies?|security ?(?:answer|question)s?|secrets?|tokens?|credentials?|` +
	`(?:access|auth|api|bearer|refresh|security) ?(?:token|key|code)s?|(?:private|secret) ?key|client ?secret|` +
	`pin|otp|totp|mfa|2fa|one[- ]?time ?(?:code|password)|verification ?code|cvv|cvc|card ?number|credit ?card|` +
	`ssn|social ?security|iban|seed ?phrase|mnemonic)\b|密码|口令|密钥|私钥|令牌|验证码|银行卡|信用卡|助记词`)

// spaced writes apiKey, api_key and api-key as words.
func spaced(name string) string {
	var b strings.Builder
	var last rune
	for _, r := range name {
		if unicode.IsUpper(r) && unicode.IsLower(last) {
			b.WriteByte(' ')
		}
		if last = r; r == '_' || r == '-' || r == '.' {
			r = ' '
		}
		b.WriteRune(r)
	}
	return b.String()
}

func clean(text string, most int) string {
	text = strings.TrimSpace(printable.Text(text))
	if runes := []rune(text); len(runes) > most {
		text = string(runes[:most]) + "…"
	}
	return text
}

func texts(v any) (list []string) {
	values, _ := v.([]any)
	for _, v := range values {
		if text, ok := v.(string); ok && !slices.Contains(list, text) {
			list = append(list, text)
		}
	}
	return list
}

func fieldOf(name string, property map[string]any) field {
	one := field{name: name}
	title, _ := property["title"].(string)
	description, _ := property["description"].(string)
	one.about = clean(title, 200)
	if one.about == "" {
		one.about = clean(spaced(name), 80)
	}
	if description != "" {
		one.about += ": " + clean(description, 500)
	}
	one.kind, _ = property["type"].(string)
	one.limits = limitsOf(property)
	from := property
	if one.kind == "array" {
		one.list = true
		from, _ = property["items"].(map[string]any)
	}
	names := texts(from["enumNames"])
	for i, value := range texts(from["enum"]) {
		title := value
		if i < len(names) {
			title = names[i]
		}
		one.choices = append(one.choices, choice{value, clean(title, 100)})
	}
	for _, key := range []string{"oneOf", "anyOf"} {
		list, _ := from[key].([]any)
		for _, v := range list {
			entry, _ := v.(map[string]any)
			value, _ := entry["const"].(string)
			title, _ := entry["title"].(string)
			if value != "" {
				one.choices = append(one.choices, choice{value, clean(title, 100)})
			}
		}
	}
	return one
}

// Question returns what to ask next, and answers to choose from.
func (f *Form) Question() (text string, choices []string) {
	one := f.fields[0]
	text = f.message
	if one.name != "" {
		text += "\n" + one.about
		if one.list {
			text += " " + f.words.several
		}
	}
	if f.wrong != "" {
		text += "\n" + f.wrong
	}
	for _, c := range one.choices[:min(len(one.choices), maxChoices)] {
		choices = append(choices, c.title)
	}
	if one.kind == "boolean" {
		choices = append(choices, f.words.yes, f.words.no)
	}
	if len(choices) == 0 { // a number beside a choice would be taken for it
		text += "\n" + f.words.wants(one)
		return text, nil
	}
	if one.optional {
		choices = append(choices, f.words.skip)
	}
	return text, append(choices, f.words.decline)
}

// Take takes the answer to the question, or that there is none.
func (f *Form) Take(answer string, given bool) {
	answer = strings.TrimSpace(answer)
	one := f.fields[0]
	switch {
	case !given:
		f.ended = "cancel"
		return
	case strings.EqualFold(answer, f.words.decline):
		f.ended = "decline"
		return
	case one.optional && strings.EqualFold(answer, f.words.skip):
	default:
		value, ok := one.read(answer, f.words)
		if !ok {
			f.wrong = fmt.Sprintf(f.words.wrong, clean(answer, 100))
			if f.tries++; f.tries >= maxTries {
				f.ended = "cancel"
			}
			return
		}
		if one.name != "" {
			f.values[one.name] = value
		}
	}
	f.wrong, f.tries = "", 0
	if f.fields = f.fields[1:]; len(f.fields) == 0 {
		f.ended = "accept"
	}
}

// Result returns what the server gets; nil while something is to be asked.
func (f *Form) Result() *sdk.ElicitResult {
	if f.ended == "" {
		return nil
	}
	r := &sdk.ElicitResult{Action: f.ended}
	if f.ended == "accept" && len(f.values) > 0 {
		r.Content = f.values
	}
	return r
}

// read returns the value that an answer means.
func (one field) read(answer string, w words) (value any, ok bool) {
	if one.list {
		list := []any{}
		comma := func(r rune) bool { return strings.ContainsRune(",;，、；", r) }
		for _, part := range strings.FieldsFunc(answer, comma) {
			single := one
			single.list = false
			v, ok := single.read(strings.TrimSpace(part), w)
			if !ok {
				return nil, false
			}
			list = append(list, v)
		}
		return list, len(list) > 0
	}
	if len(one.choices) > 0 {
		for _, c := range one.choices {
			text, _ := c.value.(string)
			if strings.EqualFold(answer, c.title) || text != "" && strings.EqualFold(answer, text) {
				return c.value, true
			}
		}
		return nil, false
	}
	switch one.kind {
	case "boolean":
		switch strings.ToLower(answer) {
		case w.yes, "yes", "y", "true", "是", "ja", "oui", "si", "sí":
			return true, true
		case w.no, "no", "n", "false", "否", "nein", "non":
			return false, true
		}
		return nil, false
	case "integer":
		n, err := strconv.ParseInt(answer, 10, 64)
		return n, err == nil && one.limits.number(float64(n))
	case "number":
		n, err := strconv.ParseFloat(answer, 64)
		return n, err == nil && one.limits.number(n)
	}
	return answer, answer != "" && one.limits.text(answer)
}

// limits are what the server takes of a value; the zero value takes all.
type limits struct {
	least, most       *float64
	shortest, longest *float64 // in characters
	format            string
}

func limitsOf(property map[string]any) limits {
	number := func(key string) *float64 {
		if n, ok := property[key].(float64); ok {
			return &n
		}
		return nil
	}
	format, _ := property["format"].(string)
	return limits{number("minimum"), number("maximum"), number("minLength"), number("maxLength"), format}
}

func (l limits) number(n float64) bool { return within(n, l.least, l.most) }

func within(n float64, least, most *float64) bool {
	return (least == nil || n >= *least) && (most == nil || n <= *most)
}

func (l limits) text(text string) bool {
	if !within(float64(utf8.RuneCountInString(text)), l.shortest, l.longest) {
		return false
	}
	var err error
	switch l.format {
	case "date":
		_, err = time.Parse(time.DateOnly, text)
	case "date-time":
		_, err = time.Parse(time.RFC3339, text)
	case "email":
		_, err = mail.ParseAddress(text)
	case "uri":
		var u *url.URL
		if u, err = url.Parse(text); err == nil && u.Scheme == "" {
			return false
		}
	}
	return err == nil
}

// words are etui's own.
type words struct {
	asks, link, done, yes, no, skip, decline, several, wrong string
	// forms are what a value may be, by kind or format; bounds, least and most say how large it is.
	forms               map[string]string
	bounds, least, most string
	write, orSkip       string
}

// wants says what a person may write where there is nothing to choose from.
func (w words) wants(one field) string {
	form := w.forms[cmp.Or(one.limits.format, one.kind)]
	if l := one.limits; one.kind == "integer" || one.kind == "number" {
		switch {
		case l.least != nil && l.most != nil:
			form += fmt.Sprintf(w.bounds, *l.least, *l.most)
		case l.least != nil:
			form += fmt.Sprintf(w.least, *l.least)
		case l.most != nil:
			form += fmt.Sprintf(w.most, *l.most)
		}
	}
	text := fmt.Sprintf(w.write, cmp.Or(form, w.forms["string"]), w.decline)
	if one.optional {
		text += fmt.Sprintf(w.orSkip, w.skip)
	}
	return text
}

var (
	english = words{
		asks: "The MCP server %s asks: %s",
		link: "It wants you to open a page at %s: %s\nEnter nothing there that you would not give this server.",
		done: "I have opened it", yes: "yes", no: "no", skip: "skip", decline: "decline",
		several: "(several are possible, with commas between them)", wrong: "%q is no answer to this.",
		forms: map[string]string{
			"string": "your answer", "integer": "a whole number", "number": "a number",
			"date":      "a date such as 2026-12-24",
			"date-time": "a time such as 2026-12-24T18:30:00Z", "email": "an address such as ann@example.org",
			"uri": "an address such as https://example.org",
		},
		bounds: " from %g to %g", least: ", at least %g", most: ", at most %g",
		write: "Write %s, or %q.", orSkip: " %q leaves it out.",
	}
	chinese = words{
		asks: "MCP 服务器 %s 询问：%s",
		link: "它请你打开 %s 的页面：%s\n不要在那里输入你不愿交给该服务器的内容。",
		done: "已打开", yes: "是", no: "否", skip: "跳过", decline: "拒绝",
		several: "（可多选，用逗号分隔）", wrong: "%q 不是有效的回答。",
		forms: map[string]string{
			"string": "回答", "integer": "整数", "number": "数字", "date": "日期，例如 2026-12-24",
			"date-time": "时间，例如 2026-12-24T18:30:00Z",
			"email":     "邮箱地址，例如 ann@example.org", "uri": "网址，例如 https://example.org",
		},
		bounds: "（%g 到 %g）", least: "（不小于 %g）", most: "（不大于 %g）",
		write: "请输入%s，或输入%q。", orSkip: "输入%q可跳过。",
	}
)
