package telegram

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"net/textproto"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/etui-run/etui/channel"
	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/internal/printable"
)

// Limits of calls. A call that takes longer, or an answer that is larger, is an error.
const (
	callTime   = 30 * time.Second
	uploadTime = 3 * time.Minute
	fetchTime  = time.Minute // of all files of a message
	pollTime   = 50 * time.Second
	maxAnswer  = 32 << 20 // a hundred updates are far smaller
	maxFile    = 20 << 20 // what getFile gives
	maxUpload  = 50 << 20
	maxText    = 4096     // characters of a message
	maxPicture = 10 << 20 // of sendPhoto
)

// api calls the methods of a Bot API server.
type api struct {
	url    string // without a slash at the end
	token  string
	client *http.Client
}

// params are the parameters of a method.
type params map[string]any

// failure is an error answer of the server.
type failure struct {
	method      string
	code        int
	description string
	migrate     int64 // the chat's new ID
}

func (f *failure) Error() string {
	return fmt.Sprintf("telegram: %s: %d %s", f.method, f.code, f.description)
}

// says reports whether the server's description has one of the texts.
func (f *failure) says(texts ...string) bool {
	d := strings.ToLower(f.description)
	return slices.ContainsFunc(texts, func(text string) bool { return strings.Contains(d, text) })
}

// gone are descriptions of bad requests that say that nobody can be reached in a chat, or
// that the bot may not write there. Anybody who administers a group can take that right
// away, so it must not stop the account elsewhere.
var gone = []string{
	"chat not found", "user not found", "peer_id_invalid", "group chat was deactivated", "message thread not found",
	"topic_closed", "topic_deleted", "not enough rights", "have no rights to send", "chat_write_forbidden", "chat_restricted",
	"user_is_blocked", "message to edit not found",
}

// call calls a method with JSON and decodes its result, unless that is nil.
func (a *api) call(ctx context.Context, method string, p params, result any) error {
	return a.callFor(ctx, callTime, method, p, result)
}

func (a *api) callFor(ctx context.Context, limit time.Duration, method string, p params, result any) error {
	body, err := json.Marshal(p)
	if err != nil {
		return fmt.Errorf("telegram: %s: %w", method, err)
	}
	ctx, stop := context.WithTimeout(ctx, limit)
	defer stop()
	return a.post(ctx, method, "application/json", bytes.NewReader(body), int64(len(body)), result)
}

// upload calls a method with a file in a field.
func (a *api) upload(ctx context.Context, method string, p params, field string, file chat.File, result any) error {
	ctx, stop := context.WithTimeout(ctx, uploadTime)
	defer stop()
	var form bytes.Buffer
	w := multipart.NewWriter(&form)
	for name, value := range p {
		text, ok := value.(string)
		if !ok {
			raw, err := json.Marshal(value)
			if err != nil {
				return fmt.Errorf("telegram: %s: %w", method, err)
			}
			text = string(raw)
		}
		_ = w.WriteField(name, text) // a buffer takes everything
	}
	head := textproto.MIMEHeader{}
	head.Set("Content-Disposition", multipart.FileContentDisposition(field, cmp.Or(fileName(file.Name), "file")))
	head.Set("Content-Type", cmp.Or(printable.OneLine(file.MediaType), "application/octet-stream"))
	_, _ = w.CreatePart(head)
	begin := bytes.Clone(form.Bytes())
	form.Reset()
	_ = w.Close()
	// The file's bytes are not copied into the form.
	body := io.MultiReader(bytes.NewReader(begin), bytes.NewReader(file.Data), bytes.NewReader(form.Bytes()))
	return a.post(ctx, method, w.FormDataContentType(), body, int64(len(begin)+len(file.Data)+form.Len()), result)
}

