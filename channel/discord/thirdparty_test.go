package discord_test

import (
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"testing"

	"github.com/coder/websocket"
	api "github.com/disgoorg/disgo/discord"
	"github.com/disgoorg/disgo/gateway"
	"github.com/disgoorg/disgo/rest"
	"github.com/disgoorg/snowflake/v2"

	"github.com/etui-run/etui/channel"
	"github.com/etui-run/etui/channel/channeltest"
)

// TestThirdParty: a client of somebody else understands the server of these tests, so that
// it is not only what this package believes.
func TestThirdParty(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	quiet := slog.New(slog.DiscardHandler)
	client := rest.NewClient(token, rest.WithURL(s.URL+"/api/v10"), rest.WithHTTPClient(s.Client), rest.WithUserAgent("DiscordBot (https://github.com/disgoorg/disgo, 0)"), rest.WithLogger(quiet), rest.WithRateLimiter(rest.NewNoopRateLimiter()))
	r := rest.New(client)
	at, err := r.GetGatewayBot()
	if err != nil || at.SessionStartLimit.Remaining != 999 {
		t.Fatalf("%+v, %v", at, err)
	}
	if g, err := r.GetGuild(snowflake.MustParse(guild), false); err != nil || g.OwnerID != 1 || len(g.Roles) != 5 || g.Roles[1].Permissions != api.PermissionAdministrator {
		t.Errorf("%+v, %v", g, err)
	}
	m, err := r.CreateMessage(snowflake.MustParse(general), api.MessageCreate{Content: "half", Nonce: "n1", EnforceNonce: true})
	if err != nil {
		t.Fatal(err)
	}
	if again, err := r.CreateMessage(snowflake.MustParse(general), api.MessageCreate{Content: "half", Nonce: "n1", EnforceNonce: true}); err != nil || again.ID != m.ID || len(s.messages) != 1 {
		t.Errorf("%+v, %v", again, err)
	}
	if _, err := r.CreateMessage(snowflake.MustParse(general), api.MessageCreate{Content: "file", Files: []*api.File{api.NewFile("a.txt", "", strings.NewReader("A"))}}); err != nil || s.messages[1].files["files[0]"] != "a.txt=A" {
		t.Errorf("%v, %v", s.messages, err)
	}
	whole := "whole"
	if _, err := r.UpdateMessage(snowflake.MustParse(general), m.ID, api.MessageUpdate{Content: &whole}); err != nil || s.Seen(t, general)[0] != "whole" {
		t.Errorf("%v, %v", s.Seen(t, general), err)
	}
	if err := r.AddReaction(snowflake.MustParse(general), m.ID, "👀"); err != nil || len(s.reactions[m.ID.String()]) != 1 {
		t.Errorf("%v, %v", s.reactions, err)
	}
	if list, err := r.SetGlobalCommands(snowflake.MustParse(app), []api.ApplicationCommandCreate{api.SlashCommandCreate{Name: "new", Description: "x"}}); err != nil || len(s.commands) != 1 {
		t.Errorf("%v, %v", list, err)
	}
	s.Fail(t, channeltest.Gone)
	var answer *rest.Error
	if _, err := r.CreateMessage(snowflake.MustParse(general), api.MessageCreate{Content: "x"}); !errors.As(err, &answer) || answer.Code != 50007 || answer.Response.StatusCode != http.StatusForbidden {
		t.Errorf("gone: %v", err)
	}

	// The Gateway. Disgo's own connections race when they are renewed, so that these are its
	// messages on a connection of the test.
	dial := func(url string, first gateway.Message) (read func(want gateway.EventType) gateway.Message) {
		t.Helper()
		conn, _, err := websocket.Dial(t.Context(), url+"?v=10&encoding=json", nil)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { conn.CloseNow() })
		receive := func() (m gateway.Message) {
			t.Helper()
			_, data, err := conn.Read(t.Context())
			if err == nil {
				err = json.Unmarshal(data, &m)
			}
			if err != nil {
				t.Fatal(err)
			}
			return m
		}
		send := func(m gateway.Message) {
			t.Helper()
			data, err := json.Marshal(m)
			if err == nil {
				err = conn.Write(t.Context(), websocket.MessageText, data)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		if hello, ok := receive().D.(gateway.MessageDataHello); !ok || hello.HeartbeatInterval <= 0 {
			t.Fatalf("no hello: %+v", hello)
		}
		send(gateway.Message{Op: gateway.OpcodeHeartbeat, D: gateway.MessageDataHeartbeat(0)})
		if m := receive(); m.Op != gateway.OpcodeHeartbeatACK {
			t.Fatalf("no acknowledgement: %+v", m)
		}
		send(first)
		return func(want gateway.EventType) gateway.Message {
			t.Helper()
			m := receive()
			if m.T != want {
				t.Fatalf("got %+v, want %s", m, want)
			}
			return m
		}
	}
	next := dial(at.URL, gateway.Message{Op: gateway.OpcodeIdentify, D: gateway.MessageDataIdentify{Token: token, Intents: gateway.IntentGuildMessages}})
	ready, ok := next(gateway.EventTypeReady).D.(gateway.EventReady)
	if !ok || ready.SessionID == "" || ready.Application.ID.String() != app || ready.User.ID.String() != bot {
		t.Fatalf("%+v", ready)
	}
	s.Say(t, channel.Incoming{From: ann, Text: "before", Group: true})
	before := next(gateway.EventTypeMessageCreate)
	if e, ok := before.D.(gateway.EventMessageCreate); !ok || e.Content != "before" || e.GuildID == nil || e.Author.EffectiveName() != "Ann" {
		t.Errorf("%+v", before)
	}
	s.Say(t, channel.Incoming{From: ann, Text: "after"})
	next = dial(ready.ResumeGatewayURL, gateway.Message{Op: gateway.OpcodeResume, D: gateway.MessageDataResume{Token: token, SessionID: ready.SessionID, Seq: before.S}})
	if e, ok := next(gateway.EventTypeMessageCreate).D.(gateway.EventMessageCreate); !ok || e.Content != "after" || e.GuildID != nil {
		t.Errorf("%+v", e)
	}
	next(gateway.EventTypeResumed)
	s.Dispatch("INTERACTION_CREATE", interaction("tok", nil))
	if e, ok := next(gateway.EventTypeInteractionCreate).D.(gateway.EventInteractionCreate); !ok || e.Token() != "tok" || e.User().ID.String() != "4711" {
		t.Errorf("%+v", e)
	}
}

// TestThirdPartyReads: somebody else understands what the channel tells the Gateway.
func TestThirdPartyReads(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	in := make(got, 8)
	run(t, s.adapter(t, s.config()), in)
	s.Say(t, direct)
	in.next(t)
	s.send(object{"op": 7, "d": nil})
	s.await("a resumption", func() bool { return len(s.resumes) > 0 })
	defer s.Hold()()
	kinds := map[gateway.Opcode]gateway.MessageData{}
	for _, f := range s.frames {
		var m gateway.Message
		if err := json.Unmarshal(f, &m); err != nil {
			t.Errorf("%s: %v", f, err)
		}
		kinds[m.Op] = m.D
	}
	if d, ok := kinds[gateway.OpcodeIdentify].(gateway.MessageDataIdentify); !ok || d.Intents != gateway.IntentGuildMessages|gateway.IntentDirectMessages|gateway.IntentMessageContent {
		t.Errorf("%+v", d)
	}
	if d, ok := kinds[gateway.OpcodeResume].(gateway.MessageDataResume); !ok || d.SessionID != s.newest.id || d.Seq < 1 || d.Seq > 2 {
		t.Errorf("%+v", d)
	}
}
