package wecom

import (
	"bytes"
	"cmp"
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"crypto/sha1"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"encoding/xml"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/etui-run/etui/channel"
	"github.com/etui-run/etui/channel/platform"
	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/internal/printable"
)

// The bounds of a delivery. The platform waits for 5 seconds, and delivers again what was
// not answered with 200, three times (接收消息与事件, document/path/90238).
const (
	maxDelivery = 256 << 10
	answerIn    = 4500 * time.Millisecond
	nameIn      = 1500 * time.Millisecond // then a message goes without its writer's name
	fileIn      = 12 * time.Second        // then a message goes without the bytes of its file, as the platform gives up
)

// event is a message or event of a member, decrypted.
type event struct {
	From       string `xml:"FromUserName"`
	CreateTime int64  `xml:"CreateTime"`
	Type       string `xml:"MsgType"`
	ID         string `xml:"MsgId"`
	Agent      string `xml:"AgentID"`
	Content    string `xml:"Content"`
	MediaID    string `xml:"MediaId"`
	Format     string `xml:"Format"`
	FileName   string `xml:"FileName"`
	Latitude   string `xml:"Location_X"`
	Longitude  string `xml:"Location_Y"`
	Label      string `xml:"Label"`
	Title      string `xml:"Title"`
	About      string `xml:"Description"`
	URL        string `xml:"Url"`
	Event      string `xml:"Event"`
	EventKey   string `xml:"EventKey"`
	TaskID     string `xml:"TaskId"`
}

// ServeHTTP implements [channel.Webhook]. It answers the verification of the URL, and takes
// messages. A delivery that was handled before is acknowledged again without effect.
func (c *Channel) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s := c.open.Load()
	if s == nil {
		http.Error(w, "the channel does not run", http.StatusServiceUnavailable)
		return
	}
	query := r.URL.Query()
	if r.Method == http.MethodGet {
		text, err := c.opened(query, query.Get("echostr"))
		if err != nil {
			c.refuse(w, r, err)
			return
		}
		if !isEcho(text) {
			c.refuse(w, r, errors.New("it is a message, which somebody else wants to have decrypted"))
			return
		}
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		_, _ = w.Write(text) // the platform asks again
		return
	}
	body, ok := platform.Posted(w, r, maxDelivery)
	if !ok {
		return
	}
	var envelope struct {
		Encrypt string `xml:"Encrypt"`
	}
	if err := xml.Unmarshal(body, &envelope); err != nil {
		c.refuse(w, r, errors.New("it is no XML"))
		return
	}
	text, err := c.opened(query, envelope.Encrypt)
	if err != nil {
		c.refuse(w, r, err)
		return
	}
	s.take(w, r, query.Get("msg_signature"), text)
}

