package wecom

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/etui-run/etui/channel"
	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/internal/printable"
)

const (
	maxAnswer = 1 << 20          // bytes of an answer of the API
	maxFile   = 20 << 20         // bytes of a file, in both directions
	callIn    = 60 * time.Second // for a call of the API
)

// answer is what each call returns.
type answer struct {
	Code    int    `json:"errcode"`
	Message string `json:"errmsg"`
}

// accessToken is the token that calls carry. Whoever holds the lock fetches it.
type accessToken struct {
	lock  chan struct{}
	value string
	until time.Time
}

// access returns a token that is valid for some minutes, other than the one that the
// platform has refused. One caller fetches it, and others wait for it.
func (c *Channel) access(ctx context.Context, refused string) (string, error) {
	t := &c.token
	select {
	case t.lock <- struct{}{}:
		defer func() { <-t.lock }()
	case <-ctx.Done():
		return "", ctx.Err()
	}
	if t.value != "" && t.value != refused && c.now().Before(t.until) {
		return t.value, nil
	}
	var got struct {
		answer
		Token   string `json:"access_token"`
		Expires int    `json:"expires_in"`
	}
	data, err := c.request(ctx, http.MethodGet, "gettoken", url.Values{"corpid": {c.config.CorpID}, "corpsecret": {c.config.Secret}}, "", nil)
	if err != nil {
		return "", err
	}
	if err := json.Unmarshal(data, &got); err != nil {
		return "", errors.New("wecom: gettoken: the answer is no JSON")
	}
	if got.Code != 0 || got.Token == "" {
		return "", failure("gettoken", got.answer)
	}
	life := time.Duration(got.Expires) * time.Second
	t.value, t.until = got.Token, c.now().Add(life-min(life/10, 5*time.Minute))
	return t.value, nil
}

// get and post call the API. Out is what the answer has beside its error; nil means nothing.
func (c *Channel) get(ctx context.Context, path string, query url.Values, out any) error {
	return c.call(ctx, http.MethodGet, path, query, "", nil, out)
}

func (c *Channel) post(ctx context.Context, path string, query url.Values, body, out any) error {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false) // the platform refuses \u003c: errcode 40033; texts are printable for the same reason
	if err := e.Encode(body); err != nil {
		return fmt.Errorf("wecom: %s: %w", path, err)
	}
	return c.call(ctx, http.MethodPost, path, query, "application/json", b.Bytes(), out)
}

// call calls the API with a token, and once more with a new one if the platform does not
// know the token any more.
func (c *Channel) call(ctx context.Context, method, path string, query url.Values, contentType string, body []byte, out any) error {
	refused := ""
	for {
		token, err := c.access(ctx, refused)
		if err != nil {
			return err
		}
		with := url.Values{"access_token": {token}}
		for k, v := range query {
			with[k] = v
		}
		data, err := c.request(ctx, method, path, with, contentType, body)
		if err != nil {
			return err
		}
		var a answer
		if err := json.Unmarshal(data, &a); err != nil {
			return fmt.Errorf("wecom: %s: the answer is no JSON", path)
		}
		if expired(a.Code) && refused == "" {
			refused = token
			continue
		}
		if a.Code != 0 {
			return failure(path, a)
		}
		if out == nil {
			return nil
		}
		if err := json.Unmarshal(data, out); err != nil {
			return fmt.Errorf("wecom: %s: reading the answer: %w", path, err)
		}
		return nil
	}
}

// request makes one request and returns the body of its answer.
func (c *Channel) request(ctx context.Context, method, path string, query url.Values, contentType string, body []byte) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, callIn)
	defer cancel()
	res, err := c.do(ctx, method, path, query, contentType, body)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	data, err := io.ReadAll(io.LimitReader(res.Body, maxAnswer+1))
	if err != nil {
		return nil, fmt.Errorf("wecom: %s: %w", path, err)
	}
	if len(data) > maxAnswer {
		return nil, fmt.Errorf("wecom: %s: the answer is larger than %d bytes", path, maxAnswer)
	}
	return data, nil
}

// do makes a request. No error of it holds the URL, in which secrets are.
func (c *Channel) do(ctx context.Context, method, path string, query url.Values, contentType string, body []byte) (*http.Response, error) {
	u := c.base.JoinPath("cgi-bin", path)
	u.RawQuery = query.Encode()
	req, err := http.NewRequestWithContext(ctx, method, u.String(), bytes.NewReader(body))
	if err != nil {
		return nil, fmt.Errorf("wecom: %s: the request cannot be made", path)
	}
	if contentType != "" {
		req.Header.Set("Content-Type", contentType)
	}
	res, err := c.client.Do(req)
	if err != nil {
		var withURL *url.Error
		if errors.As(err, &withURL) {
			err = withURL.Err
		}
		return nil, fmt.Errorf("wecom: %s: %w", path, err)
	}
	if res.StatusCode == http.StatusOK {
		return res, nil
	}
	_ = res.Body.Close()
	err = fmt.Errorf("wecom: %s: HTTP status %d", path, res.StatusCode)
	if res.StatusCode == http.StatusTooManyRequests { // of a proxy: the platform has codes of its own
		after, _ := strconv.Atoi(res.Header.Get("Retry-After"))
		return nil, &channel.Limited{After: time.Duration(min(max(after, 1), 3600)) * time.Second, Err: err}
	}
	return nil, err
}

