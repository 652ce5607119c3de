package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/internal/cut"
	"github.com/etui-run/etui/internal/picture"
	"github.com/etui-run/etui/internal/plainjson"
	"github.com/etui-run/etui/internal/printable"
	"github.com/etui-run/etui/skill"
	"github.com/etui-run/etui/skill/mcp/internal/wire"
	"github.com/etui-run/etui/tool"
)

// serverTool is a tool of a server.
type serverTool struct {
	server     *Server
	name       string // the server's
	hash       string
	about      string // see listing.about
	definition tool.Definition
}

func (s *Server) newTool(name string, d *Definition, about string) *serverTool {
	like := tool.Definition{
		Original: s.original(name),
		Source:   "mcp:" + s.file.Name, Groups: slices.Compact(append([]string{s.file.Name}, s.details.Groups...)),
		Channels: s.details.Channels, Risk: s.details.Risk, Replay: s.details.Replay,
		Timeout: longestCall + time.Second, // the call has a limit of its own
	}
	like = d.fit(s.toolName(name), name, like)
	if about != "" {
		like.Body = about
	}
	return &serverTool{s, name, d.Hash, about, like}
}

func (t *serverTool) Definition() tool.Definition { return t.definition }

// keyMeta is the key of the idempotency key in _meta. The protocol does not define one.
const keyMeta = "run.etui/idempotency-key"

// Call sends the call to the server, and waits for its start if that has not failed yet. The
// answer is data for the model, cleaned and bounded. If the session has expired, nothing has run,
// and Call repeats the call in another one.
func (t *serverTool) Call(ctx context.Context, args json.RawMessage) (chat.Result, error) {
	s := t.server
	if len(args) == 0 {
		args = json.RawMessage("{}")
	}
	reply, asks := tool.Asks(ctx)
	if reply != nil {
		return s.answered(t.goOn(ctx, reply))
	}
	send := t.send
	if asks {
		send = t.converse
	}
	for again := true; ; again = false {
		waiting, cancel := context.WithTimeoutCause(ctx, s.file.Timeout, skill.ErrProviderTimeout)
		n := s.tried(waiting)
		cancel()
		if why, ok := n.held[t.name]; ok {
			const changed = "its definition has changed and waits for the operator's approval (%s)"
			return chat.Result{}, t.unavailable(changed, cut.Words(why, 300))
		}
		if n.byName[t.name] == nil {
			return chat.Result{}, t.unavailable("the server does not have this tool any more")
		}
		if n.connection == nil {
			return chat.Result{}, s.away(n)
		}
		result, err := send(ctx, n, args)
		if !errors.Is(err, wire.ErrExpired) || !again {
			return s.answered(result, err)
		}
		if !s.people.personal() {
			s.renewed(ctx, n.connection)
		}
	}
}

func (t *serverTool) unavailable(why string, args ...any) error {
	return fmt.Errorf("%s: %w: %s", t.definition.Name, skill.ErrProviderUnavailable, fmt.Sprintf(why, args...))
}

// send sends the call over a connection.
func (t *serverTool) send(ctx context.Context, n *state, args json.RawMessage) (result *sdk.CallToolResult, err error) {
	c, leave, err := t.server.people.connection(ctx, n.connection)
	if err != nil {
		return nil, t.server.failed(ctx, t, n, err)
	}
	defer leave()
	ctx, own, done := c.running.begin(ctx, t.server.file.Timeout)
	defer done()
	ctx, gone := context.WithCancelCause(ctx)
	defer gone(nil)
	defer context.AfterFunc(c.ctx, func() { // an answer that was read before the end counts
		time.AfterFunc(lastWord, func() { gone(errGone) })
	})()
	if call := n.listed.extras[t.name]; call != nil {
		result, err = call(ctx, c, args)
	} else {
		params := &sdk.CallToolParams{Name: t.name, Arguments: args, Meta: sdk.Meta{}}
		params.SetProgressToken(own.token)
		if key := tool.IdempotencyKey(ctx); key != "" {
			params.Meta[keyMeta] = key
		}
		if n.listed.tasks[t.name] {
			result, err = c.callTask(ctx, params, own)
		} else {
			result, err = c.session.CallTool(ctx, params)
		}
		if err != nil && c.visit(ctx, t.server, err) {
			result, err = c.session.CallTool(ctx, params)
		}
	}
	if errors.Is(err, wire.ErrExpired) && c != n.connection {
		t.server.people.drop(tool.Caller(ctx).Record(), c)
	}
	if err != nil {
		return nil, t.server.failed(ctx, t, n, err)
	}
	n.connection.useful.Store(true)
	return result, nil
}

// failed returns the error of a call that failed, and that of a login that is needed as it is, see
// answered.
func (s *Server) failed(ctx context.Context, t *serverTool, n *state, err error) error {
	if s.people.asks(err) != nil {
		return err
	}
	if errors.Is(err, errNobody) {
		return fmt.Errorf("%s: %w", t.definition.Name, err)
	}
	return s.failure(ctx, t, n, err)
}

