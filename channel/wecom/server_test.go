package wecom_test

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/sha1"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"sort"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/etui-run/etui/channel"
	"github.com/etui-run/etui/channel/channeltest"
	"github.com/etui-run/etui/channel/wecom"
)

// The account of all tests. The token and the keys are those of the example that the
// platform publishes (加解密方案说明, developer.work.weixin.qq.com/document/path/90968).
const (
	corp   = "wx5823bf96d3bd56c7"
	agent  = 1000002
	secret = "the-secret-of-the-application"
	token  = "QDG6eK"
	aesKey = "jWmYm7qr5nMoAUwZRjGtBxmz3KA1tkAj3ykkR6q2B2C"
)

// platform is a server that does what the documentation of WeCom says of the calls that
// the channel makes, as it was on 2025-09-24 (developer.work.weixin.qq.com, document/path):
// 91039 gettoken, 90236 message/send, 90248 appchat/send, 90253 media/upload, 90254
// media/get, 90196 user/get, 90227 agent/get, 90231 menu/create, 91982 oa/gettemplatedetail,
// 91853 oa/applyevent, 98148 meeting/create, 90313 error codes; and 90238 for deliveries.
type platform struct {
	t        testing.TB
	api      *httptest.Server
	callback *httptest.Server

	mu      sync.Mutex
	issued  int // tokens; the last one is valid
	revoked bool
	fail    []channeltest.Failure
	codes   map[string][]int // errors that the next calls of a path return
	calls   []string
	names   map[string]string // of members
	leaders map[string]bool
	sent    []sent
	media   map[string]upload
	tasks   map[string]bool
	serial  int
	saved   bool // the callback's URL was verified
	last    []byte
	lastURL string
	bodies  map[string]map[string]any // the last body of a path
}

type sent struct {
	to, kind string
	content  map[string]any
	body     map[string]any
}

type upload struct {
	name, kind, mediaType string
	data                  []byte
}

func newPlatform(t testing.TB) *platform {
	p := &platform{
		t: t, codes: map[string][]int{}, names: map[string]string{"4711": "安妮"}, leaders: map[string]bool{},
		media: map[string]upload{}, tasks: map[string]bool{}, bodies: map[string]map[string]any{}, serial: 1234567890123455,
	}
	p.api = httptest.NewServer(http.HandlerFunc(p.serve))
	t.Cleanup(p.api.Close)
	return p
}

func (p *platform) config() wecom.Config {
	return wecom.Config{CorpID: corp, Agent: agent, Secret: secret, Token: token, AESKey: aesKey, URL: p.api.URL}
}

// connect makes a channel and lets the platform deliver to it.
func (p *platform) connect(t testing.TB) *wecom.Channel {
	c, err := wecom.New(p.config())
	if err != nil {
		t.Fatal(err)
	}
	p.callback = httptest.NewServer(c)
	t.Cleanup(p.callback.Close)
	return c
}

func (p *platform) Channel(t *testing.T) channel.Channel { return p.connect(t) }

func (p *platform) Direct() {}

func (p *platform) Redelivers() {}

func (p *platform) Fail(_ *testing.T, how channeltest.Failure) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.fail = append(p.fail, how)
}

// failWith lets the next calls of a path return errors.
func (p *platform) failWith(path string, codes ...int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.codes[path] = codes
}

func (p *platform) Say(t *testing.T, m channel.Incoming) string {
	p.mu.Lock()
	if m.From.Name != "" {
		p.names[m.From.ID] = m.From.Name
	}
	p.mu.Unlock()
	return p.say(t, m.From.ID, "<MsgType><![CDATA[text]]></MsgType><Content><![CDATA["+m.Text+"]]></Content>")
}

// say delivers a message until it is accepted, at most four times.
func (p *platform) say(t testing.TB, from, rest string) string {
	t.Helper()
	p.save(t)
	p.mu.Lock()
	p.serial++
	id := strconv.Itoa(p.serial)
	p.mu.Unlock()
	text := message(from, rest+"<MsgId>"+id+"</MsgId>")
	for range 4 {
		if status, _ := p.deliver(t, text); status == http.StatusOK {
			return id
		}
	}
	t.Error("the message was refused four times")
	return id
}

