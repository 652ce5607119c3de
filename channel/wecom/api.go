package wecom

import (
	"context"
	"encoding/json"
	"errors"
	"mime"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/etui-run/etui/channel/platform"
	"github.com/etui-run/etui/chat"
)

const (
	maxAnswer = 1 << 20  // bytes of an answer of the API
	maxFile   = 20 << 20 // bytes of a file, in both directions
)

// expired are the codes about the access token.
var expired = []string{"40014", "42001"}

// refusals are the codes of the API (全局错误码, document/path/90313).
var refusals = platform.Refusals{
	Refused: append([]string{
		"40001", "40013", "40056", "40125", // secret, company, application
		// rights, application disabled, address of this machine
		"48001", "48002", "48004", "50003", "60020", "301002", "301007",
	}, expired...),
	Gone: []string{
		// member does not exist or may not see the application
		"40003", "40031", "46004", "50002", "60011", "60111", "81013", "82001", "82002", "82003",
		"86001", "86003", "86008", // group does not exist or is not the application's
	},
	Away: []string{"-1"}, // the system is busy
}

// waits are the codes after which to wait. The platform counts 45009 by the minute, the hour
// and the day, and does not say which; 45033 are too many at the same time. 846607 is that of bots.
var waits = map[string]time.Duration{"45009": time.Minute, "45033": 5 * time.Second, "846607": time.Minute}

// refusal returns the error of an answer. A file comes with its name.
func refusal(a *platform.Answer) *platform.Failure {
	if a.Status != http.StatusOK {
		return &platform.Failure{Away: true} // a server before the API
	}
	if a.Header.Get("Content-Disposition") != "" {
		return nil
	}
	var says struct {
		Code    int    `json:"errcode"`
		Message string `json:"errmsg"`
	}
	if err := json.Unmarshal(a.Body, &says); err != nil {
		return &platform.Failure{Message: "the answer is no JSON", Away: true}
	}
	if says.Code == 0 {
		return nil
	}
	f := &platform.Failure{Code: strconv.Itoa(says.Code), Message: says.Message}
	f.After, f.Busy = waits[f.Code], waits[f.Code] > 0
	return f
}

// fetchToken asks for an access token.
func (c *Channel) fetchToken(ctx context.Context) (token string, life time.Duration, err error) {
	var got struct {
		Token   string `json:"access_token"`
		Expires int    `json:"expires_in"`
	}
	query := url.Values{"corpid": {c.config.CorpID}, "corpsecret": {c.config.Secret}}
	if err := c.api.Call(ctx, platform.Request{Call: "gettoken", Path: "cgi-bin/gettoken", Query: query},
		&got); err != nil {
		return "", 0, err
	}
	if got.Token == "" {
		return "", 0, errors.New("wecom: gettoken: the answer has no token")
	}
	return got.Token, time.Duration(got.Expires) * time.Second, nil
}

// get and post call the API. Out is what the answer has beside its error; nil means nothing.
func (c *Channel) get(ctx context.Context, path string, query url.Values, out any) error {
	_, err := c.request(ctx, platform.Request{Path: path, Query: query}, out)
	return err
}

func (c *Channel) post(ctx context.Context, path string, query url.Values, body, out any) error {
	_, err := c.request(ctx, platform.Request{Path: path, Query: query, Body: body}, out)
	return err
}

// request makes a call with a token. Its path follows /cgi-bin/.
func (c *Channel) request(ctx context.Context, r platform.Request, out any) (a *platform.Answer, err error) {
	r.Call, r.Path = r.Path, "cgi-bin/"+r.Path
	query := r.Query
	err = c.tokens.With(ctx, func(token string) error {
		r.Query = url.Values{"access_token": {token}}
		for k, v := range query {
			r.Query[k] = v
		}
		a, err = c.api.Do(ctx, r)
		return err
	})
	if err == nil {
		err = c.api.Read(r, a, out)
	}
	return a, err
}

// download fetches a file of a message. One that is too large comes without Data.
func (c *Channel) download(ctx context.Context, id string) (chat.File, error) {
	a, err := c.request(ctx, platform.Request{Path: "media/get", Query: url.Values{"media_id": {id}}, Limit: maxFile},
		nil)
	if err != nil && !errors.Is(err, platform.ErrTooLarge) {
		return chat.File{}, err
	}
	if a.Header.Get("Content-Disposition") == "" {
		return chat.File{}, errors.New("wecom: media/get: the answer is neither a file nor an error")
	}
	f := chat.File{Data: a.Body}
	f.MediaType, _, _ = mime.ParseMediaType(a.Header.Get("Content-Type"))
	if _, disposition, err := mime.ParseMediaType(a.Header.Get("Content-Disposition")); err == nil {
		f.Name = disposition["filename"]
	}
	return f, nil
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
	var form platform.Form
	form.File("media", f.Name, "", f.Data)
	var got struct {
		ID string `json:"media_id"`
	}
	err := c.post(ctx, "media/upload", url.Values{"type": {kind(f)}}, &form, &got)
	return got.ID, err
}