// away returns the error of calls while the server is not connected.
func (s *Server) away(n *state) error {
	err := fmt.Errorf("MCP server %s: %w", s.file.Name, skill.ErrProviderUnavailable)
	switch {
	case n.phase == Stopped:
		err = fmt.Errorf("%w: it was stopped after it failed; etui skills show %s says why", err, s.file.Name)
	case !n.retry.IsZero():
		err = fmt.Errorf("%w: it is tried again at %s; etui skills show %s says what failed", err,
			n.retry.UTC().Format(time.TimeOnly+" MST"), s.file.Name)
	case n.phase == Away:
		err = fmt.Errorf("%w: it has just gone away", err)
	default:
		err = fmt.Errorf("%w: it is being started", err)
	}
	return err
}

// failure classifies the error of a call.
func (s *Server) failure(ctx context.Context, t *serverTool, n *state, err error) error {
	var answer *jsonrpc.Error
	var status *wire.StatusError
	kind, words := skill.ErrProviderUnavailable, "the server cannot be reached"
	switch {
	case errors.Is(err, wire.ErrExpired):
		return fmt.Errorf("%s: %w: %w", t.definition.Name, skill.ErrProviderUnavailable, wire.ErrExpired)
	case errors.Is(context.Cause(ctx), skill.ErrProviderTimeout):
		return fmt.Errorf("%s: %w", t.definition.Name, context.Cause(ctx))
	case ctx.Err() != nil && !errors.Is(context.Cause(ctx), errGone): // the caller's
		return fmt.Errorf("%s: %w", t.definition.Name, ctx.Err())
	case errors.As(err, new(*json.UnmarshalTypeError)):
		kind, words = skill.ErrExecutionFailed, "the server's result cannot be read"
	case errors.Is(err, errUnauthorized):
		words = errUnauthorized.Error()
	case errors.As(err, &status):
		if words = status.Error(); status.Code < 500 && status.Code != http.StatusTooManyRequests {
			kind = skill.ErrExecutionFailed
		}
	case errors.Is(err, wire.ErrNoMessage):
		_, said, _ := strings.Cut(err.Error(), wire.ErrNoMessage.Error()) // behind what the SDK says of its request
		kind, words = skill.ErrExecutionFailed, "the server's answer is no message"+said
	case errors.Is(err, skill.ErrExecutionFailed):
		return fmt.Errorf("%s: %w", t.definition.Name, s.tell(err))
	case !errors.As(err, &answer) || slices.Contains(ownCodes, answer.Code):
		s.config.Log.WarnContext(ctx, "MCP server did not answer a call", "server", s.file.Name, "tool",
			t.definition.Name, "error", s.tell(n.connection.explain(err)))
		s.look()
	case answer.Code == jsonrpc.CodeInvalidParams:
		kind, words = skill.ErrInvalidParams, answer.Message
	default:
		kind, words = skill.ErrExecutionFailed, refusal(answer)
	}
	return fmt.Errorf("%s: %w: %s", t.definition.Name, kind, cut.Words(s.redactor.Text(printable.Text(words)), 500))
}

// refusal says what an error of the protocol says.
func refusal(e *jsonrpc.Error) string {
	text := fmt.Sprintf("the server answered with error %d: %s", e.Code, e.Message)
	if data := string(e.Data); data != "" && data != "null" {
		text += " " + data
	}
	return text
}

// ownCodes are the codes of the SDK's own errors: the connection is closing, and the
// request was not sent.
var ownCodes = []int64{-32003, -32004, -32005}

// The bounds of a result.
const (
	maxResultText  = 256 << 10 // bytes
	maxResultFiles = 16
	maxPictures    = 4 // that the model sees; the user gets them all
)

// result converts a server's answer.
func (s *Server) result(r *sdk.CallToolResult) chat.Result {
	if r.NeedsInput() {
		return tool.Failure("the server %s requests input by the user or a model, which etui does not support",
			s.file.Name)
	}
	var words []string
	var pictures []chat.File
	view := &chat.View{}
	for _, c := range r.Content {
		text, file := part(c, len(view.Files))
		if p := shown(file); p != nil && len(pictures) < maxPictures {
			pictures = append(pictures, *p)
		}
		if text != "" {
			words = append(words, text)
		}
		if file != nil && len(view.Files) < maxResultFiles {
			view.Files = append(view.Files, *file)
		}
	}
	if r.StructuredContent != nil {
		if data, err := plainjson.Encode(cleanValue(r.StructuredContent)); err == nil && len(data) <= skill.MaxResult {
			if view.Data = s.redactor.JSON(data); len(words) == 0 {
				words = append(words, string(view.Data))
			}
		}
	}
	text := bound(s.redactor.Text(strings.Join(words, "\n")))
	failed := r.IsError
	if text == "" && view.Files == nil && view.Data == nil {
		// It does not say that the call worked, and a model must not read it as a success.
		failed = true
		if text = "the server returned a result without content. The call may have worked or not: check its effect before you repeat it"; r.IsError {
			text = "the server reported an error without saying which"
		}
	}
	if failed {
		if why := s.walled(text); why != "" {
			text += "\n(" + why + ")"
		}
	}
	result := chat.Result{Text: text, Failed: failed, Images: pictures}
	if failed {
		view.Error = cut.Words(text, 1000)
	}
	if view.Data != nil || view.Files != nil || view.Error != "" {
		result.View = view
	}
	return result
}

