package feishu

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/etui-run/etui/channel"
	"github.com/etui-run/etui/channel/platform"
	"github.com/etui-run/etui/internal/panics"
	"github.com/etui-run/etui/internal/recent"
)

// The long connection is as package ws of the SDK v3.5.3 has it: an address from
// /callback/ws/endpoint, frames in protobuf, a ping as a frame, and each event answered by
// its own frame with a code. What is not answered with 200 within three seconds is sent
// again (使用长连接接收事件, request-url-configuration-case).

const (
	pingEvery = 2 * time.Minute  // unless the platform says something else
	pingTime  = 30 * time.Second // that a pong may take, at least
	maxParts  = 64               // frames of one event; it has maxBody bytes at most
	maxHalf   = 32               // events of which frames are missing
)

// waits are the codes of the endpoint and of the handshake after which it may work later: the
// system is busy, internal, too many connections (ws/const.go of the SDK).
var waits = []string{"1", "1000040343", "1000040350"}

// settings are what the platform says about a connection, in seconds.
type settings struct{ PingInterval int }

func (s settings) every() time.Duration {
	if s.PingInterval <= 0 {
		return pingEvery
	}
	return time.Duration(min(s.PingInterval, 600)) * time.Second
}

// endpoint is where a connection is opened. The address is a ticket: it belongs into no log.
type endpoint struct {
	URL          string
	ClientConfig settings
}

// endpoint asks for the address of a new connection.
func (c *Channel) endpoint(ctx context.Context) (*endpoint, error) {
	const path = "callback/ws/endpoint"
	var answer struct{ Data endpoint }
	err := c.api.Call(ctx, platform.Request{
		Call: path, Path: path, Header: http.Header{"Locale": {"zh"}},
		Body: map[string]string{"AppID": c.config.AppID, "AppSecret": c.config.AppSecret},
	}, &answer)
	var f *platform.Failure
	if errors.As(err, &f) && f.Code != "" && !f.Busy && !platform.Fails(err, waits...) &&
		!errors.Is(err, channel.ErrRefused) {
		err = fmt.Errorf("%w: %w", channel.ErrRefused, err) // the SDK gives up, too
	}
	if err != nil {
		return nil, err
	}
	u, err := url.Parse(answer.Data.URL)
	if err != nil || u.Scheme != "wss" && (u.Scheme != "ws" || !platform.Local(u.Hostname())) {
		return nil, errors.New("feishu: " + path + " gives no address of a WebSocket")
	}
	return &answer.Data, nil
}

// connection receives through one long connection.
func (s *session) connection(ctx context.Context) error {
	at, err := s.endpoint(ctx)
	if err != nil {
		return err
	}
	conn, head, err := s.api.Dial(ctx, at.URL)
	if err != nil {
		if says := head.Get("Handshake-Msg"); says != "" {
			err = errors.New("feishu: opening the long connection: " + platform.Word(says))
		}
		return err
	}
	s.log.DebugContext(ctx, "feishu connection is open")
	defer s.log.DebugContext(ctx, "feishu connection ends")
	u, _ := url.Parse(at.URL) // endpoint has parsed it
	service, _ := strconv.ParseUint(u.Query().Get("service_id"), 10, 31)
	open, end := context.WithCancel(ctx)
	l := &line{
		session: s, conn: conn, interval: at.ClientConfig.every(), every: make(chan time.Duration),
		half: recent.New[string, *assembly](maxHalf),
	}
	var pings sync.WaitGroup
	defer pings.Wait()
	defer end()
	defer conn.Close()
	every := l.interval
	pings.Go(func() {
		defer panics.Log(s.log, "pinging Feishu")
		l.ping(open, newPing(service).encode(), every)
	})
	for {
		// A ping has an answer, so a connection on which nothing comes is dead.
		patience, done := context.WithTimeout(open, l.interval+pingTime)
		data, binary, err := conn.Read(patience)
		done()
		if err != nil {
			return err
		}
		if !binary {
			continue
		}
		f, err := decodeFrame(data)
		if err != nil {
			s.log.WarnContext(ctx, "feishu sent what is not a frame", "bytes", len(data))
			continue
		}
		if err := l.receive(open, f); err != nil {
			return err
		}
	}
}

