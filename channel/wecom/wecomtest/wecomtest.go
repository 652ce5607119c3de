// Package wecomtest is a WeCom 企业微信 for tests: one company with one application.
//
// It does what the documentation says of the calls that the channel makes, as it was on
// 2025-09-24 (developer.work.weixin.qq.com, document/path): 91039 gettoken, 90236
// message/send, 90248 appchat/send, 90253 media/upload, 90254 media/get, 90196 user/get,
// 90227 agent/get, 90231 menu/create, 91982 oa/gettemplatedetail, 91853 oa/applyevent, 98148
// meeting/create, 90313 error codes; and 90238 and 90968 for deliveries.
package wecomtest

import (
	"bytes"
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/sha1"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/etui-run/etui/channel/platformtest"
)

// The account of all tests. The token and the keys are those of the example that the
// platform publishes (加解密方案说明, document/path/90968).
const (
	Corp   = "wx5823bf96d3bd56c7"
	Agent  = 1000002
	Secret = "the-secret-of-the-application"
	Token  = "QDG6eK"
	AESKey = "jWmYm7qr5nMoAUwZRjGtBxmz3KA1tkAj3ykkR6q2B2C"
)

// Server is a WeCom. Its methods are safe for concurrent use.
type Server struct {
	*platformtest.Server

	callback string // where deliveries go
	issued   int    // tokens; the last one is valid
	revoked  bool
	calls    map[string]int
	names    map[string]string // of members
	leaders  map[string]bool
	sent     []Message
	media    map[string]Media
	tasks    map[string]bool
	serial   int
	saved    bool // the callback's URL was verified
	last     []byte
	lastURL  string
	bodies   map[string]map[string]any // the last body of a path
}

// Message is what the application has written to a member or a group.
type Message struct {
	To, Kind string
	Content  map[string]any
}

// Media is a file at WeCom.
type Media struct {
	Name, Kind, Type string
	Data             []byte
}

// Failure is an error answer of message/send: a status other than 200, or an error code.
type Failure struct {
	Status     int
	Code       int
	RetryAfter int
	// Revoked lets the next gettoken fail, too.
	Revoked bool
}

// Start starts a server with one member, 4711. The caller closes it.
func Start() *Server {
	s := &Server{
		Server: platformtest.Start(), calls: map[string]int{}, names: map[string]string{"4711": "安妮"},
		leaders: map[string]bool{},
		media:   map[string]Media{}, tasks: map[string]bool{}, bodies: map[string]map[string]any{},
		serial: 1234567890123455,
	}
	s.Mux.HandleFunc("/", s.serve)
	return s
}

// Deliver says where deliveries go.
func (s *Server) Deliver(to string) {
	defer s.Hold()()
	s.callback = to
}

// Member sets the name of a member, and whether the member leads a department.
func (s *Server) Member(id, name string, leads bool) {
	defer s.Hold()()
	s.names[id], s.leaders[id] = name, leads
}

// Upload stores a file of a member.
func (s *Server) Upload(id string, m Media) {
	defer s.Hold()()
	s.media[id] = m
}

// Fail makes the next message/send fail.
func (s *Server) Fail(f Failure) {
	s.FailNext("message/send", func(w http.ResponseWriter) {
		s.revoked = s.revoked || f.Revoked
		if f.Status == 0 {
			refuse(w, f.Code)
			return
		}
		platformtest.Refuse(w, f.Status, f.RetryAfter, nil) // of a proxy; the platform's own codes name no time
	})
}

// FailWith lets the next calls of a path return errors; 0 is none.
func (s *Server) FailWith(path string, codes ...int) {
	for _, code := range codes {
		if code != 0 {
			s.FailNext(path, func(w http.ResponseWriter) { refuse(w, code) })
		}
	}
}

// Calls returns how often a path was called.
func (s *Server) Calls(path string) int {
	defer s.Hold()()
	return s.calls[path]
}

// Body returns the last body that was sent to a path.
func (s *Server) Body(path string) map[string]any {
	defer s.Hold()()
	return s.bodies[path]
}

