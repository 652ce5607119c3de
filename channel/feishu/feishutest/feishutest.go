// Package feishutest is a Feishu (飞书) for tests: one company with one custom app and its
// bot.
//
// It does what the documentation of open.feishu.cn says of the calls that the channel makes,
// as it was in November 2026: auth-v3 tenant_access_token/internal, bot-v3 bot/get, im-v1
// message/create, reply, patch and update, message-reaction, message-resource/get, image and
// file/create, chat/get, contact-v3 user/get, task-v2 task/create, calendar-v4 calendar and
// calendar-event, the rate limits of api-call-guide/frequency-control, and the encryption and
// signatures of event-subscription-configure. Its long connection is that of package ws of
// github.com/larksuite/oapi-sdk-go v3.5.3. It delivers again what is not acknowledged, much
// sooner than Feishu does.
package feishutest

import (
	"bytes"
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/etui-run/etui/channel/platformtest"
)

// What the company and its app have.
const (
	AppID     = "cli_9f5343c580712544"
	AppSecret = "the-secret-of-the-app"
	Key       = "the-encrypt-key"        // Encrypt Key
	Token     = "the-verification-token" // Verification Token
	Bot       = "ou_bot"
	Tenant    = "2ca1d211f64f6438"
)

// Object is JSON.
type Object = platformtest.Object

// Delivery is an event or a callback.
type Delivery = platformtest.Delivery

// Server is a Feishu. Its methods are safe for concurrent use.
type Server struct {
	*platformtest.Server

	token     string
	issued    int
	revoked   bool // the secret, too
	pings     int
	split     int // bytes of a frame's payload; 0 means any
	messages  []*Message
	uuids     map[string]*Message
	resources map[string][]byte
	uploads   map[string]string // by key: NAME=CONTENT
	people    map[string]Object
	written   map[string][]Object // by message of a person: it, and those that it passes on
}

// Message is what the bot has written.
type Message struct {
	ID, Chat, Kind, Content string
	// Parent is the message that it answers, and Thread means that it is in a thread.
	Parent string
	Thread bool
	// Reactions are the emojis that the bot has put on it or on a person's message.
	Reactions []string
	edits     int
}

// Failure is an error answer of a call that writes a message.
type Failure struct {
	Status, Code int
	Reset        int  // seconds until it may be tried again
	Revoked      bool // the app's secret is not valid any more
}

// Start starts a server with one member, ou_4711. The caller closes it.
func Start() *Server {
	s := &Server{
		Server: platformtest.Start(),
		uuids:  map[string]*Message{}, resources: map[string][]byte{}, uploads: map[string]string{},
		people: map[string]Object{"ou_4711": {"name": "Ann"}}, written: map[string][]Object{},
	}
	s.routes()
	return s
}

// next returns a new ID. The caller holds the server.
func (s *Server) next(prefix string) string { return fmt.Sprintf("%s%06d", prefix, s.Next()) }

// DirectChat is the ID of the chat of the bot with a person.
func DirectChat(person string) string { return "oc_p2p-" + strings.TrimPrefix(person, "ou_") }

// Person sets what the company says about a person.
func (s *Server) Person(id string, profile Object) {
	defer s.Hold()()
	s.people[id] = profile
}

// Write lets a person write. Fields are those of the event's message that differ from a
// direct text: content as an object, chat_id, chat_type, message_type, mentions, thread_id,
// root_id, parent_id. It returns the ID of the message.
func (s *Server) Write(from string, fields Object) (id string, d *Delivery) {
	defer s.Hold()()
	id = s.next("om_in")
	message := Object{"message_id": id, "create_time": "1795000000000", "update_time": "1795000000000",
		"chat_id": DirectChat(from), "chat_type": "p2p", "message_type": "text"}
	sender := Object{"sender_id": Object{"open_id": from, "union_id": "on_" + from[3:], "user_id": nil},
		"sender_type": "user", "tenant_key": Tenant}
	for k, v := range fields {
		switch k {
		case "content":
			text, _ := json.Marshal(v)
			message[k] = string(text)
		case "sender_type", "tenant_key":
			sender[k] = v
		default:
			message[k] = v
		}
	}
	id = message["message_id"].(string)
	s.written[id] = append([]Object{stored(id, from, message)}, s.written[id]...)
	return id, s.push("im.message.receive_v1", Object{"sender": sender, "message": message})
}

