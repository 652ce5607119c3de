package feishutest

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"github.com/coder/websocket"
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/etui-run/etui/channel/platformtest"
)

// endpoint gives the address of a long connection.
func (s *Server) endpoint(w http.ResponseWriter, r *http.Request) {
	var app struct{ AppID, AppSecret string }
	_ = json.NewDecoder(r.Body).Decode(&app)
	defer s.Hold()()
	if app.AppID != AppID || app.AppSecret != AppSecret || s.revoked {
		platformtest.Answer(w, http.StatusOK, Object{"code": 514, "msg": "auth failed", "data": nil})
		return
	}
	platformtest.Answer(w, http.StatusOK, Object{"code": 0, "msg": "", "data": Object{
		"URL": strings.Replace(s.URL, "http", "ws", 1) +
			"/ws/v2?fpid=493&aid=552564&device_id=7300000000000000001&service_id=33554678&access_key=one-time-secret&ticket=1",
		"ClientConfig": Object{"ReconnectCount": -1, "ReconnectInterval": 120, "ReconnectNonce": 30,
			"PingInterval": 120},
	}})
}

// Frame encodes a frame of the long connection: a method, headers and a payload.
func Frame(method int, headers [][2]string, payload []byte) []byte {
	var b []byte
	for field, v := range []uint64{1, 2, 33554678, uint64(method)} {
		b = protowire.AppendVarint(protowire.AppendTag(b, protowire.Number(field+1), protowire.VarintType), v)
	}
	for _, h := range headers {
		var one []byte
		for i, text := range h {
			one = protowire.AppendString(protowire.AppendTag(one, protowire.Number(i+1), protowire.BytesType), text)
		}
		b = protowire.AppendBytes(protowire.AppendTag(b, 5, protowire.BytesType), one)
	}
	return protowire.AppendBytes(protowire.AppendTag(b, 8, protowire.BytesType), payload)
}

// readFrame reads the method, headers and payload of a frame. Service must be the one of the
// address.
func readFrame(b []byte) (method uint64, headers map[string]string, payload []byte, err error) {
	headers = map[string]string{}
	required := 0
	for len(b) > 0 {
		field, kind, n := protowire.ConsumeTag(b)
		if n < 0 {
			return 0, nil, nil, protowire.ParseError(n)
		}
		b = b[n:]
		if kind == protowire.VarintType {
			v, n := protowire.ConsumeVarint(b)
			if n < 0 {
				return 0, nil, nil, protowire.ParseError(n)
			}
			required |= 1 << field
			if field == 4 {
				method = v
			}
			if field == 3 && v != 33554678 {
				return 0, nil, nil, fmt.Errorf("the service is %d", v)
			}
			b = b[n:]
			continue
		}
		v, n := protowire.ConsumeBytes(b)
		if n < 0 {
			return 0, nil, nil, protowire.ParseError(n)
		}
		b = b[n:]
		switch field {
		case 5:
			_, _, t := protowire.ConsumeTag(v)
			key, k := protowire.ConsumeString(v[t:])
			_, _, t2 := protowire.ConsumeTag(v[t+k:])
			value, _ := protowire.ConsumeString(v[t+k+t2:])
			headers[key] = value
		case 8:
			payload = v
		}
	}
	if required != 0b11110 {
		return 0, nil, nil, fmt.Errorf("a required field is missing: %b", required)
	}
	return method, headers, payload, nil
}

// Raw sends bytes through the oldest long connection.
func (s *Server) Raw(ctx context.Context, b []byte) error {
	return s.Conns()[0].Write(ctx, websocket.MessageBinary, b)
}

func (s *Server) socket(w http.ResponseWriter, r *http.Request) {
	if r.URL.Query().Get("access_key") != "one-time-secret" {
		w.Header().Set("Handshake-Status", "514")
		w.Header().Set("Handshake-Msg", "auth failed")
		w.Header().Set("Handshake-Autherrcode", "1000040344")
		w.WriteHeader(http.StatusForbidden)
		return
	}
	conn := s.Accept(w, r)
	if conn == nil {
		return
	}
	s.Stream(r, conn, func(ctx context.Context, d *Delivery, _ int) {
		text, _ := json.Marshal(d.Payload)
		release := s.Hold()
		split := s.split
		release()
		send(ctx, conn, d.ID, text, split)
	}, func(ctx context.Context, b []byte) { s.hear(ctx, conn, b) })
}

// send sends an event in one frame or several.
func send(ctx context.Context, conn *websocket.Conn, id string, text []byte, split int) {
	if split <= 0 {
		split = len(text)
	}
	sum := (len(text) + split - 1) / split
	for seq := range sum {
		part := text[seq*split : min(len(text), (seq+1)*split)]
		headers := [][2]string{{"type", "event"}, {"message_id", id}, {"sum", fmt.Sprint(sum)},
			{"seq", fmt.Sprint(seq)}, {"trace_id", "t1"}, {"timestamp", "1795000000000"}}
		_ = conn.Write(ctx, websocket.MessageBinary, Frame(1, headers, part))
	}
}

// hear takes a frame of the app: a ping, or what it says to an event.
func (s *Server) hear(ctx context.Context, conn *websocket.Conn, b []byte) {
	method, headers, payload, err := readFrame(b)
	if err != nil {
		_ = conn.Close(websocket.StatusPolicyViolation, err.Error()[:min(len(err.Error()), 100)])
		return
	}
	defer s.Hold()()
	defer s.Touch()
	if method == 0 && headers["type"] == "ping" {
		s.pings++
		config, _ := json.Marshal(Object{"ReconnectCount": -1, "ReconnectInterval": 120, "ReconnectNonce": 30,
			"PingInterval": 120})
		_ = conn.Write(ctx, websocket.MessageBinary, Frame(0, [][2]string{{"type", "pong"}}, config))
		return
	}
	var answer struct {
		Code int
		Data []byte
	}
	if json.Unmarshal(payload, &answer) != nil || answer.Code != http.StatusOK {
		return
	}
	s.Acknowledge(headers["message_id"], answer.Data)
}