func message(from, rest string) string {
	return fmt.Sprintf("<xml><ToUserName><![CDATA[%s]]></ToUserName><FromUserName><![CDATA[%s]]></FromUserName><CreateTime>%d</CreateTime>%s<AgentID>%d</AgentID></xml>",
		corp, from, time.Now().Unix(), rest, agent)
}

// save verifies the URL of the callback, as the page does when it is saved. It waits until
// the channel runs.
func (p *platform) save(t testing.TB) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for end := time.Now().Add(20 * time.Second); !p.saved; {
		echo := encrypt("1616140317555161061", corp)
		res, err := http.Get(p.callback.URL + "?" + signed(echo, time.Now()).Encode() + "&echostr=" + url.QueryEscape(echo))
		if err != nil {
			t.Fatal(err)
		}
		text, _ := io.ReadAll(res.Body)
		res.Body.Close()
		switch {
		case res.StatusCode == http.StatusOK && string(text) == "1616140317555161061":
			p.saved = true
		case res.StatusCode != http.StatusServiceUnavailable || time.Now().After(end):
			t.Fatalf("the URL could not be verified: %d %s", res.StatusCode, text)
		default:
			<-time.After(time.Millisecond)
		}
	}
}

// deliver posts a message to the callback.
func (p *platform) deliver(t testing.TB, text string) (status int, body string) {
	t.Helper()
	encrypted := encrypt(text, corp)
	return p.post(t, signed(encrypted, time.Now()), envelope(encrypted))
}

func (p *platform) post(t testing.TB, query url.Values, body string) (int, string) {
	t.Helper()
	p.mu.Lock()
	p.last, p.lastURL = []byte(body), "?"+query.Encode()
	p.mu.Unlock()
	res, err := http.Post(p.callback.URL+"?"+query.Encode(), "text/xml", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	answer, _ := io.ReadAll(res.Body)
	return res.StatusCode, string(answer)
}

func envelope(encrypted string) string {
	return fmt.Sprintf("<xml><ToUserName><![CDATA[%s]]></ToUserName><AgentID><![CDATA[%d]]></AgentID><Encrypt><![CDATA[%s]]></Encrypt></xml>", corp, agent, encrypted)
}

var nonces struct {
	sync.Mutex
	n int
}

func signed(encrypted string, at time.Time) url.Values {
	nonces.Lock()
	nonces.n++
	nonce := strconv.Itoa(1372623149 + nonces.n)
	nonces.Unlock()
	timestamp := strconv.FormatInt(at.Unix(), 10)
	return url.Values{"msg_signature": {signature(token, timestamp, nonce, encrypted)}, "timestamp": {timestamp}, "nonce": {nonce}}
}

func signature(parts ...string) string {
	sort.Strings(parts)
	return fmt.Sprintf("%x", sha1.Sum([]byte(strings.Join(parts, ""))))
}

// encrypt does what the platform does. It is written apart from the channel's own code.
func encrypt(text, receiver string) string {
	key, _ := base64.StdEncoding.DecodeString(aesKey + "=")
	var b bytes.Buffer
	b.WriteString("0123456789abcdef")
	_ = binary.Write(&b, binary.BigEndian, int32(len(text)))
	b.WriteString(text + receiver)
	pad := 32 - b.Len()%32
	b.Write(bytes.Repeat([]byte{byte(pad)}, pad))
	block, _ := aes.NewCipher(key)
	cipher.NewCBCEncrypter(block, key[:16]).CryptBlocks(b.Bytes(), b.Bytes())
	return base64.StdEncoding.EncodeToString(b.Bytes())
}

// Seen implements [channeltest.Platform] with the Markdown that the documentation lists.
func (p *platform) Seen(_ *testing.T, chat string) []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	var all []string
	for _, s := range p.sent {
		if s.to != chat {
			continue
		}
		switch text, _ := s.content["content"].(string); s.kind {
		case "text":
			all = append(all, text)
		case "markdown":
			text = regexp.MustCompile(`\*\*(.+?)\*\*|`+"`([^`\n]+)`").ReplaceAllString(text, "$1$2")
			text = regexp.MustCompile(`\[([^\]\n]*)\]\([^)\n]*\)`).ReplaceAllString(text, "$1")
			all = append(all, regexp.MustCompile(`(?m)^(#{1,6}|>) `).ReplaceAllString(text, ""))
		case "template_card":
			above, _ := s.content["sub_title_text"].(string)
			for _, b := range s.content["button_list"].([]any) {
				above += fmt.Sprintf(" [%s]", b.(map[string]any)["text"])
			}
			all = append(all, above)
		default:
			all = append(all, s.kind+" "+p.media[s.content["media_id"].(string)].name)
		}
	}
	return all
}

