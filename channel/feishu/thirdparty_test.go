package feishu_test

import (
	"bytes"
	"context"
	"encoding/hex"
	"encoding/json"
	"io"
	"net/http"
	"sync"
	"testing"
	"time"

	larkcore "github.com/larksuite/oapi-sdk-go/v3/core"
	larkevent "github.com/larksuite/oapi-sdk-go/v3/event"
	larkim "github.com/larksuite/oapi-sdk-go/v3/service/im/v1"

	"github.com/etui-run/etui/channel/channeltest"
	"github.com/etui-run/etui/channel/feishu"
	"github.com/etui-run/etui/channel/feishu/feishutest"
)

// TestFrameBytes: a ping as the platform's own client, oapi-sdk-go v3.5.3, writes it.
func TestFrameBytes(t *testing.T) {
	t.Parallel()
	const ping = "0800100018f681801020002a0c0a0474797065120470696e6732003a004a00"
	b, err := hex.DecodeString(ping)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := feishu.DecodeFrame(b); err != nil || !bytes.Equal(got, b) {
		t.Errorf("%x, %v", got, err)
	}
}

// tokens is a cache of the SDK.
type tokens struct{ sync.Map }

func (t *tokens) Set(_ context.Context, key, value string, _ time.Duration) error {
	t.Store(key, value)
	return nil
}

func (t *tokens) Get(_ context.Context, key string) (string, error) {
	value, _ := t.Load(key)
	text, _ := value.(string)
	return text, nil
}