// Issued returns how many tokens were given.
func (s *Server) Issued() int {
	defer s.Hold()()
	return s.issued
}

// Last returns the query and the body of the last delivery.
func (s *Server) Last() (query string, body []byte) {
	defer s.Hold()()
	return s.lastURL, s.last
}

// Sent returns what the application has written to a member, or a group, oldest first.
func (s *Server) Sent(to string) (list []Message) {
	defer s.Hold()()
	for _, m := range s.sent {
		if m.To == to {
			list = append(list, m)
		}
	}
	return list
}

// Write delivers a text of a member, and returns its ID.
func (s *Server) Write(from, text string) (id string, err error) {
	return s.Say(from, "<MsgType><![CDATA[text]]></MsgType><Content><![CDATA["+text+"]]></Content>")
}

// Say delivers a message of its elements until it is accepted, at most four times.
func (s *Server) Say(from, elements string) (id string, err error) {
	if err := s.Save(); err != nil {
		return "", err
	}
	release := s.Hold()
	s.serial++
	id = strconv.Itoa(s.serial)
	release()
	text := Compose(from, elements+"<MsgId>"+id+"</MsgId>")
	for range 4 {
		if status, _, err := s.Send(text); err != nil || status == http.StatusOK {
			return id, err
		}
	}
	return id, errors.New("the message was refused four times")
}

// Compose returns a message of a member with further elements, as it is before it is encrypted.
func Compose(from, elements string) string {
	return fmt.Sprintf("<xml><ToUserName><![CDATA[%s]]></ToUserName><FromUserName><![CDATA[%s]]></FromUserName><CreateTime>%d</CreateTime>%s<AgentID>%d</AgentID></xml>",
		Corp, from, time.Now().Unix(), elements, Agent)
}

// Press returns the press of a card's button.
func Press(from, key string) string {
	var b bytes.Buffer
	_ = xml.EscapeText(&b, []byte(key))
	return Compose(from, "<MsgType><![CDATA[event]]></MsgType><Event><![CDATA[template_card_event]]></Event><EventKey>"+
		b.String()+
		"</EventKey><TaskId><![CDATA[task0001]]></TaskId><CardType><![CDATA[button_interaction]]></CardType><ResponseCode><![CDATA[vxR7]]></ResponseCode>")
}

// Save verifies the URL of the callback, as the page does when it is saved. It waits until
// the channel runs, and does it once.
func (s *Server) Save() error {
	for end := time.Now().Add(20 * time.Second); ; {
		release := s.Hold()
		saved, to := s.saved, s.callback
		release()
		if saved {
			return nil
		}
		echo := Encrypt("1616140317555161061", Corp)
		query := Signed(echo, time.Now())
		query.Set("echostr", echo)
		status, text, err := s.Do(platformtest.Request(context.Background(), http.MethodGet, to+"?"+query.Encode(), "",
			nil))
		switch {
		case err != nil:
			return err
		case status == http.StatusOK && string(text) == "1616140317555161061":
			release := s.Hold()
			s.saved = true
			release()
		case status != http.StatusServiceUnavailable || time.Now().After(end):
			return fmt.Errorf("the URL could not be verified: %d %s", status, text)
		default:
			<-time.After(5 * time.Millisecond)
		}
	}
}

// Send delivers a message once, and returns the answer.
func (s *Server) Send(message string) (status int, answer string, err error) {
	encrypted := Encrypt(message, Corp)
	return s.Post(Signed(encrypted, time.Now()), Envelope(encrypted))
}

// Post posts to the callback what may not be right.
func (s *Server) Post(query url.Values, body string) (status int, answer string, err error) {
	release := s.Hold()
	s.last, s.lastURL = []byte(body), query.Encode()
	to := s.callback
	release()
	status, text, err := s.Do(platformtest.Request(context.Background(), http.MethodPost, to+"?"+query.Encode(),
		"text/xml", []byte(body)))
	return status, string(text), err
}