func (a *api) post(ctx context.Context, method, contentType string, body io.Reader, size int64, result any) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, a.url+"/bot"+a.token+"/"+method, body)
	if err != nil {
		return fmt.Errorf("telegram: %s: %w", method, withoutURL(err))
	}
	req.ContentLength = size
	req.Header.Set("Content-Type", contentType)
	resp, err := a.client.Do(req)
	if err != nil {
		return fmt.Errorf("telegram: %s: %w", method, withoutURL(err))
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer+1))
	if err != nil {
		return fmt.Errorf("telegram: %s: reading the answer: %w", method, withoutURL(err))
	}
	if len(raw) > maxAnswer {
		return fmt.Errorf("telegram: %s: the answer has more than %d MB", method, maxAnswer>>20)
	}
	var answer struct {
		OK          bool            `json:"ok"`
		Result      json.RawMessage `json:"result"`
		Code        int             `json:"error_code"`
		Description string          `json:"description"`
		Parameters  struct {
			RetryAfter int   `json:"retry_after"`
			Migrate    int64 `json:"migrate_to_chat_id"`
		} `json:"parameters"`
	}
	if err := json.Unmarshal(raw, &answer); err != nil || answer.OK && answer.Result == nil {
		return a.failed(&failure{method: method, code: resp.StatusCode, description: "the answer is not one of the Bot API"}, retryAfter(resp, 0), false)
	}
	if !answer.OK {
		f := &failure{method, cmp.Or(answer.Code, resp.StatusCode), printable.Line(strings.ReplaceAll(answer.Description, a.token, "…"), 300), answer.Parameters.Migrate}
		return a.failed(f, retryAfter(resp, answer.Parameters.RetryAfter), true)
	}
	if result == nil {
		return nil
	}
	if err := json.Unmarshal(answer.Result, result); err != nil {
		return fmt.Errorf("telegram: %s: reading the result: %w", method, err)
	}
	return nil
}

// failed says what a failure means for the caller. Only an answer of the Bot API itself
// says something about the account; a proxy's page does not.
func (a *api) failed(f *failure, after time.Duration, api bool) error {
	switch {
	case f.code == http.StatusTooManyRequests:
		return &channel.Limited{After: after, Err: f}
	case !api || f.migrate != 0:
		return f
	case f.code == http.StatusUnauthorized, f.code == http.StatusNotFound && !f.says("method not found"):
		return fmt.Errorf("%w: %w", channel.ErrRefused, f)
	case f.code == http.StatusForbidden, f.code == http.StatusBadRequest && f.says(gone...):
		return fmt.Errorf("%w: %w", channel.ErrGone, f)
	}
	return f
}

// retryAfter is how long to wait: what the answer or its header says, or a few seconds.
func retryAfter(resp *http.Response, seconds int) time.Duration {
	if seconds <= 0 {
		seconds, _ = strconv.Atoi(resp.Header.Get("Retry-After"))
	}
	if seconds <= 0 {
		seconds = 5
	}
	return time.Duration(min(seconds, 24*60*60)) * time.Second
}

// withoutURL takes the URL, which has the token in its path, out of an error.
func withoutURL(err error) error {
	var u *url.Error
	if errors.As(err, &u) {
		return u.Err
	}
	return err
}

// download returns a file's bytes, or errTooLarge.
func (a *api) download(ctx context.Context, id string, most int64) ([]byte, error) {
	var file struct {
		Path string `json:"file_path"`
		Size int64  `json:"file_size"`
	}
	if err := a.call(ctx, "getFile", params{"file_id": id}, &file); err != nil {
		return nil, err
	}
	if file.Size > most {
		return nil, errTooLarge
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, a.url+"/file/bot"+a.token+"/", nil)
	if err != nil {
		return nil, fmt.Errorf("telegram: downloading a file: %w", withoutURL(err))
	}
	req.URL = req.URL.JoinPath(file.Path)
	resp, err := a.client.Do(req)
	if err != nil {
		return nil, fmt.Errorf("telegram: downloading a file: %w", withoutURL(err))
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return nil, &failure{method: "download", code: resp.StatusCode, description: http.StatusText(resp.StatusCode)}
	}
	data, err := io.ReadAll(io.LimitReader(resp.Body, most+1))
	if err != nil {
		return nil, fmt.Errorf("telegram: downloading a file: %w", withoutURL(err))
	}
	if int64(len(data)) > most {
		return nil, errTooLarge
	}
	return data, nil
}

var errTooLarge = errors.New("the file is too large")

// fileName is the last part of a file's name, in one short line.
func fileName(name string) string {
	return printable.Line(name[strings.LastIndexAny(name, `/\`)+1:], 200)
}
