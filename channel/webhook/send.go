package webhook

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"

	"github.com/etui-run/etui/channel"
	"github.com/etui-run/etui/channel/platform"
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
	if c.to == nil {
		return "", fmt.Errorf("the webhook has no url to send to: %w", channel.ErrRefused)
	}
	out := outgoing{ID: idOf(m.Key), Chat: m.To.Chat, Thread: m.To.Thread, ReplyTo: m.To.Message, Text: m.Text,
		Key: m.Key}
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
	answer, err := c.api.Do(ctx, platform.Request{
		Call: "posting a message", URL: c.to, Header: c.signed(out.ID, body), Body: json.RawMessage(body),
	})
	if err != nil {
		return "", err
	}
	var said struct {
		ID string `json:"id"`
	}
	if json.Unmarshal(answer.Body, &said) == nil && platform.Tidy(said.ID, maxName) {
		return said.ID, nil
	}
	return out.ID, nil // the message was taken, whatever else the answer says
}

// idOf returns the ID of the request for a message, the same for the same key.
func idOf(key string) string {
	return "msg_" + platform.Digest(32, cmp.Or(key, rand.Text()))
}

// refusals are the statuses with which the other program says no.
var refusals = platform.Refusals{Gone: []string{"410"}, Refused: []string{"401", "403"}}

// refusal returns the error of an answer.
func refusal(a *platform.Answer) *platform.Failure {
	if a.Status/100 == 2 {
		return nil
	}
	f := &platform.Failure{Code: strconv.Itoa(a.Status), Message: string(a.Body)}
	if a.Status/100 == 3 {
		f.Message = "redirects are not followed: set url to the final address"
	}
	if a.Status == http.StatusServiceUnavailable {
		f.After, f.Busy = platform.RetryAfter(a.Header.Get("Retry-After"))
	}
	return f
}