// Envelope returns the body of a delivery.
func Envelope(encrypted string) string {
	return fmt.Sprintf("<xml><ToUserName><![CDATA[%s]]></ToUserName><AgentID><![CDATA[%d]]></AgentID><Encrypt><![CDATA[%s]]></Encrypt></xml>", Corp, Agent, encrypted)
}

var nonces atomic.Int64

// Signed returns the query of a delivery, with a nonce of its own.
func Signed(encrypted string, at time.Time) url.Values {
	nonce, timestamp := strconv.FormatInt(1372623149+nonces.Add(1), 10), strconv.FormatInt(at.Unix(), 10)
	return url.Values{"msg_signature": {Signature(Token, timestamp, nonce, encrypted)}, "timestamp": {timestamp},
		"nonce": {nonce}}
}

// Signature signs texts.
func Signature(parts ...string) string {
	slices.Sort(parts)
	return fmt.Sprintf("%x", sha1.Sum([]byte(strings.Join(parts, ""))))
}

// Encrypt does what the platform does. It is written apart from the channel's own code.
func Encrypt(text, receiver string) string {
	key, _ := base64.StdEncoding.DecodeString(AESKey + "=")
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

// Seen returns what a member, or a group, reads, with the Markdown that the documentation lists.
func (s *Server) Seen(to string) (all []string) {
	for _, m := range s.Sent(to) {
		switch text, _ := m.Content["content"].(string); m.Kind {
		case "text":
			all = append(all, text)
		case "markdown":
			text = regexp.MustCompile(`\*\*(.+?)\*\*|`+"`([^`\n]+)`").ReplaceAllString(text, "$1$2")
			text = regexp.MustCompile(`\[([^\]\n]*)\]\([^)\n]*\)`).ReplaceAllString(text, "$1")
			all = append(all, regexp.MustCompile(`(?m)^(#{1,6}|>) `).ReplaceAllString(text, ""))
		case "template_card":
			above, _ := m.Content["sub_title_text"].(string)
			for _, b := range m.Content["button_list"].([]any) {
				above += fmt.Sprintf(" [%s]", b.(map[string]any)["text"])
			}
			all = append(all, above)
		default:
			release := s.Hold()
			all = append(all, m.Kind+" "+s.media[m.Content["media_id"].(string)].Name)
			release()
		}
	}
	return all
}

func refuse(w http.ResponseWriter, code int) {
	platformtest.Answer(w, http.StatusOK,
		map[string]any{"errcode": code,
			"errmsg": fmt.Sprintf("error, hint: [1616140317_1_%d], from ip: 10.0.0.1, more info at https://open.work.weixin.qq.com/devtool/query?e=%d", code, code)})
}

// serve is the API.
func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	path := strings.TrimPrefix(r.URL.Path, "/cgi-bin/")
	raw, _ := io.ReadAll(r.Body)
	defer s.Hold()()
	s.calls[path]++
	if s.Failed(w, path) {
		return
	}
	r.Body = io.NopCloser(bytes.NewReader(raw))
	switch values, code := s.answer(path, r, raw); {
	case code != 0:
		refuse(w, code)
	case values == nil && path == "oa/gettemplatedetail":
		_, _ = io.WriteString(w, template)
	case values == nil && path == "media/get":
		m := s.media[r.URL.Query().Get("media_id")]
		w.Header().Set("Content-Type", m.Type)
		w.Header().Set("Content-Disposition", fmt.Sprintf(`attachment; filename="%s"`, m.Name))
		_, _ = w.Write(m.Data)
	case values == nil:
		w.WriteHeader(http.StatusNotFound)
	default:
		values["errcode"], values["errmsg"] = 0, "ok"
		platformtest.Answer(w, http.StatusOK, values)
	}
}

func (s *Server) token() string { return fmt.Sprint("accesstoken", s.issued) }