func expired(code int) bool { return code == 40014 || code == 42001 }

// failure turns an error of the API (全局错误码, document/path/90313) into one of a channel.
func failure(path string, a answer) error {
	err := fmt.Errorf("wecom: %s: errcode %d: %s", path, a.Code, printable.Line(a.Message, 300))
	switch a.Code {
	case 40014, 42001, // access token
		40001, 40013, 40056, 40125, // secret, company, application
		48002, 48004, 50003, 60020, 301002, 301007: // rights, application disabled, address of this machine
		return fmt.Errorf("%w: %w", channel.ErrRefused, err)
	case 40003, 40031, 46004, 50002, 60011, 60111, 81013, // member does not exist or may not see the application
		86001, 86003, 86008: // group does not exist or is not the application's
		return fmt.Errorf("%w: %w", channel.ErrGone, err)
	case 45009: // the platform counts by the minute, the hour and the day, and does not say which
		return &channel.Limited{After: time.Minute, Err: err}
	case 45033: // too many at the same time
		return &channel.Limited{After: 5 * time.Second, Err: err}
	}
	return err
}

// download fetches a file of a message. One that is too large comes without Data.
func (c *Channel) download(ctx context.Context, id string) (chat.File, error) {
	refused := ""
	for {
		token, err := c.access(ctx, refused)
		if err != nil {
			return chat.File{}, err
		}
		res, err := c.do(ctx, http.MethodGet, "media/get", url.Values{"access_token": {token}, "media_id": {id}}, "", nil)
		if err != nil {
			return chat.File{}, err
		}
		defer res.Body.Close() // at most two
		_, disposition, err := mime.ParseMediaType(res.Header.Get("Content-Disposition"))
		mediaType, _, _ := mime.ParseMediaType(res.Header.Get("Content-Type"))
		if res.Header.Get("Content-Disposition") == "" { // an error
			var a answer
			data, _ := io.ReadAll(io.LimitReader(res.Body, maxAnswer))
			if err := json.Unmarshal(data, &a); err != nil || a.Code == 0 {
				return chat.File{}, errors.New("wecom: media/get: the answer is neither a file nor an error")
			}
			if expired(a.Code) && refused == "" {
				refused = token
				continue
			}
			return chat.File{}, failure("media/get", a)
		}
		f := chat.File{MediaType: mediaType}
		if err == nil {
			f.Name = disposition["filename"]
		}
		if res.ContentLength > maxFile {
			return f, nil
		}
		data, err := io.ReadAll(io.LimitReader(res.Body, maxFile+1))
		if err != nil {
			return chat.File{}, fmt.Errorf("wecom: media/get: %w", err)
		}
		if len(data) <= maxFile {
			f.Data = data
		}
		return f, nil
	}
}

// The sizes of uploads (上传临时素材, document/path/90253).
const (
	minUpload = 6
	maxImage  = 10 << 20
	maxVoice  = 2 << 20
	maxVideo  = 10 << 20
)

// kind is the platform's type for a file that is sent.
func kind(f chat.File) string {
	switch mediaType, _, _ := mime.ParseMediaType(f.MediaType); {
	case (mediaType == "image/jpeg" || mediaType == "image/png") && len(f.Data) <= maxImage:
		return "image"
	case mediaType == "audio/amr" && len(f.Data) <= maxVoice:
		return "voice"
	case mediaType == "video/mp4" && len(f.Data) <= maxVideo:
		return "video"
	}
	return "file"
}

// upload hands a file to the platform and returns its media ID.
func (c *Channel) upload(ctx context.Context, f chat.File) (string, error) {
	var b bytes.Buffer
	form := multipart.NewWriter(&b)
	part, err := form.CreateFormFile("media", cmp.Or(printable.OneLine(f.Name), "file"))
	if err == nil {
		_, err = part.Write(f.Data)
	}
	if err == nil {
		err = form.Close()
	}
	if err != nil {
		return "", fmt.Errorf("wecom: media/upload: %w", err)
	}
	var got struct {
		ID string `json:"media_id"`
	}
	err = c.call(ctx, http.MethodPost, "media/upload", url.Values{"type": {kind(f)}}, form.FormDataContentType(), b.Bytes(), &got)
	return got.ID, err
}
