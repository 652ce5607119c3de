package wecomtest

import (
	"cmp"
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/md5" //nolint:gosec // the platform's checksum
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"

	"github.com/coder/websocket"

	"github.com/etui-run/etui/channel/platformtest"
)

// What the bot has.
const (
	BotID     = "aibBOT"
	BotSecret = "bot-secret"
)

// Bots is the server of AI bots (document/path/101463 as of 2026), which the bot connects to. It sends
// each message once, and lets a bot have one connection.
type Bots struct {
	*platformtest.Server

	mu      sync.Mutex
	live    *websocket.Conn
	frames  map[string]string // the chat of each frame that can be answered
	streams map[string]*BotMessage
	sent    []*BotMessage
	codes   map[string][]int // with which the next frames of a command are refused
	uploads map[string]*upload
	pings   int
	files   map[string][]byte
	queue   []platformtest.Object // until somebody is connected
}

// BotMessage is what the bot has written.
type BotMessage struct {
	Chat, Kind, Text string
	Final            bool // of a stream
	Buttons          []string
	File             string // name=content
	Task             string // of a card
}

type upload struct {
	name, sum string
	chunks    [][]byte
}

// StartBots starts a server. The caller closes it.
func StartBots() *Bots {
	b := &Bots{
		Server: platformtest.Start(), frames: map[string]string{}, streams: map[string]*BotMessage{},
		codes:   map[string][]int{},
		uploads: map[string]*upload{}, files: map[string][]byte{},
	}
	b.Mux.HandleFunc("GET /{$}", b.socket)
	b.Mux.HandleFunc("GET /files/{name}", func(w http.ResponseWriter, r *http.Request) {
		b.mu.Lock()
		defer b.mu.Unlock()
		w.Header().Set("Content-Disposition", "attachment; filename*=UTF-8''"+url.PathEscape(r.PathValue("name")))
		_, _ = w.Write(b.files[r.PathValue("name")]) // the client may be gone
	})
	return b
}

// Refuse refuses the next frame of a command with a code.
func (b *Bots) Refuse(command string, code int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.codes[command] = append(b.codes[command], code)
}

// Say sends a message of a person, of the fields of a callback, and returns its ID.
func (b *Bots) Say(body platformtest.Object) string {
	release := b.Hold()
	n := b.Next()
	release()
	id := cmp.Or(fmt.Sprint(body["msgid"]), "")
	if body["msgid"] == nil {
		id = fmt.Sprintf("msg%d", n)
		body["msgid"] = id
	}
	command := "aibot_msg_callback"
	if body["msgtype"] == "event" {
		command = "aibot_event_callback"
	}
	chat, _ := body["chatid"].(string)
	if from, ok := body["from"].(platformtest.Object); ok && chat == "" {
		chat, _ = from["userid"].(string)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	frame := fmt.Sprintf("frame%d", n)
	b.frames[frame] = chat
	b.queue = append(b.queue, platformtest.Object{"cmd": command,
		"headers": platformtest.Object{"req_id": frame}, "body": body})
	b.flush()
	return id
}

// flush sends what waits. The caller holds the lock.
func (b *Bots) flush() {
	if b.live == nil {
		return
	}
	for _, o := range b.queue {
		platformtest.Write(context.Background(), b.live, o)
	}
	b.queue = nil
}

// Cut ends all connections. What is said meanwhile waits for the next one.
func (b *Bots) Cut() {
	b.mu.Lock()
	b.live = nil
	b.mu.Unlock()
	b.Server.Cut()
}

// Replace tells the bot that another program has connected as it.
func (b *Bots) Replace() {
	b.Say(platformtest.Object{"msgtype": "event", "from": platformtest.Object{"userid": "x"},
		"event": platformtest.Object{"eventtype": "disconnected_event"}})
}

// Upload keeps a file as the platform does, encrypted, and returns its address and key.
func (b *Bots) Upload(name string, data []byte) platformtest.Object {
	key := slices.Repeat([]byte{7, 9}, 16)
	pad := 32 - len(data)%32
	data = append(slices.Clone(data), slices.Repeat([]byte{byte(pad)}, pad)...)
	block, _ := aes.NewCipher(key) // the key is one of AES-256
	cipher.NewCBCEncrypter(block, key[:16]).CryptBlocks(data, data)
	b.mu.Lock()
	defer b.mu.Unlock()
	b.files[name] = data
	return platformtest.Object{"url": b.URL + "/files/" + url.PathEscape(name),
		"aeskey": base64.StdEncoding.EncodeToString(key)}
}

// Written returns what the bot has written in a chat, oldest first.
func (b *Bots) Written(chat string) (list []BotMessage) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return platformtest.Copies(b.sent, func(m *BotMessage) bool { return m.Chat == chat })
}