// answer returns what a call answers, or the code of an error. Nil is what is no JSON, or no call.
func (s *Server) answer(path string, r *http.Request, raw []byte) (values platformtest.Object, code int) {
	type object = platformtest.Object
	query := r.URL.Query()
	switch {
	case path == "gettoken" && query.Get("corpid") != Corp:
		return nil, 40013
	case path == "gettoken" && (query.Get("corpsecret") != Secret || s.revoked):
		s.revoked = false
		return nil, 40001
	case path == "gettoken":
		s.issued++
		return object{"access_token": s.token(), "expires_in": 7200}, 0
	case query.Get("access_token") != s.token():
		return nil, 40014
	}
	var body map[string]any
	if r.Header.Get("Content-Type") == "application/json" {
		if json.Unmarshal(raw, &body) != nil || bytes.Contains(raw, []byte(`\u`)) {
			return nil, 40033
		}
		s.bodies[path] = body
	}
	switch path {
	case "user/get":
		id := query.Get("userid")
		name, ok := s.names[id]
		if !ok {
			return nil, 60111
		}
		leads := map[bool]int{true: 1}[s.leaders[id]]
		return object{"userid": id, "name": name, "department": []int{1, 2}, "order": []int{1, 2},
			"is_leader_in_dept": []int{0, leads}, "status": 1}, 0
	case "agent/get":
		if query.Get("agentid") != strconv.Itoa(Agent) {
			return nil, 301002
		}
		return object{"agentid": Agent, "name": "HR助手", "close": 0}, 0
	case "message/send", "appchat/send":
		return s.send(path, body)
	case "media/upload":
		f, head, err := r.FormFile("media")
		if err != nil {
			return nil, 40006
		}
		data, _ := io.ReadAll(f)
		if len(data) < 6 || len(data) > 20<<20 {
			return nil, 40006
		}
		s.serial++
		id := fmt.Sprint("media", s.serial)
		s.media[id] = Media{Name: head.Filename, Kind: query.Get("type"), Data: data}
		return object{"type": query.Get("type"), "media_id": id, "created_at": "1380000000"}, 0
	case "media/get":
		if _, ok := s.media[query.Get("media_id")]; !ok {
			return nil, 40007
		}
	case "oa/applyevent":
		return object{"sp_no": "201909270001"}, 0
	case "meeting/create":
		return object{"meetingid": "hyXXXX", "meeting_code": "500123456",
			"meeting_link": "https://meeting.tencent.com/dm/x"}, 0
	case "menu/create", "menu/delete":
		return object{}, 0
	}
	return nil, 0
}

var taskID = regexp.MustCompile(`^[\w@-]{1,128}$`)

func (s *Server) send(path string, body map[string]any) (values platformtest.Object, code int) {
	to, _ := body["touser"].(string)
	_, known := s.names[to]
	switch {
	case path == "appchat/send":
		if to, _ = body["chatid"].(string); to != "board" {
			return nil, 86003
		}
	case body["agentid"] != float64(Agent):
		return nil, 40056
	case !known && to != "4711":
		return nil, 81013
	}
	kind, _ := body["msgtype"].(string)
	content, _ := body[kind].(map[string]any)
	switch kind {
	case "text", "markdown":
		switch text, _ := content["content"].(string); {
		case text == "":
			return nil, 44004
		case len(text) > 2048:
			return nil, 45002
		}
	case "image", "voice", "video", "file":
		id, _ := content["media_id"].(string)
		if m, ok := s.media[id]; !ok || m.Kind != kind {
			return nil, 40007
		}
	case "template_card":
		buttons, _ := content["button_list"].([]any)
		task, _ := content["task_id"].(string)
		if path == "appchat/send" || len(buttons) == 0 || len(buttons) > 6 || s.tasks[task] ||
			!taskID.MatchString(task) {
			return nil, 42019
		}
		s.tasks[task] = true
		keys := map[any]bool{}
		for _, b := range buttons {
			key, _ := b.(map[string]any)["key"].(string)
			if key == "" || len(key) > 1024 || keys[key] {
				return nil, 42019
			}
			keys[key] = true
		}
	default:
		return nil, 40008
	}
	s.sent = append(s.sent, Message{to, kind, content})
	s.Touch()
	s.serial++
	values = platformtest.Object{"invaliduser": ""}
	if path == "message/send" {
		values["msgid"] = fmt.Sprint("msg", s.serial)
	}
	return values, 0
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
