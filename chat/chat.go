// Package chat holds the vocabulary of a conversation: messages, the calls that a model
// makes, their results, and the facts about the caller.
//
// It is data only. Nothing here does I/O, and every other package may import it. Values
// are plain structs: copy them freely, but treat slices inside a value from elsewhere as
// read-only.
package chat

import (
	"encoding/json"
	"slices"
	"strings"
	"time"
	"unicode"
)

// Role is the speaker of a [Message].
type Role string

// The roles. The system prompt is not a message: it travels beside them.
const (
	User      Role = "user"
	Assistant Role = "assistant"
	Tool      Role = "tool"
)

// Message is one entry of a conversation.
type Message struct {
	Role Role `json:"role"`
	// Text is the text of the message. It may be empty in an assistant's message that
	// only makes calls, and in a tool's message.
	Text string `json:"text,omitempty"`
	// Note is a text of the host for the model, put in front of a user's text: the
	// time, the tools announced with this message. It is stored with the message, so
	// that later requests repeat the same bytes.
	Note string `json:"note,omitempty"`
	// Tools are the names of the tools that Note announces or names.
	Tools []string `json:"tools,omitempty"`
	// Files are the pictures and PDFs that came with a user's message. In a stored
	// message they have no Data: a store keeps the bytes once, under their SHA256.
	Files []File `json:"files,omitempty"`
	// Calls are the tool calls of an assistant's message.
	Calls []Call `json:"calls,omitempty"`
	// Result is the result of a call; only in messages of role [Tool].
	Result *Result `json:"result,omitempty"`
	// Why explains as JSON how the tools of a user's message were selected; nil when
	// unknown. It is for operators: it names tools that the user may not see. Models
	// never see it.
	Why json.RawMessage `json:"why,omitempty"`
	// User is who wrote a user's message, as [Facts.Record] has it, and Channel where it
	// came from; empty when unknown. Models never see them.
	User    string `json:"user,omitempty"`
	Channel string `json:"channel,omitempty"`
	// Refused ends a turn that the model's provider refused, as one that does not fit
	// the model's window. Text tells what happened. Later requests leave the turn out.
	Refused bool `json:"refused,omitempty"`
	// State is what the provider of an assistant's message wants back with it, such as its
	// reasoning, in the words of its API; nil for none. It goes back to the model that StateOf names
	// and to nobody else. People never see it.
	State   json.RawMessage `json:"state,omitempty"`
	StateOf string          `json:"state_of,omitempty"`
	// Spent is what the model's answer took; nil when unknown. It is for operators.
	Spent *Expense `json:"spent,omitempty"`
	// Time is when the message was created; zero when unknown. Models never see it.
	Time time.Time `json:"time,omitzero"`
}

// Expense is what an answer of a model took. Input includes the tokens that the provider read from its
// cache. Cost, and Price of a million tokens of input, are in the currency of the model's price; 0 when
// that is unknown. Broken is why the turn could not use the provider's cache so far.
type Expense struct {
	Model     string   `json:"model,omitempty"`
	Input     int      `json:"input"`
	Output    int      `json:"output"`
	CacheRead int      `json:"cache_read,omitempty"`
	Cost      float64  `json:"cost,omitempty"`
	Price     float64  `json:"price,omitempty"`
	Broken    []string `json:"broken,omitempty"`
	TookMS    int64    `json:"took_ms,omitempty"`
	// At is when the answer had ended.
	At time.Time `json:"at,omitzero"`
}

// Call is a tool call that a model makes.
type Call struct {
	// ID ties the call to its result. It is unique within a conversation.
	ID string `json:"id"`
	// Name is the tool's name as the model wrote it, which may be wrong.
	Name string `json:"name"`
	// Arguments are the JSON text the model wrote, which may be broken.
	Arguments json.RawMessage `json:"arguments,omitempty"`
	// Client says that the tool is the client's, which runs the call itself.
	Client bool `json:"client,omitempty"`
	// State is the same as [Message.State] of a call.
	State json.RawMessage `json:"state,omitempty"`
}

