package http

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strings"
	"time"

	"github.com/etui-run/etui/internal/printable"
	"github.com/etui-run/etui/internal/sleep"
	"github.com/etui-run/etui/skill"
	"github.com/etui-run/etui/tool"
)

// checkType checks that a header announces plain JSON.
func checkType(header http.Header) error {
	if packed := header.Get("Content-Encoding"); packed != "" {
		return fmt.Errorf("answers in the encoding %.40q, which it was not asked for", packed)
	}
	said := header.Get("Content-Type")
	kind, params, err := mime.ParseMediaType(said)
	switch charset := strings.ToLower(params["charset"]); {
	case err != nil || kind != "application/json" &&
		(!strings.HasPrefix(kind, "application/") || !strings.HasSuffix(kind, "+json")):
		return fmt.Errorf("answers with the content type %.80q: it must be application/json", said)
	case charset != "" && charset != "utf-8" && charset != "us-ascii":
		return fmt.Errorf("answers in the character set %.40q: JSON is UTF-8", charset)
	}
	return nil
}

// isText reports whether an answer announces a text that a model reads as it is. A web page is none:
// where data is expected, it is a login page or an error.
func isText(header http.Header) bool {
	kind, params, err := mime.ParseMediaType(header.Get("Content-Type"))
	charset := strings.ToLower(params["charset"])
	switch {
	case err != nil || header.Get("Content-Encoding") != "", charset != "" && charset != "utf-8" &&
		charset != "us-ascii":
		return false
	}
	return strings.HasPrefix(kind, "text/") && kind != "text/html" ||
		strings.HasPrefix(kind, "application/") && texts[kind[len("application/"):]]
}

// texts are the kinds of application/… that are text.
var texts = map[string]bool{"xml": true, "yaml": true, "x-yaml": true, "x-ndjson": true, "jsonl": true}

// refusal classifies an answer whose status is not 2xx.
func (r *remote) refusal(ctx context.Context, resp *http.Response) *failure {
	f := r.failed(fmt.Sprintf("answers %d %s", resp.StatusCode, http.StatusText(resp.StatusCode)))
	switch status := resp.StatusCode; status {
	case http.StatusBadRequest, http.StatusUnprocessableEntity:
		f.kind = skill.ErrInvalidParams
	case http.StatusTooManyRequests, http.StatusServiceUnavailable:
		asked := false
		f.kind, f.down = skill.ErrProviderUnavailable, status == http.StatusServiceUnavailable
		f.wait, asked = sleep.RetryAfter(resp.Header.Get("Retry-After"), time.Now())
		f.again = asked && f.wait <= maxWait || !asked && f.down && r.replay != tool.Never
	case http.StatusBadGateway, http.StatusGatewayTimeout:
		f.kind, f.down, f.lost, f.again = skill.ErrProviderUnavailable, true, true, r.replay != tool.Never
	}
	if resp.StatusCode/100 == 3 {
		f.text += ": redirects are not followed; write the address that it leads to as endpoint"
		return f
	}
	if deadline, ok := ctx.Deadline(); ok && time.Until(deadline) < f.wait {
		f.again = false
	}
	f.text += cmp.Or(r.said(resp.Body), hints[resp.StatusCode])
	return f
}

// hints are added when the service gives no reason.
var hints = map[int]string{
	http.StatusUnauthorized:     ": are the skill's headers right?",
	http.StatusForbidden:        ": are the skill's headers right?",
	http.StatusNotFound:         ": is the skill's endpoint right?",
	http.StatusMethodNotAllowed: ": is the skill's endpoint right?",
}

const (
	maxErrorBody = 8 << 10 // bytes read of an error's body
	maxSaid      = 500     // characters shown of it
)

// said returns the message of an error's body, without secrets, on one line that begins
// with a colon; empty if there is none.
func (r *remote) said(body io.Reader) string {
	raw, _ := io.ReadAll(io.LimitReader(body, maxErrorBody)) // show what could be read
	text := string(raw)
	var fields map[string]json.RawMessage
	if json.Unmarshal(raw, &fields) == nil {
		for _, name := range []string{"error", "message", "detail"} {
			if s := ""; json.Unmarshal(fields[name], &s) == nil && s != "" {
				text = s
				break
			}
		}
	}
	if json.Valid(raw) && text == string(raw) {
		text = string(r.Redactor.JSON(raw))
	}
	if text = printable.Line(r.Redactor.Text(text), maxSaid); text != "" {
		text = ": " + text
	}
	return text
}
