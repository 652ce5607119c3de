package webhook

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/etui-run/etui/channel"
	"github.com/etui-run/etui/channel/platform"
	"github.com/etui-run/etui/internal/printable"
)

const maxAnswer = 64 << 10 // bytes of an answer that are read

// outgoing is the body of a request to the other program.
type outgoing struct {
	ID      string   `json:"id"`
	Chat    string   `json:"chat"`
	Thread  string   `json:"thread,omitempty"`
	ReplyTo string   `json:"reply_to,omitempty"`
	Text    string   `json:"text"`
	Files   []file   `json:"files,omitempty"`
	Buttons []button `json:"buttons,omitempty"`
	Key     string   `json:"key"`
}

type button struct {
	Label string `json:"label"`
	Text  string `json:"text"`
}

// Send posts a message. Its ID is what the answer says, or else that of the request.
func (c *Channel) Send(ctx context.Context, m channel.Outgoing) (string, error) {
	if c.url == "" {
		return "", fmt.Errorf("the webhook has no url to send to: %w", channel.ErrRefused)
	}
	out := outgoing{ID: idOf(m.Key), Chat: m.To.Chat, Thread: m.To.Thread, ReplyTo: m.To.Message, Text: m.Text, Key: m.Key}
	for _, f := range m.Files {
		out.Files = append(out.Files, file{f.Name, f.MediaType, f.Data})
	}
	for _, b := range m.Buttons {
		out.Buttons = append(out.Buttons, button(b))
	}
	body, err := json.Marshal(out)
	if err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeout(ctx, sendTime)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.url, bytes.NewReader(body))
	if err != nil {
		return "", withoutURL(err)
	}
	req.Header.Set("Content-Type", "application/json")
	c.signed(req.Header, out.ID, body)
	res, err := c.client.Do(req)
	if err != nil {
		return "", withoutURL(err)
	}
	defer func() { _ = res.Body.Close() }()
	answer, err := io.ReadAll(io.LimitReader(res.Body, maxAnswer))
	if res.StatusCode/100 != 2 {
		return "", refusal(res, answer)
	}
	var said struct {
		ID string `json:"id"`
	}
	if err == nil && json.Unmarshal(answer, &said) == nil && said.ID != "" && tidy(said.ID) {
		return said.ID, nil
	}
	return out.ID, nil // the message was taken, whatever else the answer says
}

// idOf returns the ID of the request for a message, the same for the same key.
func idOf(key string) string {
	if key == "" {
		return "msg_" + rand.Text()
	}
	sum := sha256.Sum256([]byte(key))
	return "msg_" + hex.EncodeToString(sum[:16])
}

// refusal turns an answer other than 2xx into an error.
func refusal(res *http.Response, answer []byte) error {
	err := fmt.Errorf("the other program answered %d %s: %s", res.StatusCode, http.StatusText(res.StatusCode), printable.Line(string(answer), 200))
	after, asked := platform.RetryAfter(res.Header.Get("Retry-After"))
	switch {
	case res.StatusCode == http.StatusGone:
		return fmt.Errorf("%w: %w", err, channel.ErrGone)
	case res.StatusCode == http.StatusUnauthorized, res.StatusCode == http.StatusForbidden:
		return fmt.Errorf("%w: %w", err, channel.ErrRefused)
	case asked && (res.StatusCode == http.StatusTooManyRequests || res.StatusCode == http.StatusServiceUnavailable):
		return &channel.Limited{After: max(after, time.Second), Err: err}
	case res.StatusCode/100 == 3:
		return fmt.Errorf("%w; redirects are not followed: set url to the final address", err)
	}
	return err
}

// withoutURL takes the address out of an error, which may hold a token.
func withoutURL(err error) error {
	return fmt.Errorf("posting to the webhook's url: %w", platform.Plain(err))
}