// TestThirdParty: the platform's own client understands the server of these tests, so that
// it is not only what this package believes. Its client of the long connection needs all of
// the SDK, half a minute of compiling: it has been run against the server, and
// TestFrameBytes has a frame that it wrote.
func TestThirdParty(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	config := &larkcore.Config{
		BaseUrl: s.URL, AppId: feishutest.AppID, AppSecret: feishutest.AppSecret, EnableTokenCache: true, AppType: larkcore.AppTypeSelfBuilt, HttpClient: s.Client, LogLevel: larkcore.LogLevelError,
		TokenCache: &tokens{}, // its own would outlive the server
	}
	larkcore.NewLogger(config)
	larkcore.NewCache(config)
	larkcore.NewSerialization(config)
	larkcore.NewHttpClient(config)
	im := larkim.New(config)
	ctx, done := context.WithTimeout(t.Context(), 30*time.Second)
	defer done()

	const cardOne, cardTwo = `{"schema":"2.0","config":{"update_multi":true},"body":{"elements":[{"tag":"markdown","content":"half"}]}}`, `{"schema":"2.0","config":{"update_multi":true},"body":{"elements":[{"tag":"markdown","content":"whole"}]}}`
	create := func() *larkim.CreateMessageResp {
		t.Helper()
		made, err := im.Message.Create(ctx, larkim.NewCreateMessageReqBuilder().ReceiveIdType(larkim.ReceiveIdTypeChatId).
			Body(larkim.NewCreateMessageReqBodyBuilder().ReceiveId("oc_1").MsgType(larkim.MsgTypeInteractive).Content(cardOne).Uuid("u1").Build()).Build())
		if err != nil {
			t.Fatal(err)
		}
		return made
	}
	made := create()
	if !made.Success() || *made.Data.ChatId != "oc_1" || *create().Data.MessageId != *made.Data.MessageId || len(s.Sent("oc_1")) != 1 {
		t.Fatalf("%+v", made)
	}
	id := *made.Data.MessageId
	if r, err := im.Message.Patch(ctx, larkim.NewPatchMessageReqBuilder().MessageId(id).Body(larkim.NewPatchMessageReqBodyBuilder().Content(cardTwo).Build()).Build()); err != nil || !r.Success() {
		t.Errorf("%+v, %v", r, err)
	}
	if sent := s.Sent("oc_1"); sent[0].Text() != "whole" {
		t.Errorf("%+v", sent)
	}
	post := larkim.NewReplyMessageReqBodyBuilder().MsgType(larkim.MsgTypePost).Content(`{"zh_cn":{"title":"","content":[[{"tag":"text","text":"a"}]]}}`).ReplyInThread(true).Build()
	if r, err := im.Message.Reply(ctx, larkim.NewReplyMessageReqBuilder().MessageId(id).Body(post).Build()); err != nil || !r.Success() || !s.Sent("oc_1")[1].Thread || s.Sent("oc_1")[1].Parent != id {
		t.Errorf("%+v, %v", r, err)
	}
	reacted, err := im.MessageReaction.Create(ctx, larkim.NewCreateMessageReactionReqBuilder().MessageId(id).
		Body(larkim.NewCreateMessageReactionReqBodyBuilder().ReactionType(larkim.NewEmojiBuilder().EmojiType("OK").Build()).Build()).Build())
	if err != nil || !reacted.Success() || len(s.Sent("oc_1")[0].Reactions) != 1 {
		t.Fatalf("%+v, %v", reacted, err)
	}
	if r, err := im.MessageReaction.Delete(ctx, larkim.NewDeleteMessageReactionReqBuilder().MessageId(id).ReactionId(*reacted.Data.ReactionId).Build()); err != nil || !r.Success() || len(s.Sent("oc_1")[0].Reactions) != 0 {
		t.Errorf("%+v, %v", r, err)
	}
	image, err := im.Image.Create(ctx, larkim.NewCreateImageReqBuilder().Body(larkim.NewCreateImageReqBodyBuilder().ImageType(larkim.ImageTypeMessage).Image(bytes.NewReader([]byte("PNG"))).Build()).Build())
	if err != nil || !image.Success() || s.Uploaded(*image.Data.ImageKey) == "" {
		t.Errorf("%+v, %v", image, err)
	}
	file, err := im.File.Create(ctx, larkim.NewCreateFileReqBuilder().Body(larkim.NewCreateFileReqBodyBuilder().FileType(larkim.FileTypePdf).FileName("a.pdf").File(bytes.NewReader([]byte("PDF"))).Build()).Build())
	if err != nil || !file.Success() || s.Uploaded(*file.Data.FileKey) != "a.pdf=PDF" {
		t.Errorf("%+v, %v", file, err)
	}
	s.Upload("file_v3_a", []byte("content"))
	got, err := im.MessageResource.Get(ctx, larkim.NewGetMessageResourceReqBuilder().MessageId("om_1").FileKey("file_v3_a").Type("file").Build())
	if err != nil || !got.Success() {
		t.Fatalf("%+v, %v", got, err)
	}
	if content, err := io.ReadAll(got.File); err != nil || string(content) != "content" {
		t.Errorf("%q, %v", content, err)
	}
	if r, err := im.Chat.Get(ctx, larkim.NewGetChatReqBuilder().ChatId("oc_g").UserIdType("open_id").Build()); err != nil || !r.Success() || *r.Data.OwnerId != "ou_owner" || r.Data.UserManagerIdList[0] != "ou_manager" {
		t.Errorf("%+v, %v", r, err)
	}
	s.Fail(t, channeltest.Busy)
	if r, err := im.Message.Reply(ctx, larkim.NewReplyMessageReqBuilder().MessageId(id).Body(post).Build()); err != nil || r.Code != 99991400 || r.StatusCode != http.StatusTooManyRequests || r.Header.Get("x-ogw-ratelimit-reset") != "7" {
		t.Errorf("%+v, %v", r, err)
	}
	// Events: the encryption, the signature, and what a message is.
	text, _ := json.Marshal(feishutest.Event("ev1", "im.message.receive_v1", object{
		"sender":  object{"sender_id": object{"open_id": "ou_1"}, "sender_type": "user"},
		"message": object{"message_id": "om_1", "chat_type": "p2p", "content": `{"text":"hi"}`, "mentions": []object{feishutest.Mention(1, "ou_2", "Bob")}},
	}))
	r := feishutest.Request(ctx, "http://localhost/", text)
	body, _ := io.ReadAll(r.Body)
	if sign := larkevent.Signature(r.Header.Get(larkevent.EventRequestTimestamp), r.Header.Get(larkevent.EventRequestNonce), feishutest.Key, string(body)); sign != r.Header.Get(larkevent.EventSignature) {
		t.Errorf("the signature is %s", sign)
	}
	var sealed larkevent.EventEncryptMsg
	if err := json.Unmarshal(body, &sealed); err != nil {
		t.Fatal(err)
	}
	opened, err := larkevent.EventDecrypt(sealed.Encrypt, feishutest.Key)
	var event larkim.P2MessageReceiveV1
	if err == nil {
		err = json.Unmarshal(opened, &event)
	}
	if err != nil || event.EventV2Base.Header.EventType != "im.message.receive_v1" || *event.Event.Message.Content != `{"text":"hi"}` || *event.Event.Sender.SenderId.OpenId != "ou_1" || *event.Event.Message.Mentions[0].Key != "@_user_1" {
		t.Errorf("%s, %v", opened, err)
	}
}