// serve is the API.
func (p *platform) serve(w http.ResponseWriter, r *http.Request) {
	path := strings.TrimPrefix(r.URL.Path, "/cgi-bin/")
	raw, _ := io.ReadAll(r.Body)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.calls = append(p.calls, path)
	reply := func(values map[string]any) {
		if values["errcode"] == nil {
			values["errcode"], values["errmsg"] = 0, "ok"
		}
		w.Header().Set("Content-Type", "application/json; charset=UTF-8")
		_ = json.NewEncoder(w).Encode(values)
	}
	refuse := func(code int) {
		reply(map[string]any{"errcode": code, "errmsg": fmt.Sprintf("error, hint: [1616140317_1_%d], from ip: 10.0.0.1, more info at https://open.work.weixin.qq.com/devtool/query?e=%d", code, code)})
	}
	if codes := p.codes[path]; len(codes) > 0 {
		p.codes[path] = codes[1:]
		if codes[0] != 0 {
			refuse(codes[0])
			return
		}
	}
	query := r.URL.Query()
	if path == "gettoken" {
		switch {
		case query.Get("corpid") != corp:
			refuse(40013)
		case query.Get("corpsecret") != secret || p.revoked:
			p.revoked = false
			refuse(40001)
		default:
			p.issued++
			reply(map[string]any{"access_token": p.token(), "expires_in": 7200})
		}
		return
	}
	if path == "message/send" && len(p.fail) > 0 {
		how := p.fail[0]
		p.fail = p.fail[1:]
		switch how {
		case channeltest.Away:
			refuse(-1)
		case channeltest.Busy: // of a proxy; the platform's own codes name no time
			w.Header().Set("Retry-After", "7")
			w.WriteHeader(http.StatusTooManyRequests)
		case channeltest.Gone:
			refuse(81013)
		case channeltest.Refused:
			p.revoked = true
			refuse(40014)
		}
		return
	}
	if query.Get("access_token") != p.token() {
		refuse(40014)
		return
	}
	var body map[string]any
	if r.Header.Get("Content-Type") == "application/json" {
		if json.Unmarshal(raw, &body) != nil || bytes.Contains(raw, []byte(`\u`)) {
			refuse(40033)
			return
		}
		p.bodies[path] = body
	}
	switch path {
	case "user/get":
		id := query.Get("userid")
		name, ok := p.names[id]
		if !ok {
			refuse(60111)
			return
		}
		leads := 0
		if p.leaders[id] {
			leads = 1
		}
		reply(map[string]any{"userid": id, "name": name, "department": []int{1, 2}, "order": []int{1, 2}, "is_leader_in_dept": []int{0, leads}, "status": 1})
	case "agent/get":
		if query.Get("agentid") != strconv.Itoa(agent) {
			refuse(301002)
			return
		}
		reply(map[string]any{"agentid": agent, "name": "HR助手", "close": 0})
	case "message/send", "appchat/send":
		p.send(path, body, reply, refuse)
	case "media/upload":
		file, head, err := formFile(r, raw)
		if err != nil || len(file) < 6 || len(file) > 20<<20 {
			refuse(40006)
			return
		}
		p.serial++
		id := fmt.Sprint("media", p.serial)
		p.media[id] = upload{name: head, kind: query.Get("type"), data: file}
		reply(map[string]any{"type": query.Get("type"), "media_id": id, "created_at": "1380000000"})
	case "media/get":
		m, ok := p.media[query.Get("media_id")]
		if !ok {
			refuse(40007)
			return
		}
		w.Header().Set("Content-Type", m.mediaType)
		w.Header().Set("Content-Disposition", fmt.Sprintf(`attachment; filename="%s"`, m.name))
		_, _ = w.Write(m.data)
	case "oa/gettemplatedetail":
		_, _ = io.WriteString(w, template)
	case "oa/applyevent":
		reply(map[string]any{"sp_no": "201909270001"})
	case "meeting/create":
		reply(map[string]any{"meetingid": "hyXXXX", "meeting_code": "500123456", "meeting_link": "https://meeting.tencent.com/dm/x"})
	case "menu/create", "menu/delete":
		reply(map[string]any{})
	default:
		w.WriteHeader(http.StatusNotFound)
	}
}