// stored is a message as it is asked for.
func stored(id, from string, message Object) Object {
	var mentions []Object
	list, _ := message["mentions"].([]Object)
	for _, m := range list {
		mentions = append(mentions, Object{"key": m["key"], "id": m["id"].(Object)["open_id"], "id_type": "open_id",
			"name": m["name"]})
	}
	return Object{
		"message_id": id, "msg_type": message["message_type"], "chat_id": message["chat_id"], "deleted": false,
		"mentions": mentions,
		"sender":   Object{"id": from, "id_type": "open_id", "sender_type": "user"},
		"body":     Object{"content": message["content"]},
	}
}

// Pass makes a message pass on others. It may be written after that.
func (s *Server) Pass(id string, passed ...string) {
	defer s.Hold()()
	for _, p := range passed {
		item := maps.Clone(s.written[p][0])
		item["upper_message_id"] = id
		s.written[id] = append(s.written[id], item)
	}
}

// Mention is the mention of somebody in a message, the nth from 1.
func Mention(n int, id, name string) Object {
	return Object{"key": "@_user_" + strconv.Itoa(n), "id": Object{"open_id": id, "union_id": "on_x", "user_id": ""},
		"name": name, "tenant_key": Tenant}
}

// Press lets a person press a button of a message of the bot, by its label.
func (s *Server) Press(from, message, label string) *Delivery {
	defer s.Hold()()
	m := s.message(message)
	for _, e := range m.elements() {
		text, _ := e["text"].(map[string]any)
		if e["tag"] != "button" || text["content"] != label {
			continue
		}
		value := e["behaviors"].([]any)[0].(map[string]any)["value"]
		return s.push("card.action.trigger", Object{
			"operator": Object{"tenant_key": Tenant, "open_id": from, "union_id": "on_" + from[3:]},
			"token":    "c-295ee57216a5dc9de90fefd0aadb4b1d7dxxxx",
			"action":   Object{"value": value, "tag": "button"}, "host": "im_message",
			"context": Object{"open_message_id": message, "open_chat_id": m.Chat},
		})
	}
	panic("the message has no such button: " + label)
}

// Push delivers an event of a type.
func (s *Server) Push(kind string, event Object) *Delivery {
	defer s.Hold()()
	return s.push(kind, event)
}

func (s *Server) push(kind string, event Object) *Delivery {
	id := s.next("ev")
	return s.Queue(&Delivery{ID: id, Kind: kind, Payload: Event(id, kind, event)})
}

// Event is an event as the platform delivers it.
func Event(id, kind string, event Object) Object {
	return Object{
		"schema": "2.0", "event": event,
		"header": Object{"event_id": id, "event_type": kind, "create_time": "1795000000000", "token": Token,
			"app_id": AppID, "tenant_key": Tenant},
	}
}

// Upload stores a file of a person under a key.
func (s *Server) Upload(key string, data []byte) {
	defer s.Hold()()
	s.resources[key] = data
}

// Fail makes the next call that writes a message fail.
func (s *Server) Fail(f Failure) {
	s.FailNext(writing, func(w http.ResponseWriter) {
		if f.Reset > 0 {
			w.Header().Set("x-ogw-ratelimit-limit", "100")
			w.Header().Set("x-ogw-ratelimit-reset", fmt.Sprint(f.Reset))
		}
		if f.Revoked {
			s.token, s.revoked = "", true
		}
		var body any
		if f.Code != 0 {
			_, body = no(f.Code, "an error")
		}
		platformtest.Refuse(w, f.Status, 0, body)
	})
}

// Code makes the next call of a path, as in "GET im/v1/chats/oc_1", return an error.
func (s *Server) Code(call string, code int) {
	s.FailNext(call, func(w http.ResponseWriter) {
		status, body := no(code, "an error")
		platformtest.Answer(w, status, body)
	})
}

// Expire makes the access token invalid; a new one can be had.
func (s *Server) Expire() {
	defer s.Hold()()
	s.token = ""
}

// Tokens returns how many access tokens were fetched.
func (s *Server) Tokens() int {
	defer s.Hold()()
	return s.issued
}

// Split makes the long connection send events in frames of so many bytes.
func (s *Server) Split(n int) {
	defer s.Hold()()
	s.split = n
}

// Sent returns what the bot has written in a chat, oldest first; an empty chat means all.
func (s *Server) Sent(chat string) []Message {
	defer s.Hold()()
	return platformtest.Copies(s.messages, func(m *Message) bool { return chat == "" || m.Chat == chat })
}

