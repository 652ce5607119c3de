package wire

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"time"

	"github.com/etui-run/etui/internal/jsonsize"
	"github.com/etui-run/etui/internal/printable"
	"github.com/etui-run/etui/internal/sleep"
)

// ErrExpired is the error of a request whose session the service has forgotten. It has done
// nothing.
var ErrExpired = errors.New("the service has forgotten the session")

// ErrNoMessage says that a service answered with something else, as with a page for people.
var ErrNoMessage = errors.New("its answer is no message")

// StatusError is the error of a request that a service refused with a status of HTTP.
type StatusError struct {
	Code int
	// Words are the service's own; they may be empty.
	Words string
	// After is when the service wants to be asked again; 0 if it does not say.
	After time.Duration
}

func (e *StatusError) Error() string {
	text := fmt.Sprintf("the server answered %d %s", e.Code, http.StatusText(e.Code))
	if e.Words != "" {
		text += ": " + e.Words
	}
	if e.After > 0 {
		text += fmt.Sprintf("; it wants to be asked again in %v", e.After)
	}
	return text
}

// HTTP returns what sends requests to a service and repairs its answers. The base bounds how
// many bytes an answer has. A service that is too busy for a request is asked again a few times,
// if it does not want to wait longer than patience. Over the older transport, apart is set: all
// answers come over one stream.
func (w *Wire) HTTP(base http.RoundTripper, patience time.Duration, apart bool) http.RoundTripper {
	return &service{w, base, patience, apart}
}

type service struct {
	wire     *Wire
	base     http.RoundTripper
	patience time.Duration
	apart    bool
}

// How a service is asked again that was too busy.
const (
	maxBusy   = 3 // times
	busyPause = time.Second
)

func (s *service) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Method != http.MethodPost {
		response, err := s.base.RoundTrip(r)
		if err == nil && response.StatusCode == http.StatusOK && kindOf(response) == "text/event-stream" {
			response.Body = s.events(response.Body, r.URL, nil)
		}
		return response, err
	}
	message, a, err := s.send(r)
	var response *http.Response
	if err == nil {
		response, err = s.post(r, message, a)
	}
	if err != nil {
		s.wire.forget(a.ID)
	}
	return response, err
}

// post sends a message, and again what the service was too busy for.
func (s *service) post(r *http.Request, message []byte, a request) (*http.Response, error) {
	patience := s.patience
	for times := 1; ; times++ {
		again := r.Clone(r.Context())
		again.Body, again.ContentLength = io.NopCloser(bytes.NewReader(message)), int64(len(message))
		response, err := s.base.RoundTrip(again)
		if err == nil {
			response, err = s.answer(again, response, a)
		}
		var status *StatusError
		if !errors.As(err, &status) || times == maxBusy || !status.busy() {
			return response, err
		}
		pause := max(status.After, busyPause)
		if patience -= pause; patience < 0 {
			return nil, err
		}
		if !sleep.For(r.Context(), pause) {
			return nil, err
		}
	}
}

// busy reports whether the service may do later what it did not do now.
func (e *StatusError) busy() bool {
	return e.Code == http.StatusTooManyRequests || e.Code == http.StatusServiceUnavailable && e.After > 0
}

// request is the request of a message; without an ID, it wants no answer.
type request struct {
	ID     json.RawMessage
	Method string
}

// send reads the message of a request and notes it.
func (s *service) send(r *http.Request) (message []byte, a request, err error) {
	if r.Body == nil {
		return nil, a, nil
	}
	message, err = io.ReadAll(r.Body)
	_ = r.Body.Close() // it was read
	message = augmented(message)
	s.wire.sent(message)
	if json.Unmarshal(message, &a) != nil || a.Method == "" {
		a = request{} // it is an answer
	}
	return message, a, err
}

func kindOf(r *http.Response) string {
	kind, _, _ := strings.Cut(r.Header.Get("Content-Type"), ";")
	return strings.TrimSpace(strings.ToLower(kind))
}