// line is an open connection.
type line struct {
	*session
	conn     *platform.Socket
	interval time.Duration                    // between pings
	every    chan time.Duration               // a new one
	half     *recent.Cache[string, *assembly] // events of which frames are missing
}

// assembly is an event in several frames.
type assembly struct {
	parts [][]byte
	size  int
}

// receive takes a frame.
func (l *line) receive(ctx context.Context, f *frame) error {
	if f.method == control {
		var said settings
		isPong := f.headers["type"] == "pong" && json.Unmarshal(f.payload, &said) == nil
		if !isPong || said.PingInterval <= 0 || said.every() == l.interval {
			return nil
		}
		l.interval = said.every()
		select {
		case l.every <- l.interval:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	if f.method != data {
		return nil
	}
	payload, ok := l.assemble(f)
	if !ok {
		return nil
	}
	begun := time.Now()
	acknowledge := func(code int, answer any) { l.acknowledge(ctx, f, code, answer, time.Since(begun)) }
	// A callback comes as an event, too; the SDK knows the type card and leaves it out.
	e, err := readEnvelope(payload)
	var a *arrival
	if err == nil && (f.headers["type"] == "event" || f.headers["type"] == "card") {
		a, err = l.read(e)
	}
	if err != nil {
		l.log.WarnContext(ctx, "feishu sent an event that etui cannot read", "error", err)
	}
	if a == nil {
		acknowledge(http.StatusOK, nil) // again it would be no better
		return nil
	}
	return l.Start(ctx, platform.Job{
		Chat: a.At.Chat,
		Take: func(ctx context.Context) error { return l.take(ctx, a) },
		Done: func(err error) {
			switch {
			case err != nil:
				acknowledge(http.StatusInternalServerError, nil)
			case a.pressed == "":
				acknowledge(http.StatusOK, nil)
			default:
				acknowledge(http.StatusOK, l.answer(a))
			}
		},
	})
}

// assemble returns the payload of an event when its last frame has come.
func (l *line) assemble(f *frame) ([]byte, bool) {
	sum, seq, id := f.number("sum"), f.number("seq"), f.headers["message_id"]
	if sum <= 1 {
		return f.payload, true
	}
	if sum > maxParts || seq < 0 || seq >= sum || id == "" {
		return nil, false
	}
	a, ok := l.half.Get(id)
	if !ok || len(a.parts) != sum {
		a = &assembly{parts: make([][]byte, sum)}
		l.half.Put(id, a)
	}
	a.size += len(f.payload) - len(a.parts[seq])
	a.parts[seq] = f.payload
	whole := !slices.ContainsFunc(a.parts, func(p []byte) bool { return len(p) == 0 })
	if !whole && a.size <= maxBody {
		return nil, false
	}
	l.half.Remove(id)
	return bytes.Join(a.parts, nil), whole && a.size <= maxBody
}

// acknowledge answers an event. If that fails, the platform sends it again.
func (l *line) acknowledge(ctx context.Context, f *frame, code int, answer any, took time.Duration) {
	reply := struct {
		Code    int               `json:"code"`
		Headers map[string]string `json:"headers"`
		Data    []byte            `json:"data"`
	}{Code: code}
	var err error
	if answer != nil {
		reply.Data, err = json.Marshal(answer)
	}
	own := f.with("biz_rt", strconv.FormatInt(took.Milliseconds(), 10))
	if err == nil {
		own.payload, err = json.Marshal(reply)
	}
	if err == nil {
		err = l.conn.Write(ctx, own.encode())
	}
	if err != nil {
		l.log.DebugContext(ctx, "feishu gets no answer to an event", "error", err)
	}
}

// ping pings the platform until ctx ends.
func (l *line) ping(ctx context.Context, ping []byte, every time.Duration) {
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	for {
		if err := l.conn.Write(ctx, ping); err != nil {
			l.conn.Close() // the reader reports it
			return
		}
		select {
		case every := <-l.every:
			ticker.Reset(every)
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
	}
}