func (b *Bots) socket(w http.ResponseWriter, r *http.Request) {
	conn := b.Accept(w, r)
	if conn == nil {
		return
	}
	defer func() {
		_ = conn.CloseNow()
		b.mu.Lock()
		defer b.mu.Unlock()
		if b.live == conn {
			b.live = nil
		}
	}()
	subscribed := false
	for {
		_, data, err := conn.Read(r.Context())
		if err != nil {
			return
		}
		var f struct {
			Command string `json:"cmd"`
			Headers struct {
				ID string `json:"req_id"`
			} `json:"headers"`
			Body json.RawMessage `json:"body"`
		}
		if json.Unmarshal(data, &f) != nil || f.Headers.ID == "" {
			return
		}
		b.mu.Lock()
		code, body := b.handle(f.Command, f.Headers.ID, f.Body, subscribed)
		platformtest.Write(r.Context(), conn,
			platformtest.Object{"headers": platformtest.Object{"req_id": f.Headers.ID}, "errcode": code,
				"errmsg": "says", "body": body})
		if f.Command == "aibot_subscribe" && code == 0 {
			subscribed, b.live = true, conn
			b.flush()
		}
		b.mu.Unlock()
	}
}

// handle answers a frame. The caller holds the lock.
func (b *Bots) handle(command, id string, raw json.RawMessage, subscribed bool) (code int, answer any) {
	if codes := b.codes[command]; len(codes) > 0 {
		b.codes[command] = codes[1:]
		return codes[0], nil
	}
	var body struct {
		Bot    string `json:"bot_id"`
		Secret string `json:"secret"`
		Chat   string `json:"chatid"`
		Kind   string `json:"msgtype"`
		Stream struct {
			ID      string `json:"id"`
			Finish  bool   `json:"finish"`
			Content string `json:"content"`
		} `json:"stream"`
		Markdown struct{ Content string } `json:"markdown"`
		Response string                   `json:"response_type"`
		Card     struct {
			Task     string                 `json:"task_id"`
			Title    struct{ Title string } `json:"main_title"`
			Subtitle string                 `json:"sub_title_text"`
			Buttons  []struct{ Key string } `json:"button_list"`
		} `json:"template_card"`
		File struct {
			ID string `json:"media_id"`
		} `json:"file"`
		Image struct {
			ID string `json:"media_id"`
		} `json:"image"`

		Upload string `json:"upload_id"`
		Name   string `json:"filename"`
		Sum    string `json:"md5"`
		Data   []byte `json:"base64_data"`
	}
	if len(raw) > 0 && json.Unmarshal(raw, &body) != nil {
		return 40058, nil
	}
	if command == "aibot_subscribe" {
		if body.Bot != BotID || body.Secret != BotSecret {
			return 853000, nil
		}
		return 0, nil
	}
	if !subscribed {
		return 846600, nil
	}
	switch command {
	case "ping":
		b.pings++
	case "aibot_respond_msg":
		chat, ok := b.frames[id]
		m := b.streams[body.Stream.ID]
		switch {
		case !ok || body.Kind != "stream" || body.Stream.ID == "":
			return 846605, nil
		case m != nil && m.Final:
			return 846608, nil
		case m == nil:
			m = &BotMessage{Chat: chat, Kind: "stream"}
			b.streams[body.Stream.ID], b.sent = m, append(b.sent, m)
		}
		m.Text, m.Final = body.Stream.Content, body.Stream.Finish
	case "aibot_respond_update_msg":
		chat, ok := b.frames[id]
		if !ok || body.Response != "update_template_card" || body.Card.Task == "" || body.Card.Title.Title == "" {
			return 846605, nil
		}
		b.sent = append(b.sent, &BotMessage{Chat: chat, Kind: "update of " + body.Card.Task,
			Text: body.Card.Title.Title + ": " + body.Card.Subtitle, Final: true})
	case "aibot_send_msg":
		m := &BotMessage{Chat: body.Chat, Kind: body.Kind, Text: cmp.Or(body.Markdown.Content,
			body.Card.Subtitle), Task: body.Card.Task, Final: true}
		for _, button := range body.Card.Buttons {
			m.Buttons = append(m.Buttons, button.Key)
		}
		if u := b.uploads[cmp.Or(body.File.ID, body.Image.ID)]; u != nil {
			m.File = u.name + "=" + string(slices.Concat(u.chunks...))
		}
		if m.Chat == "" || m.Text == "" && m.File == "" && len(m.Buttons) == 0 {
			return 40058, nil
		}
		b.sent = append(b.sent, m)
	case "aibot_upload_media_init":
		b.uploads["up"+id] = &upload{name: body.Name, sum: body.Sum}
		return 0, platformtest.Object{"upload_id": "up" + id}
	case "aibot_upload_media_chunk":
		b.uploads[body.Upload].chunks = append(b.uploads[body.Upload].chunks, body.Data)
	case "aibot_upload_media_finish":
		sum := md5.Sum(slices.Concat(b.uploads[body.Upload].chunks...)) //nolint:gosec // as above
		if hex.EncodeToString(sum[:]) != b.uploads[body.Upload].sum {
			return 40058, nil
		}
		return 0, platformtest.Object{"media_id": body.Upload, "type": strings.TrimSpace("file")}
	default:
		return 40058, nil
	}
	return 0, nil
}
