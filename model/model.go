// Package model defines what a language model is to etui: something that reads a
// conversation with tools and streams back text and calls.
//
// Adapters live in the folders beside this file. Each passes the conformance
// suite of package modeltest. A [Model] is safe for concurrent use.
//
// [Fallback] and [Log] wrap models. Adapters share [Names], [UserText] and [Refuse], and
// those of HTTP APIs package endpoint, too.
package model

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/phrase"
	"github.com/etui-run/etui/tool"
)

// Model answers a conversation.
type Model interface {
	// Info describes the model. It returns the same value every time.
	Info() Info
	// Stream asks the model and yields its answer piece by piece. The last event has
	// Stop set, unless an error with a zero Event came first. The request is cancelled
	// when the caller stops ranging or ctx ends. Errors wrap an [*Error] or are the
	// context's.
	//
	// A call that was cut off with the answer is left out; other malformed arguments
	// are passed on as the model wrote them.
	Stream(ctx context.Context, req Request) iter.Seq2[Event, error]
}

// Info describes a model.
type Info struct {
	// Name is what the provider calls it, after the adapter's name:
	// "openai/gpt-5.4".
	Name string
	// Window is the maximum number of tokens of a request and its answer together; 0
	// means unknown.
	Window int
	// Answer is the maximum number of tokens of an answer, when the request sets none; 0
	// means unknown.
	Answer int
	// Offline reports that it is no language model: it calls tools, and writes no text of
	// its own.
	Offline bool
	// CacheLife is how long the provider caches the beginning of a request for later
	// requests that begin in the same way; 0 means that it has no prompt cache.
	CacheLife time.Duration
	// Price is what its tokens cost; the zero value is unknown.
	Price Price
	// Deferral reports whether the provider accepts tools that the model does not read
	// until a result names them, see [Request].
	Deferral bool
}

// Price is what a million tokens cost, in a currency of the operator's. The parts of a
// request that a provider caches have prices of their own.
type Price struct {
	Input, Output float64
	// CacheRead and CacheWrite are shares of Input: what a token costs that is read from the
	// prompt cache, and one that is written to it. 0 means as [CacheRead] and [CacheWrite]
	// say.
	CacheRead, CacheWrite float64
}

// The shares that apply where an adapter states none: reading costs a tenth, and writing is
// free.
const (
	CacheRead  = 0.1
	CacheWrite = 1
)

// CacheShares returns the shares, with the defaults.
func (p Price) CacheShares() (read, write float64) {
	return cmp.Or(p.CacheRead, CacheRead), cmp.Or(p.CacheWrite, CacheWrite)
}

// Of returns what tokens cost; 0 when the price is unknown.
func (p Price) Of(t Tokens) float64 {
	read, write := p.CacheShares()
	plain := t.Input - t.CacheRead - t.CacheWrite
	return (p.Input*(float64(plain)+read*float64(t.CacheRead)+write*float64(t.CacheWrite)) +
		p.Output*float64(t.Output)) / 1e6
}

// ExpenseOf returns what an answer of a model took, for the record. Broken is why the turn could not use
// the provider's cache.
func ExpenseOf[Cause ~string](i Info, t Tokens, broken []Cause, began time.Time) *chat.Expense {
	now := time.Now()
	s := &chat.Expense{
		Model: i.Name, Input: t.Input, Output: t.Output, CacheRead: t.CacheRead, Cost: i.Price.Of(t),
		Price:  i.Price.Input,
		TookMS: now.Sub(began).Milliseconds(), At: now,
	}
	for _, cause := range broken {
		s.Broken = append(s.Broken, string(cause))
	}
	return s
}

// Request is one question to a model.
type Request struct {
	// System is the system prompt; empty means none.
	System string
	// Messages are the conversation, oldest first. Each call in them is answered
	// by one message of role tool that follows.
	Messages []chat.Message
	// Tools are the tools that the model may call, in the order in which it sees them.
	Tools []tool.Definition
	// Deferred are more tools, which the model does not see at first. It reads a
	// deferred tool once the Tools of a result name it. A model without Deferral
	// ignores them and reads the text of such results instead.
	Deferred []tool.Definition
	// Ranked names the tools that fit the newest message, best first, whether they are
	// in Tools or announced in a message. Language models find this out by reading;
	// the offline model cannot.
	Ranked []string
	// Required says that the answer must call a tool, and Only, when not empty, which one. Serial
	// says that it may make one call. A model that cannot be told so ignores them.
	Required bool
	Only     string
	Serial   bool
	// Language is that of the person who asks, as in the catalogue of etui's own words, for models that
	// answer in etui's own words; empty means that nobody knows it.
	Language string
	// Settings are how the answer is to be.
	Settings
}

// Event is a piece of an answer. Exactly one field is set, except that the
// last event carries Stop and may carry Usage.
type Event struct {
	// Text continues the answer.
	Text string
	// Thought is a piece of what the model thinks, in the words of its API, for clients of that API.
	Thought json.RawMessage
	// Call is a tool call, complete.
	Call *chat.Call
	// Stop says why the answer ended.
	Stop Stop
	// Ended comes with Stop: which of the texts in the settings ended the answer, if the provider says so.
	Ended string
	// Usage is what the provider counted, if it reported it.
	Usage *Tokens
	// Logprobs comes with Stop: what the provider says of each token, if the settings ask for it.
	Logprobs []json.RawMessage
	// State comes with Stop: what the provider wants back with an answer that has calls, see
	// [chat.Message.State]. StateOf names the model, also if its calls alone have a state: behind
	// a fallback it is the one that answered.
	State   json.RawMessage
	StateOf string
}