// answer reads the answer to a message, or the beginning of its stream.
func (s *service) answer(r *http.Request, response *http.Response, a request) (*http.Response, error) {
	kind := kindOf(response)
	if response.StatusCode >= 300 && response.StatusCode < 400 {
		return response, nil // the client follows it, or does not
	}
	refused := response.StatusCode >= 400
	if s.apart && !refused {
		return response, nil
	}
	if kind == "text/event-stream" && !refused {
		response.Body = s.events(response.Body, r.URL, a.ID)
		return response, nil
	}
	if a.ID != nil && a.Method != "initialize" && a.Method != discover && response.StatusCode == http.StatusAccepted {
		s.wire.Note("answers over another stream")
		_ = response.Body.Close() // it has none
		response.Header.Set("Content-Type", "text/event-stream")
		response.Body = elsewhere{r.Context()}
		return response, nil
	}
	if a.ID == nil && (response.StatusCode == http.StatusAccepted || response.StatusCode == http.StatusNoContent) {
		return response, nil
	}
	body := bufio.NewReader(response.Body)
	if head, _ := body.Peek(6); !refused && kind != "application/json" && beginsEvent.Match(head) {
		s.wire.Note("a stream of events as " + printable.Line(kind, 40))
		response.Header.Set("Content-Type", "text/event-stream")
		response.Body = s.events(peekedBody{body, response.Body}, r.URL, a.ID)
		return response, nil
	}
	raw, err := io.ReadAll(body)
	_ = response.Body.Close() // it was read
	if err != nil && !refused {
		return nil, err
	}
	messages := s.messages(raw, a.ID)
	if refused {
		return s.refused(r, response, a.ID != nil, raw, messages)
	}
	if len(raw) == 0 && a.ID != nil {
		return nil, fmt.Errorf("%w: it is empty. What the request did is unknown", ErrNoMessage)
	}
	if len(messages) == 0 && a.ID != nil {
		return nil, fmt.Errorf("%w, but %q: %s", ErrNoMessage, printable.Line(kind, 40), words(raw))
	}
	if len(messages) > 0 && kind != "application/json" && kind != "text/event-stream" {
		s.wire.Note("answers as " + printable.Line(kind, 40))
	}
	var out bytes.Buffer
	switch len(messages) {
	case 0:
	case 1:
		out.Write(messages[0])
		response.Header.Set("Content-Type", "application/json")
	default:
		s.wire.Note("several messages in an answer")
		for _, m := range messages {
			event(&out, m)
		}
		response.Header.Set("Content-Type", "text/event-stream")
	}
	response.Body, response.ContentLength = io.NopCloser(&out), int64(out.Len())
	return response, nil
}

var beginsEvent = regexp.MustCompile(`^(?:event|data|id):`)

// peekedBody is the body of an answer whose beginning was looked at.
type peekedBody struct {
	io.Reader
	io.Closer
}

// messages returns the repaired messages of a text, those that answer nothing first: the SDK
// reads no further than the answer.
func (s *service) messages(raw []byte, to json.RawMessage) (list [][]byte) {
	if raw = unmarked(raw); len(raw) > 0 && raw[0] == '{' && !json.Valid(raw) {
		raw = or(s.wire.mended(raw), raw)
	}
	all := []json.RawMessage{raw}
	if len(raw) > 0 && raw[0] == '[' {
		if jsonsize.Values(raw) > maxValues || json.Unmarshal(raw, &all) != nil || len(all) > maxParts {
			return nil
		}
	}
	var last [][]byte
	for _, one := range all {
		switch now, answers := s.wire.message(one, to); {
		case now == nil:
		case answers:
			last = append(last, now)
		default:
			list = append(list, now)
		}
	}
	return append(list, last...)
}

// forgotten matches what services say of a session that they do not know, with a status that
// the protocol does not have for it.
var forgotten = regexp.MustCompile(`(?i)(?:no|in)[- ]?valid session|` +
	`(?:unknown|missing|expired|invalid)[^.]{0,20} session|` +
	`session[^.]{0,60}(?:not found|expired|invalid|unknown|not exist|terminated|closed)`)

// refused returns the error of a request that a service refused. The SDK reads what is an error
// of the protocol.
func (s *service) refused(
	r *http.Request, response *http.Response, call bool, raw []byte, messages [][]byte,
) (*http.Response, error) {
	code := response.StatusCode
	if gone := code == http.StatusNotFound || code == http.StatusGone; r.Header.Get("Mcp-Session-Id") != "" &&
		(gone || code == http.StatusBadRequest && forgotten.Match(raw)) {
		if !call || r.Method != http.MethodPost { // what it belongs to may have run
			return nil, &StatusError{Code: code, Words: words(raw)}
		}
		return nil, ErrExpired
	}
	login := code == http.StatusUnauthorized || code == http.StatusForbidden
	if !call && !login {
		s.wire.Note(fmt.Sprintf("notifications answered with %d", code))
		response.StatusCode, response.Body = http.StatusAccepted, http.NoBody
		return response, nil
	}
	pause, _ := sleep.RetryAfter(response.Header.Get("Retry-After"), time.Now())
	status := &StatusError{Code: code, Words: words(raw), After: min(pause, 24*time.Hour).Round(time.Millisecond)}
	if len(messages) == 1 && code < 500 && !login && !status.busy() {
		response.Body = io.NopCloser(bytes.NewReader(messages[0]))
		return response, nil
	}
	return nil, status
}