func (p *platform) token() string { return fmt.Sprint("accesstoken", p.issued) }

func (p *platform) send(path string, body map[string]any, reply func(map[string]any), refuse func(int)) {
	to, _ := body["touser"].(string)
	if path == "appchat/send" {
		to, _ = body["chatid"].(string)
		if to != "board" {
			refuse(86003)
			return
		}
	} else if body["agentid"] != float64(agent) {
		refuse(40056)
		return
	} else if _, ok := p.names[to]; !ok && to != "4711" {
		refuse(81013)
		return
	}
	kind, _ := body["msgtype"].(string)
	content, _ := body[kind].(map[string]any)
	switch kind {
	case "text", "markdown":
		if text, _ := content["content"].(string); text == "" {
			refuse(44004)
			return
		} else if len(text) > 2048 {
			refuse(45002)
			return
		}
	case "image", "voice", "video", "file":
		id, _ := content["media_id"].(string)
		if m, ok := p.media[id]; !ok || m.kind != kind {
			refuse(40007)
			return
		}
	case "template_card":
		buttons, _ := content["button_list"].([]any)
		task, _ := content["task_id"].(string)
		if path == "appchat/send" || len(buttons) == 0 || len(buttons) > 6 || p.tasks[task] || !regexp.MustCompile(`^[\w@-]{1,128}$`).MatchString(task) {
			refuse(42019)
			return
		}
		p.tasks[task] = true
		keys := map[any]bool{}
		for _, b := range buttons {
			if key, _ := b.(map[string]any)["key"].(string); key == "" || len(key) > 1024 || keys[key] {
				refuse(42019)
				return
			} else {
				keys[key] = true
			}
		}
	default:
		refuse(40008)
		return
	}
	p.sent = append(p.sent, sent{to, kind, content, body})
	p.serial++
	answer := map[string]any{"invaliduser": ""}
	if path == "message/send" {
		answer["msgid"] = fmt.Sprint("msg", p.serial)
	}
	reply(answer)
}

func formFile(r *http.Request, raw []byte) (data []byte, name string, err error) {
	r.Body = io.NopCloser(bytes.NewReader(raw))
	f, head, err := r.FormFile("media")
	if err != nil {
		return nil, "", err
	}
	data, err = io.ReadAll(f)
	return data, head.Filename, err
}

// template is an approval template, shortened from the example of document/path/91982.
const template = `{"errcode":0,"errmsg":"ok","template_names":[{"text":"报销","lang":"zh_CN"},{"text":"Expenses","lang":"en"}],"template_content":{"controls":[
{"property":{"control":"Textarea","id":"Textarea-1","title":[{"text":"事由","lang":"zh_CN"},{"text":"Reason","lang":"en"}],"require":1},"config":{}},
{"property":{"control":"Money","id":"Money-1","title":[{"text":"金额","lang":"zh_CN"}],"require":1},"config":{}},
{"property":{"control":"Date","id":"Date-1","title":[{"text":"日期","lang":"zh_CN"}],"require":0},"config":{"date":{"type":"day"}}},
{"property":{"control":"Selector","id":"Selector-1","title":[{"text":"类型","lang":"zh_CN"}],"require":0},"config":{"selector":{"type":"multi","options":[
 {"key":"option-1","value":[{"text":"交通","lang":"zh_CN"}]},{"key":"option-2","value":[{"text":"餐饮","lang":"zh_CN"}]}]}}},
{"property":{"control":"File","id":"File-1","title":[{"text":"附件","lang":"zh_CN"}],"require":0},"config":{}},
{"property":{"control":"Tips","id":"Tips-1","title":[{"text":"说明","lang":"zh_CN"}],"require":0},"config":{}}]}}`

// button is a press of a card's button.
func button(from, key string) string {
	var b bytes.Buffer
	_ = xml.EscapeText(&b, []byte(key))
	return message(from, "<MsgType><![CDATA[event]]></MsgType><Event><![CDATA[template_card_event]]></Event><EventKey>"+b.String()+
		"</EventKey><TaskId><![CDATA[task0001]]></TaskId><CardType><![CDATA[button_interaction]]></CardType><ResponseCode><![CDATA[vxR7]]></ResponseCode>")
}