// bound cuts a text that is too long, with a note.
func bound(text string) string {
	if len(text) <= maxResultText {
		return text
	}
	return fmt.Sprintf("%s\n(cut: the whole has %d bytes)", strings.ToValidUTF8(text[:maxResultText], ""), len(text))
}

// part converts one part of a result to text for the model and a file for the user.
func part(c sdk.Content, number int) (text string, file *chat.File) {
	switch c := c.(type) {
	case *sdk.TextContent:
		return printable.Text(c.Text), nil
	case *sdk.ImageContent:
		return attached("image", number, c.MIMEType, "", c.Data)
	case *sdk.AudioContent:
		return attached("audio", number, c.MIMEType, "", c.Data)
	case *sdk.ResourceLink:
		text = "resource"
		for _, part := range []struct{ format, text string }{
			{" %s", cut.Words(printable.Text(c.URI), 1000)}, {" (%s)", cut.Words(printable.Text(c.Name), 200)},
			{": %s", cut.Words(printable.Text(c.Description), 1000)},
		} {
			if part.text != "" {
				text += fmt.Sprintf(part.format, part.text)
			}
		}
		return text, nil
	case *sdk.EmbeddedResource:
		switch {
		case c.Resource == nil:
			return "", nil
		case c.Resource.Blob != nil:
			return attached("resource", number, c.Resource.MIMEType, c.Resource.URI, c.Resource.Blob)
		}
		if c.Resource.URI == "" {
			return printable.Text(c.Resource.Text), nil
		}
		uri := cut.Words(printable.Text(c.Resource.URI), 1000)
		return fmt.Sprintf("resource %s:\n%s", uri, printable.Text(c.Resource.Text)), nil
	}
	return "", nil
}

// shown returns a file of a result as a picture that models can see, or nil. It goes by
// the bytes, not by the media type that the server claims.
func shown(file *chat.File) *chat.File {
	if file == nil {
		return nil
	}
	p, err := picture.Inspect(file.Data)
	if err != nil || !p.Fits() {
		return nil
	}
	return &chat.File{Name: file.Name, MediaType: p.MediaType, Data: p.Data}
}

// attached makes a file of a result, with a harmless media type and a name without a
// path.
func attached(what string, number int, mediaType, uri string, data []byte) (string, *chat.File) {
	if seen := http.DetectContentType(data); strings.HasPrefix(seen, "image/") && safeTypes[seen] != "" {
		mediaType = seen // whatever the server claims
	}
	mediaType, extension := safeType(mediaType)
	name := path.Base(strings.ReplaceAll(printable.Text(uri), `\`, "/"))
	name = strings.Map(func(r rune) rune {
		if strings.ContainsRune("<>:\"|?*%\n\t/", r) {
			return '_'
		}
		return r
	}, name)
	if name = strings.TrimLeft(cut.Words(name, 80), "."); uri == "" || name == "" || name == "_" {
		name = fmt.Sprintf("%s-%d%s", what, number+1, extension)
	}
	return fmt.Sprintf("(%s %s, %s, %d bytes, handed to the user)", what, name, mediaType, len(data)),
		&chat.File{Name: name, MediaType: mediaType, Data: data}
}

// safeTypes are the media types that are passed on. All others, above all HTML and SVG,
// become plain bytes.
var safeTypes = map[string]string{
	"image/png": ".png", "image/jpeg": ".jpg", "image/gif": ".gif", "image/webp": ".webp",
	"audio/mpeg": ".mp3", "audio/wav": ".wav", "audio/x-wav": ".wav", "audio/ogg": ".ogg", "audio/webm": ".weba",
	"audio/mp4": ".m4a", "audio/aac": ".aac", "audio/flac": ".flac",
	"text/plain": ".txt", "text/csv": ".csv", "application/json": ".json", "application/pdf": ".pdf",
	"application/zip": ".zip",
}

func safeType(mediaType string) (safe, extension string) {
	base, _, err := mime.ParseMediaType(mediaType)
	if extension := safeTypes[base]; err == nil && extension != "" {
		return base, extension
	}
	return "application/octet-stream", ".bin"
}