// words returns what the body of a refusal says, without its markup.
func words(raw []byte) string {
	var said struct {
		Error            any    `json:"error"`
		ErrorDescription string `json:"error_description"`
		Message, Detail  any
	}
	if json.Unmarshal(raw, &said) == nil {
		if inner, ok := said.Error.(map[string]any); ok && inner["message"] != nil {
			said.Error = inner["message"]
		}
		for _, v := range []any{said.ErrorDescription, said.Error, said.Message, said.Detail} {
			if text, ok := v.(string); ok && text != "" {
				return printable.Line(text, 300)
			}
		}
	}
	text := raw[:min(len(raw), 4096)]
	if bytes.HasPrefix(bytes.TrimSpace(text), []byte("<")) {
		title := titled.FindSubmatch(text)
		if title == nil {
			return ""
		}
		text = title[1]
	}
	return printable.Line(string(text), 300)
}

var titled = regexp.MustCompile(`(?is)<title[^>]*>(.*?)</title>`)

func event(out *bytes.Buffer, message []byte) {
	out.WriteString("data: ")
	_ = json.Compact(out, message) // it is JSON
	out.WriteString("\n\n")
}

// events repairs the events of a stream.
func (s *service) events(body io.ReadCloser, at *url.URL, to json.RawMessage) io.ReadCloser {
	return &events{Closer: body, r: bufio.NewReaderSize(body, 64<<10), service: s, at: at, to: to}
}

// elsewhere is the body of an answer that comes over another stream.
type elsewhere struct {
	ctx context.Context //nolint:containedctx // of the request, which ends with the call
}

func (e elsewhere) Read([]byte) (int, error) { <-e.ctx.Done(); return 0, e.ctx.Err() }
func (elsewhere) Close() error               { return nil }

type events struct {
	io.Closer
	service *service
	at      *url.URL
	to      json.RawMessage // the request; nil for a stream of its own
	r       *bufio.Reader
	left    bytes.Buffer
	err     error // after left
}

func (e *events) Read(p []byte) (int, error) {
	for e.left.Len() == 0 && e.err == nil {
		e.next()
	}
	if e.left.Len() == 0 {
		return 0, e.err
	}
	return e.left.Read(p)
}

var errTooLong = errors.New("the answer is too long")

// next reads an event, and writes it as the SDK reads it. An event has at most MaxMessage bytes
// and maxValues values.
func (e *events) next() {
	var head bytes.Buffer
	var data []byte
	name, values := "", 0
	for {
		line, err := readLine(e.r)
		if line = unmarked(line); len(line) == 0 && err == nil {
			break
		}
		key, value, _ := bytes.Cut(line, []byte(":"))
		switch value = bytes.TrimPrefix(value, []byte(" ")); string(key) {
		case "event":
			name = string(value)
			fmt.Fprintf(&head, "event: %s\n", value)
		case "id", "retry":
			fmt.Fprintf(&head, "%s: %s\n", key, value)
		case "data":
			if data != nil {
				data = append(data, '\n')
			}
			data = append(append(data, value...), ""...)
			if values += jsonsize.Values(value); values > maxValues || len(data) > MaxMessage {
				e.err = errTooLong
				return
			}
		}
		if err != nil {
			e.err = err
			break
		}
	}
	switch {
	case name == "endpoint":
		fmt.Fprintf(&e.left, "%sdata: %s\n\n", head.Bytes(), endpoint(e.at, string(data)))
		return
	case name != "" && name != "message", len(data) == 0:
		if e.left.Write(head.Bytes()); head.Len() > 0 {
			e.left.WriteString("\n")
		}
		return
	}
	for i, m := range e.service.messages(data, e.to) {
		if i == 0 {
			e.left.Write(head.Bytes())
		}
		event(&e.left, m)
	}
}

// endpoint returns the address that a service names for messages: with the scheme of its own
// address, which a proxy may have hidden from it.
func endpoint(at *url.URL, said string) string {
	u, err := url.Parse(strings.Trim(strings.TrimSpace(said), `"`))
	if err != nil || u.Host != at.Host || u.Scheme == at.Scheme {
		return strings.Trim(strings.TrimSpace(said), `"`)
	}
	u.Scheme = at.Scheme
	return u.String()
}

// readLine reads a line without its end. One of more than MaxMessage bytes is errTooLong.
func readLine(r *bufio.Reader) (line []byte, err error) {
	for {
		part, err := r.ReadSlice('\n')
		if len(line)+len(part) > MaxMessage {
			return nil, errTooLong
		}
		line = append(line, part...)
		if !errors.Is(err, bufio.ErrBufferFull) {
			return bytes.TrimRight(line, "\r\n"), err
		}
	}
}

// Patient bounds how long a server may be silent when it is asked in the newer protocol. Servers
// of the older one may wait for another message first.
func Patient(ctx context.Context, method string, patience time.Duration) (context.Context, context.CancelFunc) {
	if method != discover {
		return ctx, func() {}
	}
	return context.WithTimeout(ctx, patience)
}