// Result is the result of a call: one part for the model and one for the user.
type Result struct {
	// CallID and Name identify the call. A tool leaves them empty; the runner of the
	// call sets them.
	CallID string `json:"call_id,omitempty"`
	Name   string `json:"name,omitempty"`
	// Text is what the model reads.
	Text string `json:"text"`
	// Tools are the names of the tools that Text describes. A provider that defers
	// tools loads them instead of showing Text.
	Tools []string `json:"tools,omitempty"`
	// Failed means that the call failed; Text tells the model why.
	Failed bool `json:"failed,omitempty"`
	// Pending means that the work goes on after the call: Text tells the model so,
	// and the outcome arrives later as a message of its own.
	Pending bool `json:"pending,omitempty"`
	// Session, with Pending, is that of the sub-agent whose answer is the outcome.
	Session string `json:"session,omitempty"`
	// Unknown means that the call failed before it gave a result, so that it may have
	// done its work or not.
	Unknown bool `json:"unknown,omitempty"`
	// Images are pictures that the model sees beside Text, in the turn of the call.
	// They are not stored, and a model without vision reads only Text.
	Images []File `json:"-"`
	// View is shown to the user; nil shows nothing beside the answer.
	View *View `json:"view,omitempty"`
}

// View is the part of a result that is made for people, not for the model.
type View struct {
	Text  string          `json:"text,omitempty"`
	Data  json.RawMessage `json:"data,omitempty"`
	Files []File          `json:"files,omitempty"`
	// Error describes a failure to the user.
	Error string `json:"error,omitempty"`
}

// PDF is the media type of PDFs, which a message may have beside pictures.
const PDF = "application/pdf"

// The media types of sound that a message may have.
const (
	WAV = "audio/wav"
	MP3 = "audio/mpeg"
)

// File is a file that a tool gives to the user, or a picture or PDF of a user's message.
type File struct {
	Name      string `json:"name"`
	MediaType string `json:"media_type,omitempty"`
	Data      []byte `json:"data,omitempty"`
	// Size and SHA256, in hexadecimal, describe the bytes of a message's file, and of a
	// stored result's, also where Data is left out. Other files have neither.
	Size   int    `json:"size,omitempty"`
	SHA256 string `json:"sha256,omitempty"`
}

// WithoutData returns files without their bytes.
func WithoutData(files []File) []File {
	files = slices.Clone(files)
	for i := range files {
		files[i].Data = nil
	}
	return files
}

// SenderName is the attribute with the name that a platform shows for a sender. Anybody can choose
// one, so it proves nothing: rules go by User.
const SenderName = "sender_name"

// Facts are what is known about one question: the caller, the place and the time.
// Visibility depends on them and on nothing else. The zero value is an unknown caller.
type Facts struct {
	Agent   string `json:"agent,omitempty"`
	Channel string `json:"channel,omitempty"`
	Chat    string `json:"chat,omitempty"`
	// User is the name of a person, or what the channel calls somebody else.
	User string `json:"user,omitempty"`
	// Sender is the user in records that last. No two senders have the same, whatever
	// their channels call them; empty means User.
	Sender string   `json:"sender,omitempty"`
	Roles  []string `json:"roles,omitempty"`
	// Groups are the groups of people that the user belongs to.
	Groups []string `json:"user_groups,omitempty"`
	// PlatformRoles are the roles that the channel's platform itself knows, such as
	// administrator of the chat.
	PlatformRoles []string          `json:"platform_roles,omitempty"`
	Session       string            `json:"session,omitempty"`
	Skill         string            `json:"skill,omitempty"`
	Attrs         map[string]string `json:"attrs,omitempty"`
	Language      string            `json:"language,omitempty"` // of etui's own words to the caller
	// Time is the moment of the question. It is never read from a clock, so that a
	// decision can be repeated.
	Time time.Time `json:"time,omitzero"`
}

// Record returns the user as records that last have it.
func (f Facts) Record() string {
	if f.Sender != "" {
		return f.Sender
	}
	return f.User
}

// HasRole reports whether the caller has the role.
func (f Facts) HasRole(role string) bool { return slices.Contains(f.Roles, role) }

// Chinese reports whether a text is Chinese: then etui's own words about it are, too. Japanese has
// characters of its own among them.
func Chinese(text string) bool {
	return strings.ContainsFunc(text, func(r rune) bool { return unicode.Is(unicode.Han, r) }) &&
		!strings.ContainsFunc(text, func(r rune) bool { return unicode.In(r, unicode.Hiragana, unicode.Katakana) })
}
