package web

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"mime"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/coder/websocket"
	jsonv2 "github.com/go-json-experiment/json"
	"golang.org/x/time/rate"

	"github.com/etui-run/etui/channel"
	"github.com/etui-run/etui/channel/platform"
	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/internal/jsonsize"
	"github.com/etui-run/etui/internal/printable"
)

const (
	// maxSmall bounds a frame or body of anybody, maxLarge one with files: guests send none.
	maxSmall, maxLarge = 64 << 10, 8 << 20
	// maxLarges is how many frames and bodies beyond maxSmall are read at once; others wait.
	maxLarges = 8
	// maxFiles is how many files a message has, maxFile how many bytes they have together.
	maxFiles, maxFile = 4, 5 << 20
	maxClient         = 64 // bytes of a client's ID of a message
	// A person writes perSecond messages after a burst of as many as burst. On a WebSocket,
	// more are read later; posted ones are refused.
	perSecond, burst = 2, 20
)

// request is what clients send.
type request struct {
	Type  string `json:"type"` // hello, say, file or why
	Token string `json:"token"`
	Since int64  `json:"since"`
	Key   string `json:"key"` // of the stream
	ID    string `json:"id"`
	Text  string `json:"text"`
	Files []file `json:"files"`
	Agent string `json:"agent"`
}

// maxValues bounds the values of a frame, which has 20 at most: 8 MiB are room for millions of empty
// files, each of which takes many times its bytes once it is read.
const maxValues = 100

// file is one as FileReader.readAsDataURL gives it.
type file struct {
	Name string `json:"name"`
	URL  string `json:"url"`
}

// given is a file of the agent. Its bytes are kept with the conversation.
type given struct {
	Name      string `json:"name"`
	MediaType string `json:"media_type,omitempty"`
	Size      int    `json:"size"`
	SHA256    string `json:"sha256,omitempty"` // clients ask by the message
}

// event is what clients get.
type event struct {
	Type    string   `json:"type"` // welcome, message, calls, typing, ack or error
	User    string   `json:"user,omitempty"`
	Stream  string   `json:"stream,omitempty"`
	Key     string   `json:"key,omitempty"`
	Missed  int      `json:"missed,omitempty"` // how many messages follow the welcome
	Agents  []string `json:"agents,omitempty"`
	ID      string   `json:"id,omitempty"`
	Seq     int64    `json:"seq,omitempty"`
	From    string   `json:"from,omitempty"` // agent or you
	Client  string   `json:"client,omitempty"`
	ReplyTo string   `json:"reply_to,omitempty"`
	Text    string   `json:"text,omitempty"`
	Files   []string `json:"files,omitempty"`
	Buttons []button `json:"buttons,omitempty"`
	Calls   []call   `json:"calls,omitempty"`
	Time    string   `json:"time,omitempty"`
	Code    string   `json:"code,omitempty"`
	Agent   string   `json:"agent,omitempty"`
	File    *given   `json:"file,omitempty"`

	Why json.RawMessage `json:"why,omitempty"`
}

func (m *message) event() event {
	if len(m.Calls) > 0 {
		return event{Type: "calls", ID: m.name(), Seq: m.Seq, ReplyTo: m.ReplyTo, Calls: m.Calls,
			Time: m.Time.Format(time.RFC3339)}
	}
	from := "agent"
	if m.Mine {
		from = "you"
	}
	var file *given
	if m.File != nil {
		file = &given{Name: m.File.Name, MediaType: m.File.MediaType, Size: m.File.Size}
	}
	return event{
		Type: "message", ID: m.name(), Seq: m.Seq, From: from, Client: m.Client, ReplyTo: m.ReplyTo, Text: m.Text,
		Files: m.Files, Buttons: m.Buttons, Time: m.Time.Format(time.RFC3339), Agent: m.Agent, File: file,
	}
}

// failure is an event for the message with a client's ID, or for the connection.
func failure(id, code, text string) event {
	return event{Type: "error", ID: id, Code: code, Text: text}
}

func (e event) json() []byte {
	line, _ := json.Marshal(e) // texts and numbers
	return line
}

// refusal is an error that clients learn of.
type refusal struct {
	code   string // for programs
	status int    // of an answer
	close  websocket.StatusCode
	text   string
}