// Uploaded returns what the bot has uploaded under a key, as NAME=CONTENT.
func (s *Server) Uploaded(key string) string {
	defer s.Hold()()
	return s.uploads[key]
}

// Pings returns how many pings of the long connection have come.
func (s *Server) Pings() int {
	defer s.Hold()()
	return s.pings
}

// elements are the elements of a card.
func (m *Message) elements() (list []map[string]any) {
	var card struct {
		Body struct{ Elements []map[string]any }
	}
	_ = json.Unmarshal([]byte(m.Content), &card) // the server has checked it
	return card.Body.Elements
}

// Text is the text of a message, as its markup.
func (m *Message) Text() string {
	var lines []string
	switch m.Kind {
	case "interactive":
		for _, e := range m.elements() {
			if e["tag"] == "markdown" {
				lines = append(lines, fmt.Sprint(e["content"]))
			}
		}
	case "post":
		var post map[string]struct{ Content [][]struct{ Text string } }
		_ = json.Unmarshal([]byte(m.Content), &post)
		for _, paragraph := range post["zh_cn"].Content {
			line := ""
			for _, e := range paragraph {
				line += e.Text
			}
			lines = append(lines, line)
		}
	}
	return strings.Join(lines, "\n")
}

// Buttons are the labels of the buttons of a card.
func (m *Message) Buttons() (labels []string) {
	for _, e := range m.elements() {
		if e["tag"] == "button" {
			labels = append(labels, e["text"].(map[string]any)["content"].(string))
		}
	}
	return labels
}

func (s *Server) message(id string) *Message {
	return platformtest.Find(s.messages, func(m *Message) bool { return m.ID == id })
}

// Seal encrypts what is delivered, with an Encrypt Key.
func Seal(key string, text []byte) string {
	sum := sha256.Sum256([]byte(key))
	block, err := aes.NewCipher(sum[:])
	if err != nil {
		panic(err) // the key has 32 bytes
	}
	iv := make([]byte, aes.BlockSize)
	_, _ = rand.Read(iv) // never fails
	pad := aes.BlockSize - len(text)%aes.BlockSize
	text = append(slices.Clone(text), bytes.Repeat([]byte{byte(pad)}, pad)...)
	cipher.NewCBCEncrypter(block, iv).CryptBlocks(text, text)
	return base64.StdEncoding.EncodeToString(append(iv, text...))
}

// Sign signs a request as Feishu does.
func Sign(r *http.Request, key string, at time.Time, body []byte) {
	sent, nonce := strconv.FormatInt(at.Unix(), 10), strconv.FormatInt(at.UnixNano()%1e9, 10)
	sum := sha256.Sum256(append([]byte(sent+nonce+key), body...))
	r.Header.Set("X-Lark-Request-Timestamp", sent)
	r.Header.Set("X-Lark-Request-Nonce", nonce)
	r.Header.Set("X-Lark-Signature", hex.EncodeToString(sum[:]))
}

// Request returns a request that delivers a text: encrypted and signed.
func Request(ctx context.Context, to string, text []byte) *http.Request {
	body, _ := json.Marshal(Object{"encrypt": Seal(Key, text)})
	r := platformtest.Request(ctx, http.MethodPost, to, "application/json;charset=utf-8", body)
	Sign(r, Key, time.Now(), body)
	return r
}

// Check checks a URL, as the platform does when a person enters it. The request is encrypted
// and not signed.
func (s *Server) Check(ctx context.Context, to string) error {
	text, _ := json.Marshal(Object{"challenge": "1b6aef1a-401f", "token": Token, "type": "url_verification"})
	r := Request(ctx, to, text)
	r.Header.Del("X-Lark-Signature")
	status, body, err := s.Do(r)
	if err != nil {
		return err
	}
	var answer struct{ Challenge string }
	if err := json.Unmarshal(body, &answer); err != nil || status != http.StatusOK ||
		answer.Challenge != "1b6aef1a-401f" {
		return fmt.Errorf("the URL answers with status %d and %s", status, body)
	}
	return nil
}

// Deliver sends what is to be delivered to an address, one after another, until the server
// is closed. Feishu tries four times; this server tries until it succeeds.
func (s *Server) Deliver(to string) {
	s.Post(func(d *Delivery, _ int) *http.Request {
		text, _ := json.Marshal(d.Payload)
		return Request(context.Background(), to, text)
	})
}