// isEcho reports whether a text is one with which the platform verifies the URL: a number. A message
// is signed in the same way, so whoever has seen one on its way could otherwise let us decrypt it.
func isEcho(text []byte) bool {
	return len(text) <= 64 && !bytes.ContainsFunc(text,
		func(r rune) bool { return (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') })
}

// refuse answers a delivery that is not the platform's. The sender learns no reason.
func (c *Channel) refuse(w http.ResponseWriter, r *http.Request, err error) {
	c.log.DebugContext(r.Context(), "a delivery to the WeCom callback was refused", "why", err)
	http.Error(w, "refused", http.StatusForbidden)
}

// opened decrypts what a delivery carries, after its signature and age were checked.
func (c *Channel) opened(query url.Values, encrypted string) ([]byte, error) {
	timestamp, nonce, signature := query.Get("timestamp"), query.Get("nonce"), query.Get("msg_signature")
	if !platform.Equal(signature, sign(c.config.Token, timestamp, nonce, encrypted)) {
		return nil, errors.New("its signature is wrong: it was forged, or the Token differs")
	}
	if !platform.Fresh(timestamp, c.now()) {
		return nil, fmt.Errorf("its time is %s: it was repeated, or the clock is wrong", platform.Word(timestamp))
	}
	return open(c.key, c.config.CorpID, encrypted)
}

// take hands a message over and acknowledges it. If that takes longer than the platform waits,
// the message is still taken, and known when it is delivered again.
func (s *session) take(w http.ResponseWriter, r *http.Request, signature string, text []byte) {
	var e event
	if err := xml.Unmarshal(text, &e); err != nil {
		s.refuse(w, r, errors.New("what is encrypted in it is no XML"))
		return
	}
	if _, ok := e.text(); ok && e.From != "" && s.mine(e.Agent) {
		ctx, cancel := context.WithTimeout(r.Context(), answerIn)
		defer cancel()
		err := s.Submit(ctx, e.From, func(ctx context.Context) error { return s.deliver(ctx, signature, e) })
		if err != nil {
			s.log.WarnContext(r.Context(), "a message from WeCom was not accepted; it is delivered again", "error", err)
			http.Error(w, "not now", http.StatusServiceUnavailable)
			return
		}
	}
	reply := []byte("success")
	if label, _, ok := pressed(e); ok {
		var err error
		if reply, err = s.chosen(e.From, label); err != nil {
			s.log.WarnContext(r.Context(), "the buttons of a card stay as they are", "error", err)
			reply = []byte("success")
		}
	}
	_, _ = w.Write(reply) // the platform delivers again
}

// mine reports whether a message is for the application. Some events name none.
func (c *Channel) mine(agent string) bool {
	return agent == "" || agent == "0" || agent == strconv.Itoa(c.config.Agent)
}

// deliver completes a message and hands it over, unless that was done before.
func (s *session) deliver(ctx context.Context, signature string, e event) error {
	m := channel.Incoming{ID: cmp.Or(e.ID, e.identity()), From: channel.Sender{ID: e.From, Handle: e.From},
		At: channel.Address{Chat: e.From, Message: e.ID}}
	s.people.Introduce(ctx, &m.From, s.member)
	m.Text, _ = e.text()
	if e.CreateTime > 0 {
		m.Time = time.Unix(e.CreateTime, 0)
	}
	files := e.MediaID != "" && e.Type != "event" && s.Wants(ctx, m)
	return s.Hand(ctx, cmp.Or(e.ID, signature), &m, files, func(ctx context.Context) error { // events have no ID
		if files {
			m.Files = []chat.File{s.file(ctx, e)}
		}
		return nil
	})
}

// text is what a message or event says; false means that it says nothing.
func (e event) text() (string, bool) {
	switch e.Type {
	case "text":
		return e.Content, true
	case "image", "voice", "video", "shortvideo", "file":
		return "", e.MediaID != ""
	case "location":
		return strings.TrimSpace(fmt.Sprintf("%s (geo:%s,%s)", e.Label, e.Latitude, e.Longitude)), true
	case "link":
		return strings.TrimSpace(fmt.Sprintf("[%s](%s)\n%s", cmp.Or(e.Title, e.URL), e.URL, e.About)), true
	case "event":
		if _, text, ok := pressed(e); ok {
			return text, true
		}
		if e.Event == "click" && e.EventKey != "" {
			return e.EventKey, true
		}
		return "", false
	}
	return "(a message of the type " + printable.Line(e.Type, 40) + ", which cannot be shown here)", e.Type != ""
}

// identity is the ID of an event, which has none: the platform names who and when.
func (e event) identity() string {
	return "event-" + platform.Digest(24, e.From, strconv.FormatInt(e.CreateTime, 10), e.Event, e.TaskID, e.EventKey)
}

// pressed returns label and text of the button of a card that was pressed.
func pressed(e event) (label, text string, ok bool) {
	if e.Type != "event" || e.Event != "template_card_event" {
		return "", "", false
	}
	return strings.Cut(e.EventKey, "|")
}

type cdata struct {
	Text string `xml:",cdata"`
}

// chosen is the answer that replaces the buttons of a card by the one that was pressed.
func (c *Channel) chosen(user, label string) ([]byte, error) {
	now := c.now().Unix()
	text, err := xml.Marshal(struct {
		XMLName xml.Name `xml:"xml"`
		To      cdata    `xml:"ToUserName"`
		From    cdata    `xml:"FromUserName"`
		Time    int64    `xml:"CreateTime"`
		Type    cdata    `xml:"MsgType"`
		Name    cdata    `xml:"Button>ReplaceName"`
	}{To: cdata{user}, From: cdata{c.config.CorpID}, Time: now, Type: cdata{"update_button"},
		Name: cdata{"✓ " + label}})
	if err != nil {
		return nil, err
	}
	encrypted, err := seal(c.key, c.config.CorpID, text)
	if err != nil {
		return nil, err
	}
	nonce, timestamp := rand.Text(), strconv.FormatInt(now, 10)
	return xml.Marshal(struct {
		XMLName   xml.Name `xml:"xml"`
		Encrypt   cdata    `xml:"Encrypt"`
		Signature cdata    `xml:"MsgSignature"`
		Time      string   `xml:"TimeStamp"`
		Nonce     cdata    `xml:"Nonce"`
	}{Encrypt: cdata{encrypted}, Signature: cdata{sign(c.config.Token, timestamp, nonce, encrypted)}, Time: timestamp,
		Nonce: cdata{nonce}})
}

// member asks who a member is. Without an answer of the platform it is only the ID.
func (c *Channel) member(ctx context.Context, id string) (m channel.Sender, known bool) {
	ctx, cancel := context.WithTimeout(ctx, nameIn)
	defer cancel()
	var user struct {
		Name    string `json:"name"`
		Leading []int  `json:"is_leader_in_dept"`
	}
	if err := c.get(ctx, "user/get", url.Values{"userid": {id}}, &user); err != nil {
		c.log.DebugContext(ctx, "WeCom does not say who a member is", "member", id, "error", err)
		return m, errors.Is(err, channel.ErrGone) // after others it may say so the next time
	}
	m = channel.Sender{Name: printable.Line(user.Name, 100), Roles: []string{"member"}}
	if slices.Contains(user.Leading, 1) {
		m.Roles = append(m.Roles, "leader")
	}
	return m, true
}

// file fetches the file of a message. It has no bytes if that fails or takes too long.
func (s *session) file(ctx context.Context, e event) chat.File {
	ctx, cancel := context.WithTimeout(ctx, fileIn)
	defer cancel()
	got, err := s.download(ctx, e.MediaID)
	if err != nil {
		s.log.WarnContext(ctx, "a file from WeCom could not be fetched", "error", err)
	}
	f := e.named(got.Name, got.MediaType)
	f.Data = got.Data
	return f
}

// named returns the file of a message without its bytes, with the names that the platform
// gives, or those that fit the message.
func (e event) named(name, mediaType string) chat.File {
	usual := map[string][2]string{
		"image": {"image.jpg", "image/jpeg"},
		"voice": {"voice." + cmp.Or(e.Format, "amr"), "audio/" + cmp.Or(e.Format, "amr")},
		"video": {"video.mp4", "video/mp4"}, "shortvideo": {"video.mp4", "video/mp4"},
		"file": {"file", "application/octet-stream"},
	}[e.Type]
	if mediaType == "application/octet-stream" {
		mediaType = ""
	}
	return chat.File{Name: printable.Line(cmp.Or(name, e.FileName, usual[0]), 200),
		MediaType: printable.Line(cmp.Or(mediaType, usual[1]), 100)}
}

// The platform's scheme (加解密方案说明, document/path/90968): AES-256-CBC, padded by PKCS#7 to
// blocks of 32 bytes, of 16 random bytes, the length of the message, the message, and the
// ID of the company.
const (
	keySize   = 32
	padBlock  = 32
	randomLen = 16
	headLen   = randomLen + 4
)

// sign is the signature of a delivery. Token is the secret in it.
func sign(token, timestamp, nonce, encrypted string) string {
	parts := []string{token, timestamp, nonce, encrypted}
	slices.Sort(parts)
	sum := sha1.Sum([]byte(strings.Join(parts, "")))
	return hex.EncodeToString(sum[:])
}

// open decrypts what the platform has sent to a company.
func open(key []byte, corp, encrypted string) ([]byte, error) {
	data, err := platform.Unseal(key, key[:aes.BlockSize], encrypted, padBlock)
	if err != nil {
		return nil, err
	}
	if len(data) < headLen {
		return nil, platform.ErrSealed
	}
	size := binary.BigEndian.Uint32(data[randomLen:headLen])
	if uint64(size) > uint64(len(data)-headLen) {
		return nil, platform.ErrSealed
	}
	text, receiver := data[headLen:headLen+int(size)], data[headLen+int(size):]
	if string(receiver) != corp {
		return nil, errors.New("the text is for another company")
	}
	return text, nil
}

// seal encrypts an answer to the platform.
func seal(key []byte, corp string, text []byte) (string, error) {
	block, err := aes.NewCipher(key)
	if err != nil {
		return "", err
	}
	data := make([]byte, randomLen, headLen+len(text)+len(corp)+padBlock)
	_, _ = rand.Read(data) // never fails
	data = binary.BigEndian.AppendUint32(data, uint32(len(text)))
	data = append(append(data, text...), corp...)
	pad := padBlock - len(data)%padBlock
	data = append(data, bytes.Repeat([]byte{byte(pad)}, pad)...)
	cipher.NewCBCEncrypter(block, key[:aes.BlockSize]).CryptBlocks(data, data)
	return base64.StdEncoding.EncodeToString(data), nil
}