func (r *refusal) Error() string { return r.text }

var (
	errToken = &refusal{"token", http.StatusUnauthorized, websocket.StatusPolicyViolation,
		"the token is not one that this site's backend has signed: a JWT with HS256, with sub and exp"}
	errExpired = &refusal{"expired", http.StatusUnauthorized, websocket.StatusPolicyViolation,
		"the token or the session has expired: connect again, with a new token"}
	errLong = &refusal{"token", http.StatusUnauthorized, websocket.StatusPolicyViolation,
		"the token counts for more than 24 hours: let exp be earlier"}
	errGuest = &refusal{"token", http.StatusUnauthorized, websocket.StatusPolicyViolation,
		"the hello has no token, and guests are not let in here"}
	errOrigin = &refusal{"origin", http.StatusForbidden, websocket.StatusPolicyViolation,
		"pages of this site may not connect: it is not among the origins of the channel"}
	errBad = &refusal{"bad", http.StatusBadRequest, websocket.StatusPolicyViolation,
		"this is not a message: it is one JSON object with type, which is hello, say, file or why, and no unknown fields"}
	errWay = &refusal{"bad", http.StatusUpgradeRequired, websocket.StatusPolicyViolation,
		"connect here by WebSocket, or post a hello"}
	errLarge = &refusal{"bad", http.StatusRequestEntityTooLarge, websocket.StatusMessageTooBig,
		"the message is too large: with files it has 8 MiB at most, and 64 KiB before the welcome and from guests"}
	errStream = &refusal{"stream", http.StatusNotFound, websocket.StatusPolicyViolation,
		"there is no such stream any more: post a hello"}
	errGone = &refusal{"gone", http.StatusNotFound, websocket.StatusPolicyViolation,
		"there is nothing of that any more"}
	errBusy = &refusal{"busy", http.StatusServiceUnavailable, websocket.StatusTryAgainLater,
		"too many are connected; try again later"}
	errFast = &refusal{"fast", http.StatusTooManyRequests, websocket.StatusTryAgainLater,
		"too many messages; try again later"}
	errSlow = &refusal{"slow", http.StatusRequestTimeout, websocket.StatusTryAgainLater,
		"too slow: connect again, and go on after the last seq"}
	errAgain = &refusal{"again", http.StatusServiceUnavailable, websocket.StatusTryAgainLater,
		"the chat cannot be read now; try again"}
	errStopping = &refusal{"again", http.StatusServiceUnavailable, websocket.StatusGoingAway,
		"the channel is starting or stopping; try again"}
)

// refuse writes why as the whole answer.
func refuse(w http.ResponseWriter, why error) {
	r := errAgain
	_ = errors.As(why, &r)
	answer(w, r.status, failure("", r.code, r.text))
}