// Stop says why an answer ended.
type Stop string

// The reasons for which an answer ends.
const (
	// Done: the model has finished its answer.
	Done Stop = "done"
	// ToolCalls: the model waits for the results of its calls.
	ToolCalls Stop = "tool_calls"
	// Length: the answer reached MaxTokens or the window's end.
	Length Stop = "length"
	// Refused: the provider or the model declined to answer.
	Refused Stop = "refused"
)

// Tokens counts tokens as the provider bills them.
type Tokens struct {
	// Input counts all tokens of the request, cached ones included.
	Input int `json:"input"`
	// Output counts the tokens of the answer.
	Output int `json:"output"`
	// CacheRead is the part of Input that was read from the provider's cache.
	CacheRead int `json:"cache_read,omitempty"`
	// CacheWrite is the part of Input that was written to it.
	CacheWrite int `json:"cache_write,omitempty"`
}

// Add adds the counts of v to u.
func (u *Tokens) Add(v Tokens) {
	u.Input += v.Input
	u.Output += v.Output
	u.CacheRead += v.CacheRead
	u.CacheWrite += v.CacheWrite
}

// Kinds of failure. An [*Error] wraps one of them.
var (
	// ErrAuth: the key is missing, wrong or not allowed to use the model.
	ErrAuth = errors.New("the provider refused the key")
	// ErrRateLimited: too many requests for now.
	ErrRateLimited = errors.New("the provider's rate limit is reached")
	// ErrTooLong: the request does not fit the model's window.
	ErrTooLong = phrase.Errorf("the request is too long for the model")
	// ErrRequest: the provider did not understand the request.
	ErrRequest = phrase.Errorf("the provider refused the request")
	// ErrBilling: the account has no credit or quota left, which waiting does not change.
	ErrBilling = errors.New("the provider's account has no credit left")
	// ErrNoModel: the provider does not know the model, or there is no provider at the
	// address.
	ErrNoModel = errors.New("the provider does not have the model")
	// ErrUnsupported: the model does not know one of the request's [Settings]; the error
	// wraps a [*SettingError].
	ErrUnsupported = phrase.Errorf("the model cannot answer as asked")
	// ErrUnavailable: the provider is unreachable, has failed or was too slow.
	ErrUnavailable = errors.New("the provider is not available")
)

// Advice begins what an error of kind ErrAuth tells operators of the key. Others do not read it.
const Advice = ". Check the key: "

// Error is a failed request to a model.
type Error struct {
	// Model is the [Info.Name].
	Model string
	// Status is the HTTP status; 0 when there was no answer.
	Status int
	// Kind is one of the Err values of this package.
	Kind error
	// Detail is the provider's message, shortened and without secrets.
	Detail string
	// RetryAfter is how long the provider asks to wait; 0 when it does not say.
	RetryAfter time.Duration
	// Window is the model's window as the provider states it in an error of kind
	// ErrTooLong, in tokens; 0 when it states none.
	Window int
}

func (e *Error) Error() string {
	s := fmt.Sprintf("model %s: %v", e.Model, e.Kind)
	if e.Status != 0 {
		s += fmt.Sprintf(" (HTTP %d)", e.Status)
	}
	if e.Detail != "" {
		s += ": " + e.Detail
	}
	return s
}

// Unwrap returns the kind.
func (e *Error) Unwrap() error { return e.Kind }

// Answer reads a stream to its end and returns the whole answer as one message of role
// assistant.
func Answer(stream iter.Seq2[Event, error]) (chat.Message, Tokens, Stop, error) {
	m := chat.Message{Role: chat.Assistant}
	var usage Tokens
	var stop Stop
	for e, err := range stream {
		if err != nil {
			return m, usage, stop, err
		}
		m.Text += e.Text
		if e.Call != nil {
			m.Calls = append(m.Calls, *e.Call)
		}
		if e.Usage != nil {
			usage.Add(*e.Usage)
		}
		if e.Stop != "" {
			stop = e.Stop
		}
	}
	return m, usage, stop, nil
}

// UserText is the text of a user's message as a model reads it: the host's note, the
// text, and a line for each picture or PDF. A part may be missing; empty lines separate them.
// Models that see pictures get [UserContent] instead.
func UserText(m chat.Message) string {
	if m.Note == "" && len(m.Files) == 0 {
		return m.Text
	}
	parts := []string{m.Note, m.Text}
	for _, f := range m.Files {
		kind, why := "picture", "this model cannot see pictures"
		switch f.MediaType {
		case chat.PDF:
			kind, why = "file", "this model cannot read PDFs"
		case chat.WAV, chat.MP3:
			kind, why = "sound", "this model cannot hear"
		}
		if f.Data == nil {
			why = "an earlier " + kind + " that is not shown again"
		}
		name := ""
		if f.Name != "" {
			name = f.Name + ", "
		}
		parts = append(parts, fmt.Sprintf("[%s %s%s, %d kB: %s]", kind, name, f.MediaType, (f.Size+999)/1000, why))
	}
	return strings.Join(slices.DeleteFunc(parts, func(p string) bool { return p == "" }), "\n\n")
}

// UserContent returns a user's message as a model that sees pictures and reads PDFs gets it: the
// text, and the files whose bytes are sent. The text has a line for each other file.
func UserContent(m chat.Message) (text string, files []chat.File) {
	var unseen []chat.File
	for _, f := range m.Files {
		if f.Data == nil {
			unseen = append(unseen, f)
		} else {
			files = append(files, f)
		}
	}
	m.Files = unseen
	return UserText(m), files
}
