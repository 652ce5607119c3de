package matrix_test

import (
	"errors"
	"net/http"
	"testing"

	"github.com/matrix-org/gomatrix"

	"github.com/etui-run/etui/channel"
)

// TestThirdParty: a client of somebody else understands the server of these tests, so that it
// is not only what this package believes. Most of these tests also run on Dendrite.
func TestThirdParty(t *testing.T) {
	t.Parallel()
	w := newWorld(t, local(t))
	in := newInbox(nil)
	c, _ := w.begin(t, in)
	ann, err := gomatrix.NewClient(w.side.URL, w.ann.id, w.ann.token)
	if err != nil {
		t.Fatal(err)
	}
	ann.Prefix, ann.Client = "/_matrix/client/v3", w.side.Client()
	if name, err := ann.GetOwnDisplayName(); err != nil || name.DisplayName != "Ann" {
		t.Errorf("%+v, %v", name, err)
	}
	if m, err := ann.JoinedMembers(w.direct); err != nil || len(m.Joined) != 2 || *m.Joined[w.ann.id].DisplayName != "Ann" {
		t.Errorf("%+v, %v", m, err)
	}
	var levels struct {
		Users map[string]int `json:"users"`
	}
	if err := ann.StateEvent(w.group, "m.room.power_levels", "", &levels); err != nil || levels.Users[w.ann.id] != 100 {
		t.Errorf("%+v, %v", levels, err)
	}

	// What it sends arrives, and it reads the answer.
	now, err := ann.SyncRequest(0, "", "", false, "")
	if err != nil {
		t.Fatal(err)
	}
	sent, err := ann.SendFormattedText(w.direct, "hello, 你好", "<b>hello</b>, 你好")
	if err != nil {
		t.Fatal(err)
	}
	m := in.next(t)
	if m.ID != sent.EventID || m.Text != "hello, 你好" || m.From.ID != w.ann.id || m.Group {
		t.Errorf("%+v", m)
	}
	if err := c.Typing(t.Context(), m.At); err != nil {
		t.Error(err)
	}
	answer, err := c.Send(t.Context(), channel.Outgoing{To: m.At, Text: "**An** answer", Key: "k"})
	if err != nil {
		t.Fatal(err)
	}
	var read []gomatrix.Event
	for late := 0; len(read) < 2 && late < 10; late++ {
		more, err := ann.SyncRequest(1000, now.NextBatch, `{"room":{"timeline":{"limit":10,"types":["m.room.message"]}}}`, false, "online")
		if err != nil {
			t.Fatal(err)
		}
		read, now = append(read, more.Rooms.Join[w.direct].Timeline.Events...), more
	}
	if len(read) != 2 || read[0].ID != sent.EventID || read[1].ID != answer || read[1].Sender != w.me || read[1].Content["formatted_body"] != "<p><strong>An</strong> answer</p>" {
		t.Errorf("%+v", read)
	}
	if page, err := ann.Messages(w.direct, now.NextBatch, "", 'b', 2); err != nil || len(page.Chunk) != 2 || page.Chunk[0].ID != answer || page.End == "" {
		t.Errorf("%+v, %v", page, err)
	}
	if gone, err := ann.RedactEvent(w.direct, sent.EventID, &gomatrix.ReqRedact{Reason: "oops"}); err != nil || gone.EventID == "" {
		t.Errorf("%+v, %v", gone, err)
	}

	// Rooms, and who may do what.
	room, err := ann.CreateRoom(&gomatrix.ReqCreateRoom{Preset: "private_chat", Invite: []string{w.me}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := ann.SendText(room.RoomID, w.me+" in a new room"); err != nil {
		t.Error(err)
	}
	if m := in.next(t); m.At.Chat != room.RoomID || m.Text != "in a new room" {
		t.Errorf("%+v", m)
	}
	if _, err := ann.KickUser(room.RoomID, &gomatrix.ReqKickUser{UserID: w.me}); err != nil {
		t.Error(err)
	}
	if _, err := c.Send(t.Context(), channel.Outgoing{To: channel.Address{Chat: room.RoomID}, Text: "x"}); !errors.Is(err, channel.ErrGone) {
		t.Errorf("after it was removed: %v", err)
	}
	if m, err := ann.JoinedMembers(room.RoomID); err != nil || len(m.Joined) != 1 {
		t.Errorf("%+v, %v", m, err)
	}

	// Errors are as the client expects them.
	var said gomatrix.HTTPError
	if _, err := ann.SendText("!never:matrix.test", "x"); !errors.As(err, &said) || said.Code != http.StatusForbidden || codeOf(said) != "M_FORBIDDEN" {
		t.Errorf("a room that is not there: %v", err)
	}
	ann.SetCredentials(w.ann.id, "wrong")
	if _, err := ann.JoinedMembers(w.direct); !errors.As(err, &said) || said.Code != http.StatusUnauthorized || codeOf(said) != "M_UNKNOWN_TOKEN" {
		t.Errorf("a wrong token: %v", err)
	}
}

func codeOf(err gomatrix.HTTPError) string {
	var code gomatrix.RespError
	_ = errors.As(err.WrappedError, &code)
	return code.ErrCode
}