// answer writes an event as the whole answer.
func answer(w http.ResponseWriter, status int, e event) {
	if status == http.StatusServiceUnavailable || status == http.StatusTooManyRequests {
		if w.Header().Get("Retry-After") == "" {
			w.Header().Set("Retry-After", "5")
		}
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	_, _ = w.Write(append(e.json(), '\n')) // the client may have gone
}

func decode(body []byte) (r request, err error) {
	if jsonsize.Values(body) > maxValues {
		return r, errBad
	}
	if jsonv2.Unmarshal(body, &r, jsonv2.RejectUnknownMembers(true)) != nil || r.Since < 0 ||
		!slices.Contains([]string{"hello", "say", "file", "why"}, r.Type) {
		return r, errBad
	}
	return r, nil
}

// pace returns how much a person may write, in all windows together.
func (c *Channel) pace(id string) *rate.Limiter {
	l, ok := c.paces.Get(id)
	if !ok {
		l = rate.NewLimiter(perSecond, burst)
		if !c.paces.Add(id, l) { // another window has, meanwhile
			return c.pace(id)
		}
	}
	return l
}

// say hands over what a person has written, once for each ID of the client, and returns the
// answer to the client and its status.
func (t *talk) say(ctx context.Context, p person, r request) (event, int) {
	if r.Type != "say" {
		return failure("", errBad.code, errBad.text), errBad.status
	}
	bad := func(why string) (event, int) { return failure(r.ID, "bad", why), http.StatusBadRequest }
	if !platform.Tidy(r.ID, maxClient) {
		return bad("id is missing, longer than 64 bytes, or has characters that cannot be printed: choose one for each message, as crypto.randomUUID does")
	}
	files, err := filesOf(r.Files, p)
	switch {
	case err != nil:
		return bad(err.Error())
	case strings.TrimSpace(r.Text) == "" && len(files) == 0:
		return bad("the message has neither text nor files")
	case len(r.Text) > maxSmall:
		return bad("the text is longer than 64 KiB")
	case r.Agent != "" && !slices.Contains(t.config.Agents, r.Agent):
		return bad("the agent is none of those that the welcome lists")
	}
	again := func() (event, int) {
		return failure(r.ID, "again", "the message could not be stored; send it again, with the same id"),
			http.StatusServiceUnavailable
	}
	select {
	case t.taking <- struct{}{}: // one after the other, so that they stay in order
		defer func() { <-t.taking }()
	case <-ctx.Done():
		return again()
	}
	acknowledged := event{Type: "ack", ID: r.ID}
	id, known, err := t.begin(ctx, r.ID)
	if known {
		return acknowledged, http.StatusOK
	}
	_, in := t.running()
	now := time.Now()
	if err == nil && in == nil {
		err = errors.New("the channel is stopping")
	}
	if err == nil {
		err = in.Receive(ctx, channel.Incoming{ID: r.ID, From: p.Sender, At: channel.Address{Chat: t.id, Message: r.ID},
			Text: r.Text, Files: files, Time: now, Agent: r.Agent})
	}
	if err != nil {
		t.log.WarnContext(ctx, "a message could not be stored", "chat", t.id, "error", err)
		return again()
	}
	said := message{ID: id, Mine: true, Client: r.ID, Text: r.Text, Time: now.UTC(), Agent: r.Agent}
	for _, f := range files {
		said.Files = append(said.Files, f.Name)
	}
	err = t.change(ctx, func(r *record) (*message, error) {
		// The reply may have come first.
		i := slices.IndexFunc(r.Messages, func(m message) bool { return m.ID > id })
		if i < 0 {
			i = len(r.Messages)
		}
		said.Seq = t.next()
		r.Messages = slices.Insert(r.Messages, i, said)
		return &said, nil
	})
	if err != nil { // the engine has it: the message counts, although no other window will show it
		t.log.WarnContext(ctx, "a message is missing in the history of its chat", "chat", t.id, "error", err)
	}
	return acknowledged, http.StatusOK
}

// begin reports whether a message of the client is known, or else gives it an ID.
func (t *talk) begin(ctx context.Context, client string) (id int64, known bool, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if err := t.load(ctx); err != nil {
		return 0, false, err
	}
	if slices.ContainsFunc(t.record.Messages, func(m message) bool { return m.Mine && m.Client == client }) {
		return 0, true, nil
	}
	id = t.next()
	t.last++ // of the calls that are made for it
	return id, false, nil
}

// filesOf decodes the files of a message.
func filesOf(list []file, p person) (files []chat.File, err error) {
	if len(list) > 0 && p.guest() {
		return nil, errors.New("guests cannot send files")
	}
	if len(list) > maxFiles {
		return nil, errors.New("a message has at most " + strconv.Itoa(maxFiles) + " files")
	}
	size := 0
	for _, f := range list {
		head, encoded, ok := strings.Cut(f.URL, ",")
		kind, isBase64 := strings.CutSuffix(head, ";base64")
		kind, isData := strings.CutPrefix(kind, "data:")
		data, err := base64.StdEncoding.DecodeString(encoded)
		if !ok || !isBase64 || !isData || err != nil {
			return nil, errors.New("the url of a file is data:, its media type, ;base64, and the bytes in base64")
		}
		if size += len(data); size > maxFile {
			return nil, errors.New("the files of a message have at most 5 MiB together")
		}
		media, _, err := mime.ParseMediaType(kind)
		if err != nil {
			media = "application/octet-stream"
		}
		files = append(files, chat.File{Name: printable.Line(f.Name, maxName), MediaType: media, Data: data})
	}
	return files, nil
}
