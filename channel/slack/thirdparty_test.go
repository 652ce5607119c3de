package slack_test

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"testing"
	"time"

	slackgo "github.com/slack-go/slack"
	"github.com/slack-go/slack/slackevents"
	"github.com/slack-go/slack/socketmode"

	"github.com/etui-run/etui/channel"
	"github.com/etui-run/etui/channel/channeltest"
	"github.com/etui-run/etui/channel/slack/slacktest"
)

// TestThirdParty: a client of somebody else understands the server of these tests, so that
// it is not only what this package believes.
func TestThirdParty(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	api := slackgo.New(slacktest.BotToken, slackgo.OptionAppLevelToken(slacktest.AppToken), slackgo.OptionAPIURL(s.URL+"/api/"), slackgo.OptionHTTPClient(s.Client))
	if who, err := api.AuthTestContext(t.Context()); err != nil || who.UserID != bot || who.TeamID != team || who.BotID != "B0ETUI" {
		t.Fatalf("%+v, %v", who, err)
	}
	if u, err := api.GetUserInfoContext(t.Context(), "4711"); err != nil || u.Name != "ann" || u.Profile.DisplayName != "Ann" {
		t.Errorf("%+v, %v", u, err)
	}
	chat, ts, err := api.PostMessageContext(t.Context(), "C1", slackgo.MsgOptionText("half <b>", true), slackgo.MsgOptionTS("1700000000.000001"))
	if err != nil || chat != "C1" {
		t.Fatal(chat, err)
	}
	if _, _, _, err := api.UpdateMessageContext(t.Context(), chat, ts, slackgo.MsgOptionText("whole", false)); err != nil || s.Seen(t, "C1")[0] != "whole" {
		t.Errorf("%q, %v", s.Seen(t, "C1"), err)
	}
	if err := api.AddReactionContext(t.Context(), "eyes", slackgo.NewRefToMessage(chat, ts)); err != nil || len(s.Reactions(chat+":"+ts)) != 1 {
		t.Errorf("%v, %v", s.Reactions(chat+":"+ts), err)
	}
	if f, err := api.UploadFileContext(t.Context(), slackgo.UploadFileParameters{Reader: bytes.NewReader([]byte("A")), FileSize: 1, Filename: "a.txt", Title: "a.txt", Channel: "C1"}); err != nil || f.ID == "" || s.Sent("")[1].Files[0] != "a.txt=A" {
		t.Errorf("%+v, %v", f, err)
	}
	s.Fail(t, channeltest.Busy)
	var limited *slackgo.RateLimitedError
	if _, _, err := api.PostMessageContext(t.Context(), "C1", slackgo.MsgOptionText("x", false)); !errors.As(err, &limited) || limited.RetryAfter != 7*time.Second {
		t.Errorf("busy: %v", err)
	}
	s.Fail(t, channeltest.Refused)
	var answer slackgo.SlackErrorResponse
	if _, _, err := api.PostMessageContext(t.Context(), "C1", slackgo.MsgOptionText("x", false)); !errors.As(err, &answer) || answer.Err != "token_revoked" {
		t.Errorf("refused: %v", err)
	}

	// Socket Mode.
	client := socketmode.New(api)
	done := make(chan struct{})
	go func() { defer close(done); client.RunContext(t.Context()) }()
	t.Cleanup(func() { <-done })
	s.Say(t, channel.Incoming{From: channel.Sender{ID: "4711"}, At: channel.Address{Chat: "C1"}, Group: true, Mentioned: true, Text: "hello"})
	command := s.Push("slash_commands", object{"command": "/etui", "text": "hello", "user_id": "4711", "channel_id": "C1", "trigger_id": "1.2"})
	button := s.Push("interactive", press("C1", "yes"))
	seen := map[string]bool{}
	for !seen["message"] || !seen["mention"] || !seen["command"] || !seen["button"] {
		e := <-client.Events
		switch data := e.Data.(type) {
		case slackevents.EventsAPIEvent:
			switch inner := data.InnerEvent.Data.(type) {
			case *slackevents.MessageEvent:
				seen["message"] = seen["message"] || inner.User == "4711" && inner.Text == "<@U0ETUI> hello" && inner.Channel == "C1" && inner.ChannelType == "channel"
			case *slackevents.AppMentionEvent:
				seen["mention"] = inner.User == "4711" && inner.Text == "<@U0ETUI> hello"
			}
		case slackgo.SlashCommand:
			seen["command"] = data.Command == "/etui" && data.Text == "hello" && data.UserID == "4711"
		case slackgo.InteractionCallback:
			seen["button"] = data.Type == slackgo.InteractionTypeBlockActions && data.ActionCallback.BlockActions[0].Value == "yes" && data.Channel.ID == "C1"
		}
		if e.Request != nil && e.Request.EnvelopeID != "" {
			client.Ack(*e.Request)
		}
	}
	s.acknowledged(command)
	s.acknowledged(button)

	// Signatures.
	body := []byte(`{"type":"event_callback"}`)
	r := request(t, "http://localhost/", "application/json", body)
	v, err := slackgo.NewSecretsVerifier(r.Header, slacktest.Secret)
	if err == nil {
		_, err = io.Copy(&v, r.Body)
	}
	if err == nil {
		err = v.Ensure()
	}
	if err != nil {
		t.Errorf("the signature: %v", err)
	}
	contentType, form := slacktest.Encode("slash_commands", object{"command": "/etui", "text": "a b"})
	r = request(t, "http://localhost/", contentType, form)
	if c, err := slackgo.SlashCommandParse(r); err != nil || c.Text != "a b" || r.Method != http.MethodPost {
		t.Errorf("%+v, %v", c, err)
	}
}
